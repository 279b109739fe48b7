# SPDX-License-Identifier: BSD-2-Clause
# Sources of the matching engine, relative to engine/.
set(qv_match_sources
	base/qv_mem.c
	match/qv_match.c
	match/qv_match_many.c
	match/qv_auto.c
	match/qv_auto_arrive.c
	match/qv_auto_collect.c
	match/qv_auto_deliver.c
	match/qv_auto_fill.c
	match/qv_auto_mode.c
	match/qv_auto_order.c
	match/qv_auto_other.c
	match/qv_auto_post.c
	match/qv_auto_posted.c
	match/qv_auto_queue.c
	match/qv_auto_ring.c
	match/qv_auto_search.c
	match/qv_auto_unexpected.c
	match/qv_auto_upkeep.c
	match/qv_auto_way.c
	match/qv_bins.c
	match/qv_cancels.c
	match/qv_clu.c
	match/qv_col.c
	match/qv_col_queues.c
	match/qv_foresee.c
	match/qv_hash.c
	match/qv_index.c
	match/qv_ll.c
	match/qv_list.c
	match/qv_lla.c
	match/qv_lla_queues.c
	match/qv_llv.c
	match/qv_mapped.c
	match/qv_nm.c
	match/qv_ompi.c
	match/qv_options.c
	match/qv_partners.c
	match/qv_phash.c
	match/qv_pnp.c
	match/qv_pnp_queues.c
	match/qv_pnp_static.c
	match/qv_queues.c
	match/qv_ucx.c
	match/qv_vlist.c
	match/qv_vlist_find.c)

# Two words stored through a vector register take longer than two stores.
set_source_files_properties(match/qv_auto_arrive.c match/qv_auto_deliver.c match/qv_auto_post.c match/qv_auto_queue.c match/qv_auto_search.c PROPERTIES
	COMPILE_OPTIONS -fno-tree-slp-vectorize)
