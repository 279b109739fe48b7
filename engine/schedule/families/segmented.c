/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segmented.c - rounds in which each rank that is there sends one segment and receives
 * one, from expected arrivals. Whoever has given a segment away takes it no more, except for the
 * sink: the root, or while that is not there the rank that was first. A segment is not passed on in
 * the round in which a contribution to it arrives.
 */
#include "engine/schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

/* A test builds this file without the guard, to see that the check finds what is lost then. */
#ifndef QV_SEGMENTED_GUARD
#define QV_SEGMENTED_GUARD 1
#endif

/* What a rank does in a round: peer + 1, or 0. */
struct part {
	uint32_t sends, receives;
	uint32_t send_segment, receive_segment;
	int stores;
};

struct rounds {
	const struct qv_schedule_spec *spec;
	struct part *parts; /* by rank */
	uint32_t P, N;
	uint64_t round;      /* time of one */
	uint64_t *time;      /* by rank: when it is free */
	unsigned char *has;  /* by rank, then segment: not given away */
	uint32_t *left;      /* by rank: segments not given away */
	unsigned char *gone; /* by rank: has none left */
	uint32_t *group, n;  /* who takes part in this round; the sink is first */
	uint64_t *can_give;  /* by segment: set of places that may send it */
	size_t words;
};

static int sooner(const struct rounds *x, uint32_t a, uint32_t b)
{
	return x->time[a] != x->time[b] ? x->time[a] < x->time[b] : a < b;
}

/* When the first rank is free, and the second one. 0 if only one is left. */
static int first_two(const struct rounds *x, uint32_t *rank, uint64_t *first, uint64_t *second)
{
	uint32_t here = 0;

	*first = *second = UINT64_MAX;
	for (uint32_t r = 0; r < x->P; r++) {
		if (x->gone[r])
			continue;
		here++;
		if (x->time[r] < *first) {
			*second = *first;
			*first = x->time[r];
			*rank = r;
		} else if (x->time[r] < *second) {
			*second = x->time[r];
		}
	}
	return here > 1;
}

/* Those that are free within a round of the first one, in order of time; the root in front. 0 if
 * only one rank is left. */
static int gather_group(struct rounds *x)
{
	const uint32_t root = x->spec->root;
	uint64_t first, second;
	uint32_t alone = 0;

	if (!first_two(x, &alone, &first, &second))
		return 0;
	if (second > first + x->round) { /* nothing to do until the next one comes */
		x->time[alone] += (second - first - 1) / x->round * x->round;
		first = x->time[alone];
	}
	x->n = 0;
	for (uint32_t r = 0; r < x->P; r++) {
		uint32_t at = x->n;

		if (x->gone[r] || x->time[r] > first + x->round)
			continue;
		for (; at &&
		       (r == root || (sooner(x, r, x->group[at - 1]) && x->group[at - 1] != root));
		     at--)
			x->group[at] = x->group[at - 1];
		x->group[at] = r;
		x->n++;
	}
	return 1;
}

static void set_can_give(struct rounds *x)
{
	memset(x->can_give, 0, x->N * x->words * sizeof(*x->can_give));
	for (uint32_t at = 0; at < x->n; at++) {
		const unsigned char *has = x->has + (size_t)x->group[at] * x->N;

		for (uint32_t j = 0; j < x->N; j++)
			if (has[j])
				x->can_give[j * x->words + at / 64] |= UINT64_C(1) << at % 64;
	}
}

static void clear(struct rounds *x, uint32_t j, uint32_t at)
{
	x->can_give[j * x->words + at / 64] &= ~(UINT64_C(1) << at % 64);
}

