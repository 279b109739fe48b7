# SPDX-License-Identifier: BSD-2-Clause
# Sources of the reductions, relative to engine/.
set(qv_combine_sources combine/qv_combine.c combine/qv_combine_names.c combine/qv_unit.c)
