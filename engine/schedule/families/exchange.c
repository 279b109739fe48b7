/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.c - exchange in groups: butterfly (groups of two), radix-k, direct send (one
 * group). In each round a group of k ranks cuts the slice that all of them hold into k, and each
 * combines one of them. Neighbours are grouped first, so that every partial result is of
 * consecutive ranks and the order can be kept. Then the rounds are undone: towards the root, or for
 * all.
 *
 * If there are more ranks than the groups have room for, the first ones fold: an even rank gives
 * its vector to the odd one above it, which takes part for both.
 */
#include "engine/schedule/schedule.h"

struct slice {
	uint32_t first, blocks;
};

struct exchange {
	struct qv_builder *b;
	const uint32_t *k;
	size_t n;
	uint32_t size, folded; /* product of k; pairs of ranks that are one member */
	uint32_t member;       /* who this rank is in the exchange */
};

/* Rank of a member, and member that a rank is or has given its vector to. */
static uint32_t rank_of(const struct exchange *x, uint32_t member)
{
	return member < x->folded ? 2 * member + 1 : member + x->folded;
}

static uint32_t member_of(const struct exchange *x, uint32_t rank)
{
	return rank < 2 * x->folded ? rank / 2 : rank - x->folded;
}

/* Part i of k of a slice. */
static struct slice part_of(struct slice s, uint32_t i, uint32_t k)
{
	const uint32_t begin = (uint32_t)((uint64_t)s.blocks * i / k);
	const uint32_t end = (uint32_t)((uint64_t)s.blocks * (i + 1) / k);

	return (struct slice){s.first + begin, end - begin};
}

/* The slice that a member holds before round `round`. */
static struct slice slice_at(const struct exchange *x, uint32_t member, size_t round)
{
	struct slice s = {0, x->b->s->blocks};

	for (size_t i = 0; i < round; i++) {
		s = part_of(s, member % x->k[i], x->k[i]);
		member /= x->k[i];
	}
	return s;
}

/* Distance between the members of a group of a round. */
static uint32_t distance(const struct exchange *x, size_t round)
{
	uint32_t d = 1;

	for (size_t i = 0; i < round; i++)
		d *= x->k[i];
	return d;
}

/* Rank of member i of this rank's group in a round. */
static uint32_t peer_at(const struct exchange *x, size_t round, uint32_t i)
{
	const uint32_t d = distance(x, round), mine = x->member / d % x->k[round];

	return rank_of(x, x->member - mine * d + i * d);
}

/* Outwards from this rank, each on its side: order of ranks, whatever the brackets. */
static void receive_in_order(const struct exchange *x, size_t round, uint32_t mine,
			     struct slice keep)
{
	uint32_t last = QV_STEP_NONE;

	for (uint32_t i = mine; i-- > 0;)
		last = qv_add_receive(x->b, QV_STEP_COMBINE_LEFT, peer_at(x, round, i), keep.first,
				      keep.blocks, last);
	for (uint32_t i = mine + 1; i < x->k[round]; i++)
		last = qv_add_receive(x->b, QV_STEP_COMBINE, peer_at(x, round, i), keep.first,
				      keep.blocks, last);
}

static void scatter_round(const struct exchange *x, size_t round)
{
	const uint32_t k = x->k[round], mine = x->member / distance(x, round) % k;
	const struct slice s = slice_at(x, x->member, round), keep = part_of(s, mine, k);
	uint32_t last = QV_STEP_NONE;

	/* Nearest first, and not everyone to the same one at a time. */
	for (uint32_t i = 1; i < k; i++) {
		const uint32_t to = (mine + i) % k;
		const struct slice part = part_of(s, to, k);

		qv_add_send(x->b, peer_at(x, round, to), part.first, part.blocks, QV_STEP_NONE);
	}
	/* As the others send to this one. */
	for (uint32_t i = 1; i < k && !x->b->spec->ordered; i++)
		last = qv_add_receive(x->b, QV_STEP_COMBINE, peer_at(x, round, (mine + k - i) % k),
				      keep.first, keep.blocks, last);
	if (x->b->spec->ordered)
		receive_in_order(x, round, mine, keep);
	qv_add_fence(x->b);
}

