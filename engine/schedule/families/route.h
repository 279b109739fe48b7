/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route.h - virtual topologies: by which ranks a block goes from its source to its destination.
 * In each phase a rank sends all that leaves it for another one as one message, so the route alone
 * says who sends how many messages and what is in them. Inside of engine/ only.
 */
#ifndef QV_ROUTE_H
#define QV_ROUTE_H

#include <quiver/schedule.h>

struct qv_route {
	enum qv_algorithm algorithm;
	uint32_t ranks, phases;
	uint32_t side;   /* mesh: ranks in a row, and rows in a plane */
	uint32_t last;   /* mesh: rows, or planes of a mesh in three dimensions */
	uint32_t bits;   /* hypercube: dimensions */
	int low_first;   /* hypercube: from the lowest dimension to the highest */
	uint32_t direct; /* hybrid: how many of them are gone through in one phase */
};

/* QV_ALG_MESH2, QV_ALG_MESH3, QV_ALG_HYPERCUBE, QV_ALG_HYBRID; k as in struct qv_schedule_spec. */
void qv_route_open(struct qv_route *route, enum qv_algorithm algorithm, uint32_t ranks, uint32_t k);
/* Where rank `at` sends in this phase what is for dst; at, if it keeps it. */
uint32_t qv_route_hop(const struct qv_route *route, uint32_t phase, uint32_t at, uint32_t dst);

/* The largest power of two that is not above ranks, and its logarithm. */
static inline uint32_t qv_log2(uint32_t ranks)
{
	uint32_t bits = 0;

	while (ranks >> bits > 1)
		bits++;
	return bits;
}

#endif /* QV_ROUTE_H */
