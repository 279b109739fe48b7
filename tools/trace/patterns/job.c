/* SPDX-License-Identifier: BSD-2-Clause */
/* job.c - ranks, the queues that decide their matches, and the events. */
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"

#define START_NS      UINT64_C(1767225600000000000) /* 2026 begins */
#define PROTOCOL      (UINT64_C(3) << 60)           /* bits that every receive ignores */
#define PROGRAM_BITS  UINT64_C(0x7fffffff)
#define RANKS_OF_HOST 32

bool qv_job_put(struct qv_job *job, struct qv_job_list *list, struct qv_job_entry entry)
{
	if (job->error)
		return false;
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 32;
		void *at = realloc(list->at, room * sizeof(entry));

		if (!at) {
			job->error = ENOMEM;
			return false;
		}
		list->at = at;
		list->room = room;
	}
	list->at[list->n++] = entry;
	return true;
}

static struct qv_job_entry cut(struct qv_job_list *list, size_t i)
{
	const struct qv_job_entry entry = list->at[i];

	memmove(list->at + i, list->at + i + 1, (--list->n - i) * sizeof(entry));
	return entry;
}

static bool accepts(const struct qv_job_entry *recv, const struct qv_job_entry *msg)
{
	return ((recv->tag ^ msg->tag) & ~recv->ignore) == 0 &&
	       (recv->src == msg->src || recv->src == QV_SRC_ANY);
}

/* The oldest that fits, or their number. */
static size_t find(const struct qv_job_list *list, int kind, const struct qv_job_entry *other)
{
	size_t i = 0;

	while (i < list->n &&
	       !(kind == QV_JOB_RECV ? accepts(&list->at[i], other) : accepts(other, &list->at[i])))
		i++;
	return i;
}

struct qv_job_entry qv_job_recv_entry(uint32_t src, uint64_t tag)
{
	if (tag == QV_JOB_ANY_TAG)
		return (struct qv_job_entry){.ignore = PROTOCOL | PROGRAM_BITS, .src = src};
	return (struct qv_job_entry){.tag = tag, .ignore = PROTOCOL, .src = src};
}

static void emit(struct qv_job *job, struct qv_job_rank *r, const struct qv_job_lane *lane,
		 enum qv_trace_kind kind, const struct qv_job_entry *e, uint64_t node, bool matched)
{
	const bool receive = kind == QV_TRACE_POST || kind == QV_TRACE_PEEK;
	const struct qv_trace_event event = {
		.ns = r->ns,
		.tag = e->tag,
		.ignore = receive ? e->ignore : 0,
		.node = node,
		.src = e->src,
		.lane = lane->index,
		.kind = kind,
		.matched = matched,
	};

	/* The file says what has failed when it is finished. */
	if (!job->error && !qv_trace_put(job->file, &event))
		job->error = EIO;
	r->ns += 60 + qv_random_below(&job->random, 200);
}

void qv_job_lane_post(struct qv_job *job, struct qv_job_rank *r, struct qv_job_lane *lane,
		      struct qv_job_entry e)
{
	struct qv_job_list *messages = &lane->waiting[QV_JOB_MSG];
	const size_t i = find(messages, QV_JOB_MSG, &e);

	if (i < messages->n) {
		emit(job, r, lane, QV_TRACE_POST, &e, cut(messages, i).node, true);
		return;
	}
	e.node = ++lane->nodes;
	if (qv_job_put(job, &lane->waiting[QV_JOB_RECV], e))
		emit(job, r, lane, QV_TRACE_POST, &e, e.node, false);
}

void qv_job_lane_arrive(struct qv_job *job, struct qv_job_rank *r, struct qv_job_lane *lane,
			struct qv_job_entry e)
{
	struct qv_job_list *receives = &lane->waiting[QV_JOB_RECV];
	const size_t i = find(receives, QV_JOB_RECV, &e);

	if (i < receives->n) {
		emit(job, r, lane, QV_TRACE_ARRIVE, &e, cut(receives, i).node, true);
		return;
	}
	e.node = ++lane->nodes;
	if (!qv_job_put(job, &lane->waiting[QV_JOB_MSG], e))
		return;
	emit(job, r, lane, QV_TRACE_ARRIVE, &e, 0, false);
	emit(job, r, lane, QV_TRACE_QUEUE, &e, e.node, false);
}

