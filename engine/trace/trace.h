/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - files of what matching was asked for and what it answered: written by a process while it
 * runs (record.h) or by a tool, and read by tools. docs/trace-format.md has the bytes.
 *
 * A trace has lanes. A lane is one matching engine: the queue of tagged messages of an endpoint of a
 * process, say. Events of a lane are in order; those of different lanes are in order where their
 * times say so.
 */
#ifndef QV_TRACE_H
#define QV_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QV_TRACE_NAME = 64, QV_TRACE_PROCESSES = 1 << 20, QV_TRACE_LANES = 1 << 22 };

enum qv_trace_kind {
	QV_TRACE_POST = 1, /* a receive is posted */
	QV_TRACE_ARRIVE,   /* a message arrives */
	QV_TRACE_QUEUE,    /* the message that has arrived last, and had no receive, is queued */
	QV_TRACE_PEEK,     /* an unexpected message is looked for; it stays */
	QV_TRACE_TAKE,     /* an unexpected message that was found so is removed */
	QV_TRACE_CANCEL,   /* a posted receive is removed */
	/* What a program asks of its MPI: in files of calls, which have nothing else. */
	QV_TRACE_SEND,  /* a message is sent, to the rank `src` */
	QV_TRACE_WANT,  /* a receive is posted; whether a message waits, the MPI does not say */
	QV_TRACE_PROBE, /* a message was looked for; it stays */
	QV_TRACE_CLAIM, /* the same, and it is taken out: MPI_Mprobe */
	QV_TRACE_DONE,  /* the call `node` has this message; not `matched`: none, for ever */
	QV_TRACE_COMM,  /* the communicator `node` of this process is the one that all call `tag` */
};

enum qv_trace_queue { QV_TRACE_UNTAGGED, QV_TRACE_TAGGED, QV_TRACE_COLLECTIVE, QV_TRACE_QUEUES };
extern const char *const qv_trace_queue_names[QV_TRACE_QUEUES]; /* for people */

struct qv_trace_event {
	uint64_t ns;  /* CLOCK_REALTIME */
	uint64_t tag; /* of the receive or message; 0: TAKE, CANCEL. Of calls: comm << 32 | tag */
	uint64_t ignore; /* POST, PEEK: bits of the tag that are not compared */
	/*
	 * Which entry. It tells those apart that wait at the same time in one queue of the lane, and
	 * may be used again. POST: the message that was matched, else the receive, which waits now.
	 * ARRIVE: the receive that was matched, else 0. QUEUE: the message. PEEK: the message that
	 * was found, else 0. TAKE: the message. CANCEL: the receive. At most 48 bits. In files of
	 * calls: SEND, WANT, PROBE and CLAIM of a lane have the numbers 1, 2 ... and COMM 0, 1 ...
	 */
	uint64_t node;
	uint32_t src;  /* sender, or QV_SRC_ANY of a receive; 0: TAKE, CANCEL */
	uint32_t lane; /* qv_trace_lane */
	enum qv_trace_kind kind;
	bool matched;    /* POST, ARRIVE, PEEK: there was an entry that fits */
	bool persistent; /* POST: the receive stays when a message takes it, until CANCEL */
};

struct qv_trace_process {
	int32_t rank; /* -1: not known */
	uint32_t pid;
	char host[QV_TRACE_NAME], program[QV_TRACE_NAME];
};

struct qv_trace_lane {
	uint32_t process;  /* 0, 1 ... as they were added */
	uint32_t endpoint; /* tells those of a process apart */
	enum qv_trace_queue queue;
	char structure[QV_TRACE_NAME];
	uint64_t protocol_bits; /* of a mask: the MPI's own, no wildcard of the program */
};

/* Writing. */

struct qv_trace_file;

/*
 * Create a file, or empty the one that is there.
 *   path  its name
 *   most  bytes at most, then nothing more is written; 0: no limit
 * NULL: errno says why; EWOULDBLOCK: somebody writes it already.
 */
struct qv_trace_file *qv_trace_create(const char *path, uint64_t most);
/* The same for calls of a program. */
struct qv_trace_file *qv_trace_create_calls(const char *path, uint64_t most);

/* Both return the index, or -1: there are too many, or it could not be written. */
int64_t qv_trace_add_process(struct qv_trace_file *f, const struct qv_trace_process *process);
int64_t qv_trace_add_lane(struct qv_trace_file *f, const struct qv_trace_lane *lane);

/* An event of a lane, not older than the one before. False: it is not written, and no later one. */
bool qv_trace_put(struct qv_trace_file *f, const struct qv_trace_event *event);

/* So many events are not in the file: they were lost where it comes from. */
void qv_trace_count_lost(struct qv_trace_file *f, uint64_t n);

/*
 * What has not been written yet, and that the file ends here. Frees f.
 *   lost  out, may be NULL: events that are not in the file
 * 0, or the errno of what has failed: EFBIG if that was `most`. What is in the file can be read.
 */
int qv_trace_finish(struct qv_trace_file *f, uint64_t *lost);
/* The same, but the file does not say that it ends here: one that it was made of did not either. */
int qv_trace_leave(struct qv_trace_file *f);
/* A child that was forked needs the descriptor no more. Nothing that it does goes into the file, which is the
 * parent's. f stays: recordings of the child have it. */
void qv_trace_drop(struct qv_trace_file *f);

/* Reading. */

struct qv_trace_reader;

/*
 * Open a trace. Nothing in the file is trusted.
 *   why   out: where NULL is returned, one line without a newline
 *   size  bytes of it
 */
struct qv_trace_reader *qv_trace_open(const char *path, char *why, size_t size);
/* A file of calls, too, which qv_trace_open refuses. */
struct qv_trace_reader *qv_trace_open_any(const char *path, char *why, size_t size);
bool qv_trace_has_calls(const struct qv_trace_reader *r);
void qv_trace_close(struct qv_trace_reader *r);

/* 1: *event is the next one; 0: there is no more; -1: what follows cannot be read, and
 * qv_trace_why has one line. What came before is right. */
int qv_trace_next(struct qv_trace_reader *r, struct qv_trace_event *event);
const char *qv_trace_why(const struct qv_trace_reader *r);

/* Those that were met so far; all of them after the last event. NULL: index is too high. */
const struct qv_trace_process *qv_trace_process_at(const struct qv_trace_reader *r, uint32_t index);
const struct qv_trace_lane *qv_trace_lane_at(const struct qv_trace_reader *r, uint32_t index);
uint32_t qv_trace_processes(const struct qv_trace_reader *r);
uint32_t qv_trace_lanes(const struct qv_trace_reader *r);

/* After the last event: did the writer end the file? Else its process was killed, and the last events
 * are missing. */
bool qv_trace_is_whole(const struct qv_trace_reader *r);
/* Events that are not in the file, as far as it was read: a limit, or a ring. Where it grows from one
 * event to the next, they are missing between the two. */
uint64_t qv_trace_lost(const struct qv_trace_reader *r);
/* Those of them of which the file says that they are of this lane. */
uint64_t qv_trace_lane_lost(const struct qv_trace_reader *r, uint32_t index);

#endif /* QV_TRACE_H */
