# SPDX-License-Identifier: BSD-2-Clause
# Sources of the sparse exchange, relative to engine/.
set(qv_exchange_sources exchange/sparse/exchange.c exchange/sparse/way.c exchange/sparse/bundle.c
	exchange/neighbor/plan.c exchange/neighbor/graph.c exchange/neighbor/build.c
	exchange/neighbor/whole.c exchange/neighbor/planner.c exchange/neighbor/hear.c
	exchange/neighbor/round.c exchange/neighbor/crowd.c exchange/neighbor/say.c
	exchange/neighbor/friends.c exchange/neighbor/matching.c exchange/sparse/choose_way.c exchange/neighbor/choose.c
	exchange/stream/open.c exchange/stream/stream.c exchange/stream/bucket.c
	exchange/stream/queue.c exchange/stream/many.c exchange/stream/section.c exchange/vrank/vrank.c exchange/vrank/come.c exchange/vrank/open.c exchange/vrank/table.c
	exchange/vrank/many.c exchange/vrank/move.c exchange/vrank/fence.c)
