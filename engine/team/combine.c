/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.c - what is combined, from the last rank to the first, whoever does it. Of a short vector
 * each member combines all for itself, which is read as soon as it is there. Of a long one each
 * combines a slice for all.
 */
#include "internal.h"

static void combine(const struct qv_team *t, void *dst, const void *a, const void *b, size_t count)
{
	t->call.combine(t->call.context, dst, a, b, count);
}

/* The one contribution after the other, into dst, which is none of them. */
QV_INLINE void combine_in_order(const struct qv_team *t, char *dst,
				const char *(*from)(const struct qv_team *, uint32_t, uint64_t,
						    size_t, size_t),
				uint64_t number, size_t length, size_t at, size_t count)
{
	uint32_t i = t->ranks - 1;

	combine(t, dst, from(t, i - 1, number, length, at), from(t, i, number, length, at), count);
	while (--i > 0)
		combine(t, dst, from(t, i - 1, number, length, at), dst, count);
}

static const char *in_seat(const struct qv_team *t, uint32_t rank, uint64_t number, size_t length,
			   size_t at)
{
	return qv_team_place(t, rank, number, length) + at;
}

void qv_team_combine_all(struct qv_team *t, uint64_t number, size_t length)
{
	if (t->call.out)
		combine_in_order(t, t->call.out, in_seat, number, length, 0, length / t->call.item);
}

/* Slices. Where the elements of a member begin and end in a piece, as bytes: at lines of the cache. */
struct slice {
	size_t at, bytes;
};

static struct slice slice_of(const struct qv_team *t, uint32_t rank, size_t length)
{
	const size_t share = (length + t->ranks - 1) / t->ranks;
	const size_t each = (share + QV_TEAM_LINE - 1) / QV_TEAM_LINE * QV_TEAM_LINE;
	/* A line has whole elements, unless their size is odd. */
	const size_t item = t->call.item;
	const size_t whole = QV_TEAM_LINE % item ? (each + item - 1) / item * item : each;
	const size_t at = rank * whole < length ? rank * whole : length;

	return (struct slice){at, length - at < whole ? length - at : whole};
}

/* The own slice is not given to anybody. */
void qv_team_give_slices(struct qv_team *t, uint64_t number, size_t length)
{
	const struct slice own = slice_of(t, t->rank, length);
	const size_t end = own.at + own.bytes;
	const char *in = (const char *)t->call.in + (size_t)(number - t->base) * t->piece;
	char *to = qv_team_place(t, t->rank, number, length);

	qv_copy(to, in, own.at);
	qv_copy(to + end, in + end, length - end);
}

static const char *own_in_place(const struct qv_team *t, uint32_t rank, uint64_t number,
				size_t length, size_t at)
{
	if (rank == t->rank)
		return (const char *)t->call.in + (size_t)(number - t->base) * t->piece + at;
	return in_seat(t, rank, number, length, at);
}

/* The result is where the own slice would have been given; it goes to the own result, too, which may
 * be where the contribution was. */
void qv_team_combine_slice(struct qv_team *t, uint64_t number, size_t length)
{
	const struct slice own = slice_of(t, t->rank, length);
	char *to = qv_team_place(t, t->rank, number, length) + own.at;

	if (!own.bytes)
		return;
	combine_in_order(t, to, own_in_place, number, length, own.at, own.bytes / t->call.item);
	if (t->gets && t->call.out)
		qv_copy((char *)t->call.out + (size_t)(number - t->base) * t->piece + own.at, to,
			own.bytes);
}

void qv_team_get_slice(struct qv_team *t, uint32_t rank, uint64_t number, size_t length)
{
	const struct slice its = slice_of(t, rank, length);

	if (t->call.out)
		qv_copy((char *)t->call.out + (size_t)(number - t->base) * t->piece + its.at,
			qv_team_place(t, rank, number, length) + its.at, its.bytes);
}
