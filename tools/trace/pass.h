/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.h - the operations of a lane over a fresh engine, once: checked answer by answer, or timed. */
#ifndef QV_PASS_H
#define QV_PASS_H

#include "bench/match/match.h"
#include "load.h"

enum {
	QV_PASS_PIECE = 256, /* operations that are timed together */
};

/* Memory for the entries, the same for all implementations. */
struct qv_pass_arena {
	char *at;
	size_t bytes, stride;
};

/* One implementation on one lane. */
struct qv_pass {
	const struct qv_bm_impl *impl;
	const struct qv_load_lane *lane;
	size_t ops_n; /* the first ones of the lane */
	char *recvs, *msgs;
	size_t stride;
	void *engine;
};

struct qv_pass_counts {
	uint64_t hits, misses, inspected_hit, inspected_miss;
	uint64_t memory; /* the most at a time */
	size_t done;     /* operations */
	/* What the engine has counted itself, as a program's statistics have it. */
	struct qv_match_stats stats;
};

/* What a trace has that an implementation lacks, or NULL. */
const char *qv_pass_unfit(const struct qv_bm_impl *impl, const struct qv_load_lane *lane);

/* Entries of that lane. False: no memory. */
bool qv_pass_arena_fits(struct qv_pass_arena *arena, size_t stride,
			const struct qv_load_lane *lane);
void qv_pass_arena_free(struct qv_pass_arena *arena);

/* A fresh engine. False: it could not be created. */
bool qv_pass_begin(struct qv_pass *p, const struct qv_pass_arena *arena);
void qv_pass_end(struct qv_pass *p);

/* Compare every answer with its record. 0; 1: it takes longer than so much CPU time; -1: the answer to
 * operation counts->done is wrong. The counts are added to what is there. */
int qv_pass_check(struct qv_pass *p, double ns, struct qv_pass_counts *counts);

/* The same, timed. ns of each piece in samples[qv_pass_pieces]; the sum is returned. -1: the answers
 * do not add up. */
double qv_pass_time(struct qv_pass *p, float *samples);
size_t qv_pass_pieces(size_t ops_n);

#endif /* QV_PASS_H */
