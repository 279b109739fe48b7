/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route.c - virtual topologies: meshes of two and three dimensions, the hypercube, and one whose
 * last dimensions are gone through at once. Any number of ranks: the last row or plane of a mesh
 * has holes, whose part others take; ranks beyond a power of two give what they have to a partner.
 */
#include "route.h"

/* The least c with c to the n-th power not below ranks. */
static uint32_t root_of(uint32_t ranks, int n)
{
	uint64_t c = 1;

	while ((n == 2 ? c * c : c * c * c) < ranks)
		c++;
	return (uint32_t)c;
}

void qv_route_open(struct qv_route *route, enum qv_algorithm algorithm, uint32_t ranks, uint32_t k)
{
	struct qv_route r = {.algorithm = algorithm, .ranks = ranks};

	switch (algorithm) {
	case QV_ALG_MESH2:
		r.side = root_of(ranks, 2);
		r.last = (ranks + r.side - 1) / r.side;
		r.phases = 2;
		break;
	case QV_ALG_MESH3:
		r.side = root_of(ranks, 3);
		r.last = (ranks + r.side * r.side - 1) / (r.side * r.side);
		r.phases = 3;
		break;
	default:
		r.bits = qv_log2(ranks);
		if (algorithm == QV_ALG_HYBRID)
			r.direct = k ? k : 3;
		if (r.direct > r.bits)
			r.direct = r.bits;
		/* Fold in, the dimensions, the direct one, fold out. */
		r.phases = 1 + r.bits - r.direct + (r.direct > 0) + 1;
	}
	*route = r;
}

/* Meshes. */

/* Along a row to the column of dst. Holes are in the last row: their part is spread over the other
 * ranks of their columns by the column of the sender. (By the column of the hole, as has been
 * printed, one rank would get it all.) */
static uint32_t to_column(const struct qv_route *r, uint32_t at, uint32_t dst)
{
	const uint32_t column = dst % r->side, to = at - at % r->side + column;

	return to < r->ranks ? to : at % r->side % (r->last - 1) * r->side + column;
}

static uint32_t mesh2(const struct qv_route *r, uint32_t phase, uint32_t at, uint32_t dst)
{
	if (phase == 1)
		return dst;
	return at % r->side == dst % r->side ? at : to_column(r, at, dst);
}

static uint32_t mesh3(const struct qv_route *r, uint32_t phase, uint32_t at, uint32_t dst)
{
	const uint32_t c = r->side, plane = c * c;
	const uint32_t column = at % c, row = at / c % c;
	uint32_t to, own;

	if (phase == 2 || r->ranks < 4) /* two or three ranks have a plane with holes alone */
		return dst;
	if (phase == 0) {
		own = column;
		to = at - column + dst % c;
	} else {
		own = row;
		to = at - row * c + dst / c % c * c;
	}
	/* Holes are in the last plane; their part is spread over the same place in others. */
	return to < r->ranks ? to : own % (r->last - 1) * plane + to % plane;
}

/* Hypercubes. */

/* The member of the cube that speaks for a rank. */
static uint32_t speaker(const struct qv_route *r, uint32_t rank)
{
	const uint32_t cube = 1u << r->bits;

	return rank < cube ? rank : rank - cube;
}

/* The bits that are set in mask become those of where dst belongs. */
static uint32_t turn(const struct qv_route *r, uint32_t at, uint32_t dst, uint32_t mask)
{
	return (at & ~mask) | (speaker(r, dst) & mask);
}

static uint32_t cube(const struct qv_route *r, uint32_t phase, uint32_t at, uint32_t dst)
{
	const uint32_t single = r->bits - r->direct;

	if (at == dst)
		return at;
	if (phase == 0)
		return speaker(r, at);
	if (at != speaker(r, at))
		return at;
	if (phase <= single)
		return turn(r, at, dst, 1u << (r->low_first ? phase - 1 : r->bits - phase));
	if (phase == single + 1 && r->direct)
		return turn(r, at, dst, (1u << r->direct) - 1);
	return dst;
}

uint32_t qv_route_hop(const struct qv_route *route, uint32_t phase, uint32_t at, uint32_t dst)
{
	switch (route->algorithm) {
	case QV_ALG_MESH2: return mesh2(route, phase, at, dst);
	case QV_ALG_MESH3: return mesh3(route, phase, at, dst);
	default: return cube(route, phase, at, dst);
	}
}
