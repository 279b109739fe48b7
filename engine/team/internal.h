/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - the memory of a team. A call is cut into pieces, which are numbered through all calls
 * from 1 on. For each piece a member has a slot, and room behind the seats for what does not fit
 * into one; the piece so many numbers later uses both again, when all have done with this one. What
 * others write may be anything at any time: each word is read once, and checked.
 */
#ifndef QV_TEAM_I_H
#define QV_TEAM_I_H

#include <stdalign.h>
#include <stdatomic.h>

#include "engine/base/compiler.h"
#include "engine/base/copy.h"
#include "engine/base/proc.h"
#include "team.h"

#define QV_TEAM_SLOTS  4u
#define QV_TEAM_INLINE 48u          /* bytes of a piece that lie in the slot */
#define QV_TEAM_PIECE  (256u << 10) /* bytes of a piece, at most */
#define QV_TEAM_BITS   20u          /* of the word of a slot, that say how many */
#define QV_TEAM_MORE   (1u << 19)   /* among these: pieces of the call follow */
#define QV_TEAM_FLAT   8192u        /* up to so many bytes of all members, each combines all */
#define QV_TEAM_AHEAD  3u           /* pieces that a member has given and not taken */
#define QV_TEAM_LINE   64u

/* One cache line. */
struct qv_team_slot {
	_Atomic uint64_t
		word; /* number of the piece (from QV_TEAM_BITS on), its bytes, QV_TEAM_MORE: stored last */
	_Atomic uint64_t second; /* the number again: this member's slice is combined */
	char bytes[QV_TEAM_INLINE];
};

/* Where one member writes. */
struct qv_team_seat {
	alignas(QV_TEAM_LINE) _Atomic uint64_t done; /* nothing of the pieces up to it is read */
	_Atomic uint32_t failed;                     /* or closed: it takes part no more */
	struct qv_proc proc;
	alignas(2 * QV_TEAM_LINE) struct qv_team_slot slots[QV_TEAM_SLOTS];
	char spare[2 * QV_TEAM_LINE];
};

_Static_assert(sizeof(struct qv_team_slot) == QV_TEAM_LINE, "a slot is a line");
_Static_assert(sizeof(struct qv_team_seat) == 512, "seats do not share lines");
_Static_assert(QV_TEAM_PIECE < QV_TEAM_MORE && QV_TEAM_MORE < 1u << QV_TEAM_BITS,
	       "the bytes of a piece fit into a word");
_Static_assert(QV_TEAM_AHEAD < QV_TEAM_SLOTS, "the own pieces are not overwritten");

struct qv_team {
	uint32_t rank, ranks;
	struct qv_team_seat *seats;
	char *stages;    /* of each member, QV_TEAM_SLOTS of them */
	uint64_t number; /* of the last piece of all calls */
	uint64_t floor;  /* all others have done with pieces up to it, at least */
	/* The call. */
	struct qv_team_call call;
	uint64_t base;                 /* number of its first piece */
	uint64_t pieces;               /* of the call */
	uint64_t given, combined, got; /* of these, by this member */
	size_t piece, bytes;           /* of a piece; of the vector or block */
	uint32_t seen, seen_second;    /* members that are done with in this piece */
	bool sliced;                   /* each member combines its slice for all */
	bool gets;                     /* this member wants what others give */
	bool running;
	int error;
	/* What is rarely looked at. */
	struct qv_team_spec spec;
	struct qv_proc self;
	size_t mapped;
	int fd, door; /* until the memory is handed over, else -1 */
};

QV_INLINE struct qv_team_slot *qv_team_slot(const struct qv_team *t, uint32_t rank, uint64_t number)
{
	return &t->seats[rank].slots[number % QV_TEAM_SLOTS];
}

/* Where so many bytes of a member are. */
QV_INLINE char *qv_team_place(const struct qv_team *t, uint32_t rank, uint64_t number, size_t bytes)
{
	if (bytes <= QV_TEAM_INLINE)
		return qv_team_slot(t, rank, number)->bytes;
	return t->stages + ((size_t)rank * QV_TEAM_SLOTS + number % QV_TEAM_SLOTS) * QV_TEAM_PIECE;
}

/* Bytes of the piece with this index. */
QV_INLINE size_t qv_team_length(const struct qv_team *t, uint64_t i)
{
	return i + 1 < t->pieces ? t->piece : t->bytes - (size_t)i * t->piece;
}

/* move.c: what is copied. */
/* The next piece goes into the own seat. */
void qv_team_give_piece(struct qv_team *t, uint64_t number, size_t length);
/* That of another member is there. */
void qv_team_get_piece(struct qv_team *t, uint32_t rank, uint64_t number, size_t length);

/* combine.c: what is combined. */
/* All are there. */
void qv_team_combine_all(struct qv_team *t, uint64_t number, size_t length);
/* Of vectors in slices: give what others combine; combine the own slice; get another's. */
void qv_team_give_slices(struct qv_team *t, uint64_t number, size_t length);
void qv_team_combine_slice(struct qv_team *t, uint64_t number, size_t length);
void qv_team_get_slice(struct qv_team *t, uint32_t rank, uint64_t number, size_t length);

#endif /* QV_TEAM_I_H */