uint32_t qv_job_draw(struct qv_job *job, uint32_t below)
{
	return (uint32_t)qv_random_below(&job->random, below);
}

void qv_job_post(struct qv_job *job, uint32_t at, uint32_t src, uint64_t tag)
{
	struct qv_job_rank *r = &job->rank[at];

	qv_job_lane_post(job, r, &r->lane[QV_JOB_TAGGED], qv_job_recv_entry(src, tag));
}

void qv_job_arrive(struct qv_job *job, uint32_t from, uint32_t to, uint64_t tag)
{
	struct qv_job_rank *r = &job->rank[to];

	qv_job_lane_arrive(job, r, &r->lane[QV_JOB_TAGGED],
			   (struct qv_job_entry){.tag = tag, .src = from});
}

bool qv_job_probe(struct qv_job *job, uint32_t at, uint32_t want, uint64_t tag, bool take,
		  uint32_t *src)
{
	struct qv_job_rank *r = &job->rank[at];
	struct qv_job_lane *lane = &r->lane[QV_JOB_TAGGED];
	struct qv_job_list *messages = &lane->waiting[QV_JOB_MSG];
	const struct qv_job_entry e = qv_job_recv_entry(want, tag);
	const size_t i = find(messages, QV_JOB_MSG, &e);
	const bool found = i < messages->n;

	emit(job, r, lane, QV_TRACE_PEEK, &e, found ? messages->at[i].node : 0, found);
	if (!found)
		return false;
	*src = messages->at[i].src;
	if (take)
		emit(job, r, lane, QV_TRACE_TAKE, &(struct qv_job_entry){.tag = 0},
		     cut(messages, i).node, false);
	return true;
}

void qv_job_cancel(struct qv_job *job, uint32_t at)
{
	struct qv_job_rank *r = &job->rank[at];
	struct qv_job_lane *lane = &r->lane[QV_JOB_TAGGED];

	while (!job->error && lane->waiting[QV_JOB_RECV].n)
		emit(job, r, lane, QV_TRACE_CANCEL, &(struct qv_job_entry){.tag = 0},
		     cut(&lane->waiting[QV_JOB_RECV], 0).node, false);
}

static bool add_lane(struct qv_job *job, uint32_t rank, enum qv_job_queue queue)
{
	const struct qv_trace_lane lane = {
		.process = rank,
		.queue = queue == QV_JOB_COLLECTIVE ? QV_TRACE_COLLECTIVE : QV_TRACE_TAGGED,
		.structure = "auto",
		.protocol_bits = ~PROGRAM_BITS,
	};
	const int64_t index = qv_trace_add_lane(job->file, &lane);

	job->rank[rank].lane[queue].index = (uint32_t)index;
	return index >= 0;
}

bool qv_job_init(struct qv_job *job, struct qv_trace_file *file, const char *program,
		 uint32_t ranks, bool collective, uint64_t seed)
{
	*job = (struct qv_job){.ranks = ranks, .random = seed, .file = file};
	job->rank = calloc(ranks, sizeof(*job->rank));
	if (!job->rank)
		job->error = ENOMEM;
	for (uint32_t r = 0; r < ranks && !job->error; r++) {
		struct qv_trace_process process = {.rank = (int32_t)r, .pid = 1000 + r};

		snprintf(process.host, sizeof(process.host), "node%03u", r / RANKS_OF_HOST);
		snprintf(process.program, sizeof(process.program), "%s", program);
		job->rank[r].ns = START_NS;
		if (qv_trace_add_process(file, &process) < 0 || !add_lane(job, r, QV_JOB_TAGGED) ||
		    (collective && !add_lane(job, r, QV_JOB_COLLECTIVE)))
			job->error = EIO;
	}
	return !job->error;
}

void qv_job_fini(struct qv_job *job)
{
	for (uint32_t r = 0; job->rank && r < job->ranks; r++)
		for (int q = 0; q < QV_JOB_QUEUES; q++)
			for (int k = 0; k < 2; k++) {
				free(job->rank[r].lane[q].waiting[k].at);
				free(job->rank[r].lane[q].planned[k].at);
			}
	free(job->rank);
}
