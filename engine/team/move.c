/* SPDX-License-Identifier: BSD-2-Clause */
/* move.c - what is copied: into the own seat, and from those of others. */
#include "internal.h"

/* From one block to the next in a seat: of an alltoall, a block for each member. */
static size_t stride(const struct qv_team *t, size_t length)
{
	return length * t->ranks <= QV_TEAM_INLINE ? length : t->piece;
}

/* The own block goes to the own place, if it is not there. */
static void keep(const struct qv_team *t, const char *from, size_t at, size_t length)
{
	char *out = t->call.out;

	if (out && out + t->rank * t->bytes + at != from)
		qv_copy(out + t->rank * t->bytes + at, from, length);
}

static void give_blocks(struct qv_team *t, uint64_t number, size_t at, size_t length)
{
	char *to = qv_team_place(t, t->rank, number, length * t->ranks);
	const char *in = (const char *)t->call.in + at;

	for (uint32_t i = 0; i < t->ranks; i++)
		if (i != t->rank)
			qv_copy(to + i * stride(t, length), in + i * t->bytes, length);
	keep(t, in + t->rank * t->bytes, at, length);
}

void qv_team_give_piece(struct qv_team *t, uint64_t number, size_t length)
{
	const size_t at = (size_t)(number - t->base) * t->piece;
	const char *in = t->call.in;

	if (!length)
		return;
	in += at;
	if (t->call.kind == QV_TEAM_ALLTOALL) {
		give_blocks(t, number, at, length);
		return;
	}
	qv_copy(qv_team_place(t, t->rank, number, length), in, length);
	if (t->call.kind == QV_TEAM_ALLGATHER)
		keep(t, in, at, length);
}

void qv_team_get_piece(struct qv_team *t, uint32_t rank, uint64_t number, size_t length)
{
	char *to = t->call.out;

	if (!to || !length)
		return;
	to += (size_t)(number - t->base) * t->piece;
	if (t->call.kind == QV_TEAM_BROADCAST)
		qv_copy(to, qv_team_place(t, rank, number, length), length);
	else if (t->call.kind == QV_TEAM_ALLGATHER)
		qv_copy(to + rank * t->bytes, qv_team_place(t, rank, number, length), length);
	else if (t->call.kind == QV_TEAM_ALLTOALL)
		qv_copy(to + rank * t->bytes,
			qv_team_place(t, rank, number, length * t->ranks) +
				t->rank * stride(t, length),
			length);
}
