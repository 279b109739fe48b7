/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - a call, piece by piece. A member gives its piece, which is there as soon as the word of
 * its slot is stored; it takes those of others, beginning with the next rank; then it says that it has
 * done with it. It gives the next piece before it waits for the others of this one.
 */
#include "internal.h"

#include <string.h>

static int fail(struct qv_team *t, int error)
{
	t->error = error;
	t->running = false;
	atomic_store_explicit(&t->seats[t->rank].failed, 1, memory_order_release);
	return error;
}

/* Beginning. */

enum qv_team_kind qv_team_kind_of(enum qv_coll coll)
{
	switch (coll) {
	case QV_COLL_REDUCE: return QV_TEAM_REDUCE;
	case QV_COLL_ALLREDUCE: return QV_TEAM_ALLREDUCE;
	case QV_COLL_BROADCAST: return QV_TEAM_BROADCAST;
	case QV_COLL_ALLGATHER: return QV_TEAM_ALLGATHER;
	case QV_COLL_ALLTOALL: return QV_TEAM_ALLTOALL;
	default: return QV_TEAM_BARRIER;
	}
}

static bool is_reduction(enum qv_team_kind kind)
{
	return kind == QV_TEAM_REDUCE || kind == QV_TEAM_ALLREDUCE;
}

static size_t longest_piece(const struct qv_team *t, const struct qv_team_call *call)
{
	if (call->kind == QV_TEAM_ALLTOALL)
		return QV_TEAM_PIECE / t->ranks / QV_TEAM_LINE * QV_TEAM_LINE;
	return is_reduction(call->kind) ? QV_TEAM_PIECE / call->item * call->item : QV_TEAM_PIECE;
}

static bool is_valid(const struct qv_team *t, const struct qv_team_call *call)
{
	if (call->kind < 0 || call->kind >= QV_TEAM_KINDS || call->root >= t->ranks || t->running)
		return false;
	if (!call->item || call->count > PTRDIFF_MAX / call->item)
		return call->kind == QV_TEAM_BARRIER || !call->count;
	return !is_reduction(call->kind) || (call->combine && call->item <= QV_TEAM_ITEM);
}

int qv_team_start(struct qv_team *t, const struct qv_team_call *call)
{
	const bool root = call->root == t->rank;

	if (QV_UNLIKELY(t->error))
		return QV_EPEER;
	if (QV_UNLIKELY(!is_valid(t, call)))
		return QV_EINVAL;
	t->call = *call;
	t->base = t->number + 1;
	t->given = t->combined = t->got = 0;
	t->seen = t->seen_second = 0;
	t->sliced = false;
	t->gets = true;
	t->bytes = 0;
	t->pieces = call->kind == QV_TEAM_BARRIER;
	if (!t->pieces && call->count && call->item) {
		t->bytes = call->count * call->item;
		t->piece = longest_piece(t, call);
		t->pieces = (t->bytes + t->piece - 1) / t->piece;
		t->sliced = is_reduction(call->kind) && t->bytes * t->ranks > QV_TEAM_FLAT;
		if (call->kind == QV_TEAM_REDUCE)
			t->gets = root;
		if (call->kind == QV_TEAM_BROADCAST) {
			t->gets = !root;
			t->given = root ? 0 : t->pieces;
		}
	}
	if (QV_UNLIKELY(!call->in) && t->bytes && t->given < t->pieces)
		return fail(t, QV_ENOMEM); /* others wait for it */
	t->number += t->pieces;
	t->running = true;
	return QV_OK;
}

/* Giving. */

/* Have all others done with what the piece would overwrite? */
static bool is_free(struct qv_team *t, uint64_t number)
{
	uint64_t least = number - 1;

	if (number <= t->floor + QV_TEAM_SLOTS)
		return true;
	for (uint32_t i = 0; i < t->ranks; i++) {
		const uint64_t done = i == t->rank ? least
						   : atomic_load_explicit(&t->seats[i].done,
									  memory_order_acquire);

		least = done < least ? done : least;
	}
	t->floor = least > t->floor ? least : t->floor;
	return number <= t->floor + QV_TEAM_SLOTS;
}

/* What says that the piece is there. A call of more pieces differs from the first one on. */
static uint64_t word_of(const struct qv_team *t, uint64_t number, size_t length)
{
	const bool last = number + 1 == t->base + t->pieces;

	return number << QV_TEAM_BITS | (last ? 0 : QV_TEAM_MORE) | length;
}

/* Nothing of the piece is read by this member any more. */
static void end_piece(struct qv_team *t, uint64_t number)
{
	t->got = number - t->base + 1;
	t->seen_second = 0;
	if (!t->sliced)
		t->seen = 0;
	atomic_store_explicit(&t->seats[t->rank].done, number, memory_order_release);
}

