/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - the calls of all ranks of a job, and how `quiver trace arrivals` makes matches of them:
 * load.c reads the files, pair.c finds out which message each receive got, order.c says when a message may
 * arrive, walk.c goes through the calls of a rank and writes down what its matching did.
 */
#ifndef QV_ARRIVALS_CALLS_H
#define QV_ARRIVALS_CALLS_H

#include "tools/trace/files.h"
#include "tools/trace/table.h"

enum qv_calls_kind { QV_CALLS_RECEIVE, QV_CALLS_PROBE, QV_CALLS_CLAIM };

enum qv_calls_end {
	QV_CALLS_UNKNOWN, /* the file does not say */
	QV_CALLS_NOTHING, /* no message: cancelled, or nothing was there */
	QV_CALLS_MESSAGE,
};

/* Indices of messages and calls are from 1 on; 0: none. */

struct qv_calls_call {
	uint64_t ns;             /* when it ended */
	uint32_t src, comm, tag; /* src: QV_SRC_ANY, or the rank */
	uint32_t got_src, got_tag;
	uint32_t message;
	uint32_t same;    /* the next call with this message: a probe sees it, a receive takes it */
	uint32_t waiters; /* messages that must not come before it has its own */
	bool any_tag, is_posted, is_closed, is_left_out;
	enum qv_calls_kind kind;
	enum qv_calls_end end;
};

struct qv_calls_message {
	uint64_t ns, order; /* order: among all sends */
	uint32_t src, dst, comm, tag;
	uint32_t taker;    /* the call that takes it */
	uint32_t calls;    /* those that see or take it */
	uint32_t before;   /* the message of this sender and communicator that was sent before */
	uint32_t group[4]; /* of calls that accept it */
	uint32_t waiters, next;
	bool is_unsent;  /* the call has failed */
	bool is_unknown; /* that it was sent is in no file */
	bool has_come, is_taken, is_forced;
};

/* What a rank did to a call, in this order. */
struct qv_calls_step {
	uint64_t ns;
	uint32_t call;
	bool ends;
};

struct qv_calls_rank {
	struct qv_trace_process process;
	struct qv_calls_call *calls;
	struct qv_calls_step *steps;
	uint32_t calls_n, calls_room, steps_n, steps_room;
};

struct qv_calls {
	struct qv_calls_rank *ranks;
	uint32_t ranks_n, ranks_room;
	struct qv_calls_message *messages; /* all sends, then sorted by receiver and time */
	uint32_t messages_n, messages_room;
	struct qv_table comms;
	uint64_t lost;
	bool whole; /* the files: true before they are read */
};

/* All return false after a line on stderr. */
bool qv_calls_load(struct qv_calls *calls, char **paths, size_t n);
void qv_calls_free(struct qv_calls *calls);

/* Calls that accept the same: in the order in which they were posted. */
struct qv_calls_group {
	uint32_t first, n; /* of qv_calls_walk.grouped */
	uint32_t open;     /* the first one that is not closed, or n */
};

/* One rank. */
struct qv_calls_walk {
	struct qv_calls_rank *rank;
	struct qv_calls_message *messages; /* to this rank */
	uint32_t messages_n, messages_room, sent;
	uint32_t *by_time;
	uint32_t *stack;   /* room for all messages */
	uint32_t *grouped; /* calls */
	uint32_t grouped_n;
	struct qv_calls_group *groups;
	uint32_t groups_n;
	uint32_t ready, last_ready; /* messages to be looked at again */
	struct qv_trace_out *out;
	uint32_t lane;
	uint64_t now;
};

/* What is to be said at the end. */
struct qv_calls_figures {
	uint64_t matches, nowhere, unknown, unended, unreceived, wrong;
};

/* The messages to a rank, each with its call. */
bool qv_calls_pair(struct qv_calls_walk *w, const struct qv_calls *calls);
/* What order.c needs. */
bool qv_calls_order(struct qv_calls_walk *w);
/* A message, or a call, that must come before this message; both 0: none. */
struct qv_calls_blocker {
	uint32_t message, call;
};
struct qv_calls_blocker qv_calls_blocker(const struct qv_calls_walk *w, uint32_t message);
void qv_calls_walk_free(struct qv_calls_walk *w);

/* Its lane. */
bool qv_calls_walk(struct qv_calls_walk *w, struct qv_calls_figures *figures);

#endif /* QV_ARRIVALS_CALLS_H */
