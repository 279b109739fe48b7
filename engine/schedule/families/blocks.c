/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.c - variable-length blocks, in schedules that combine nothing. */
#include "engine/schedule/schedule.h"

/* Whether those of a range lie one behind the other. */
static int in_a_row(const size_t *at, const size_t *bytes, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i + 1 < first + n; i++)
		if (at[i] + bytes[i] != at[i + 1])
			return 0;
	return 1;
}

static int reads_in(const struct qv_step *step)
{
	return step->kind == QV_STEP_COPY || step->kind == QV_STEP_SEND_IN;
}

int qv_blocks_fit(const struct qv_schedule *s, const struct qv_run_data *data)
{
	const struct qv_run_blocks *blocks = data->blocks;
	const int in_place = data->in == data->work && blocks->at == blocks->in_at;

	if (qv_combines(s->coll) || s->live)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct qv_step *step = &s->steps[i];

		if (step->kind == QV_STEP_FENCE || step->blocks < 2)
			continue;
		if (step->kind == QV_STEP_COPY && in_place)
			continue;
		if (reads_in(step) &&
		    !in_a_row(blocks->in_at, blocks->in_bytes,
			      step->kind == QV_STEP_COPY ? step->from : step->first, step->blocks))
			return 0;
		if (step->kind == QV_STEP_MOVE &&
		    !in_a_row(blocks->at, blocks->bytes, step->from, step->blocks))
			return 0;
		if (step->kind != QV_STEP_SEND_IN &&
		    !in_a_row(blocks->at, blocks->bytes, step->first, step->blocks))
			return 0;
	}
	return 1;
}

size_t qv_blocks_bytes(const struct qv_run_blocks *blocks, const struct qv_step *step)
{
	const size_t *bytes = step->kind == QV_STEP_SEND_IN ? blocks->in_bytes : blocks->bytes;
	size_t sum = 0;

	for (uint32_t i = 0; i < step->blocks; i++)
		sum += bytes[step->first + i];
	return sum;
}

/* A block and its copy are equally long: 1 if that was news. */
static int learn(const struct qv_schedule *s, const struct qv_step *step, const size_t *in_bytes,
		 size_t *bytes)
{
	int news = 0;

	for (uint32_t i = 0; i < step->blocks; i++) {
		size_t *to = &bytes[step->first + i];
		size_t *from = &bytes[step->from + i];

		if (step->kind == QV_STEP_COPY && step->first >= s->blocks && *to == SIZE_MAX) {
			*to = in_bytes[step->from + i];
			news = 1;
		} else if (step->kind == QV_STEP_MOVE && (*to == SIZE_MAX) != (*from == SIZE_MAX)) {
			*(*to == SIZE_MAX ? to : from) = *to == SIZE_MAX ? *from : *to;
			news = 1;
		}
	}
	return news;
}

uint32_t qv_schedule_lengths(const struct qv_schedule *schedule, const size_t *in_bytes,
			     size_t unknown, size_t *bytes)
{
	const struct qv_schedule *s = schedule;
	uint32_t n = 0;
	int news = 1;

	for (uint32_t i = s->blocks; i < s->blocks + s->scratch; i++)
		bytes[i] = SIZE_MAX;
	while (news) {
		news = 0;
		for (size_t i = 0; i < s->n; i++)
			if (s->steps[i].kind == QV_STEP_COPY || s->steps[i].kind == QV_STEP_MOVE)
				news |= learn(s, &s->steps[i], in_bytes, bytes);
	}
	for (uint32_t i = s->blocks; i < s->blocks + s->scratch; i++)
		if (bytes[i] == SIZE_MAX) {
			bytes[i] = unknown;
			n++;
		}
	return n;
}
