/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - how long collectives take if all ranks begin at once, as formulas. */
#include "engine/schedule/families/route.h"
#include "engine/schedule/schedule.h"
#include "select.h"

#define MOST_SEGMENTS 128
#define LEAST_SEGMENT 1024 /* bytes */
#define MOST_FACTORS  32

struct model {
	const struct qv_network *network;
	double alpha, gamma;
	double P, n; /* ranks, and rounds of a tree */
	double m;    /* bytes */
	double N;    /* segments */
	enum qv_coll coll;
};

/* A message, and a message that is combined. */
static double moved(const struct model *x, double bytes)
{
	return qv_network_seconds(x->network, bytes);
}

static double reduced(const struct model *x, double bytes)
{
	return moved(x, bytes) + bytes * x->gamma;
}

static double rounds_of(uint32_t ranks)
{
	double n = 0;

	for (uint64_t reached = 1; reached < ranks; reached *= 2)
		n++;
	return n;
}

/* Messages that the rank at the top of a tree of units gets, or sends, one after the other. */
static double ports(const struct model *x)
{
	double messages = 0;

	for (uint64_t left = (uint64_t)x->P; left > 1; left = (left - 1) / QV_UNIT_WAYS + 1)
		messages += (double)(left < QV_UNIT_WAYS ? left : QV_UNIT_WAYS) - 1;
	return messages;
}

/* When a rank of a binary tree has the first segment, in messages: rank u - 1 from the root is a child of
 * u/2 - 1, the second one where u is odd, and the second one waits for two messages. */
static uint32_t waits(uint32_t u)
{
	return qv_log2(u) + (uint32_t)__builtin_popcount(u) - 1;
}

/* The same of the rank that waits longest: among all up to P it has the most ones for its length. */
static uint32_t binary_depth(uint32_t P)
{
	uint32_t most = waits(P);

	for (uint64_t bit = 1; bit <= P; bit *= 2)
		if (P & bit && P > 1) {
			const uint32_t u = (P & ~(uint32_t)bit) | ((uint32_t)bit - 1);

			most = waits(u) > most ? waits(u) : most;
		}
	return most;
}

/* From the rank that has the whole result. */
static double delivery(const struct model *x)
{
	if (x->coll == QV_COLL_ALLREDUCE)
		return x->n * moved(x, x->m);
	if (x->coll == QV_COLL_REDUCE_SCATTER)
		return (x->P - 1) * moved(x, x->m / x->P);
	return 0;
}

/* Messages with all blocks of subtrees. */
static double gathered(const struct model *x)
{
	double time = 0;

	for (double have = 1; have < x->P; have *= 2)
		time += moved(x, (have < x->P - have ? have : x->P - have) * x->m / x->P);
	return time;
}

static double ring(const struct model *x)
{
	const double around = (x->P - 1) * reduced(x, x->m / x->P);

	if (x->coll == QV_COLL_REDUCE)
		return around + gathered(x);
	if (x->coll == QV_COLL_ALLREDUCE)
		return around + (x->P - 1) * moved(x, x->m / x->P);
	return around;
}

static double pipeline(const struct model *x)
{
	const double there = (x->P - 2 + x->N) * reduced(x, x->m / x->N);

	if (x->coll == QV_COLL_ALLREDUCE)
		return there + (x->P - 2 + x->N) * moved(x, x->m / x->N);
	return there + (x->coll == QV_COLL_REDUCE_SCATTER ? moved(x, x->m / x->P) : 0);
}

/* Groups of k[0], k[1], ..., and a fold before them. */
static double exchange(const struct model *x, const uint32_t *k, size_t n)
{
	double members = 1, time = 0, part = x->m;

	for (size_t i = 0; i < n; i++) {
		members *= k[i];
		part /= k[i];
		time += (k[i] - 1) * (x->coll == QV_COLL_REDUCE_SCATTER
					      ? reduced(x, part)
					      : reduced(x, part) + moved(x, part));
	}
	if (members < x->P)
		time += reduced(x, x->m);
	if (members < x->P && x->coll != QV_COLL_REDUCE_SCATTER)
		time += moved(x, x->m);
	if (n > 1 && x->coll == QV_COLL_REDUCE_SCATTER)
		time += moved(x, x->m / x->P); /* to the owner */
	return time;
}

