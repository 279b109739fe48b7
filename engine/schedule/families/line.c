/* SPDX-License-Identifier: BSD-2-Clause */
/* line.c - ranks in a row: the ring and the linear pipeline. */
#include "engine/schedule/schedule.h"

/* Ring. */

void qv_build_ring(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank, down = (r + P - 1) % P, up = (r + 1) % P;

	/* Block r+1 goes first; in the end the own block is complete. */
	for (uint32_t i = 1; i < P; i++) {
		qv_add_send(b, down, (r + i) % P, 1, QV_STEP_NONE);
		qv_add_receive(b, QV_STEP_COMBINE, up, (r + i + 1) % P, 1, QV_STEP_NONE);
		qv_add_fence(b);
	}
	if (b->spec->coll == QV_COLL_REDUCE)
		qv_build_gather(b);
	if (b->spec->coll == QV_COLL_ALLREDUCE)
		qv_build_round_trip(b);
}

/* Pipeline. */

struct line {
	uint32_t down, up; /* next towards the end of the chain and next away from it */
	int is_end, is_start;
};

/* The chain ends at `end`; its other ranks follow upwards, so what is received is on the right. */
static struct line line_to(const struct qv_builder *b, uint32_t end)
{
	const uint32_t P = b->spec->ranks, v = (b->rank + P - end) % P;

	return (struct line){(b->rank + P - 1) % P, (b->rank + 1) % P, v == 0, v == P - 1};
}

/* The result of block i, which step `complete` has made at the end of the chain, to
 * who wants it. */
static void hand_on(struct qv_builder *b, const struct line *line, uint32_t end, uint32_t i,
		    uint32_t complete)
{
	const struct qv_schedule_spec *spec = b->spec;
	const uint32_t wants = spec->coll == QV_COLL_REDUCE ? spec->root : i;
	uint32_t got = complete;

	if (spec->coll == QV_COLL_ALLREDUCE) {
		if (!line->is_end)
			got = qv_add_receive(b, QV_STEP_STORE, line->down, i, 1, complete);
		if (!line->is_start)
			qv_add_send(b, line->up, i, 1, got);
	} else if (wants != end) {
		if (line->is_end)
			qv_add_send(b, wants, i, 1, complete);
		if (b->rank == wants)
			qv_add_receive(b, QV_STEP_STORE, end, i, 1, complete);
	}
}

void qv_build_pipeline(struct qv_builder *b)
{
	/* Only a chain that ends at rank 0 combines in order. */
	const uint32_t end = b->spec->ordered ? 0 : b->spec->root;
	const struct line line = line_to(b, end);

	for (uint32_t i = 0; i < b->s->blocks; i++) {
		uint32_t step = QV_STEP_NONE;

		if (!line.is_start)
			step = qv_add_receive(b, QV_STEP_COMBINE, line.up, i, 1, QV_STEP_NONE);
		if (!line.is_end)
			step = qv_add_send(b, line.down, i, 1, step);
		hand_on(b, &line, end, i, step);
	}
}
