/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.h - `quiver bench match`: its parts and what they share.
 *
 * A case is a trace of posts and arrivals over numbered nodes, with the answer of each. The trace
 * has a prologue (entries that wait) and a loop that can be repeated for ever. It is replayed over
 * every implementation, in rounds; every turn of an implementation begins with a fresh engine.
 */
#ifndef BENCH_MATCH_H
#define BENCH_MATCH_H

#include <quiver/contender.h>
#include <quiver/match.h>

#include "bench/common/bench.h"

#define QV_BM_CONTENDERS 64
#define QV_BM_LINE       64 /* nodes are numbered in lines of this many bytes */
#define QV_BM_SOURCES    61 /* senders in the plain cases */

/* An MPI's tag: context above, MPI tag below; one bit above both says "collective". */
#define QV_BM_COLLECTIVE (UINT64_C(1) << 62)
#define QV_BM_CONTEXT(c) ((uint64_t)(c) << 32)
#define QV_BM_TAG_BITS   UINT64_C(0x7fffffff)

int qv_bench_match(int argc, char **argv);

/* impl.c: the implementations. */

struct qv_bm_impl {
	struct qv_contender ops; /* a plugin's, or the bench's own calls for a structure */
	char name[QV_BENCH_NAME];
	bool own;
	char structure[QV_BENCH_NAME]; /* with its options */
	struct qv_match_settings settings;
};

struct qv_bm_impls {
	struct qv_bm_impl *at;
	size_t n;
	char profile[64]; /* a file in memory, once there is one */
};

/* --plugin FILE, again and again: ctx is a struct qv_bm_plugins. */
#define QV_BM_PLUGINS 16

struct qv_bm_plugins {
	const char *at[QV_BM_PLUGINS];
	size_t n;
};

int qv_bm_take_plugin(void *ctx, const char *file);

/*
 * What --impl names, or the default: all structures on the best ISA, llv and auto on each. Then the
 * plugins, which are always in. 0, or the exit status after a line on stderr.
 */
int qv_bm_impls_find(struct qv_bm_impls *impls, const char *list, const char *const *plugins,
		     size_t plugins_n);
void qv_bm_impls_free(struct qv_bm_impls *impls);

/* auto, or auto on a certain ISA. */
bool qv_bm_is_auto(const char *impl);

/* cases.c: which cases there are. */

enum qv_bm_group {
	QV_BM_PRQ,
	QV_BM_UMQ,
	QV_BM_BURST,
	QV_BM_SHUFFLE,
	QV_BM_MORARU,
	QV_BM_FOUR,
	QV_BM_WPRQ,
	QV_BM_WUMQ,
	QV_BM_APP,
	QV_BM_MEM,
};

struct qv_bm_case {
	char name[QV_BENCH_NAME];
	enum qv_bm_group group;
	int kind;         /* position, queue, path, pattern: index into the words of the group */
	uint32_t percent; /* of wildcards */
	uint32_t n;       /* depth or length */
	int drained;      /* mem only: enum qv_bm_drained */
};

enum qv_bm_drained { QV_BM_FULL, QV_BM_DRAINED, QV_BM_IDLE };
enum qv_bm_position { QV_BM_HEAD, QV_BM_TAIL, QV_BM_RAND, QV_BM_MISS };
enum qv_bm_path { QV_BM_POST_MISS, QV_BM_ARRIVE_HIT, QV_BM_ARRIVE_MISS, QV_BM_POST_HIT };
enum qv_bm_wild { QV_BM_ANYSRC, QV_BM_ANYTAG, QV_BM_BOTH, QV_BM_MIX };
enum qv_bm_app {
	QV_BM_STENCIL,
	QV_BM_GATHER,
	QV_BM_GATHER_ANY,
	QV_BM_MANYSRC,
	QV_BM_MANYTAG,
	QV_BM_NEAR32,
	QV_BM_DUP,
	QV_BM_DUPBLK,
};

/* The cases that the options want, in *cases (free). 0 after a line on stderr if there are none. */
size_t qv_bm_case_list(const struct qv_bench_opts *opts, struct qv_bm_case **cases);

/* trace.c, steady.c, fill.c: traces. */

struct qv_bm_key {
	uint64_t tag, ignore;
	uint32_t src;
};

enum qv_bm_op { QV_BM_POST, QV_BM_ARRIVE };

/* n[0] operations of the first kind, then n[1] of the other, `reps` times. */
struct qv_bm_phase {
	enum qv_bm_op first;
	uint32_t n[2];
	uint32_t reps;
	bool timed;
};

#define QV_BM_PHASES 8

struct qv_bm_trace {
	/* Keys of the nodes: receives are 0 to recvs_n - 1, messages the ones after them. */
	struct qv_bm_key *keys;
	uint32_t recvs_n, keys_n, keys_room;
	uint32_t *node;   /* of each operation, then, once laid out, its line in the arena */
	uint32_t *expect; /* its answer: node + 1, or 0; then a line, or 0 */
	uint32_t *line;   /* of each node, once laid out */
	size_t ops, room;
	struct qv_bm_phase prologue, loop[QV_BM_PHASES];
	size_t phases;
	size_t prologue_ops, loop_ops, timed_ops; /* of the loop, those that are timed */
	bool steady;     /* the loop can be left after any pair of operations */
	bool some_timed; /* not all phases of the loop are timed */
	bool any_source, any_tag;
	uint32_t sources; /* one more than the highest */
	uint64_t seed;
	uint32_t arena_lines; /* of all nodes */
};

/* Build the trace of a case. Ends the program without memory. */
void qv_bm_trace_build(struct qv_bm_trace *t, const struct qv_bm_case *c);
void qv_bm_trace_free(struct qv_bm_trace *t);