static double groups(const struct model *x, enum qv_algorithm algorithm)
{
	const uint32_t P = (uint32_t)x->P;
	uint32_t k[MOST_FACTORS];
	size_t n = 0;

	if (algorithm == QV_ALG_DIRECT)
		k[n++] = P;
	else if (algorithm == QV_ALG_RADIX)
		n = qv_factors(P, k);
	else
		for (uint32_t two = 2; two <= P; two *= 2)
			k[n++] = 2;
	return exchange(x, k, n);
}

/* An exscan is a shift, and a scan of one rank less. */
static double scan(const struct model *x, enum qv_algorithm algorithm)
{
	const int shifts = x->coll == QV_COLL_EXSCAN;
	const double members = x->P - shifts, shift = shifts * x->N * moved(x, x->m / x->N);
	double rounds = 1, tree = 2; /* up the largest tree that is full, down again */

	if (members < 2)
		return shift;
	if (algorithm == QV_ALG_PIPELINE)
		return shift + (members - 2 + x->N) * reduced(x, x->m / x->N);
	for (; 2 * tree <= members; tree *= 2)
		rounds += 2;
	return shift + (rounds + (members >= 1.5 * tree)) * reduced(x, x->m);
}

static double reduction(const struct model *x, enum qv_algorithm algorithm)
{
	if (qv_is_scan(x->coll))
		return scan(x, algorithm);
	switch (algorithm) {
	case QV_ALG_BINOMIAL:
	case QV_ALG_REDIRECT: /* at best */
	case QV_ALG_CLAIRVOYANT: return x->n * reduced(x, x->m) + delivery(x);
	case QV_ALG_UNIT:
		return ports(x) *
		       (reduced(x, x->m) + (x->coll == QV_COLL_ALLREDUCE ? moved(x, x->m) : 0));
	case QV_ALG_SEGMENTED: return (x->n + x->N - 1) * reduced(x, x->m / x->N) + delivery(x);
	case QV_ALG_RING: return ring(x);
	case QV_ALG_PIPELINE: return pipeline(x);
	default: return groups(x, algorithm);
	}
}

/* One phase of blocks that are forwarded: to so many peers, so many blocks each. What is packed
 * or unpacked in one message is hidden behind the next, where there is one. */
static double phase(const struct model *x, double peers, double blocks)
{
	const double bytes = blocks * x->m / x->P;

	return peers < 1 ? 0
			 : peers * moved(x, bytes) +
				   (x->coll == QV_COLL_ALLTOALL ? bytes * x->gamma : 0);
}

static double mesh(const struct model *x, enum qv_algorithm algorithm)
{
	const int all = x->coll == QV_COLL_ALLTOALL;
	struct qv_route r;
	double side, last, peers;

	qv_route_open(&r, algorithm, (uint32_t)x->P, 0);
	side = r.side;
	last = r.last;
	/* Who has a part of a hole gets one more. */
	peers = side - (side * last * (algorithm == QV_ALG_MESH2 ? 1 : side) > x->P ? 0 : 1);
	if (algorithm == QV_ALG_MESH2)
		return phase(x, peers, all ? last : 1) + phase(x, last - 1, side);
	return phase(x, peers, all ? side * last : 1) + phase(x, peers, all ? side * last : side) +
	       phase(x, last - 1, side * side);
}

static double cube(const struct model *x, enum qv_algorithm algorithm)
{
	const int all = x->coll == QV_COLL_ALLTOALL;
	double time = 0, members, direct, held;
	struct qv_route r;

	qv_route_open(&r, algorithm, (uint32_t)x->P, 0);
	members = (double)(1u << r.bits);
	direct = (double)(1u << r.direct);
	held = x->P / members; /* with those of ranks that fold */
	if (members < x->P)
		time = phase(x, 1, all ? x->P : 1) + phase(x, 1, x->P - 1) +
		       (all ? 0 : x->m * x->gamma);
	for (uint32_t i = 0; i < r.bits - r.direct; i++) {
		time += phase(x, 1, held * (all ? x->P / 2 : 1));
		held *= all ? 1 : 2;
	}
	return time + phase(x, direct - 1, all ? x->P / direct * held : held);
}

