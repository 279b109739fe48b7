# SPDX-License-Identifier: BSD-2-Clause
# Sources of operations on the memory of others, relative to engine/.
set(qv_remote_sources remote/op.c remote/asked.c)
