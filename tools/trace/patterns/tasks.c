/* SPDX-License-Identifier: BSD-2-Clause */
/* tasks.c - patterns whose ranks do not know what comes next. */
#include "patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 48, WINDOW = 64, TAG_PARTICLES = 9, AHEAD = 4 };

/* Tiles of a matrix, dealt out to p times q ranks. */
struct deal {
	uint32_t p, q;
};

static uint32_t owner(const struct deal *d, uint32_t i, uint32_t j)
{
	return i % d->p * d->q + j % d->q;
}

/* Tile (i, k) of column k is done: who needs it gets it, once. */
static void hand_out(struct qv_job *job, const struct deal *d, uint32_t i, uint32_t k, bool *needs)
{
	const uint32_t from = owner(d, i, k);
	const uint64_t tag = QV_JOB_TAG(1, i * TILES + k);

	memset(needs, 0, job->ranks * sizeof(*needs));
	for (uint32_t m = i == k ? k + 1 : i; m < TILES; m++)
		needs[owner(d, m, i)] = true;
	for (uint32_t j = k + 1; j <= i; j++)
		needs[owner(d, i, j)] = true;
	for (uint32_t r = 0; r < job->ranks; r++)
		if (needs[r] && r != from) {
			qv_job_recv(job, r, QV_JOB_TAGGED, from, tag);
			qv_job_send(job, from, r, QV_JOB_TAGGED, tag);
		}
}

/* One factorisation. Tasks post their receives late and in an order of their own. */
void qv_pattern_cholesky(struct qv_job *job)
{
	bool *needs = calloc(job->ranks, sizeof(*needs));
	struct deal d = {.p = 1};

	if (!needs) {
		job->error = ENOMEM;
		return;
	}
	for (uint32_t p = 1; p * p <= job->ranks; p++)
		if (job->ranks % p == 0)
			d.p = p;
	d.q = job->ranks / d.p;
	for (uint32_t k = 0; k < TILES; k++)
		for (uint32_t i = k; i < TILES; i++)
			hand_out(job, &d, i, k, needs);
	free(needs);
	qv_job_shuffle_recvs(job, WINDOW);
	qv_job_run(job, (struct qv_job_pace){60, 85, 0});
}

/* A message is received as the program does it that finds one by a probe: at once, or by its name. */
static bool receive_one(struct qv_job *job, uint32_t r)
{
	const uint64_t tag = QV_JOB_TAG(1, TAG_PARTICLES);
	const bool take = qv_job_draw(job, 2);
	uint32_t src;

	if (!qv_job_probe(job, r, QV_SRC_ANY, tag, take, &src))
		return false;
	if (!take)
		qv_job_post(job, r, src, tag);
	return true;
}

/* Some receives are posted ahead, for any sender, and what comes beyond them is probed for. */
void qv_pattern_quicksilver(struct qv_job *job)
{
	const struct qv_torus t = qv_torus_of(job->ranks);
	const uint64_t tag = QV_JOB_TAG(1, TAG_PARTICLES);

	for (uint32_t r = 0; r < job->ranks && !job->error; r++) {
		const uint32_t messages = 16 + qv_job_draw(job, 64);

		for (int i = 0; i < AHEAD; i++)
			qv_job_post(job, r, QV_SRC_ANY, tag);
		for (uint32_t i = 0; i < messages; i++) {
			const int d = (int)qv_job_draw(job, 27);
			const uint32_t from = qv_torus_next(&t, r, d);

			if (from != r)
				qv_job_arrive(job, from, r, tag);
			if (qv_job_draw(job, 3) == 0)
				receive_one(job, r);
		}
		for (int i = 0; i < AHEAD / 2; i++)
			qv_job_post(job, r, QV_SRC_ANY, QV_JOB_ANY_TAG);
		while (!job->error && receive_one(job, r))
			;
		for (int i = 0; i < AHEAD / 2; i++)
			qv_job_post(job, r, QV_SRC_ANY, tag);
		qv_job_cancel(job, r);
	}
	qv_job_allreduce(job);
}