static double movement(const struct model *x, enum qv_algorithm algorithm)
{
	const double one_by_one = (x->P - 1) * moved(x, x->m / x->P);

	if (algorithm >= QV_ALG_MESH2 && algorithm <= QV_ALG_HYBRID &&
	    x->P < (algorithm == QV_ALG_MESH3 ? 4 : 3))
		return one_by_one;
	if (algorithm == QV_ALG_PREFIX)
		return (double)((UINT64_C(1) << (unsigned int)x->n) - 1) * moved(x, x->m / x->P);
	if (algorithm == QV_ALG_MESH2 || algorithm == QV_ALG_MESH3)
		return mesh(x, algorithm);
	if (algorithm == QV_ALG_HYPERCUBE || algorithm == QV_ALG_HYBRID)
		return cube(x, algorithm);
	switch (x->coll) {
	case QV_COLL_BARRIER:
		if (algorithm == QV_ALG_UNIT)
			return 2 * ports(x) * x->alpha;
		return (algorithm == QV_ALG_BINOMIAL ? 2 : 1) * x->n * x->alpha;
	case QV_COLL_BROADCAST:
		if (algorithm == QV_ALG_BINOMIAL || algorithm == QV_ALG_CLAIRVOYANT)
			return x->n * moved(x, x->m);
		if (algorithm == QV_ALG_UNIT)
			return ports(x) * moved(x, x->m);
		if (algorithm == QV_ALG_PIPELINE)
			return (x->P - 2 + x->N) * moved(x, x->m / x->N);
		if (algorithm == QV_ALG_BINARY)
			return (binary_depth((uint32_t)x->P) + (x->P > 2 ? 2 : 1) * (x->N - 1)) *
			       moved(x, x->m / x->N);
		return gathered(x) + one_by_one;
	case QV_COLL_GATHER:
	case QV_COLL_SCATTER: return algorithm == QV_ALG_BINOMIAL ? gathered(x) : one_by_one;
	case QV_COLL_ALLGATHER:
		/* Blocks that pass the last rank go in a second message. */
		return algorithm == QV_ALG_DISSEMINATION ? gathered(x) + (x->n - 1) * x->alpha
							 : one_by_one;
	default: return one_by_one;
	}
}

double qv_model_seconds(const struct qv_network *network, enum qv_coll coll,
			enum qv_algorithm algorithm, uint32_t ranks, double bytes,
			uint32_t segments)
{
	struct model x = {.network = network, .alpha = network->alpha, .gamma = network->gamma};

	if (ranks < 2)
		return 0;
	x.P = ranks;
	x.n = rounds_of(ranks);
	x.m = bytes;
	x.N = coll == QV_COLL_REDUCE_SCATTER ? ranks : segments ? segments : 1;
	x.coll = coll;
	return qv_combines(coll) ? reduction(&x, algorithm) : movement(&x, algorithm);
}

uint32_t qv_model_segments(const struct qv_network *network, enum qv_algorithm algorithm,
			   uint32_t ranks, double bytes)
{
	const double per_byte = network->beta + network->gamma;
	/* Rounds of all segments until the last rank has work; the square of the number. */
	double fill, best;
	uint32_t N = 1;

	switch (algorithm) {
	case QV_ALG_PIPELINE: fill = ranks - 2.0; break;
	case QV_ALG_SEGMENTED: fill = rounds_of(ranks) - 1; break;
	case QV_ALG_BINARY: fill = binary_depth(ranks) / 2.0 - 1; break; /* two messages each */
	default: return 1;
	}
	best = fill * bytes * per_byte / network->alpha;
	while (N < MOST_SEGMENTS && 2.0 * N * LEAST_SEGMENT <= bytes && 2.0 * N * N <= best)
		N *= 2;
	return N;
}
