# SPDX-License-Identifier: BSD-2-Clause
# Sources of the matching engine, relative to engine/.
set(qv_match_sources
	base/mem.c
	match/match.c
	match/many.c
	match/auto/auto.c
	match/auto/arrive.c
	match/auto/collect.c
	match/auto/fill.c
	match/auto/path.c
	match/auto/policy.c
	match/auto/policy_posted.c
	match/auto/policy_unexpected.c
	match/auto/post.c
	match/auto/posted.c
	match/auto/queue.c
	match/auto/ring.c
	match/auto/search.c
	match/auto/unexpected.c
	match/cancels.c
	match/detail.c
	match/observed.c
	match/precomputed.c
	match/auto/index.c
	match/llv/llv.c
	match/options.c
	match/partners.c
	match/llv/vlist.c
	match/llv/vlist_find.c)

# Two words stored through a vector register take longer than two stores.
set_source_files_properties(match/auto/arrive.c match/auto/post.c match/auto/queue.c
	match/auto/search.c PROPERTIES COMPILE_OPTIONS -fno-tree-slp-vectorize)
