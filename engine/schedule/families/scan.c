/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scan.c - prefix reductions. What a rank holds is always of consecutive ranks up to itself, and what
 * it receives is of those just before, so the order of operands is kept.
 *
 * An exscan is a scan of what the ranks to the left contribute: each rank first hands its
 * contribution to the one on its right, and rank 0 is out of it from then on.
 */
#include "engine/schedule/schedule.h"

/* Ranks first, first + 1, ... scan what is in their work vectors. */
struct scan {
	struct qv_builder *b;
	uint32_t first;
	uint32_t members, me; /* how many these are, and which of them this rank is */
	uint32_t last;        /* step that all further ones wait for */
};

static void send(struct scan *s, uint32_t member, uint32_t block)
{
	s->last = qv_add_send(s->b, s->first + member, block, 1, s->last);
}

/* Of members just before what this one holds. */
static void receive(struct scan *s, uint32_t member, uint32_t block)
{
	s->last = qv_add_receive(s->b, QV_STEP_COMBINE_LEFT, s->first + member, block, 1, s->last);
}

/* Up a tree, in which the last member of a subtree holds all of that; then down, to those behind it.
 * G. E. Blelloch, Prefix sums and their applications, CMU-CS-90-190 (1990). */
static void binomial(struct scan *s)
{
	const uint32_t place = s->me + 1; /* subtrees end at multiples of their size */
	uint32_t far = 1;

	for (; far < s->members; far *= 2) {
		if (place % (2 * far) == far && far < s->members - s->me)
			send(s, s->me + far, 0);
		if (place % (2 * far) == 0)
			receive(s, s->me - far, 0);
	}
	for (far /= 2; far; far /= 2) {
		if (place % (2 * far) == far && place > far)
			receive(s, s->me - far, 0);
		if (place % (2 * far) == 0 && far < s->members - s->me)
			send(s, s->me + far, 0);
	}
}

static void pipeline(struct scan *s, uint32_t block)
{
	if (s->me)
		receive(s, s->me - 1, block);
	if (s->me + 1 < s->members)
		send(s, s->me + 1, block);
}

/* The contribution of the rank on the left becomes what this one begins with. */
static void shift(struct scan *s, uint32_t block)
{
	struct qv_builder *b = s->b;

	if (b->rank + 1 < b->spec->ranks)
		qv_add_message(b, QV_STEP_SEND_IN, b->rank + 1, block, 1);
	if (b->rank)
		s->last = qv_add_receive(b, QV_STEP_STORE, b->rank - 1, block, 1, QV_STEP_NONE);
}

void qv_build_scan(struct qv_builder *b)
{
	const uint32_t first = b->spec->coll == QV_COLL_EXSCAN;
	struct scan s = {b, first, b->spec->ranks - first, b->rank - first, QV_STEP_NONE};

	for (uint32_t block = 0; block < b->s->blocks; block++) {
		s.last = QV_STEP_NONE;
		if (first)
			shift(&s, block);
		if (b->rank < first)
			continue;
		if (b->spec->algorithm == QV_ALG_BINOMIAL)
			binomial(&s);
		else
			pipeline(&s, block);
	}
}
