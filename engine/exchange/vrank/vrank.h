/* SPDX-License-Identifier: BSD-2-Clause */
/* vrank.h - parts of the vranks of one rank. Inside of engine/exchange only. */
#ifndef QV_VRANK_H
#define QV_VRANK_H

#include <quiver/vrank.h>

#include "engine/exchange/stream/stream.h"

/* What an item of the stream is; numbers of 7 bits to a byte stand before its data. */
enum qv_vrank_kind {
	QV_VRANK_SOURCE, /* to, from: an item, to its sender's home */
	QV_VRANK_HOME,   /* to, from: an item, to its receiver's home */
	QV_VRANK_LAST,   /* to, from: an item, to where its receiver is */
	QV_VRANK_SPREAD, /* by, from, n, n of to: an item for many, to its sender's home */
	QV_VRANK_MANY,   /* the same but for by, to the home of all of them */
	QV_VRANK_LEAVE,  /* vrank, target: one that is away asks its home to move */
	QV_VRANK_CLOSED, /* vrank: its home sends it nothing more there */
	QV_VRANK_STATE,  /* vrank, target, total, offset: a piece of what it takes along */
	QV_VRANK_REPORT, /* round, sent, came: to rank 0, items of the kinds above since ever */
	QV_VRANK_ASK,    /* round: from rank 0, report again */
	QV_VRANK_QUIET,  /* from rank 0: nothing is under way, who is away from home? */
	QV_VRANK_AWAY,   /* last, vranks: to rank 0, those that are on the sender */
	QV_VRANK_HOMES,  /* last, vranks and ranks: from rank 0, new homes */
	QV_VRANK_KINDS,
};

/* Of all items of the stream. */
struct qv_vrank_envelope {
	uint8_t kind, fences; /* that were over, modulo 256 */
	uint16_t zero;
	uint32_t entry; /* of items of vranks */
};

/* A message kept: an item of a vrank, or an item of the stream from behind a fence. */
struct qv_vrank_kept {
	struct qv_vrank_kept *next;
	struct qv_vrank_item item; /* data: behind this */
	struct qv_vrank_envelope envelope;
	uint32_t rank;
};

struct qv_vrank_queue {
	struct qv_vrank_kept *first, *last;
};

/* One that is here, or has its home here. */
struct qv_vrank {
	uint32_t vrank;
	uint32_t where;  /* at its home: where it is, or where its state goes */
	uint32_t target; /* of a move that has begun */
	int here, leaving;
	int closed; /* at its home: what comes for it waits for its state */
	struct qv_vrank_queue held;
	struct qv_vrank *next; /* of those that want to leave */
	char *state;           /* that comes in pieces, or is passed on so */
	size_t have, total;
};

struct qv_vrank_move {
	uint32_t vrank, rank;
};

struct qv_vrank_fence {
	int on, over; /* begun; ended, and the user has not been told */
	struct qv_vrank_queue early;
	/* Of rank 0: */
	uint32_t *reported; /* rounds of each rank */
	uint32_t round, reports, lists;
	uint64_t sent, came, sent_before, came_before;
	int quiet;
	struct qv_vrank_move *moves;
	size_t moves_n, moves_room;
};

struct qv_vranks {
	struct qv_vranks_spec spec;
	struct qv_vranks_calls calls;
	void *port;
	struct qv_stream *stream;
	uint32_t rank, ranks, *homes;
	struct qv_vrank **slots, *found; /* by vrank; the one found last */
	size_t slots_n, used;
	struct qv_vrank_queue local; /* items for here, given when what is being given has been */
	struct qv_vrank *leaving;
	int depth, giving, failed;
	uint64_t now, sent, came; /* items of the stream, but for those of fences */
	struct qv_vrank_fence fence;
	char *out, *list; /* as long as an item of the stream may be */
	size_t longest;
	struct qv_vranks_stats stats;
};

struct qv_vrank_state {
	char *at;
	size_t n, room, most;
	int failed;
};

/* table.c: who is here, who has his home here; messages that wait. */

