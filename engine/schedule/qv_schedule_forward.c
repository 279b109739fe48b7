/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_schedule_forward.c - alltoall and allgather whose blocks are forwarded by other ranks, so that
 * there are fewer and longer messages. The route of every block is followed, and what touches this
 * rank is noted: all blocks that it sends to, or gets from, a rank in one phase are one message.
 * In a message they stand by source, then by destination: many stand so where they are already.
 */
#include "qv_route.h"
#include "qv_schedule.h"

#include <stdlib.h>

/* A block that leaves or comes. */
struct hop {
	uint32_t phase;
	uint32_t out;  /* 0: it comes; these are first */
	uint32_t turn; /* how far away the peer is, so that not all go to the same one at once */
	uint32_t peer, dst, src;
};

/* Where a block is that came from elsewhere. */
struct place {
	uint32_t dst, src, slot;
};

struct forward {
	struct qv_builder *b;
	struct qv_route route;
	int gather; /* an allgather: a block goes to all, and each rank needs it once */
	struct hop *hops;
	struct place *places;
	size_t n, room, places_n;
	int failed;
};

/* ---- the routes --------------------------------------------------------------------------------
 */
static void note(struct forward *f, const struct hop *hop)
{
	if (f->n == f->room) {
		const size_t room = f->room * 2 + 64;
		struct hop *grown = realloc(f->hops, room * sizeof(*grown));

		f->failed |= !grown;
		if (!grown)
			return;
		f->hops = grown;
		f->room = room;
	}
	f->hops[f->n++] = *hop;
}

static void follow(struct forward *f, uint32_t src, uint32_t dst)
{
	const uint32_t me = f->b->rank, P = f->route.ranks;
	uint32_t at = src;

	for (uint32_t phase = 0; phase < f->route.phases && at != dst; phase++) {
		const uint32_t to = qv_route_hop(&f->route, phase, at, dst);
		const uint32_t peer = at == me ? to : at;

		if (to != at && (at == me || to == me))
			note(f, &(struct hop){.phase = phase,
					      .out = at == me,
					      .turn = (at == me ? to + P - me : me + P - at) % P,
					      .peer = peer,
					      .dst = f->gather ? 0 : dst,
					      .src = src});
		at = to;
	}
}

static int compare(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int by_message(const void *x, const void *y)
{
	const struct hop *a = x, *b = y;
	int c = compare(a->phase, b->phase);

	c = c ? c : compare(a->out, b->out);
	c = c ? c : compare(a->turn, b->turn);
	c = c ? c : compare(a->src, b->src);
	return c ? c : compare(a->dst, b->dst);
}

/* A block of an allgather may be needed for many destinations. */
static void drop_doubles(struct forward *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++)
		if (!kept || by_message(&f->hops[kept - 1], &f->hops[i]))
			f->hops[kept++] = f->hops[i];
	f->n = kept;
}

static void follow_all(struct forward *f)
{
	const uint32_t P = f->route.ranks;

	for (uint32_t src = 0; src < P && !f->failed; src++) {
		for (uint32_t dst = 0; dst < P; dst++)
			follow(f, src, dst);
		if (f->n > f->room / 2 && f->gather) { /* before it grows */
			qsort(f->hops, f->n, sizeof(*f->hops), by_message);
			drop_doubles(f);
		}
	}
	if (f->n)
		qsort(f->hops, f->n, sizeof(*f->hops), by_message);
	drop_doubles(f);
}

/* ---- where blocks are --------------------------------------------------------------------------
 */
static int by_block(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	const int c = compare(a->dst, b->dst);

	return c ? c : compare(a->src, b->src);
}

/* The block of the contribution, or else the slot. */
static uint32_t find(const struct forward *f, const struct hop *hop, int *contribution)
{
	const struct place key = {hop->dst, hop->src, 0};
	const struct place *found;

	*contribution = !f->gather && hop->src == f->b->rank;
	if (*contribution)
		return hop->dst;
	if (f->gather) /* blocks are kept where they belong */
		return hop->src;
	found = bsearch(&key, f->places, f->places_n, sizeof(key), by_block);
	return found ? found->slot : QV_STEP_NONE; /* each came before it goes */
}