/* Undo a round: all get the slices of all, or the one member of the group that leads to `to`. */
static void gather_round(const struct exchange *x, size_t round, int all, uint32_t to)
{
	const uint32_t k = x->k[round], d = distance(x, round);
	const uint32_t mine = x->member / d % k, wants = to / d % k;
	const struct slice s = slice_at(x, x->member, round), own = part_of(s, mine, k);

	for (uint32_t i = 1; i < k; i++) {
		const uint32_t out = (mine + i) % k, in = (mine + k - i) % k;
		const struct slice part = part_of(s, in, k);

		if (all || (mine != wants && out == wants))
			qv_add_send(x->b, peer_at(x, round, out), own.first, own.blocks,
				    QV_STEP_NONE);
		if (all || mine == wants)
			qv_add_receive(x->b, QV_STEP_STORE, peer_at(x, round, in), part.first,
				       part.blocks, QV_STEP_NONE);
	}
	qv_add_fence(x->b);
}

/* Members on whose way to `to` nothing is left to do have sent everything in an earlier round. */
static int still_in(const struct exchange *x, size_t round, uint32_t to)
{
	const uint32_t beyond = distance(x, round) * x->k[round];

	return x->member / beyond == to / beyond;
}

/* Every block to its rank; the slices are in the order of reversed digits. */
static void to_owners(const struct exchange *x, int is_member)
{
	const uint32_t rank = x->b->rank;

	for (uint32_t m = 0; m < x->size; m++) {
		const struct slice s = slice_at(x, m, x->n);
		const uint32_t from = rank_of(x, m);

		for (uint32_t block = s.first; block < s.first + s.blocks; block++) {
			if (is_member && m == x->member && block != rank)
				qv_add_send(x->b, block, block, 1, QV_STEP_NONE);
			if (block == rank && from != rank)
				qv_add_receive(x->b, QV_STEP_STORE, from, block, 1, QV_STEP_NONE);
		}
	}
}

/* The result back to a rank that had folded. */
static void unfold(const struct exchange *x, uint32_t rank)
{
	if (x->b->rank == rank)
		qv_add_receive(x->b, QV_STEP_STORE, rank + 1, 0, x->b->s->blocks, QV_STEP_NONE);
	if (x->b->rank == rank + 1)
		qv_add_send(x->b, rank, 0, x->b->s->blocks, QV_STEP_NONE);
}

static int folds(const struct exchange *x, uint32_t rank)
{
	return rank < 2 * x->folded && rank % 2 == 0;
}

void qv_build_exchange(struct qv_builder *b, const uint32_t *k, size_t n)
{
	const struct qv_schedule_spec *spec = b->spec;
	struct exchange x = {.b = b, .k = k, .n = n, .size = 1};
	const int all = spec->coll == QV_COLL_ALLREDUCE;
	int is_member;
	uint32_t to;

	for (size_t i = 0; i < n; i++)
		x.size *= k[i];
	x.folded = spec->ranks - x.size;
	x.member = member_of(&x, b->rank);
	is_member = !folds(&x, b->rank);
	to = member_of(&x, spec->root);
	if (!is_member)
		qv_add_send(b, b->rank + 1, 0, b->s->blocks, QV_STEP_NONE);
	else if (b->rank < 2 * x.folded)
		qv_add_receive(b, QV_STEP_COMBINE_LEFT, b->rank - 1, 0, b->s->blocks, QV_STEP_NONE);
	qv_add_fence(b);
	for (size_t i = 0; i < n && is_member; i++)
		scatter_round(&x, i);
	if (spec->coll == QV_COLL_REDUCE_SCATTER) {
		to_owners(&x, is_member);
		return;
	}
	for (size_t i = n; i-- > 0 && is_member;)
		if (all || still_in(&x, i, to))
			gather_round(&x, i, all, to);
	for (uint32_t rank = 0; rank < 2 * x.folded; rank += 2)
		if (all || rank == spec->root)
			unfold(&x, rank);
}
