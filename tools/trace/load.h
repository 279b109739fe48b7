/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.h - traces in memory: for each lane the operations that its matching engine was asked for, on
 * numbered entries, with the answers that were recorded.
 *
 * Receives and messages of a lane have numbers of their own. A number is used again when its entry
 * has left the queue, so there are about as many as waited at the same time.
 *
 * An entry that waited before the trace began is not known. An operation whose answer, or object, is
 * such an entry is left out: it changes nothing for the others, which are all younger. Where events
 * of a lane are missing, the lane ends and another one of the same number begins, with empty queues.
 */
#ifndef QV_LOAD_H
#define QV_LOAD_H

#include "engine/trace/trace.h"

enum qv_load_kind {
	QV_LOAD_POST,    /* qv_match_post */
	QV_LOAD_DELIVER, /* qv_match_deliver: an arrival, and if no receive is there the queueing */
	QV_LOAD_ARRIVE,  /* qv_match_arrive without a receive, and the message is not queued */
	QV_LOAD_QUEUE,   /* qv_match_queue, not right after its arrival */
	QV_LOAD_PEEK,    /* qv_match_peek */
	QV_LOAD_TAKE,    /* qv_match_take */
	QV_LOAD_CANCEL,  /* qv_match_cancel */
};

/* One operation in 32 bytes: a replay reads them as fast as they come. */
struct qv_load_op {
	uint64_t tag, ignore; /* as in struct qv_trace_event */
	uint32_t src;
	uint32_t entry;  /* POST, CANCEL: number of the receive; else of the message; not PEEK */
	uint32_t answer; /* 0: none; else 1 + the number of a message, DELIVER: of a receive */
	uint8_t kind;    /* enum qv_load_kind */
	bool persistent; /* POST */
};

struct qv_load_lane {
	struct qv_trace_lane info; /* info.process: index into processes of struct qv_load */
	uint32_t number;           /* from 0, through all files */
	struct qv_load_op *ops;
	uint32_t *event; /* of each operation: its last event's number in the lane, from 1 */
	size_t ops_n, room;
	uint32_t recvs, msgs; /* numbers that are used */
	uint64_t events;
	uint64_t left_out; /* operations on entries from before the trace */
	uint64_t arrivals; /* messages that arrived and were matched or queued */
	/* High-water marks of the queues, of entries that are known. */
	uint64_t posted_max, unexpected_max;
	/* Receives, and looks for messages: all, from any source, of any tag, which is one that
	 * ignores a bit outside info.protocol_bits. */
	uint64_t wanted, any_source, any_tag;
	uint64_t first_ns, last_ns;
};

struct qv_load {
	struct qv_load_lane *lanes; /* those that are wanted and have operations */
	size_t lanes_n;
	struct qv_trace_process *processes;
	size_t processes_n;
	/* Of these lanes. */
	uint64_t events, operations, arrivals, left_out;
	uint64_t lost; /* events that the files say are missing */
	bool whole;    /* every file was ended by its writer */
};

#define QV_LOAD_EVENTS 10000000 /* default of most_events */

struct qv_load_options {
	char *const *files;
	size_t files_n;
	uint64_t most_events; /* more are refused. One takes 36 bytes, 250 while its entry waits */
	int64_t rank, lane;   /* only these; -1: all */
};

/*
 * Read the files. 0: *load is to be freed. -1: *load is empty and why[size] has one line: what cannot
 * be read, is too long, or contradicts itself.
 */
int qv_load(struct qv_load *load, const struct qv_load_options *options, char *why, size_t size);
void qv_load_free(struct qv_load *load);

/* "lane 3 (rank 1, tagged)", in text[size]; returns text. */
const char *qv_load_lane_name(const struct qv_load *load, const struct qv_load_lane *lane,
			      char *text, size_t size);

#endif /* QV_LOAD_H */
