/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - the proof that schedules do what they are for. They are run with sets of
 * contributions in the place of numbers; since no two steps may touch a block in an open order, one
 * order of events stands for all.
 */
#include "engine/schedule/schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Contributions in a block of a rank's work vector: a set, and whether it is first .. end-1 in
 * order. */
struct value {
	uint64_t *set;
	uint32_t first, end;
	int in_order;
	uint32_t block; /* of the contribution */
};

struct check {
	const struct qv_schedule_spec *spec;
	struct qv_group g;
	struct value *values; /* by rank, then block, then block of scratch */
	size_t stride;        /* between ranks */
	uint64_t *sets;
	size_t words;
	char *why;
	size_t room;
};

static int fail(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct check *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (c->room)
		vsnprintf(c->why, c->room, format, args);
	va_end(args);
	return QV_EINVAL;
}

static struct value *value_of(const struct check *c, uint32_t rank, uint32_t block)
{
	return &c->values[rank * c->stride + block];
}

static int check_order(struct check *c, uint32_t rank)
{
	uint32_t other;
	const uint32_t bad = qv_check_order(c->g.all[rank], &other);

	if (bad == QV_STEP_NONE)
		return QV_OK;
	if (other == QV_STEP_NONE)
		return fail(c, "rank %u: step %u is out of range", rank, bad);
	return fail(c, "rank %u: steps %u and %u race", rank, other, bad);
}

/* What the steps do. */

/* A block of a rank's contribution. */
static void store_contribution(const struct check *c, struct value *mine, uint32_t rank,
			       uint32_t block)
{
	memset(mine->set, 0, c->words * sizeof(*mine->set));
	mine->set[rank / 64] = UINT64_C(1) << rank % 64;
	mine->first = rank;
	mine->end = rank + 1;
	mine->in_order = 1;
	mine->block = block;
}

static void contribute(struct check *c, size_t number)
{
	const struct qv_step *step = qv_group_step(&c->g, number);
	const uint32_t rank = c->g.rank[number];
	/* The only block of a gather is that of the rank. */
	const int one = c->spec->coll == QV_COLL_GATHER || c->spec->coll == QV_COLL_ALLGATHER;

	for (uint32_t i = 0; i < step->blocks; i++)
		store_contribution(c, value_of(c, rank, step->first + i), rank,
				   one ? rank : step->from + i);
}

static int is_empty(const struct check *c, const struct value *v)
{
	for (size_t w = 0; w < c->words; w++)
		if (v->set[w])
			return 0;
	return 1;
}

static int combine(struct check *c, struct value *mine, const struct value *theirs, int left)
{
	for (size_t w = 0; w < c->words; w++) {
		if (mine->set[w] & theirs->set[w])
			return -1;
		mine->set[w] |= theirs->set[w];
	}
	mine->in_order = mine->in_order && theirs->in_order &&
			 (left ? theirs->end == mine->first : mine->end == theirs->first);
	if (left)
		mine->first = theirs->first;
	else
		mine->end = theirs->end;
	return 0;
}

static void store(const struct check *c, struct value *mine, const struct value *theirs)
{
	memcpy(mine->set, theirs->set, c->words * sizeof(*mine->set));
	mine->block = theirs->block;
	mine->first = theirs->first;
	mine->end = theirs->end;
	mine->in_order = theirs->in_order;
}

static int move(struct check *c, size_t number)
{
	const struct qv_step *step = qv_group_step(&c->g, number);
	const uint32_t rank = c->g.rank[number];

	for (uint32_t i = 0; i < step->blocks; i++) {
		const struct value *from = value_of(c, rank, step->from + i);

		if (is_empty(c, from))
			return fail(c, "rank %u moves block %u, which it does not have", rank,
				    step->from + i);
		store(c, value_of(c, rank, step->first + i), from);
	}
	return QV_OK;
}

static int receive(struct check *c, size_t number)
{
	const struct qv_step *step = qv_group_step(&c->g, number);
	const struct qv_step *sent = qv_group_step(&c->g, c->g.partner[number]);
	const uint32_t rank = c->g.rank[number];

	for (uint32_t i = 0; i < step->blocks; i++) {
		const uint32_t block = step->first + i;
		struct value *mine = value_of(c, rank, block);
		const struct value *theirs = value_of(c, step->peer, sent->first + i);

		if (sent->kind == QV_STEP_SEND_IN) {
			if (step->kind != QV_STEP_STORE)
				return fail(c, "rank %u combines what is to be stored", rank);
			store_contribution(c, mine, step->peer, sent->first + i);
		} else if (is_empty(c, theirs)) {
			return fail(c, "rank %u sends block %u, which it does not have", step->peer,
				    block);
		} else if (step->kind == QV_STEP_STORE) {
			store(c, mine, theirs);
		} else if (combine(c, mine, theirs, step->kind == QV_STEP_COMBINE_LEFT)) {
			return fail(c, "rank %u, block %u: a contribution of rank %u comes twice",
				    rank, block, step->peer);
		}
	}
	return QV_OK;
}

