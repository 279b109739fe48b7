/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_schedule_tree.c - binomial trees: reduce, and broadcast for the families that need one. */
#include "qv_schedule.h"

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

void qv_build_broadcast(struct qv_builder *b, uint32_t from)
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

void qv_build_binomial(struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;
	/* Counting from the root would change the order. */
	const uint32_t to = spec->ordered ? 0 : spec->root;

	reduce_to(b, to);
	qv_add_fence(b);
	if (spec->coll == QV_COLL_ALLREDUCE) {
		qv_build_broadcast(b, 0);
	} else if (spec->coll == QV_COLL_REDUCE && to != spec->root) {
		if (b->rank == to)
			qv_add_send(b, spec->root, 0, b->s->blocks, QV_STEP_NONE);
		if (b->rank == spec->root)
			qv_add_receive(b, QV_STEP_STORE, to, 0, b->s->blocks, QV_STEP_NONE);
	} else if (spec->coll == QV_COLL_REDUCE_SCATTER) {
		for (uint32_t r = 1; r < spec->ranks && !b->rank; r++)
			qv_add_send(b, r, r, 1, QV_STEP_NONE);
		if (b->rank)
			qv_add_receive(b, QV_STEP_STORE, 0, b->rank, 1, QV_STEP_NONE);
	}
}