/* Whether a block that comes is this rank's own, and where it belongs then. */
static int stays(const struct forward *f, const struct hop *hop)
{
	return f->gather || hop->dst == f->b->rank;
}

/* ---- messages ----------------------------------------------------------------------------------
 */
/* Blocks that follow each other: as many as begin at hop[0]. */
static size_t run_of(const struct forward *f, const struct hop *hop, size_t n)
{
	int contribution, same;
	const uint32_t first = find(f, hop, &contribution);
	size_t k = 1;

	while (k < n && find(f, &hop[k], &same) == first + k && same == contribution)
		k++;
	return k;
}

static void send(struct forward *f, const struct hop *hop, size_t n)
{
	int contribution;
	uint32_t first = find(f, hop, &contribution), after = QV_STEP_NONE, to;

	if (run_of(f, hop, n) == n) {
		qv_add_range(f->b, contribution ? QV_STEP_SEND_IN : QV_STEP_SEND, hop->peer, first,
			     (uint32_t)n);
		return;
	}
	first = to = qv_add_scratch(f->b, (uint32_t)n);
	for (size_t i = 0, k; i < n; i += k, to += (uint32_t)k) {
		uint32_t from = find(f, &hop[i], &contribution);

		k = run_of(f, &hop[i], n - i);
		after = qv_add_copy(f->b, contribution ? QV_STEP_COPY : QV_STEP_MOVE, from, to,
				    (uint32_t)k, after);
	}
	qv_add_send(f->b, hop->peer, first, (uint32_t)n, after);
}

/* How many blocks from hop[0] on stay and stand in the work vector as they do in the message. */
static size_t staying(const struct forward *f, const struct hop *hop, size_t n)
{
	size_t k = 0;

	while (k < n && stays(f, &hop[k]) && hop[k].src == hop[0].src + k)
		k++;
	return k;
}

static void receive(struct forward *f, const struct hop *hop, size_t n)
{
	uint32_t slot, after;

	if (staying(f, hop, n) == n) {
		qv_add_receive(f->b, QV_STEP_STORE, hop->peer, hop->src, (uint32_t)n, QV_STEP_NONE);
		return;
	}
	slot = qv_add_scratch(f->b, (uint32_t)n);
	after = qv_add_receive(f->b, QV_STEP_STORE, hop->peer, slot, (uint32_t)n, QV_STEP_NONE);
	for (size_t i = 0, k; i < n; i += k) {
		k = staying(f, &hop[i], n - i);
		if (k) {
			after = qv_add_copy(f->b, QV_STEP_MOVE, slot + (uint32_t)i, hop[i].src,
					    (uint32_t)k, after);
			continue;
		}
		f->places[f->places_n++] =
			(struct place){hop[i].dst, hop[i].src, slot + (uint32_t)i};
		k = 1;
	}
}

static void add_messages(struct forward *f)
{
	size_t i = 0, k;

	for (; i < f->n; i += k) {
		const struct hop *hop = &f->hops[i];

		if (i && hop->phase != hop[-1].phase)
			qv_add_fence(f->b);
		/* All that came before is known now. */
		if (f->places_n && hop->out && (!i || !hop[-1].out || hop->phase != hop[-1].phase))
			qsort(f->places, f->places_n, sizeof(*f->places), by_block);
		for (k = 1; i + k < f->n; k++)
			if (hop[k].phase != hop->phase || hop[k].out != hop->out ||
			    hop[k].turn != hop->turn)
				break;
		(hop->out ? send : receive)(f, hop, k);
	}
}

void qv_build_forward(struct qv_builder *b)
{
	struct forward f = {.b = b, .gather = b->spec->coll == QV_COLL_ALLGATHER};

	qv_route_open(&f.route, b->spec->algorithm, b->spec->ranks, b->spec->k);
	/* From near to far, what a rank has of an allgather is in one place. */
	f.route.low_first = f.gather && b->spec->algorithm == QV_ALG_HYPERCUBE;
	b->s->whole = 1;
	follow_all(&f);
	f.places = calloc(f.n + 1, sizeof(*f.places));
	if (f.failed || !f.places)
		b->failed = 1;
	else
		add_messages(&f);
	free(f.places);
	free(f.hops);
}