/* The first place but `not` that may send segment j; n if there is none. */
static uint32_t giver(const struct rounds *x, uint32_t j, uint32_t not )
{
	for (size_t w = 0; w < x->words; w++) {
		uint64_t set = x->can_give[j * x->words + w];

		if (not / 64 == w)
			set &= ~(UINT64_C(1) << not % 64);
		if (set)
			return (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(set);
	}
	return x->n;
}

/* Segment j from one place to another. */
static void move(struct rounds *x, uint32_t from, uint32_t to, uint32_t j)
{
	const uint32_t sender = x->group[from], receiver = x->group[to];
	unsigned char *there = &x->has[(size_t)receiver * x->N + j];

	x->parts[sender].sends = receiver + 1;
	x->parts[sender].send_segment = j;
	x->parts[receiver].receives = sender + 1;
	x->parts[receiver].receive_segment = j;
	x->parts[receiver].stores = !*there;
	for (uint32_t k = 0; k < x->N; k++) /* it sends no other one in this round */
		clear(x, k, from);
	if (QV_SEGMENTED_GUARD) /* and this one goes no further in it */
		clear(x, j, to);
	x->has[(size_t)sender * x->N + j] = 0;
	x->left[sender]--;
	x->left[receiver] += !*there;
	*there = 1;
}

static void pair_up(struct rounds *x)
{
	for (uint32_t to = 0; to < x->n; to++) {
		const unsigned char *has = x->has + (size_t)x->group[to] * x->N;

		for (uint32_t j = 0; j < x->N; j++) {
			uint32_t from = has[j] || !to ? giver(x, j, to) : x->n;

			if (from == x->n)
				continue;
			move(x, from, to, j);
			break;
		}
	}
}

static void emit(struct qv_builder *b, const struct part *part)
{
	if (part->sends)
		qv_add_send(b, part->sends - 1, part->send_segment, 1, QV_STEP_NONE);
	if (part->receives)
		qv_add_receive(b, part->stores ? QV_STEP_STORE : QV_STEP_COMBINE,
			       part->receives - 1, part->receive_segment, 1, QV_STEP_NONE);
	if (part->sends || part->receives)
		qv_add_fence(b);
}

static void run_rounds(struct rounds *x, struct qv_builder *b, uint32_t n)
{
	const struct qv_schedule_spec *spec = x->spec;

	for (uint32_t r = 0; r < x->P; r++) {
		x->time[r] = spec->arrive ? spec->arrive[r] : 0;
		x->left[r] = x->N;
	}
	memset(x->has, 1, (size_t)x->P * x->N);
	while (gather_group(x)) {
		set_can_give(x);
		pair_up(x);
		for (uint32_t i = 0; i < n; i++)
			emit(&b[i], &x->parts[b[i].rank]);
		memset(x->parts, 0, x->P * sizeof(*x->parts));
		for (uint32_t at = 0; at < x->n; at++) {
			const uint32_t r = x->group[at];

			x->gone[r] = r != spec->root && !x->left[r];
			x->time[r] += x->round;
		}
	}
}

void qv_build_segmented(struct qv_builder *b, uint32_t n)
{
	struct rounds x = {.spec = b->spec, .P = b->spec->ranks, .N = b->s->blocks};
	char *memory;

	x.round = b->spec->round ? b->spec->round : 1;
	x.words = (x.P + 63) / 64;
	memory = calloc(1, (x.P + x.N * x.words) * sizeof(uint64_t) +
				   x.P * (2 * sizeof(uint32_t) + sizeof(struct part)) +
				   (size_t)x.P * x.N + x.P);
	if (!memory) {
		b->failed = 1;
		return;
	}
	x.time = (uint64_t *)memory;
	x.can_give = x.time + x.P;
	x.parts = (struct part *)(x.can_give + x.N * x.words);
	x.left = (uint32_t *)(x.parts + x.P);
	x.group = x.left + x.P;
	x.has = (unsigned char *)(x.group + x.P);
	x.gone = x.has + (size_t)x.P * x.N;
	run_rounds(&x, b, n);
	free(memory);
	for (uint32_t i = 0; i < n; i++)
		qv_build_delivery(&b[i], b->spec->root);
}
