/* SPDX-License-Identifier: BSD-2-Clause */
/* choose.c - how long a plan takes, and which friends are worth it. */
#include <quiver/choose.h>

#include <stdlib.h>

#include "neighbor.h"

/* All times are from the beginning. Between two fences a rank sends one message after the other. Of a
 * plan of one rank, all others are one place more: what they send to it comes one after the other. */
struct timing {
	const struct qv_network *network;
	const struct qv_neighbor_plan *plan;
	double bytes;
	int gather;
	double *out;  /* by rank: when it has sent what it has to, or may send more */
	double *in;   /* by rank: how long it receives */
	double *last; /* by rank: when the last message has come */
	double *copy; /* by rank: how long it puts what has come where it belongs, between two
			 fences */
	double *end;  /* by rank: how long after `last` that takes of the last message */
	unsigned char *packed; /* by rank: it has put a message together since the last fence */
};

static double later(double a, double b)
{
	return a > b ? a : b;
}

static uint32_t place_of(const struct timing *t, uint32_t rank)
{
	const uint32_t place = rank - t->plan->first;

	return place < t->plan->own ? place : t->plan->own;
}

/* All ranks pass a fence. */
static void fence(struct timing *t)
{
	for (uint32_t r = 0; r <= t->plan->own; r++) {
		/* What comes while a rank waits is put away meanwhile. */
		t->out[r] = later(t->out[r] + t->copy[r], later(t->last[r] + t->end[r], t->in[r]));
		t->in[r] = t->last[r] = t->out[r];
		t->copy[r] = t->end[r] = 0;
		t->packed[r] = 0;
	}
}

/* So many blocks from one rank to another, some of which stay. To put them together is hidden
 * behind the message before, if there is one, but not to take them apart: who
 * sends takes nothing. */
static void message(struct timing *t, const struct qv_edge_hop *h, size_t blocks, size_t staying)
{
	const uint32_t from = place_of(t, h->from), to = place_of(t, h->to);
	const double bytes = (double)blocks * t->bytes;
	const double time = qv_network_seconds(t->network, bytes);
	const double apart = blocks > 1 ? (double)staying * t->bytes * t->network->gamma : 0;

	if (blocks > 1 && !t->packed[from]) {
		t->out[from] += bytes * t->network->gamma;
		t->packed[from] = 1;
	}
	t->out[from] += time;
	t->in[to] += time;
	t->copy[to] += apart;
	if (t->out[from] > t->last[to]) {
		t->last[to] = t->out[from];
		t->end[to] = apart;
	}
}

/* Of an allgather, one source's block for several destinations is one. */
static size_t blocks_of(const struct timing *t, const struct qv_edge_hop *h, size_t n)
{
	size_t blocks = n;

	for (size_t i = 1; i < n && t->gather; i++)
		for (size_t j = 0; j < i; j++)
			if (h[j].src == h[i].src) {
				blocks--;
				break;
			}
	return blocks;
}

static size_t staying_of(const struct qv_edge_hop *h, size_t n)
{
	size_t staying = 0;

	for (size_t i = 0; i < n; i++)
		staying += h[i].dst == h[i].to;
	return staying;
}

/* The messages of one rank in a phase, hops i to end - 1, to higher ranks first: so ranks do not
 * all send to the same one. */
static void send_all(struct timing *t, size_t begin, size_t end)
{
	const struct qv_edge_hop *h = t->plan->hops;

	for (int higher = 1; higher >= 0; higher--)
		for (size_t i = begin, k; i < end; i += k) {
			for (k = 1; i + k < end && h[i + k].to == h[i].to; k++)
				;
			if ((h[i].to > h[i].from) == higher)
				message(t, &h[i], blocks_of(t, &h[i], k), staying_of(&h[i], k));
		}
}

static double run(struct timing *t)
{
	const struct qv_edge_hop *h = t->plan->hops;
	const size_t n = t->plan->n;
	double longest = 0;

	for (size_t i = 0, k; i < n; i += k) {
		if (i && h[i].phase >> 16 != h[i - 1].phase >> 16)
			fence(t);
		for (k = 1; i + k < n; k++)
			if (h[i + k].phase != h[i].phase || h[i + k].from != h[i].from)
				break;
		send_all(t, i, i + k);
	}
	fence(t);
	for (uint32_t r = 0; r < t->plan->own; r++)
		longest = later(longest, t->out[r]);
	return longest;
}

int qv_neighbor_seconds(const struct qv_network *network, const struct qv_neighbor_plan *plan,
			enum qv_coll coll, double bytes, double *seconds)
{
	const size_t places = (size_t)plan->own + 1;
	struct timing t = {.network = network,
			   .plan = plan,
			   .bytes = bytes,
			   .gather = coll == QV_COLL_ALLGATHER};

	if (coll != QV_COLL_ALLGATHER && coll != QV_COLL_ALLTOALL)
		return QV_EINVAL;
	t.out = calloc(places, 5 * sizeof(*t.out));
	t.packed = calloc(places, 1);
	if (!t.out || !t.packed) {
		free(t.out);
		free(t.packed);
		return QV_ENOMEM;
	}
	t.in = t.out + places;
	t.last = t.in + places;
	t.copy = t.last + places;
	t.end = t.copy + places;
	*seconds = run(&t);
	free(t.out);
	free(t.packed);
	return QV_OK;
}

/* The fastest. */

struct race {
	const struct qv_network *network;
	const struct qv_neighbor_spec *spec;
	enum qv_coll coll;
	double bytes, seconds;
	struct qv_neighbor_plan *best;
};

/* It takes the lead if it takes less than that share of the best one's time. */
static int enter(struct race *race, uint32_t k, int cumulative, double share)
{
	struct qv_neighbor_spec spec = *race->spec;
	struct qv_neighbor_plan *plan = NULL;
	double seconds = 0;
	int rc;

	spec.k = k;
	spec.cumulative = cumulative;
	rc = qv_neighbor_plan(&spec, &plan);
	if (rc)
		return rc;
	rc = qv_neighbor_seconds(race->network, plan, race->coll, race->bytes, &seconds);
	if (!rc && (!race->best || seconds < share * race->seconds)) {
		qv_neighbor_free(race->best);
		race->best = plan;
		race->seconds = seconds;
		return QV_OK;
	}
	qv_neighbor_free(plan);
	return rc;
}

int qv_choose_neighbor(const struct qv_network *network, const struct qv_neighbor_spec *spec,
		       enum qv_coll coll, double bytes, double margin,
		       struct qv_neighbor_plan **plan, double *seconds)
{
	struct qv_neighbor_spec s;
	struct race race = {network, &s, coll, bytes, 0, NULL};
	int rc = qv_neighbor_read(&s, spec);

	if (!rc)
		rc = s.k > QV_MOST_FRIENDS ? QV_EINVAL : enter(&race, 0, 0, 1);
	for (uint32_t k = 2; k <= s.k && !rc; k++) {
		const int straight = !race.best->stats.groups;

		rc = enter(&race, k, 0, straight ? margin : 1);
		if (!rc && s.cumulative)
			rc = enter(&race, k, 1, !race.best->stats.groups ? margin : 1);
	}
	if (rc) {
		qv_neighbor_free(race.best);
		return rc;
	}
	*plan = race.best;
	if (seconds)
		*seconds = race.seconds;
	return QV_OK;
}
