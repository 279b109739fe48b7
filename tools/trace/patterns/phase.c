/* SPDX-License-Identifier: BSD-2-Clause */
/* phase.c - what ranks plan, and how it is played; collectives. */
#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"

#define MEET_NS 20000 /* from one phase to the next */

/* All receives of a tag or none: one alone would take the message of another. */
static bool from_anybody(const struct qv_job *job, uint32_t at, uint64_t tag)
{
	uint64_t state = ((uint64_t)at << 40) ^ tag;

	return qv_random_percent(&state, job->any_source);
}

void qv_job_recv(struct qv_job *job, uint32_t at, enum qv_job_queue queue, uint32_t src,
		 uint64_t tag)
{
	if (queue == QV_JOB_TAGGED && from_anybody(job, at, tag))
		src = QV_SRC_ANY;
	qv_job_put(job, &job->rank[at].lane[queue].planned[QV_JOB_RECV],
		   qv_job_recv_entry(src, tag));
}

void qv_job_send(struct qv_job *job, uint32_t from, uint32_t to, enum qv_job_queue queue,
		 uint64_t tag)
{
	qv_job_put(job, &job->rank[to].lane[queue].planned[QV_JOB_MSG],
		   (struct qv_job_entry){.tag = tag, .src = from});
}

static void shuffle(struct qv_job *job, struct qv_job_entry *at, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		const size_t j = qv_random_below(&job->random, i);
		const struct qv_job_entry e = at[i - 1];

		at[i - 1] = at[j];
		at[j] = e;
	}
}

void qv_job_shuffle_recvs(struct qv_job *job, uint32_t window)
{
	for (uint32_t r = 0; r < job->ranks; r++) {
		struct qv_job_list *list = &job->rank[r].lane[QV_JOB_TAGGED].planned[QV_JOB_RECV];

		for (size_t i = 0; i < list->n; i += window)
			shuffle(job, list->at + i, list->n - i < window ? list->n - i : window);
	}
}

static int by_sender(const void *one, const void *other)
{
	const struct qv_job_entry *a = one, *b = other;

	return a->src != b->src ? (a->src > b->src) - (a->src < b->src)
				: (a->node > b->node) - (a->node < b->node);
}

/* In random order, but the messages of one sender among themselves as they are. */
static void mingle(struct qv_job *job, struct qv_job_list *list)
{
	const size_t bytes = list->n * sizeof(*list->at);
	struct qv_job_entry *sorted = malloc(bytes + 1);
	size_t *next = calloc(job->ranks + 1, sizeof(*next));

	if (sorted && next && bytes) {
		for (size_t i = 0; i < list->n; i++) {
			list->at[i].node = i;
			next[list->at[i].src + 1]++;
		}
		for (uint32_t r = 0; r < job->ranks; r++)
			next[r + 1] += next[r];
		memcpy(sorted, list->at, bytes);
		qsort(sorted, list->n, sizeof(*sorted), by_sender);
		shuffle(job, list->at, list->n);
		for (size_t i = 0; i < list->n; i++)
			list->at[i] = sorted[next[list->at[i].src]++];
	} else if (bytes) {
		job->error = ENOMEM;
	}
	free(sorted);
	free(next);
}

static void play(struct qv_job *job, struct qv_job_rank *r, struct qv_job_lane *lane,
		 struct qv_job_pace pace)
{
	struct qv_job_list *recvs = &lane->planned[QV_JOB_RECV], *msgs = &lane->planned[QV_JOB_MSG];
	const uint32_t percent = pace.low + qv_job_draw(job, pace.high - pace.low + 1);
	size_t posted = 0, arrived = 0;

	mingle(job, msgs);
	while (!job->error && (posted < recvs->n || arrived < msgs->n)) {
		bool message = qv_random_percent(&job->random, percent);

		if (pace.window && posted >= arrived + pace.window)
			message = true;
		if (arrived == msgs->n || (!message && posted < recvs->n))
			qv_job_lane_post(job, r, lane, recvs->at[posted++]);
		else
			qv_job_lane_arrive(job, r, lane, msgs->at[arrived++]);
	}
	recvs->n = msgs->n = 0;
}

void qv_job_run(struct qv_job *job, struct qv_job_pace pace)
{
	uint64_t last = 0;

	for (uint32_t r = 0; r < job->ranks; r++) {
		for (int q = 0; q < QV_JOB_QUEUES; q++)
			play(job, &job->rank[r], &job->rank[r].lane[q], pace);
		last = job->rank[r].ns > last ? job->rank[r].ns : last;
	}
	for (uint32_t r = 0; r < job->ranks; r++)
		job->rank[r].ns = last + MEET_NS;
}

/* Recursive doubling; ranks beyond the last power of two take no part in what they have no
 * partner for. */
void qv_job_allreduce(struct qv_job *job)
{
	for (uint32_t bit = 1; bit < job->ranks; bit *= 2)
		for (uint32_t r = 0; r < job->ranks; r++) {
			const uint32_t partner = r ^ bit;

			if (partner >= job->ranks)
				continue;
			qv_job_recv(job, r, QV_JOB_COLLECTIVE, partner, QV_JOB_TAG(2, bit));
			qv_job_send(job, r, partner, QV_JOB_COLLECTIVE, QV_JOB_TAG(2, bit));
		}
	qv_job_run(job, (struct qv_job_pace){40, 60, 1});
}

/* Linear: everybody to everybody. */
void qv_job_allgather(struct qv_job *job)
{
	for (uint32_t r = 0; r < job->ranks; r++)
		for (uint32_t k = 1; k < job->ranks; k++) {
			const uint32_t other = (r + k) % job->ranks;

			qv_job_recv(job, r, QV_JOB_COLLECTIVE, other, QV_JOB_TAG(2, 0));
			qv_job_send(job, r, other, QV_JOB_COLLECTIVE, QV_JOB_TAG(2, 0));
		}
	qv_job_run(job, (struct qv_job_pace){20, 50, 0});
}
