/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c - reduction and broadcast by trees, the binomial one and those for expected arrivals. */
#include "engine/schedule/schedule.h"

#include <stdlib.h>

/* Ranks counted from `from`, so that it is 0. */
static uint32_t counted(const struct qv_builder *b, uint32_t rank, uint32_t from)
{
	return (rank + b->spec->ranks - from) % b->spec->ranks;
}

static uint32_t uncounted(const struct qv_builder *b, uint32_t v, uint32_t from)
{
	return (v + from) % b->spec->ranks;
}

/* Each rank has the contributions of those above it, so the received ones are on the right. */
static void reduce_to(struct qv_builder *b, uint32_t root)
{
	const uint32_t P = b->spec->ranks, all = b->s->blocks, v = counted(b, b->rank, root);
	uint32_t last = QV_STEP_NONE;

	for (uint32_t k = 1; k < P; k *= 2) {
		if (v & k) {
			qv_add_send(b, uncounted(b, v - k, root), 0, all, last);
			return;
		}
		if (v + k < P)
			last = qv_add_receive(b, QV_STEP_COMBINE, uncounted(b, v + k, root), 0, all,
					      last);
	}
}

static void broadcast(struct qv_builder *b, uint32_t from)
{
	const uint32_t P = b->spec->ranks, all = b->s->blocks, v = counted(b, b->rank, from);
	uint32_t got = QV_STEP_NONE, k = 1;

	for (; k < P && !(v & k); k *= 2)
		;
	if (v)
		got = qv_add_receive(b, QV_STEP_STORE, uncounted(b, v - k, from), 0, all, got);
	for (k /= 2; k; k /= 2)
		if (v + k < P)
			qv_add_send(b, uncounted(b, v + k, from), 0, all, got);
}

void qv_build_delivery(struct qv_builder *b, uint32_t from)
{
	const struct qv_schedule_spec *spec = b->spec;

	qv_add_fence(b);
	if (spec->coll == QV_COLL_ALLREDUCE || spec->coll == QV_COLL_BROADCAST) {
		broadcast(b, from);
	} else if (spec->coll == QV_COLL_REDUCE && from != spec->root) {
		if (b->rank == from)
			qv_add_send(b, spec->root, 0, b->s->blocks, QV_STEP_NONE);
		if (b->rank == spec->root)
			qv_add_receive(b, QV_STEP_STORE, from, 0, b->s->blocks, QV_STEP_NONE);
	} else if (spec->coll == QV_COLL_REDUCE_SCATTER) {
		for (uint32_t r = 0; r < spec->ranks && b->rank == from; r++)
			if (r != from)
				qv_add_send(b, r, r, 1, QV_STEP_NONE);
		if (b->rank != from)
			qv_add_receive(b, QV_STEP_STORE, from, b->rank, 1, QV_STEP_NONE);
	}
}

void qv_build_binomial(struct qv_builder *b)
{
	/* Counting from the root would change the order. */
	const uint32_t to = b->spec->ordered ? 0 : b->spec->root;

	reduce_to(b, to);
	qv_build_delivery(b, to);
}

/* Expected arrivals. */

/* A rank, and when it comes or is free again; a heap has the first one on top. */
struct ready {
	uint64_t time;
	uint32_t rank;
};

static int before(const struct ready *a, const struct ready *b)
{
	return a->time != b->time ? a->time < b->time : a->rank < b->rank;
}

static void push(struct ready *heap, uint32_t n, struct ready new)
{
	uint32_t at = n;

	for (; at && before(&new, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = new;
}

static struct ready pop(struct ready *heap, uint32_t n)
{
	const struct ready top = heap[0], last = heap[n - 1];
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < n - 1; at = child) {
		if (child + 1 < n - 1 && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return top;
}

/* Again and again the two that are ready first combine; the root stays to the end. */
static void pair_off(struct qv_builder *b, struct ready *heap, uint32_t n)
{
	const struct qv_schedule_spec *spec = b->spec;
	const uint64_t round = spec->round ? spec->round : 1;
	uint32_t last = QV_STEP_NONE;

	while (n > 1) {
		struct ready to = pop(heap, n), from = pop(heap, n - 1);
		const uint64_t time = from.time; /* the later of the two */

		if (from.rank == spec->root) {
			from.rank = to.rank;
			to.rank = spec->root;
		}
		if (from.rank == b->rank) {
			qv_add_send(b, to.rank, 0, b->s->blocks, last);
			return;
		}
		if (to.rank == b->rank)
			last = qv_add_receive(b, QV_STEP_COMBINE, from.rank, 0, b->s->blocks, last);
		push(heap, n - 2, (struct ready){time + round, to.rank});
		n--;
	}
}

/* Again and again the rank that has the data and is free first sends them to the one that comes first. So
 * whoever comes last has nobody behind it. */
static void hand_on(struct qv_builder *b, struct ready *without, struct ready *with)
{
	const uint32_t P = b->spec->ranks, all = b->s->blocks;
	const uint64_t round = b->spec->round ? b->spec->round : 1;
	uint32_t got = QV_STEP_NONE;

	for (uint32_t n = 1; n < P; n++) {
		struct ready from = pop(with, n), to = pop(without, P - n);

		if (to.rank == b->rank)
			got = qv_add_receive(b, QV_STEP_STORE, from.rank, 0, all, got);
		if (from.rank == b->rank)
			qv_add_send(b, to.rank, 0, all, got);
		from.time = to.time = (from.time > to.time ? from.time : to.time) + round;
		push(with, n - 1, from);
		push(with, n, to);
	}
}

void qv_build_clairvoyant(struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;
	const int down = spec->coll == QV_COLL_BROADCAST;
	struct ready *heap = malloc(2 * spec->ranks * sizeof(*heap)), *with;
	uint32_t n = 0;

	if (!heap) {
		b->failed = 1;
		return;
	}
	with = heap + spec->ranks;
	for (uint32_t r = 0; r < spec->ranks; r++) {
		const struct ready comes = {spec->arrive ? spec->arrive[r] : 0, r};

		if (down && r == spec->root)
			with[0] = comes;
		else
			push(heap, n++, comes);
	}
	if (down)
		hand_on(b, heap, with);
	else
		pair_off(b, heap, n);
	free(heap);
	if (!down)
		qv_build_delivery(b, spec->root);
}