static int run(struct check *c)
{
	struct qv_group *g = &c->g;
	int moved = 1;

	while (moved) {
		moved = 0;
		for (size_t i = 0; i < g->n; i++) {
			const enum qv_step_kind kind = qv_group_step(g, i)->kind;

			if (qv_is_send(kind) || kind == QV_STEP_FENCE || !qv_group_ready(g, i) ||
			    (!qv_is_local(kind) && !qv_group_ready(g, g->partner[i])))
				continue;
			moved = 1;
			if (kind == QV_STEP_COPY) {
				contribute(c, i);
			} else if (kind == QV_STEP_MOVE) {
				if (move(c, i))
					return QV_EINVAL;
			} else {
				if (receive(c, i))
					return QV_EINVAL;
				qv_group_done(g, g->partner[i]);
			}
			qv_group_done(g, i);
		}
	}
	for (size_t i = 0; i < g->n; i++)
		if (!g->done[i])
			return fail(c, "rank %u: step %zu never runs", g->rank[i],
				    i - g->base[g->rank[i]]);
	return QV_OK;
}

/* What comes out. */

static int has_result(const struct check *c, uint32_t rank, uint32_t block)
{
	switch (c->spec->coll) {
	case QV_COLL_BARRIER: return 0;
	case QV_COLL_REDUCE:
	case QV_COLL_GATHER: return rank == c->spec->root;
	case QV_COLL_ALLREDUCE:
	case QV_COLL_BROADCAST:
	case QV_COLL_ALLGATHER:
	case QV_COLL_ALLTOALL:
	case QV_COLL_SCAN: return 1;
	case QV_COLL_EXSCAN: return rank > 0;
	case QV_COLL_REDUCE_SCATTER:
	case QV_COLL_SCATTER: return rank == block;
	}
	return 0;
}

/* Whether a result holds the contribution of r. */
static int wants(const struct check *c, uint32_t rank, uint32_t block, uint32_t r)
{
	switch (c->spec->coll) {
	case QV_COLL_BROADCAST:
	case QV_COLL_SCATTER: return r == c->spec->root;
	case QV_COLL_GATHER:
	case QV_COLL_ALLGATHER:
	case QV_COLL_ALLTOALL: return r == block;
	case QV_COLL_SCAN: return r <= rank;
	case QV_COLL_EXSCAN: return r < rank;
	default: return 1;
	}
}

static int check_result(struct check *c, uint32_t rank, uint32_t block)
{
	const struct value *v = value_of(c, rank, block);
	const uint32_t from = c->spec->coll == QV_COLL_ALLTOALL ? rank : block;

	for (uint32_t r = 0; r < c->spec->ranks; r++) {
		const int has = (int)(v->set[r / 64] >> r % 64 & 1);

		if (has && !wants(c, rank, block, r))
			return fail(c, "rank %u, block %u: has that of rank %u", rank, block, r);
		if (!has && wants(c, rank, block, r))
			return fail(c, "rank %u, block %u: rank %u is missing", rank, block, r);
	}
	if (v->block != from)
		return fail(c, "rank %u, block %u: is block %u", rank, block, v->block);
	if (c->spec->ordered && qv_combines(c->spec->coll) && !v->in_order)
		return fail(c, "rank %u, block %u: not in order of ranks", rank, block);
	return QV_OK;
}

static int check_results(struct check *c)
{
	int rc = QV_OK;

	for (uint32_t rank = 0; rank < c->spec->ranks && !rc; rank++)
		for (uint32_t block = 0; block < c->g.all[0]->blocks && !rc; block++)
			if (has_result(c, rank, block))
				rc = check_result(c, rank, block);
	return rc;
}

static int open_values(struct check *c)
{
	size_t n;

	for (uint32_t r = 0; r < c->spec->ranks; r++) {
		const struct qv_schedule *s = c->g.all[r];

		if (c->stride < (size_t)s->blocks + s->scratch)
			c->stride = (size_t)s->blocks + s->scratch;
	}
	n = c->spec->ranks * c->stride;
	c->words = (c->spec->ranks + 63) / 64;
	c->values = calloc(n, sizeof(*c->values));
	c->sets = calloc(n * c->words, sizeof(*c->sets));
	for (size_t i = 0; c->values && c->sets && i < n; i++)
		c->values[i].set = c->sets + i * c->words;
	return c->values && c->sets ? QV_OK : QV_ENOMEM;
}

int qv_schedule_check(const struct qv_schedule_spec *spec, struct qv_schedule *const *all,
		      char *why, size_t room)
{
	struct qv_schedule_spec set;
	struct check c = {.spec = &set, .why = why, .room = room};
	size_t bad = 0;
	int rc = qv_schedule_read(&set, spec);

	if (rc)
		return fail(&c, "spec: fields that this version does not know");
	rc = qv_group_open(&c.g, all, set.ranks, &bad);
	if (rc == QV_EINVAL)
		return fail(&c, "step %zu of the group: not two ends of one message", bad);
	if (rc)
		return rc;
	for (uint32_t rank = 0; rank < set.ranks && !rc; rank++)
		rc = check_order(&c, rank);
	if (!rc)
		rc = open_values(&c);
	if (!rc)
		rc = run(&c);
	if (!rc)
		rc = check_results(&c);
	if (!rc && set.coll == QV_COLL_BARRIER)
		rc = qv_check_barrier(&c.g, why, room);
	free(c.values);
	free(c.sets);
	qv_group_close(&c.g);
	return rc;
}
