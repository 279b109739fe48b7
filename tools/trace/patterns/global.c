/* SPDX-License-Identifier: BSD-2-Clause */
/* global.c - patterns in which ranks have no place in space. */
#include "patterns.h"

enum { GATHERS = 8, PASSES = 4, AHEAD = 16 };

static void gather(struct qv_job *job, uint32_t tag)
{
	for (uint32_t r = 1; r < job->ranks; r++) {
		qv_job_recv(job, 0, QV_JOB_TAGGED, r, QV_JOB_TAG(2, tag));
		qv_job_send(job, r, 0, QV_JOB_TAGGED, QV_JOB_TAG(2, tag));
	}
}

/* Meshes in a row, which exchange with the next; then everything goes to rank 0. MPI sends what
 * it gathers as messages with tags of its own, which wait in the same queues. */
void qv_pattern_fds(struct qv_job *job)
{
	for (uint32_t r = 0; r + 1 < job->ranks; r++)
		for (uint32_t field = 0; field < 3; field++) {
			qv_job_recv(job, r, QV_JOB_TAGGED, r + 1, QV_JOB_TAG(1, field));
			qv_job_send(job, r + 1, r, QV_JOB_TAGGED, QV_JOB_TAG(1, field));
			qv_job_recv(job, r + 1, QV_JOB_TAGGED, r, QV_JOB_TAG(1, field));
			qv_job_send(job, r, r + 1, QV_JOB_TAGGED, QV_JOB_TAG(1, field));
		}
	qv_job_run(job, (struct qv_job_pace){10, 40, 0});
	for (uint32_t k = 0; k < GATHERS / 2; k++)
		gather(job, k);
	qv_job_run(job, (struct qv_job_pace){5, 5, 0});
	for (uint32_t k = GATHERS / 2; k < GATHERS; k++)
		gather(job, k);
	qv_job_run(job, (struct qv_job_pace){95, 95, 0});
	qv_job_allreduce(job);
}

/* Does a rank have keys for another one? Three of four times. */
static bool has_keys(const struct qv_job *job, uint32_t from, uint32_t to, uint32_t pass)
{
	uint64_t h = ((uint64_t)from << 32 | to) + 31 * (pass + job->iteration);

	h *= 0x9e3779b97f4a7c15u;
	return h >> 62 != 0;
}

void qv_pattern_radix(struct qv_job *job)
{
	for (uint32_t pass = 0; pass < PASSES; pass++) {
		qv_job_allgather(job);
		for (uint32_t r = 0; r < job->ranks; r++)
			for (uint32_t k = 1; k < job->ranks; k++) {
				const uint32_t from = (r + k) % job->ranks;

				if (!has_keys(job, from, r, pass))
					continue;
				qv_job_recv(job, r, QV_JOB_TAGGED, QV_SRC_ANY, QV_JOB_TAG(1, pass));
				qv_job_send(job, from, r, QV_JOB_TAGGED, QV_JOB_TAG(1, pass));
			}
		qv_job_run(job, (struct qv_job_pace){20, 70, 0});
	}
	qv_job_allreduce(job);
}

void qv_pattern_nbody(struct qv_job *job)
{
	for (uint32_t r = 0; r < job->ranks; r++)
		for (uint32_t step = 1; step < job->ranks; step++) {
			const uint32_t left = (r + job->ranks - 1) % job->ranks;

			qv_job_recv(job, r, QV_JOB_TAGGED, left, QV_JOB_TAG(1, step));
			qv_job_send(job, left, r, QV_JOB_TAGGED, QV_JOB_TAG(1, step));
		}
	qv_job_run(job, (struct qv_job_pace){40, 60, 2});
	qv_job_allgather(job);
}

/* From the next rank, a message for each receive; a rank has all receives first, all messages first,
 * or anything between. */
void qv_pattern_shuffle(struct qv_job *job)
{
	const uint32_t n = AHEAD * job->ranks;

	for (uint32_t r = 0; r < job->ranks; r++)
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t from = (r + 1) % job->ranks;

			qv_job_recv(job, r, QV_JOB_TAGGED, from, QV_JOB_TAG(1, i));
			qv_job_send(job, from, r, QV_JOB_TAGGED, QV_JOB_TAG(1, i));
		}
	qv_job_shuffle_recvs(job, n);
	qv_job_run(job, (struct qv_job_pace){0, 100, 0});
}