static bool give(struct qv_team *t)
{
	const uint64_t number = t->base + t->given;
	const size_t length = qv_team_length(t, t->given);
	struct qv_team_slot *slot = qv_team_slot(t, t->rank, number);

	if (t->given - t->got >= QV_TEAM_AHEAD || !is_free(t, number))
		return false;
	if (t->sliced)
		qv_team_give_slices(t, number, length);
	else
		qv_team_give_piece(t, number, length);
	atomic_store_explicit(&slot->word, word_of(t, number, length), memory_order_release);
	t->given++;
	if (!t->gets && !t->sliced)
		end_piece(t, number);
	return true;
}

/* Taking. QV_EAGAIN: not all have come. */

/* Has the member given the piece? */
static int is_there(const struct qv_team *t, uint32_t rank, uint64_t number, uint64_t wanted)
{
	const uint64_t word =
		atomic_load_explicit(&qv_team_slot(t, rank, number)->word, memory_order_acquire);

	if (QV_LIKELY(word == wanted))
		return QV_OK;
	return word >> QV_TEAM_BITS < number ? QV_EAGAIN : QV_EPROTO;
}

static int is_combined(const struct qv_team *t, uint32_t rank, uint64_t number)
{
	const uint64_t second =
		atomic_load_explicit(&qv_team_slot(t, rank, number)->second, memory_order_acquire);

	if (QV_LIKELY(second == number))
		return QV_OK;
	return second < number ? QV_EAGAIN : QV_EPROTO;
}

/* Who comes i-th after this member, so that not all are at the same one. */
static uint32_t after(const struct qv_team *t, uint32_t i)
{
	const uint32_t rank = t->rank + 1 + i;

	return rank < t->ranks ? rank : rank - t->ranks;
}

/* From all others that give the piece. */
static int get_all(struct qv_team *t, uint64_t number, size_t length)
{
	const bool moved = !is_reduction(t->call.kind);
	const uint64_t word = word_of(t, number, length);

	for (; t->seen < t->ranks - 1; t->seen++) {
		const uint32_t rank = after(t, t->seen);
		int rc;

		if (t->call.kind == QV_TEAM_BROADCAST && rank != t->call.root)
			continue;
		rc = is_there(t, rank, number, word);
		if (rc)
			return rc;
		/* Its next one may be there already: it comes while this one is read. */
		__builtin_prefetch(qv_team_slot(t, rank, number + 1));
		if (moved)
			qv_team_get_piece(t, rank, number, length);
	}
	/* Who is here has done with the calls before. */
	if (number == t->base && t->call.kind != QV_TEAM_BROADCAST)
		t->floor = number - 1;
	return QV_OK;
}

static int get(struct qv_team *t)
{
	const uint64_t number = t->base + t->got;
	const size_t length = qv_team_length(t, t->got);
	const int rc = get_all(t, number, length);

	if (rc)
		return rc;
	if (is_reduction(t->call.kind))
		qv_team_combine_all(t, number, length);
	end_piece(t, number);
	return QV_OK;
}

static int combine_slice(struct qv_team *t)
{
	const uint64_t number = t->base + t->combined;
	const size_t length = qv_team_length(t, t->combined);
	const int rc = get_all(t, number, length);

	if (rc)
		return rc;
	qv_team_combine_slice(t, number, length);
	atomic_store_explicit(&qv_team_slot(t, t->rank, number)->second, number,
			      memory_order_release);
	t->combined++;
	t->seen = 0;
	if (!t->gets)
		end_piece(t, number);
	return QV_OK;
}

static int get_slices(struct qv_team *t)
{
	const uint64_t number = t->base + t->got;
	const size_t length = qv_team_length(t, t->got);

	for (; t->seen_second < t->ranks - 1; t->seen_second++) {
		const uint32_t rank = after(t, t->seen_second);
		const int rc = is_combined(t, rank, number);

		if (rc)
			return rc;
		qv_team_get_slice(t, rank, number, length);
	}
	end_piece(t, number);
	return QV_OK;
}

/* What can be done of the pieces that were given. */
static int take(struct qv_team *t)
{
	int rc = QV_EAGAIN, more = QV_EAGAIN;

	if (!t->sliced)
		return t->got < t->given ? get(t) : QV_EAGAIN;
	if (t->combined < t->given)
		rc = combine_slice(t);
	if (t->got < t->combined && (!rc || rc == QV_EAGAIN))
		more = get_slices(t);
	return more == QV_EAGAIN ? rc : more;
}

int qv_team_step(struct qv_team *t)
{
	int rc;

	if (QV_UNLIKELY(t->error))
		return QV_EPEER;
	while (t->got < t->pieces) {
		const bool gave = t->given < t->pieces && give(t);

		rc = take(t);
		if (rc == QV_EAGAIN && gave)
			continue;
		if (rc && t->got < t->pieces)
			return rc == QV_EAGAIN ? rc : fail(t, rc);
	}
	t->running = false;
	return QV_OK;
}
