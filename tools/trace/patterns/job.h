/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.h - a job that exists on paper only: ranks that post receives and get messages. Its matches are
 * decided by plain lists, oldest entry first, and all that happens goes into a trace. Patterns
 * (patterns.h) say what the ranks do.
 *
 * A pattern plans a phase, qv_job_recv and qv_job_send, and has it played, qv_job_run; or has calls
 * made at once. After an error nothing more happens; `error` has it.
 */
#ifndef QV_TRACE_JOB_H
#define QV_TRACE_JOB_H

#include <quiver/types.h>

#include "engine/trace/trace.h"

#define QV_JOB_ANY_TAG UINT64_MAX
/* A tag of MPI: a communicator, and 31 bits of the program. */
#define QV_JOB_TAG(communicator, tag) ((uint64_t)(communicator) << 32 | (tag))

enum qv_job_queue { QV_JOB_TAGGED, QV_JOB_COLLECTIVE, QV_JOB_QUEUES };

struct qv_job_entry {
	uint64_t tag, ignore, node;
	uint32_t src;
};

struct qv_job_list {
	struct qv_job_entry *at;
	size_t n, room;
};

enum { QV_JOB_RECV, QV_JOB_MSG };

struct qv_job_lane {
	uint32_t index;
	uint64_t nodes;
	struct qv_job_list waiting[2], planned[2]; /* receives, messages */
};

struct qv_job_rank {
	struct qv_job_lane lane[QV_JOB_QUEUES];
	uint64_t ns;
};

struct qv_job {
	uint32_t ranks, iteration;
	uint32_t any_source; /* percent of the tags that a rank plans to receive: from anybody */
	uint64_t random;     /* state */
	struct qv_trace_file *file;
	struct qv_job_rank *rank;
	int error; /* an errno */
};

/* How the messages of a phase come beside the receives of their rank. */
struct qv_job_pace {
	/* Percent of turns in which a message comes next, while there are both: 0: after all receives.
	 * Each rank draws its own between these. */
	uint32_t low, high;
	uint32_t window; /* receives that may be ahead of the messages; 0: any number */
};

/* False: `error` says why. */
bool qv_job_init(struct qv_job *job, struct qv_trace_file *file, const char *program,
		 uint32_t ranks, bool collective, uint64_t seed);
void qv_job_fini(struct qv_job *job);

uint32_t qv_job_draw(struct qv_job *job, uint32_t below);

/* Calls of a rank at one of its lanes, which searches its queues. */
struct qv_job_entry qv_job_recv_entry(uint32_t src, uint64_t tag);
void qv_job_lane_post(struct qv_job *job, struct qv_job_rank *r, struct qv_job_lane *lane,
		      struct qv_job_entry recv);
void qv_job_lane_arrive(struct qv_job *job, struct qv_job_rank *r, struct qv_job_lane *lane,
			struct qv_job_entry msg);
/* Append. False: no memory. */
bool qv_job_put(struct qv_job *job, struct qv_job_list *list, struct qv_job_entry entry);

/* Plan. src may be QV_SRC_ANY, tag QV_JOB_ANY_TAG. */
void qv_job_recv(struct qv_job *job, uint32_t at, enum qv_job_queue queue, uint32_t src,
		 uint64_t tag);
void qv_job_send(struct qv_job *job, uint32_t from, uint32_t to, enum qv_job_queue queue,
		 uint64_t tag);
/* Each so many planned receives of a rank after each other, in random order. */
void qv_job_shuffle_recvs(struct qv_job *job, uint32_t window);
/* Play what is planned. Messages of different senders come in random order, those of one as they were
 * sent. Then all ranks meet. */
void qv_job_run(struct qv_job *job, struct qv_job_pace pace);

/* At once. */
void qv_job_post(struct qv_job *job, uint32_t at, uint32_t src, uint64_t tag);
void qv_job_arrive(struct qv_job *job, uint32_t from, uint32_t to, uint64_t tag);
/* Look for a message, and take it out or leave it. *src: its sender. */
bool qv_job_probe(struct qv_job *job, uint32_t at, uint32_t want, uint64_t tag, bool take,
		  uint32_t *src);
/* Cancel all receives that wait. */
void qv_job_cancel(struct qv_job *job, uint32_t at);

/* Collectives of all ranks, on their lane. */
void qv_job_allreduce(struct qv_job *job);
void qv_job_allgather(struct qv_job *job);

#endif /* QV_TRACE_JOB_H */
