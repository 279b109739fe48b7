# SPDX-License-Identifier: BSD-2-Clause
# Sources of the matching engine, relative to engine/.
set(qv_match_sources
	match/qv_match.c
	match/qv_ll.c)
