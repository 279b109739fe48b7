/* SPDX-License-Identifier: BSD-2-Clause */
/* poison_data.c - what calls of the poison test send and receive, and the poison. */
#include "poison.h"
#include "engine/base/random.h"

#include <limits.h>

#define UNTOUCHED 0x33333333

const char *const poison_names[POISON_KINDS] = {"reduce",
						"allreduce",
						"scan",
						"exscan",
						"reduce_scatter",
						"reduce_scatter",
						"barrier",
						"broadcast",
						"allgather",
						"alltoall",
						"allgatherv",
						"alltoallv",
						"neighbor_allgather",
						"neighbor_allgatherv",
						"neighbor_alltoall",
						"neighbor_alltoallv"};

/* Draws. */

uint64_t poison_state, poison_own;

int poison_draw(uint64_t *s, int limit)
{
	return (int)qv_random_below(s, (uint64_t)limit);
}

static int bad_count(void)
{
	static const int counts[] = {-3, 0, 7, INT_MAX, INT_MIN};

	return counts[poison_draw(&poison_own, 5)];
}

static int bad_place(void)
{
	static const int places[] = {-3, 0, INT_MAX, INT_MIN};

	return places[poison_draw(&poison_own, 4)];
}

static char *const nowhere = (char *)(uintptr_t)0x10;

static MPI_Datatype bad_type(void)
{
	switch (poison_draw(&poison_own, 3)) {
	case 0: return MPI_DATATYPE_NULL;
	case 1: return MPI_DOUBLE;
	default: return (MPI_Datatype)(uintptr_t)nowhere;
	}
}

/* Nothing that can be read. */
static void *bad_pointer(void)
{
	return poison_draw(&poison_own, 2) ? NULL : nowhere;
}

/* Blocks. */

/* Elements that go from one rank to another: many blocks of none; the same there and back. */
static int length(const struct shot *s, int from, int to)
{
	if (from < 0 || to < 0)
		return 0;
	return !varies(s) ? s->n : (from + (is_gather(s) ? 0 : to) + s->salt) % 3 * s->n;
}

static int value(const struct shot *s, int from, int to, int i)
{
	return from * 1000003 + (is_gather(s) ? 0 : to * 10007) + i * 3 + s->salt;
}

/* The ranks that the blocks of both sides belong to; -1: nobody. */
static void set_blocks(struct shot *s, const int *lists, int left, int right)
{
	s->ins = is_gather(s) ? 1 : glue_ranks;
	s->outs = glue_ranks;
	for (int r = 0; r < glue_ranks; r++)
		s->from[r] = s->to[r] = r;
	if (!is_neighbor(s))
		return;
	s->outs = left;
	s->ins = is_gather(s) ? 1 : right;
	for (int i = 0; i < left; i++)
		s->from[i] = lists[i];
	for (int i = 0; i < right; i++)
		s->to[i] = lists[left + i];
	if (is_gather(s))
		s->to[0] = right ? glue_rank : -1;
}

static void set_side(const struct shot *s, struct poison_side *side, int *buf, int coming,
		     int *counts, int *displs)
{
	const int n = coming ? s->outs : s->ins;
	int any = 0;

	*side = (struct poison_side){buf, s->n, counts, displs, MPI_INT};
	for (int i = 0; i < n; i++) {
		counts[i] =
			coming ? length(s, s->from[i], glue_rank) : length(s, glue_rank, s->to[i]);
		displs[i] = i * s->room;
		if (!counts[i])
			displs[i] = bad_place();
		if (is_neighbor(s) && (coming ? s->from[i] : s->to[i]) < 0)
			counts[i] = 1000; /* of nobody */
	}
	if (!n && is_neighbor(s) && s->must == 1)
		*side = (struct poison_side){nowhere, s->n, NULL, NULL, MPI_INT};
	if (!coming && is_gather(s) && varies(s))
		side->count = length(s, glue_rank, 0);
	for (int i = 0; i < n; i++)
		any |= counts[i];
	if (!any && varies(s)) /* nothing at all */
		side->buf = s->must == 1 ? bad_pointer() : nowhere;
}

/* Where block i begins. */
static int place(const struct shot *s, int i)
{
	return i * (varies(s) ? s->room : s->n);
}

static void poison_in_place(struct shot *s)
{
	struct poison_side *in = &s->call.in;

	*in = (struct poison_side){MPI_IN_PLACE, bad_count(), bad_pointer(), bad_pointer(),
				   bad_type()};
	if (s->mild)
		*in = (struct poison_side){MPI_IN_PLACE, 7, NULL, NULL, MPI_DOUBLE};
	if (poison_draw(&poison_own, 3) == 0)
		in->counts = s->call.out.displs; /* which are no counts */
}

