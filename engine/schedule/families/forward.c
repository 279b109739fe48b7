/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forward.c - alltoall and allgather whose blocks are forwarded by other ranks, so that
 * there are fewer and longer messages. The route of every block is followed, and what touches this
 * rank is noted.
 */
#include "hops.h"
#include "route.h"

static void follow(struct qv_hops *h, const struct qv_route *route, uint32_t src, uint32_t dst)
{
	const uint32_t me = h->b->rank;
	uint32_t at = src;

	for (uint32_t phase = 0; phase < route->phases && at != dst; phase++) {
		const uint32_t to = qv_route_hop(route, phase, at, dst);

		if (to != at && (at == me || to == me))
			qv_hops_add(h, phase << 16, at, to, src, h->gather && to == me ? me : dst);
		at = to;
	}
}

void qv_build_forward(struct qv_builder *b)
{
	struct qv_hops h = {.b = b, .gather = b->spec->coll == QV_COLL_ALLGATHER};
	struct qv_route route;

	qv_route_open(&route, b->spec->algorithm, b->spec->ranks, b->spec->k);
	/* From near to far, what a rank has of an allgather is in one place. */
	route.low_first = h.gather && b->spec->algorithm == QV_ALG_HYPERCUBE;
	b->s->whole = 1;
	for (uint32_t src = 0; src < route.ranks && !h.failed; src++) {
		for (uint32_t dst = 0; dst < route.ranks; dst++)
			follow(&h, &route, src, dst);
		if (h.n > h.room / 2 && h.gather)
			qv_hops_shrink(&h);
	}
	qv_hops_build(&h);
}
