# SPDX-License-Identifier: BSD-2-Clause
# Sources of the sparse exchange, relative to engine/.
set(qv_exchange_sources exchange/qv_exchange.c exchange/qv_exchange_way.c exchange/qv_exchange_bundle.c
	exchange/qv_neighbor.c exchange/qv_neighbor_graph.c exchange/qv_neighbor_build.c
	exchange/qv_friends.c exchange/qv_matching.c exchange/qv_choose_way.c exchange/qv_choose_neighbor.c
	exchange/qv_stream.c exchange/qv_stream_bucket.c
	exchange/qv_stream_queue.c exchange/qv_vrank.c exchange/qv_vrank_open.c exchange/qv_vrank_table.c
	exchange/qv_vrank_many.c exchange/qv_vrank_move.c exchange/qv_vrank_fence.c)