/* Off the root, where the result would be. */
static void *no_result(const struct shot *s)
{
	switch (s->mild ? 2 : poison_draw(&poison_own, 4)) {
	case 0: return s->in;
	case 1: return MPI_IN_PLACE;
	case 2: return s->out;
	default: return bad_pointer();
	}
}

void poison_fill(struct shot *s)
{
	const int ints = s->room * (glue_ranks + 1), blocks = is_scatter(s) ? glue_ranks : 1;

	for (int i = 0; i < ints; i++)
		s->in[i] = s->out[i] = UNTOUCHED;
	if (is_reduction(s)) {
		for (int i = 0; i < s->n * blocks; i++)
			(s->in_place ? s->out : s->in)[i] = value(s, glue_rank, 0, i);
	} else if (s->call.kind == POISON_BCAST) {
		for (int i = 0; i < s->n && glue_rank == s->call.root; i++)
			s->out[i] = value(s, glue_rank, 0, i);
	} else if (s->in_place && is_gather(s)) {
		for (int i = 0; i < length(s, glue_rank, 0); i++)
			s->out[place(s, glue_rank) + i] = value(s, glue_rank, 0, i);
	} else if (s->call.kind != POISON_BARRIER) {
		for (int b = 0; b < s->ins; b++)
			for (int i = 0; i < length(s, glue_rank, s->to[b]); i++)
				(s->in_place ? s->out : s->in)[place(s, b) + i] =
					value(s, glue_rank, s->to[b], i);
	}
}

static void expect(const struct shot *s, int at, int want)
{
	CHECK(s->out[at] == want,
	      "%s=%s, form %d, root %d, in place %d, %d elements, salt %d: element %d is %d, not %d",
	      poison_names[s->call.kind], s->algorithm, (int)s->call.form, s->call.root,
	      s->in_place, s->n, s->salt, at, s->out[at], want);
}

/* The results of which ranks are this one's, from 0 on. */
static int ranks_in(const struct shot *s)
{
	switch (s->call.kind) {
	case POISON_SCAN: return glue_rank + 1;
	case POISON_EXSCAN: return glue_rank;
	default: return glue_ranks;
	}
}

static void check_reduction(const struct shot *s)
{
	const int first = is_scatter(s) ? glue_rank * s->n : 0, ranks = ranks_in(s);

	if (!ranks) { /* the MPI's own may write there */
		for (int i = 0; i <= s->n && s->must == 1; i++)
			expect(s, i,
			       s->in_place && i < s->n ? value(s, glue_rank, 0, i) : UNTOUCHED);
		return;
	}
	if (s->call.kind == POISON_REDUCE && glue_rank != s->call.root) {
		for (int i = 0; i <= s->n; i++)
			expect(s, i, UNTOUCHED);
		return;
	}
	for (int i = 0; i < s->n; i++) {
		int sum = 0;

		for (int r = 0; r < ranks; r++)
			sum += value(s, r, 0, first + i);
		expect(s, i, sum);
	}
	if (!is_scatter(s) || !s->in_place)
		expect(s, s->n, UNTOUCHED);
}

void poison_check(const struct shot *s)
{
	if (is_reduction(s)) {
		check_reduction(s);
		return;
	}
	for (int i = 0; s->call.kind == POISON_BCAST && i <= s->n; i++)
		expect(s, i, i < s->n ? value(s, s->call.root, 0, i) : UNTOUCHED);
	if (s->call.kind == POISON_BCAST || s->call.kind == POISON_BARRIER)
		return;
	for (int b = 0; b < s->outs; b++)
		for (int i = 0; i < length(s, s->from[b], glue_rank); i++)
			expect(s, place(s, b) + i, value(s, s->from[b], glue_rank, i));
}

void poison_set(struct shot *s, const int *lists, int left, int right)
{
	struct poison_call *c = &s->call;

	set_blocks(s, lists, left, right);
	set_side(s, &c->in, s->in, 0, s->counts[0], s->counts[1]);
	set_side(s, &c->out, s->out, 1, s->counts[2], s->counts[3]);
	if (s->in_place && (c->kind != POISON_REDUCE || glue_rank == c->root))
		poison_in_place(s);
	if ((c->kind == POISON_REDUCE && glue_rank != c->root) ||
	    (c->kind == POISON_EXSCAN && !glue_rank && !s->in_place && s->must == 1))
		c->out.buf = no_result(s);
	if (c->kind == POISON_REDUCE && glue_rank != c->root)
		s->in_place = 0;
	if (!s->n && !varies(s) && poison_draw(&poison_own, 2)) { /* buffers of nothing */
		c->out.buf = nowhere;
		c->in.buf = c->in.buf == MPI_IN_PLACE ? MPI_IN_PLACE : NULL;
	}
}