/* For builders. */
uint32_t qv_bm_recv(struct qv_bm_trace *t, struct qv_bm_key key);
uint32_t qv_bm_msg(struct qv_bm_trace *t, struct qv_bm_key key);
void qv_bm_op(struct qv_bm_trace *t, uint32_t node, uint32_t answer);
void qv_bm_phase_add(struct qv_bm_trace *t, enum qv_bm_op first, uint32_t n0, uint32_t n1,
		     uint32_t reps, bool timed);
uint64_t qv_bm_draw(struct qv_bm_trace *t);
uint32_t *qv_bm_shuffled(struct qv_bm_trace *t, uint32_t n);
#define QV_BM_NONE UINT32_MAX /* answer: nothing, the node was queued */

void qv_bm_build_steady(struct qv_bm_trace *t, const struct qv_bm_case *c);
void qv_bm_build_wild(struct qv_bm_trace *t, const struct qv_bm_case *c);
void qv_bm_build_fill(struct qv_bm_trace *t, const struct qv_bm_case *c);
void qv_bm_build_app(struct qv_bm_trace *t, const struct qv_bm_case *c);

/* Replace node numbers by lines of the arena: nodes of `lines` lines, in order or scattered. */
void qv_bm_trace_lay_out(struct qv_bm_trace *t, uint32_t lines, bool scatter);

/* From oracle.c. */

/*
 * Replay the trace over two plain arrays, as far as `compares` comparisons reach, and compare the
 * answers that the builder wrote down. 0, or -1 after a line on stderr: the bench is wrong.
 */
int qv_bm_oracle(const struct qv_bm_trace *t, const char *name, uint64_t compares);

/* From replay.c. */

/* One engine in the middle of a trace. */
struct qv_bm_replay {
	const struct qv_bm_trace *trace;
	const struct qv_contender *ops;
	char *arena;
	void *engine;
	size_t at;    /* next operation of the loop; steady traces stop anywhere */
	double ns;    /* time and number of the loop's operations in the last call, with the */
	size_t timed; /* prologue's where it was cold */
	double prologue_ns; /* of the last check */
};

double qv_bm_cpu_ns(void);

/* What an implementation has written to *matched: a pointer of any type. */
typedef void *__attribute__((may_alias)) qv_bm_answer;
/* One call, untimed: whether it works and matches `want` (NULL: nothing, the node is queued). */
bool qv_bm_answers(const struct qv_bm_replay *r, enum qv_bm_op op, void *node, const void *want);

/* Fill the nodes and create an engine. -1: it could not be created. */
int qv_bm_replay_start(struct qv_bm_replay *r);
void qv_bm_replay_stop(struct qv_bm_replay *r);

/* Compare every answer, untimed: prologue and loop, until `ns` of CPU time have passed. *done: the
 * operations that were compared. 0, or -1 at a wrong answer, whose number is *done. */
int qv_bm_replay_check(struct qv_bm_replay *r, double ns, size_t *done);

/* A few receives posted to a fresh engine and cancelled: -1 if one is still there. */
int qv_bm_replay_cancel(struct qv_bm_replay *r);

/* The prologue and `pairs` pairs of operations (steady) or whole loops, timed from the first. -1
 * when the answers are wrong. */
int qv_bm_replay_cold(struct qv_bm_replay *r, size_t units);
/* The same without prologue. */
int qv_bm_replay_slice(struct qv_bm_replay *r, size_t units);

/* From turn.c, rounds.c, mem.c. */

struct qv_bm_plan {
	struct qv_bm_case *cases;
	size_t cases_n;
	struct qv_bm_impls impls;
	uint32_t rounds, slices;
	double slice_ns;  /* a slice takes this long at least */
	double slices_ns; /* after so long a turn has no further slice */
	double cold_ns;   /* a fresh engine's first operations, for the mean, go on so long */
	double turn_ns; /* an implementation that needs more for one turn is too slow for the case */
	double deadline; /* qv_bench_seconds */
	uint64_t compares;
	bool scatter, quick;
	char *arena;
	size_t arena_size;
};

/* One implementation in the case that is being measured. */
struct qv_bm_lane {
	struct qv_bm_replay replay;
	size_t row;
	size_t units; /* of the next slice */
	bool in;      /* still answers, and in time */
	bool slow;    /* its turns are long: it has fewer of them */
};

/* Out of the case, without figures. */
void qv_bm_drop(struct qv_bm_lane *lane, struct qv_bench_row *row, const char *why);
/* Whether the answers are right, and soon enough; else it is dropped. */
void qv_bm_check(const struct qv_bm_plan *plan, struct qv_bm_lane *lane, struct qv_bench_row *row);
/* A fresh engine: its first operations make the mean of the round, then slices. */
void qv_bm_turn(const struct qv_bm_plan *plan, struct qv_bm_lane *lane, struct qv_bench_row *row);

/* -1: the bench is wrong, after a line on stderr. */
int qv_bm_measure(struct qv_bm_plan *plan, struct qv_bench *bench);
void qv_bm_measure_memory(struct qv_bm_plan *plan, const struct qv_bm_case *c,
			  struct qv_bench *bench);
/* Memory for the nodes of a trace, and what structures may know of it beforehand. */
void qv_bm_prepare(struct qv_bm_plan *plan, struct qv_bm_trace *t);

/* From report.c, verdict.c. */

void qv_bm_print(const struct qv_bench *bench, const struct qv_bm_plan *plan, FILE *out);
void qv_bm_verdict(struct qv_bench *bench, FILE *out);

#endif /* BENCH_MATCH_H */