/* NULL: neither. The one found last is found at once. */
struct qv_vrank *qv_vrank_find(struct qv_vranks *v, uint32_t vrank);
struct qv_vrank *qv_vrank_look(const struct qv_vranks *v, uint32_t vrank);
/* The same, made if there is none; NULL: no memory. */
struct qv_vrank *qv_vrank_make(struct qv_vranks *v, uint32_t vrank);
/* Forget those that are not here: homes are where vranks are. */
void qv_vrank_tidy(struct qv_vranks *v);
void qv_vrank_free_table(struct qv_vranks *v);
/* Copy an item to the end. */
int qv_vrank_keep(struct qv_vrank_queue *q, const struct qv_vrank_kept *kept);
/* The first, or NULL; to be freed. */
struct qv_vrank_kept *qv_vrank_pop(struct qv_vrank_queue *q);

/* vrank.c: items. */

/* An item of the stream: n numbers, then data. */
int qv_vrank_emit(struct qv_vranks *v, uint32_t rank, struct qv_vrank_envelope envelope,
		  const uint64_t *numbers, size_t n, const void *data, size_t bytes);
/* What has come for a vrank whose home is here, and waits for no state any more. */
int qv_vrank_release(struct qv_vranks *v, struct qv_vrank *vr);

/* What functions of the user have left to do. */
void qv_vrank_unwind(struct qv_vranks *v);

/* Of a call that has raised `depth`: the outermost unwinds. */
static inline int qv_vrank_end(struct qv_vranks *v, int rc)
{
	if (v->depth == 1 && (v->local.first || v->leaving))
		qv_vrank_unwind(v);
	v->depth--;
	return rc;
}

/* At the home of the receiver. */
int qv_vrank_reach(struct qv_vranks *v, const struct qv_vrank_item *item);
/* Whether an item may be inserted; then what does that goes between these two. */
int qv_vrank_begin_insert(struct qv_vranks *v, const struct qv_vrank_item *item, uint64_t now);
int qv_vrank_end_insert(struct qv_vranks *v, uint64_t items, int rc);
/* Whether it need not wait; a user's function never has to. As qv_stream_room. */
int qv_vrank_room(struct qv_vranks *v);

/* come.c: messages of others. */

/* As in struct qv_stream_calls; port: struct qv_vranks. */
void qv_vrank_come(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		   size_t bytes);

/* A message on its way through the functions that take it: numbers are read from its beginning. */
struct qv_vrank_in {
	uint32_t rank; /* that sent it */
	struct qv_vrank_envelope envelope;
	const char *data;
	size_t bytes, at;
};

/* The next number, below `end`; 0 or -1. */
static inline int qv_vrank_number(struct qv_vrank_in *in, uint64_t end, uint64_t *value)
{
	return qv_get_number(in->data, in->bytes, &in->at, end - 1, value);
}

/* What is left. */
static inline const char *qv_vrank_rest(const struct qv_vrank_in *in, size_t *bytes)
{
	*bytes = in->bytes - in->at;
	return in->data + in->at;
}

/* vrank.c: of an item, on its way. */
int qv_vrank_take_item(struct qv_vranks *v, struct qv_vrank_in *in);
/* Do what a message says. QV_EPROTO: it makes no sense here; else what ends all. */
int qv_vrank_take(struct qv_vranks *v, struct qv_vrank_in *in);

/* From many.c. */

int qv_vrank_take_spread(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_many(struct qv_vranks *v, struct qv_vrank_in *in);

/* From move.c. */

/* It wants to go to its target. */
int qv_vrank_begin_move(struct qv_vranks *v, struct qv_vrank *vr);
int qv_vrank_take_leave(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_closed(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_state(struct qv_vranks *v, struct qv_vrank_in *in);

/* From fence.c. */

int qv_vrank_take_report(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_ask(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_quiet(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_away(struct qv_vranks *v, struct qv_vrank_in *in);
int qv_vrank_take_homes(struct qv_vranks *v, struct qv_vrank_in *in);

#endif /* QV_VRANK_H */
