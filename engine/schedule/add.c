/* SPDX-License-Identifier: BSD-2-Clause */
/* add.c - steps added to a schedule that is being built. */
#include "schedule.h"

#include <stdlib.h>

static struct qv_step *new_step(struct qv_builder *b)
{
	struct qv_schedule *s = b->s;
	struct qv_step *grown;

	if (b->failed)
		return NULL;
	if (s->n == s->room) {
		grown = realloc(s->steps, (s->room * 2 + 16) * sizeof(*grown));
		b->failed = !grown;
		if (!grown)
			return NULL;
		s->steps = grown;
		s->room = s->room * 2 + 16;
	}
	return &s->steps[s->n++];
}

static uint32_t add(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
		    uint32_t blocks, uint32_t after)
{
	struct qv_step *step = new_step(b);

	if (!step)
		return QV_STEP_NONE;
	*step = (struct qv_step){kind, peer, 0, first, blocks, after, first};
	if (qv_is_send(kind))
		step->tag = b->sent[peer]++;
	else if (qv_is_receive(kind))
		step->tag = b->received[peer]++;
	return (uint32_t)(b->s->n - 1);
}

uint32_t qv_add_copy(struct qv_builder *b, enum qv_step_kind kind, uint32_t from, uint32_t first,
		     uint32_t blocks, uint32_t after)
{
	const uint32_t number = add(b, kind, 0, first, blocks, after);

	if (number != QV_STEP_NONE)
		b->s->steps[number].from = from;
	return number;
}

uint32_t qv_add_scratch(struct qv_builder *b, uint32_t blocks)
{
	const uint32_t first = b->s->blocks + b->s->scratch;

	b->s->scratch += blocks;
	b->failed |= b->s->scratch >= UINT32_MAX / 2;
	return first;
}

uint32_t qv_add_send(struct qv_builder *b, uint32_t peer, uint32_t first, uint32_t blocks,
		     uint32_t after)
{
	return blocks ? add(b, QV_STEP_SEND, peer, first, blocks, after) : QV_STEP_NONE;
}

uint32_t qv_add_receive(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
			uint32_t blocks, uint32_t after)
{
	return blocks ? add(b, kind, peer, first, blocks, after) : QV_STEP_NONE;
}

void qv_add_range(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t low,
		  uint32_t n)
{
	const uint32_t P = b->spec->ranks, until_end = P - low < n ? P - low : n;

	add(b, kind, peer, low, until_end, QV_STEP_NONE);
	if (n > until_end)
		add(b, kind, peer, 0, n - until_end, QV_STEP_NONE);
}

void qv_add_message(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
		    uint32_t blocks)
{
	add(b, kind, peer, first, blocks, QV_STEP_NONE);
}

void qv_add_signal(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer)
{
	add(b, kind, peer, 0, 0, QV_STEP_NONE);
}

void qv_add_nothing(struct qv_builder *b)
{
	add(b, QV_STEP_COPY, 0, 0, 0, QV_STEP_NONE);
}

void qv_add_fence(struct qv_builder *b)
{
	if (b->s->n && b->s->steps[b->s->n - 1].kind != QV_STEP_FENCE)
		add(b, QV_STEP_FENCE, 0, 0, b->s->blocks, QV_STEP_NONE);
}
