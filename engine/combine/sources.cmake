# SPDX-License-Identifier: BSD-2-Clause
# Sources of the reductions, relative to engine/.
set(qv_combine_sources combine/combine.c combine/names.c combine/unit.c)
