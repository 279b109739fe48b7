/* SPDX-License-Identifier: BSD-2-Clause */
/* choose_way.c - how long a sparse exchange takes by each way, and the fastest of them. */
#include <quiver/choose.h>

#include <math.h>

#include "exchange.h"

struct model {
	const struct qv_network *network;
	double messages; /* of users that a rank has, be they its own or others' */
	double record;   /* bytes of one of them in a bundle */
};

/* One that is long goes behind its head, in pieces. */
static double bundle(const struct model *x, double bytes)
{
	const double limit = 1 << 20;
	double time, pieces;

	if (bytes <= QV_SHORT_BUNDLE)
		return qv_network_seconds(x->network, bytes);
	pieces = (double)(uint64_t)(bytes / limit);
	time = qv_network_seconds(x->network, sizeof(struct qv_bundle_head)) +
	       pieces * qv_network_seconds(x->network, limit);
	bytes -= pieces * limit;
	return time + (bytes > 0 ? qv_network_seconds(x->network, bytes) : 0);
}

/* A phase in which this share of all messages leaves, to so many peers alike. */
static double phase(const struct model *x, double peers, double share)
{
	const double bytes = share * x->messages * x->record;

	if (peers < 1)
		return 0;
	return peers * bundle(x, sizeof(struct qv_bundle_head) + bytes / peers) +
	       bytes * x->network->gamma;
}

static double crystal(const struct model *x, uint32_t ranks, uint32_t radix)
{
	double time = 0;

	for (uint32_t n = ranks; n > 1;) {
		const uint32_t parts = radix < n ? radix : n;

		time += phase(x, parts - 1.0, (parts - 1.0) / parts);
		n = n / parts + (n % parts > 0);
	}
	return time;
}

static double mesh(const struct model *x, enum qv_algorithm algorithm, uint32_t ranks)
{
	struct qv_route r;
	double time, side;

	qv_route_open(&r, algorithm, ranks, 0);
	side = r.side;
	time = phase(x, side - 1, (side - 1) / side);
	if (algorithm == QV_ALG_MESH3)
		time *= 2;
	return time + phase(x, r.last - 1.0, (r.last - 1.0) / r.last);
}

static double hypercube(const struct model *x, uint32_t ranks)
{
	const uint32_t bits = qv_log2(ranks);
	struct model cube = *x;

	cube.messages *= (double)ranks / (double)(1u << bits);
	return bits * phase(&cube, 1, 0.5) + (ranks > 1u << bits ? 2 * phase(x, 1, 1) : 0);
}

double qv_way_seconds(const struct qv_network *network, enum qv_way way, uint32_t radix,
		      const struct qv_traffic *traffic)
{
	const uint32_t P = traffic->ranks;
	const struct model x = {network, traffic->degree,
				sizeof(struct qv_record_head) +
					(double)(((uint64_t)traffic->bytes + 7) / 8 * 8)};

	if (P < 2)
		return 0;
	switch (way) {
	case QV_WAY_CRYSTAL: return crystal(&x, P, radix ? radix : 2);
	case QV_WAY_MESH2: return mesh(&x, QV_ALG_MESH2, P);
	case QV_WAY_MESH3: return mesh(&x, QV_ALG_MESH3, P);
	case QV_WAY_HYPERCUBE: return hypercube(&x, P);
	default: return phase(&x, P - 1.0, 1);
	}
}

double qv_straight_seconds(const struct qv_network *network, const struct qv_traffic *traffic)
{
	return traffic->degree * qv_network_seconds(network, traffic->bytes);
}

static void enter(const struct qv_network *network, const struct qv_traffic *traffic,
		  enum qv_way way, uint32_t radix, struct qv_way_choice *best)
{
	const double seconds = qv_way_seconds(network, way, radix, traffic);

	if (seconds < best->seconds)
		*best = (struct qv_way_choice){.way = way, .radix = radix, .seconds = seconds};
}

int qv_choose_way(const struct qv_network *network, const struct qv_traffic *traffic, double margin,
		  struct qv_way_choice *choice)
{
	static const uint32_t radices[] = {2, 3, 4, 6, 8, 12, 16, 32};
	struct qv_way_choice best;
	double straight;

	if (!traffic->ranks || !isfinite(traffic->degree) || !isfinite(traffic->bytes) ||
	    !(margin >= 0) || traffic->degree < 0 || traffic->bytes < 0)
		return QV_EINVAL;
	straight = qv_straight_seconds(network, traffic);
	best = (struct qv_way_choice){.way = QV_WAY_DIRECT, .straight = 1};
	best.seconds = margin * straight;
	for (size_t i = 0; i < sizeof(radices) / sizeof(radices[0]); i++)
		if (radices[i] <= traffic->ranks)
			enter(network, traffic, QV_WAY_CRYSTAL, radices[i], &best);
	enter(network, traffic, QV_WAY_MESH2, 0, &best);
	enter(network, traffic, QV_WAY_MESH3, 0, &best);
	enter(network, traffic, QV_WAY_HYPERCUBE, 0, &best);
	if (best.straight)
		best.seconds = straight;
	*choice = best;
	return QV_OK;
}
