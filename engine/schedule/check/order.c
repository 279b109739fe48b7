/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c - no two steps of a rank touch a block in an order that
 * is left open. */
#include "engine/schedule/schedule.h"

static int overlap(uint32_t a, uint32_t a_blocks, uint32_t b, uint32_t b_blocks)
{
	return a < b + b_blocks && b < a + a_blocks;
}

/* Whether one writes what the other reads or writes. Nothing writes to a contribution. */
static int touch(const struct qv_step *a, const struct qv_step *b)
{
	const int a_writes = !qv_is_send(a->kind), b_writes = !qv_is_send(b->kind);

	if (a->kind == QV_STEP_SEND_IN || b->kind == QV_STEP_SEND_IN)
		return 0;
	if ((a->kind == QV_STEP_MOVE && b_writes &&
	     overlap(a->from, a->blocks, b->first, b->blocks)) ||
	    (b->kind == QV_STEP_MOVE && a_writes &&
	     overlap(b->from, b->blocks, a->first, a->blocks)))
		return 1;
	return (a_writes || b_writes) && overlap(a->first, a->blocks, b->first, b->blocks);
}

/* All in the work vector, or all in scratch. */
static int in_range(const struct qv_schedule *s, uint32_t first, uint32_t blocks)
{
	const uint32_t end = first < s->blocks ? s->blocks : s->blocks + s->scratch;

	return blocks <= end && first <= end - blocks;
}

static int waits_for(const struct qv_schedule *s, uint32_t later, uint32_t earlier)
{
	while (later != QV_STEP_NONE && later > earlier)
		later = s->steps[later].after;
	return later == earlier;
}

uint32_t qv_check_order(const struct qv_schedule *s, uint32_t *other)
{
	uint32_t begin = 0;

	*other = QV_STEP_NONE;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct qv_step *step = &s->steps[i];

		if ((step->kind != QV_STEP_SEND_IN && !in_range(s, step->first, step->blocks)) ||
		    (step->kind == QV_STEP_MOVE && !in_range(s, step->from, step->blocks)) ||
		    (step->after != QV_STEP_NONE && step->after >= i))
			return i;
		if (step->kind == QV_STEP_FENCE)
			begin = i + 1;
		for (uint32_t j = begin; j < i; j++) {
			if (!touch(&s->steps[j], step) || waits_for(s, i, j))
				continue;
			*other = j;
			return i;
		}
	}
	return QV_STEP_NONE;
}
