/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.h - what the groups of bench_papers share: traces of posts and arrivals, the
 * measuring of implementations on them, and the table.
 *
 * A trace is a sequence of phases, each so many posts or arrivals one after the other. It ends with
 * both queues empty, so that it can be run again and again. A phase counts for the classes in its
 * mask; a class of an implementation is a row: the mean time of an operation.
 */
#ifndef BENCH_PAPERS_RUN_H
#define BENCH_PAPERS_RUN_H

#include <math.h>

#include <quiver/match.h>

#include "papers.h"

#define QV_PP_PHASES  64
#define QV_PP_CLASSES 8
#define QV_PP_SIDES   24
/* The tag bits that an MPI's MPI_ANY_TAG ignores. */
#define QV_PP_ANY_TAG UINT64_C(0x7fffffff)
/* A bit that says "collective". */
#define QV_PP_COLLECTIVE (UINT64_C(1) << 62)

struct qv_pp_key {
	uint64_t tag, ignore;
	uint32_t src;
};

enum qv_pp_op { QV_PP_POST, QV_PP_ARRIVE };

struct qv_pp_phase {
	enum qv_pp_op op;
	uint32_t n;
	uint32_t classes; /* bit c: counts for class c */
};

struct qv_pp_trace {
	struct qv_pp_key *key; /* of each operation; the node is its own */
	uint32_t *answer;      /* operation whose node is the answer, or QV_PP_NONE */
	uint32_t ops, room;
	struct qv_pp_phase phase[QV_PP_PHASES];
	uint32_t phases;
	const char *class_name[QV_PP_CLASSES]; /* NULL ends; "" is the only one */
	struct qv_match_settings settings;     /* structure is not used */
	uint64_t seed;
};

#define QV_PP_NONE UINT32_MAX

/* From trace.c. */

void qv_pp_phase(struct qv_pp_trace *t, enum qv_pp_op op, uint32_t classes);
/* One operation of the phase begun last. */
void qv_pp_op(struct qv_pp_trace *t, uint64_t tag, uint64_t ignore, uint32_t src);
/* Find the answers, by a plain search through arrays. Ends the program if something is left. */
void qv_pp_solve(struct qv_pp_trace *t);
void qv_pp_trace_free(struct qv_pp_trace *t);
/* A trace without operations, with names for its classes. */
struct qv_pp_trace qv_pp_trace_new(const char *const *class_names, size_t n);
uint32_t qv_pp_draw(struct qv_pp_trace *t, uint32_t below);
/* 0 .. n-1 in random order (free). */
uint32_t *qv_pp_shuffled(struct qv_pp_trace *t, uint32_t n);

/* From replay.c. */

struct qv_pp;

/* The nodes of a trace in memory. A node that is never queued is in order in any case. */
struct qv_pp_layout {
	char *arena;
	void **node; /* of each operation */
	void **want; /* its answer */
};

void qv_pp_lay_out(struct qv_pp_layout *l, const struct qv_pp_trace *t, bool scatter);
void qv_pp_layout_free(struct qv_pp_layout *l);

/* One implementation in its turn. */
struct qv_pp_run {
	const struct qv_pp_trace *t;
	const struct qv_pp_layout *l;
	struct qv_match *m;
	double ns[QV_PP_PHASES]; /* of the last run */
	uint64_t seen[QV_PP_PHASES];
	bool failed;
};

/* Fill the nodes and create an engine in r->m. */
bool qv_pp_create(struct qv_pp_run *r, const char *structure);
/* The trace once. false: an answer was wrong, or memory was short. */
bool qv_pp_run_trace(struct qv_pp_run *r);

size_t qv_pp_classes(const struct qv_pp_trace *t);
/* Operations of class c. */
uint32_t qv_pp_class_ops(const struct qv_pp_trace *t, size_t c);

/* Entries inspected in the operations of class 0, in the second run of the trace, per operation. */
double qv_pp_inspected(struct qv_pp *pp, const struct qv_pp_trace *t, const char *structure);

/* Write a profile: n counts, of sources 0, 1, ... Returns its name, which holds until the next. */
const char *qv_pp_profile(struct qv_pp *pp, const uint32_t *counts, uint32_t n);

/* From measure.c. */

struct qv_pp_side {
	const char *structure; /* with options */
	bool scatter;          /* queued nodes lie 256 bytes apart at random, else 128 in order */
};

/*
 * Check all answers of all sides, then measure them in turns. warm: runs of the trace on a new
 * engine before it is timed; -n: what is timed is the first n runs of new engines. Returns the
 * first row: that of side s and class c is row + s * classes + c.
 */
size_t qv_pp_measure(struct qv_pp *pp, const char *name, const struct qv_pp_trace *t,
		     const struct qv_pp_side *sides, size_t n, int warm);

/* From papers.c. */

struct qv_pp_line {
	char id[8];
	char what[56];
	char paper[28];
	char unit[8];
	struct qv_bench_interval ours;
	double low, high; /* NAN: no such bound */
};

struct qv_pp {
	struct qv_bench bench;
	bool quick;
	uint32_t rounds;
	bool wrong; /* an answer */
	char profile[64];
	struct qv_pp_line *lines;
	size_t lines_n, lines_room;
};

/* One line of the table. what: text; low and high: the bound that we accept. */
void qv_pp_line(struct qv_pp *pp, const char *id, const char *paper, const char *unit,
		struct qv_bench_interval ours, double low, double high, const char *what, ...)
	__attribute__((format(printf, 8, 9)));

/* How many times faster row b is than row a; the time of a row. */
struct qv_bench_interval qv_pp_gain(const struct qv_pp *pp, size_t a, size_t b);
struct qv_bench_interval qv_pp_time(const struct qv_pp *pp, size_t row);
struct qv_bench_interval qv_pp_exact(double value);

/* From root.c. */

enum qv_pp_root_class {
	QV_PP_UMQ,
	QV_PP_PRQ,
	QV_PP_UMQ_COLL,
	QV_PP_PRQ_COLL,
	QV_PP_UMQ_P2P,
	QV_PP_PRQ_P2P,
	QV_PP_UMQ_APPEND,
	QV_PP_PRQ_APPEND,
	QV_PP_ROOT_CLASSES
};

/* The trace of a receiver that n sources send to, with its profile. */
void qv_pp_root_make(struct qv_pp *pp, struct qv_pp_trace *t, uint32_t n);

/* The groups. */

/* queues.c: how many queues, and for whom */
void qv_pp_q1(struct qv_pp *pp);
void qv_pp_mb1(struct qv_pp *pp);
void qv_pp_mb3(struct qv_pp *pp);
/* lists.c: one queue as a list of nodes, arrays, vectors */
void qv_pp_slots(struct qv_pp *pp);
void qv_pp_mb4(struct qv_pp *pp);
void qv_pp_q9(struct qv_pp *pp);
void qv_pp_q10(struct qv_pp *pp);
void qv_pp_q11(struct qv_pp *pp);
void qv_pp_q12(struct qv_pp *pp);
void qv_pp_q13(struct qv_pp *pp);
/* root.c: one receiver that everybody sends to */
void qv_pp_root(struct qv_pp *pp);
void qv_pp_inner(struct qv_pp *pp);
/* pnp.c: what the parameters of pnp do, and what it costs */
void qv_pp_q4(struct qv_pp *pp);
void qv_pp_q5(struct qv_pp *pp);
void qv_pp_q8(struct qv_pp *pp);
/* hash.c: hash tables */
void qv_pp_four(struct qv_pp *pp);
void qv_pp_shuffle(struct qv_pp *pp);

#endif /* BENCH_PAPERS_RUN_H */
