/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hops.c - schedules from the ways of blocks. In a message they stand by source, then by
 * destination: many stand so where they are already. What comes stays where it comes to until it is
 * sent on, so a block is copied once for each message that it leaves with.
 */
#include "hops.h"

#include <stdlib.h>

static int compare(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int by_message(const void *x, const void *y)
{
	const struct qv_hop *a = x, *b = y;
	int c = compare(a->phase, b->phase);

	c = c ? c : compare(a->out, b->out);
	c = c ? c : compare(a->turn, b->turn);
	c = c ? c : compare(a->src, b->src);
	return c ? c : compare(a->dst, b->dst);
}

void qv_hops_add(struct qv_hops *h, uint32_t phase, uint32_t from, uint32_t to, uint32_t src,
		 uint32_t dst)
{
	const uint32_t me = h->b->rank, P = h->b->spec->ranks;
	const uint32_t peer = from == me ? to : from;

	if (h->n == h->room) {
		const size_t room = h->room * 2 + 64;
		struct qv_hop *grown = realloc(h->hops, room * sizeof(*grown));

		h->failed |= !grown;
		if (!grown)
			return;
		h->hops = grown;
		h->room = room;
	}
	h->hops[h->n++] = (struct qv_hop){.phase = phase,
					  .out = from == me,
					  .turn = (from == me ? to + P - me : me + P - from) % P,
					  .peer = peer,
					  .src = src,
					  .dst = h->gather ? 0 : dst,
					  .mine = to == me && dst == me};
}

/* A block of an allgather may be needed for many destinations. */
void qv_hops_shrink(struct qv_hops *h)
{
	size_t kept = 0;

	if (h->n)
		qsort(h->hops, h->n, sizeof(*h->hops), by_message);
	for (size_t i = 0; i < h->n; i++) {
		if (kept && !by_message(&h->hops[kept - 1], &h->hops[i]))
			h->hops[kept - 1].mine |= h->hops[i].mine;
		else
			h->hops[kept++] = h->hops[i];
	}
	h->n = kept;
}

/* Where blocks are. */

static int by_block(const void *x, const void *y)
{
	const struct qv_place *a = x, *b = y;
	const int c = compare(a->src, b->src);

	return c ? c : compare(a->dst, b->dst);
}

/* Where it belongs, if it is this rank's. */
static uint32_t home(const struct qv_hops *h, uint32_t src)
{
	return h->in_of ? h->in_of(h->context, src) : src;
}

/* The block of the contribution, or else the slot. */
static uint32_t find(const struct qv_hops *h, const struct qv_hop *hop, int *contribution)
{
	const struct qv_place key = {hop->src, hop->dst, 0};
	const struct qv_place *found;

	*contribution = hop->src == h->b->rank;
	if (*contribution && h->gather && !h->in_of) { /* it is among the others already */
		*contribution = 0;
		return hop->src;
	}
	if (*contribution && h->gather)
		return 0;
	if (*contribution)
		return h->out_of ? h->out_of(h->context, hop->dst) : hop->dst;
	found = bsearch(&key, h->places, h->known, sizeof(key), by_block);
	return found ? found->slot : QV_STEP_NONE; /* each came before it goes */
}

static void remember(struct qv_hops *h, const struct qv_hop *hop, uint32_t slot)
{
	h->places[h->places_n++] = (struct qv_place){hop->src, hop->dst, slot};
}

/* Messages. */

/* Blocks that follow each other: as many as begin at hop[0]. Scratch does not follow the work
 * vector, though its numbers do. */
static size_t run_of(const struct qv_hops *h, const struct qv_hop *hop, size_t n)
{
	int contribution, same;
	const uint32_t first = find(h, hop, &contribution);
	size_t k = 1;

	while (k < n && find(h, &hop[k], &same) == first + k && same == contribution &&
	       (contribution || first + k != h->b->s->blocks))
		k++;
	return k;
}

static void send(struct qv_hops *h, const struct qv_hop *hop, size_t n)
{
	int contribution;
	uint32_t first = find(h, hop, &contribution), after = QV_STEP_NONE, to;

	if (run_of(h, hop, n) == n) {
		qv_add_message(h->b, contribution ? QV_STEP_SEND_IN : QV_STEP_SEND, hop->peer,
			       first, (uint32_t)n);
		return;
	}
	first = to = qv_add_scratch(h->b, (uint32_t)n);
	for (size_t i = 0, k; i < n; i += k, to += (uint32_t)k) {
		uint32_t from = find(h, &hop[i], &contribution);

		k = run_of(h, &hop[i], n - i);
		after = qv_add_copy(h->b, contribution ? QV_STEP_COPY : QV_STEP_MOVE, from, to,
				    (uint32_t)k, after);
	}
	qv_add_send(h->b, hop->peer, first, (uint32_t)n, after);
}

/* How many blocks from hop[0] on stay and stand in the work vector as they do in the message. */
static size_t staying(const struct qv_hops *h, const struct qv_hop *hop, size_t n)
{
	size_t k = 0;

	while (k < n && hop[k].mine && home(h, hop[k].src) == home(h, hop[0].src) + k)
		k++;
	return k;
}

static void receive(struct qv_hops *h, const struct qv_hop *hop, size_t n)
{
	uint32_t slot, after;

	if (staying(h, hop, n) == n) {
		slot = home(h, hop->src);
		qv_add_receive(h->b, QV_STEP_STORE, hop->peer, slot, (uint32_t)n, QV_STEP_NONE);
		for (size_t i = 0; i < n; i++)
			remember(h, &hop[i], slot + (uint32_t)i);
		return;
	}
	slot = qv_add_scratch(h->b, (uint32_t)n);
	after = qv_add_receive(h->b, QV_STEP_STORE, hop->peer, slot, (uint32_t)n, QV_STEP_NONE);
	for (size_t i = 0, k; i < n; i += k) {
		k = staying(h, &hop[i], n - i);
		if (!k) {
			remember(h, &hop[i], slot + (uint32_t)i);
			k = 1;
			continue;
		}
		after = qv_add_copy(h->b, QV_STEP_MOVE, slot + (uint32_t)i, home(h, hop[i].src),
				    (uint32_t)k, after);
		/* Where an allgather sends them on from: there they stand side by side. */
		for (size_t j = i; j < i + k; j++)
			remember(h, &hop[j], home(h, hop[j].src));
	}
}

static void add_messages(struct qv_hops *h)
{
	for (size_t i = 0, k; i < h->n; i += k) {
		const struct qv_hop *hop = &h->hops[i];

		if (i && hop->phase >> 16 != hop[-1].phase >> 16) {
			qv_add_fence(h->b);
			/* All that came before is known now. */
			h->known = h->places_n;
			if (h->known)
				qsort(h->places, h->known, sizeof(*h->places), by_block);
		}
		for (k = 1; i + k < h->n; k++)
			if (hop[k].phase != hop->phase || hop[k].out != hop->out ||
			    hop[k].turn != hop->turn)
				break;
		(hop->out ? send : receive)(h, hop, k);
	}
}

void qv_hops_build(struct qv_hops *h)
{
	qv_hops_shrink(h);
	h->places = calloc(h->n + 1, sizeof(*h->places));
	if (h->failed || !h->places)
		h->b->failed = 1;
	else
		add_messages(h);
	free(h->places);
	free(h->hops);
}
