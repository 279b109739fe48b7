/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.h - what matching structures cost on a trace that was loaded: `quiver trace replay`,
 * `advise` and `report` ask here.
 *
 * First a plain list answers each operation (plain.h) and is compared with what was recorded. Then
 * each structure does, untimed, and its inspected entries and memory are noted. What is right is
 * timed: in rounds, the structures in turn, each lane from a fresh engine.
 *
 *     struct qv_load load;
 *     struct qv_measure m;
 *     struct qv_measure_options o = {.impls = "auto,ll,ompi", .rounds = 7, .seconds = 10};
 *
 *     if (qv_load(&load, &options, why, sizeof(why)) == 0 && qv_measure(&m, &load, &o) == 0) {
 *             for (size_t i = 0; i < m.n; i++)
 *                     if (m.at[i].measured)
 *                             ... m.at[i].name, m.at[i].ns.value ...
 *             qv_measure_free(&m);
 *     }
 */
#ifndef QV_MEASURE_H
#define QV_MEASURE_H

#include "bench/common/bench.h"
#include "load.h"
#include "plain.h"

#include "engine/base/tag_bits.h"

#include <quiver/match.h>

struct qv_measure_options {
	const char *impls;          /* as --impl of `quiver bench match`; NULL: all structures */
	const char *const *plugins; /* as --plugin there */
	size_t plugins_n;
	uint32_t rounds;               /* at most */
	double seconds;                /* for all of it; three rounds are taken in any case */
	struct qv_tag_bits collective; /* for col*; a mask of 0: they are left out */
	/* A structure that is too slow for the time gets no figures. Is it one of these, with commas
	 * between, all are measured on a shorter part of the trace instead: qv_measure.share. */
	const char *needed;
};

/* What one structure cost, of all lanes that were loaded. An operation is one of enum qv_load_kind. */
struct qv_measure_figure {
	char name[QV_BENCH_NAME];
	char answer[2 * QV_BENCH_NAME]; /* "checked", or why there are no figures */
	bool measured;                  /* whether there are */
	bool wrong;                     /* an answer was wrong; `answer` says which */
	struct qv_bench_interval ns;    /* of one operation: median of the rounds, 95 % interval */
	double p50, p99;                /* of pieces of 256 operations */
	/* To auto, round by round; NaN where auto was not measured. */
	struct qv_bench_interval ratio;
	/* Entries compared by one search. NaN: no such search, or not counted (a plugin). */
	double inspected_hit, inspected_miss;
	uint64_t inspected; /* in all */
	/* What the engines have counted, as a program's statistics have it: sums, and the highest marks.
	 * Nothing of a plugin. */
	struct qv_match_stats stats;
	uint64_t memory;    /* bytes beyond the entries: the most of each lane, added up */
	double *process_ns; /* [processes_n] of all operations of a process, median of the rounds */
	uint32_t rounds;
};

struct qv_measure {
	struct qv_measure_figure *at;
	size_t n;
	size_t processes_n;    /* as in struct qv_load */
	struct qv_plain plain; /* what a plain list has found */
	double share;        /* of the operations of each lane that were measured: the first ones */
	uint64_t operations; /* so many */
};

/*
 * Measure. 0: *m is to be freed; structures may be wrong or without figures. After a line on stderr:
 * 1: a recorded answer is not the plain list's, or no memory; 2: there is no such implementation. *m
 * is then empty.
 */
int qv_measure(struct qv_measure *m, const struct qv_load *load,
	       const struct qv_measure_options *options);
void qv_measure_free(struct qv_measure *m);

/* The figure of that name, or NULL. */
const struct qv_measure_figure *qv_measure_find(const struct qv_measure *m, const char *name);

/* The pointer, unless it is NULL: no memory, which ends the program with a line. */
void *qv_measure_need(void *p);

#endif /* QV_MEASURE_H */
