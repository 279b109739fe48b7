/* SPDX-License-Identifier: BSD-2-Clause */
/* way.c - who sends to whom in each phase: parts of parts of a group, or a route. */
#include "exchange.h"

#include <stdlib.h>

/* The crystal router. */

/* Parts differ by one rank at most. Where the i-th of them begins, from the beginning
 * of the range. */
static uint32_t begin(const struct qv_range *r, uint32_t i)
{
	return (uint32_t)((uint64_t)r->n * i / r->parts);
}

static uint32_t part_of(const struct qv_range *r, uint32_t rank)
{
	return (uint32_t)(((uint64_t)(rank - r->low + 1) * r->parts - 1) / r->n);
}

static uint32_t size_of(const struct qv_range *r, uint32_t part)
{
	return begin(r, part + 1) - begin(r, part);
}

/* The peer of a rank in another part: with the same place in it, or, where that part has one rank
 * less, the last one with its first. */
static uint32_t peer_in(const struct qv_range *r, uint32_t rank, uint32_t part)
{
	const uint32_t place = rank - r->low - begin(r, part_of(r, rank));

	return r->low + begin(r, part) + place % size_of(r, part);
}

static void list_parts(struct qv_ways *ways, struct qv_phase *phase, uint32_t *peers)
{
	const struct qv_range *r = &phase->range;
	const uint32_t own = part_of(r, ways->rank), size = size_of(r, own);
	const uint32_t place = ways->rank - r->low - begin(r, own);

	phase->out = peers;
	phase->in = peers + r->parts;
	for (uint32_t part = 0; part < r->parts; part++) {
		if (part == own)
			continue;
		phase->out[phase->out_n++] = peer_in(r, ways->rank, part);
		for (uint32_t i = place; i < size_of(r, part); i += size)
			phase->in[phase->in_n++] = r->low + begin(r, part) + i;
	}
}

static int open_crystal(struct qv_ways *ways, uint32_t ranks, uint32_t radix)
{
	struct qv_range r = {0, ranks, 0};
	size_t room = 0;

	ways->phases = calloc(33, sizeof(*ways->phases));
	if (!ways->phases)
		return QV_ENOMEM;
	for (; r.n > 1; ways->n++) {
		uint32_t part;

		r.parts = radix < r.n ? radix : r.n;
		ways->phases[ways->n].range = r;
		room += 3 * (size_t)r.parts;
		part = part_of(&r, ways->rank);
		r = (struct qv_range){r.low + begin(&r, part), size_of(&r, part), 0};
	}
	ways->peers = calloc(room + 1, sizeof(*ways->peers));
	room = 0;
	for (uint32_t i = 0; i < ways->n && ways->peers; i++) {
		list_parts(ways, &ways->phases[i], ways->peers + room);
		room += 3 * (size_t)ways->phases[i].range.parts;
	}
	return ways->peers ? QV_OK : QV_ENOMEM;
}

/* Routes. */

/* For each phase a mark for each peer: what meets this rank on the way from src to dst. */
static void follow(const struct qv_ways *ways, unsigned char *marks, uint32_t src, uint32_t dst)
{
	const uint32_t P = ways->route.ranks, me = ways->rank;
	uint32_t at = src;

	for (uint32_t phase = 0; phase < ways->n && at != dst; phase++) {
		const uint32_t to = qv_route_hop(&ways->route, phase, at, dst);

		if (to != at && at == me)
			marks[(size_t)phase * P + to] |= 1;
		else if (to != at && to == me)
			marks[(size_t)phase * P + at] |= 2;
		at = to;
	}
}

static int open_route(struct qv_ways *ways, enum qv_algorithm algorithm, uint32_t ranks)
{
	unsigned char *marks;
	uint32_t *next;

	qv_route_open(&ways->route, algorithm, ranks, 0);
	ways->n = ways->route.phases;
	ways->phases = calloc(ways->n, sizeof(*ways->phases));
	ways->peers = calloc((size_t)ways->n * ranks, 2 * sizeof(*ways->peers));
	marks = calloc(ways->n, ranks);
	if (!ways->phases || !ways->peers || !marks) {
		free(marks);
		return QV_ENOMEM;
	}
	for (uint32_t src = 0; src < ranks; src++)
		for (uint32_t dst = 0; dst < ranks; dst++)
			follow(ways, marks, src, dst);
	next = ways->peers;
	for (uint32_t i = 0; i < ways->n; i++) {
		struct qv_phase *phase = &ways->phases[i];

		phase->out = next;
		phase->in = next + ranks;
		next += 2 * (size_t)ranks;
		for (uint32_t peer = 0; peer < ranks; peer++) {
			if (marks[(size_t)i * ranks + peer] & 1)
				phase->out[phase->out_n++] = peer;
			if (marks[(size_t)i * ranks + peer] & 2)
				phase->in[phase->in_n++] = peer;
		}
	}
	free(marks);
	return QV_OK;
}

int qv_ways_open(struct qv_ways *ways, const struct qv_exchange_spec *spec)
{
	*ways = (struct qv_ways){.rank = spec->rank};
	switch (spec->way) {
	case QV_WAY_MESH2: return open_route(ways, QV_ALG_MESH2, spec->ranks);
	case QV_WAY_MESH3: return open_route(ways, QV_ALG_MESH3, spec->ranks);
	case QV_WAY_HYPERCUBE: return open_route(ways, QV_ALG_HYPERCUBE, spec->ranks);
	default: break;
	}
	ways->crystal = 1;
	return open_crystal(ways, spec->ranks,
			    spec->way == QV_WAY_DIRECT ? spec->ranks
			    : spec->radix              ? spec->radix
						       : 2);
}

void qv_ways_close(struct qv_ways *ways)
{
	free(ways->phases);
	free(ways->peers);
}

uint32_t qv_ways_hop(const struct qv_ways *ways, uint32_t phase, uint32_t dst)
{
	const struct qv_range *r = &ways->phases[phase].range;
	uint32_t part;

	if (!ways->crystal)
		return qv_route_hop(&ways->route, phase, ways->rank, dst);
	if (dst < r->low || dst - r->low >= r->n) /* it has been sent to the wrong rank */
		return ways->rank;
	part = part_of(r, dst);
	return part == part_of(r, ways->rank) ? ways->rank : peer_in(r, ways->rank, part);
}
