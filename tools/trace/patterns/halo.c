/* SPDX-License-Identifier: BSD-2-Clause */
/* halo.c - patterns of ranks that share the edges of what they compute with neighbours. */
#include "patterns.h"

enum { FIELDS = 4, LEVELS = 8, FACES = 24, EPOCH = 4 };

struct qv_torus qv_torus_of(uint32_t ranks)
{
	struct qv_torus t = {{1, 1, ranks}};

	/* The divisor nearest below the root leaves the most even rest. */
	for (uint32_t x = 1; (uint64_t)x * x * x <= ranks; x++)
		if (ranks % x == 0)
			t.n[0] = x;
	for (uint32_t y = 1; (uint64_t)y * y <= ranks / t.n[0]; y++)
		if (ranks / t.n[0] % y == 0)
			t.n[1] = y;
	t.n[2] = ranks / t.n[0] / t.n[1];
	return t;
}

uint32_t qv_torus_next(const struct qv_torus *t, uint32_t r, int d)
{
	const uint32_t at[3] = {r % t->n[0], r / t->n[0] % t->n[1], r / t->n[0] / t->n[1]};
	const int step[3] = {d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1};
	uint32_t to[3];

	for (int i = 0; i < 3; i++)
		to[i] = (at[i] + t->n[i] + (uint32_t)step[i]) % t->n[i];
	return (to[2] * t->n[1] + to[1]) * t->n[0] + to[0];
}

int qv_torus_axes(int d)
{
	return (d % 3 != 1) + (d / 3 % 3 != 1) + (d / 9 != 1);
}

/* Each rank with its neighbours along so many axes at most. */
static void halo(struct qv_job *job, int axes, uint32_t fields)
{
	const struct qv_torus t = qv_torus_of(job->ranks);

	for (uint32_t r = 0; r < job->ranks; r++)
		for (uint32_t f = 0; f < fields; f++)
			for (int d = 0; d < 27; d++) {
				const uint32_t other = qv_torus_next(&t, r, d);
				const uint32_t mine = 27 * f + (uint32_t)d;
				const uint32_t its = 27 * f + 26 - (uint32_t)d;

				if (other == r || qv_torus_axes(d) > axes)
					continue;
				qv_job_recv(job, r, QV_JOB_TAGGED, other, QV_JOB_TAG(1, its));
				qv_job_send(job, r, other, QV_JOB_TAGGED, QV_JOB_TAG(1, mine));
			}
}

void qv_pattern_stencil(struct qv_job *job)
{
	halo(job, 3, FIELDS);
	qv_job_run(job, (struct qv_job_pace){0, 50, 0});
}

void qv_pattern_minife(struct qv_job *job)
{
	halo(job, 1, 1);
	qv_job_run(job, (struct qv_job_pace){0, 50, 0});
	qv_job_allreduce(job);
	qv_job_allreduce(job);
}

/* One level: messages to and from so many ranks on each side. */
static void level(struct qv_job *job, uint32_t sides, uint32_t l)
{
	for (uint32_t r = 0; r < job->ranks; r++)
		for (uint32_t k = 1; k <= sides; k++)
			for (uint32_t message = 0; message < 2; message++) {
				const uint32_t up = (r + k) % job->ranks;
				const uint32_t down = (r + job->ranks - k) % job->ranks;

				qv_job_recv(job, r, QV_JOB_TAGGED, up, QV_JOB_TAG(1, l));
				qv_job_recv(job, r, QV_JOB_TAGGED, down, QV_JOB_TAG(1, l));
				qv_job_send(job, r, up, QV_JOB_TAGGED, QV_JOB_TAG(1, l));
				qv_job_send(job, r, down, QV_JOB_TAGGED, QV_JOB_TAG(1, l));
			}
	qv_job_run(job, (struct qv_job_pace){0, 30, 0});
}

/* A V-cycle: the levels down, and up again. */
void qv_pattern_amg(struct qv_job *job)
{
	for (uint32_t i = 0; i < 2 * LEVELS; i++) {
		const uint32_t l = i < LEVELS ? i : 2 * LEVELS - 1 - i;
		const uint32_t most = (job->ranks - 1) / 2, sides = UINT32_C(3) << l;

		level(job, sides < most ? sides : most, l);
	}
	qv_job_allreduce(job);
}

/* How many faces two ranks share, the same from both sides. It changes when the mesh is refined. */
static uint32_t faces(const struct qv_job *job, uint32_t a, uint32_t b, uint32_t axis)
{
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	uint64_t h = ((uint64_t)low << 32 | high) + 0x51ed2701u * (axis + job->iteration / EPOCH);

	h *= 0x9e3779b97f4a7c15u;
	h ^= h >> 29;
	h *= 0x9e3779b97f4a7c15u;
	return h >> 63 ? (uint32_t)(h >> 32) % FACES + 1 : 0;
}

void qv_pattern_miniamr(struct qv_job *job)
{
	for (uint32_t axis = 0; axis < 3; axis++) {
		for (uint32_t r = 0; r < job->ranks; r++)
			for (uint32_t k = 1; k <= 8 && k < job->ranks; k++) {
				const uint32_t other = (r + k) % job->ranks;
				const uint32_t n = faces(job, r, other, axis);

				/* Blocks lie in another order on the other side. */
				for (uint32_t f = 0; f < n; f++) {
					const uint64_t there = QV_JOB_TAG(1, axis << 16 | f);
					const uint64_t back =
						QV_JOB_TAG(1, axis << 16 | (n - 1 - f));

					qv_job_recv(job, r, QV_JOB_TAGGED, other, there);
					qv_job_send(job, other, r, QV_JOB_TAGGED, back);
					qv_job_recv(job, other, QV_JOB_TAGGED, r, there);
					qv_job_send(job, r, other, QV_JOB_TAGGED, back);
				}
			}
		qv_job_run(job, (struct qv_job_pace){5, 45, 0});
	}
	for (int i = 0; i < 3; i++)
		qv_job_allreduce(job);
}
