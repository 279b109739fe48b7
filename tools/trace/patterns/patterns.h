/* SPDX-License-Identifier: BSD-2-Clause */
/* patterns.h - what the ranks of well-known applications ask of matching, as far as papers tell: who
 * sends to whom, how many receives are ahead, what is named and what is not. Lengths and data are
 * left out. */
#ifndef QV_TRACE_PATTERNS_H
#define QV_TRACE_PATTERNS_H

#include "job.h"

struct qv_pattern {
	const char *name, *what; /* a sentence: what it is, and whose */
	void (*iterate)(struct qv_job *job);
	uint32_t ranks, iterations; /* unless the user says others */
	bool collective;            /* has a lane of collectives */
};

/* Ends with a name that is NULL. */
extern const struct qv_pattern qv_patterns[];

/*
 * Play a pattern into a trace.
 *   any_source  percent of the tags that each rank receives are received from any source
 *   file        lanes and events are added; it is not finished
 * 0, or an errno: EIO where qv_trace_finish(file) says why.
 */
int qv_pattern_play(const struct qv_pattern *pattern, uint32_t ranks, uint32_t iterations,
		    uint64_t seed, uint32_t any_source, struct qv_trace_file *file);

/* global.c */
void qv_pattern_fds(struct qv_job *job);
void qv_pattern_radix(struct qv_job *job);
void qv_pattern_nbody(struct qv_job *job);
void qv_pattern_shuffle(struct qv_job *job);
/* halo.c */
void qv_pattern_amg(struct qv_job *job);
void qv_pattern_minife(struct qv_job *job);
void qv_pattern_miniamr(struct qv_job *job);
void qv_pattern_stencil(struct qv_job *job);
/* tasks.c */
void qv_pattern_cholesky(struct qv_job *job);
void qv_pattern_quicksilver(struct qv_job *job);

/* Ranks as a torus, as near to a cube as their number allows. */
struct qv_torus {
	uint32_t n[3];
};

struct qv_torus qv_torus_of(uint32_t ranks);
/* The rank next to r in direction d of 27: 13 is r itself, 26 - d the opposite. */
uint32_t qv_torus_next(const struct qv_torus *t, uint32_t r, int d);
/* Along how many axes does a direction go? */
int qv_torus_axes(int d);

#endif /* QV_TRACE_PATTERNS_H */
