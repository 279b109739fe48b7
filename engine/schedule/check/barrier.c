/* SPDX-License-Identifier: BSD-2-Clause */
/* barrier.c - the proof that a barrier is one: of whose beginning the end of each
 * step tells. A step knows what the steps that it waits for know, and a receive what
 * its send does. */
#include "engine/schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known {
	const struct qv_group *g;
	uint64_t *of_step;  /* sets of ranks, by step */
	uint64_t *of_fence; /* by rank: what the last fence that is passed knows */
	uint64_t *open;     /* by rank: what steps behind it know */
	uint32_t *at;       /* by rank: steps that have been looked at */
	size_t words;
};

static uint64_t *set_of(const struct known *k, uint64_t *sets, size_t number)
{
	return sets + number * k->words;
}

static void add(const struct known *k, uint64_t *to, const uint64_t *from)
{
	for (size_t w = 0; w < k->words; w++)
		to[w] |= from[w];
}

/* What a step knows by its own rank's steps before it. */
static void by_own(const struct known *k, size_t number, uint64_t *set)
{
	const uint32_t rank = k->g->rank[number], after = qv_group_step(k->g, number)->after;

	add(k, set, set_of(k, k->of_fence, rank));
	if (after != QV_STEP_NONE)
		add(k, set, set_of(k, k->of_step, k->g->base[rank] + after));
}

/* The next step of a rank, if it can be said what it knows. */
static int look_at(struct known *k, uint32_t rank)
{
	const struct qv_schedule *s = k->g->all[rank];
	const size_t number = k->g->base[rank] + k->at[rank], partner = k->g->partner[number];
	const struct qv_step *step = &s->steps[k->at[rank]];
	const uint32_t peer = k->g->rank[partner];
	uint64_t *mine = set_of(k, k->of_step, number);

	/* The send, too, must have been looked at; of a rank's steps, sends come first. */
	if (qv_is_receive(step->kind) && k->at[peer] <= partner - k->g->base[peer])
		return 0;
	by_own(k, number, mine);
	if (qv_is_receive(step->kind))
		add(k, mine, set_of(k, k->of_step, partner));
	add(k, set_of(k, k->open, rank), mine);
	if (step->kind == QV_STEP_FENCE)
		add(k, set_of(k, k->of_fence, rank), set_of(k, k->open, rank));
	k->at[rank]++;
	return 1;
}

static int judge(struct known *k, char *why, size_t room)
{
	const uint32_t P = k->g->ranks;

	for (int moved = 1; moved;) {
		moved = 0;
		for (uint32_t rank = 0; rank < P; rank++)
			while (k->at[rank] < k->g->all[rank]->n && look_at(k, rank))
				moved = 1;
	}
	for (uint32_t rank = 0; rank < P; rank++)
		for (uint32_t r = 0; r < P; r++)
			if (!(set_of(k, k->open, rank)[r / 64] >> r % 64 & 1)) {
				if (room)
					snprintf(why, room, "rank %u may end before rank %u begins",
						 rank, r);
				return QV_EINVAL;
			}
	return QV_OK;
}

int qv_check_barrier(const struct qv_group *g, char *why, size_t room)
{
	struct known k = {.g = g, .words = ((size_t)g->ranks + 63) / 64};
	int rc = QV_ENOMEM;

	k.of_step = calloc(g->n + 2 * (size_t)g->ranks, k.words * sizeof(uint64_t));
	k.at = calloc(g->ranks, sizeof(*k.at));
	if (k.of_step && k.at) {
		k.of_fence = k.of_step + g->n * k.words;
		k.open = k.of_fence + g->ranks * k.words;
		for (uint32_t r = 0; r < g->ranks; r++) {
			set_of(&k, k.of_fence, r)[r / 64] |= UINT64_C(1) << r % 64;
			set_of(&k, k.open, r)[r / 64] |= UINT64_C(1) << r % 64;
		}
		rc = judge(&k, why, room);
	}
	free(k.of_step);
	free(k.at);
	return rc;
}
