/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll.h - collectives of an MPI by libquiver-mpi's schedules against the MPI's own: with
 * ranks that come late (`quiver bench coll`), and exchanges (`quiver bench exchange`).
 *
 * The tool needs no MPI: it starts mpirun with a program of its own (worker.c), all of
 * whose implementations run in the same processes, in turn, and reads the samples from its output.
 */
#ifndef BENCH_COLL_H
#define BENCH_COLL_H

#include "bench/common/bench.h"
#include "exchange_matrix.h"

#define QV_BL_IMPLS 32
#define QV_BL_CASES 256
#define QV_BL_RANKS 1024

enum qv_bl_operation {
	QV_BL_REDUCE,
	QV_BL_ALLREDUCE,
	QV_BL_REDUCE_SCATTER,
	QV_BL_BARRIER,
	QV_BL_BROADCAST,
	QV_BL_ALLGATHER,  /* bytes of all blocks together */
	QV_BL_ALLTOALL,   /* the same, of one rank */
	QV_BL_IREDUCE,    /* MPI_Ireduce, work, MPI_Wait */
	QV_BL_IALLREDUCE, /* the same */
	QV_BL_PAIR,       /* pairs of ranks, all at once: one message, and combining it */
	QV_BL_ALLGATHERV, /* from here on, of `quiver bench exchange` only: bytes of a block */
	QV_BL_ALLTOALLV,
	QV_BL_NEIGHBOR_ALLGATHER,
	QV_BL_NEIGHBOR_ALLTOALL,
	QV_BL_SPMM,   /* a sparse product by a gathering; bytes of a rank's stripe */
	QV_BL_STREAM, /* of items, one after the other; bytes of an item */
	QV_BL_OPERATIONS,
};

struct qv_bl_case {
	char name[QV_BENCH_NAME];
	enum qv_bl_operation operation;
	int ranks;
	long bytes;
	char pattern; /* 'b' balanced, 'l' the last rank late, 'a' every second one, 'o' some, 'n'
		       * uniform, 'g' gamma, 'f' as a file says, 'p' all pairs; of exchanges those
		       * of qv_bx_pattern */
	int some;     /* so many are late */
	double late; /* by so many times what the MPI takes balanced; 'n': at most, 'g': on average */
	double shape; /* of gamma */
	double work;  /* of reductions: for so many times the imbalance of the arrivals */
	double reach; /* of exchanges: partners, distance or density */
	int stride;   /* of the nearest partners */
	enum qv_bx_matrix matrix; /* of spmm */
};

/*
 * From coll.c.
 *
 * What `quiver bench coll` and `quiver bench exchange` have of their own.
 */
struct qv_bl_front {
	const char *name, *about;
	const char *patterns, *options;          /* of the help */
	const char *const *impls, *const *quick; /* up to NULL */
	int (*is_own)(enum qv_bl_operation operation);
	size_t (*cases)(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out);
};

int qv_bl_main(const struct qv_bl_front *front, int argc, char **argv);

/* From cases.c. */

/* 0, or -1 if name is no case that can be run on so many ranks. */
int qv_bl_case_parse(const char *name, int ranks, struct qv_bl_case *out);
/* Those of a run; how many. */
size_t qv_bl_case_list(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out);
const char *qv_bl_operation_name(enum qv_bl_operation operation);
/* The blocking form of an operation: itself, or that of a nonblocking one. */
enum qv_bl_operation qv_bl_blocking(enum qv_bl_operation operation);
/* Append the case, if it is one and wanted; how many there are then. */
size_t qv_bl_case_add(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out, size_t n,
		      enum qv_bl_operation operation, long bytes, const char *pattern);
/* Append those that a filter names in full, whatever their size; how many there are then. */
size_t qv_bl_case_named(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out,
			size_t n);

/* From delays.c. */

struct qv_bl_trace {
	double *seconds; /* for each rank, line after line */
	size_t lines;
};

/* When each rank comes in an iteration, in seconds after its beginning: delays[c->ranks]. The same
 * arguments give the same. unit: seconds that the MPI takes balanced; trace: for the pattern 'f'. */
void qv_bl_delays(const struct qv_bl_case *c, const struct qv_bl_trace *trace, double unit,
		  uint64_t iteration, double *delays);
/* From the first arrival to the last. */
double qv_bl_imbalance(const double *delays, int ranks);
/* The delays of a file: a line for each iteration, seconds for each rank. 0, or -1 after a line on
 * stderr; then there is nothing to free. */
int qv_bl_trace_read(const char *path, int ranks, struct qv_bl_trace *out);
void qv_bl_trace_free(struct qv_bl_trace *trace);

/*
 * From exchange_cases.c.
 *
 * Patterns: 'w' whole, 'u' uneven, 'k' partners, 'x' the nearest ones, 'm' moore, 'd' random with a density; of spmm 's'
 * from neighbours, 't' from all ranks; of streams 'r' to the next rank in buckets of so many, 'e' so
 * many items to each.
 */
#define QV_BX_ITEM     1024         /* bytes of an item, at most */
#define QV_BX_ITEMS    4000         /* to the next rank */
#define QV_BX_COLUMNS  8            /* of the dense factor of spmm */
#define QV_BX_GATHER   "-allgather" /* ends the pattern of spmm from all ranks */
#define QV_BX_PLANNING "-planning"  /* behind the case: how long a plan of neighbours took, us */
bool qv_bx_is(const struct qv_bl_case *c);
/* 0, or -1 if text is no pattern of an exchange with c's operation. */
int qv_bx_pattern(const char *text, struct qv_bl_case *c);
size_t qv_bx_case_list(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out);

/* From payback.c. */

/* Rows that say after how many calls each plan of neighbours has saved, against `mpi` and `direct`, the
 * time that it took. Percentiles are there. */
void qv_bx_payback(struct qv_bench *bench);

/* From spawn.c. */

struct qv_bl_plan {
	struct qv_bl_case cases[QV_BL_CASES];
	size_t cases_n;
	const char *impls[QV_BL_IMPLS];
	size_t impls_n;
	const char *stack;  /* "plain", or a core of quiver */
	const char *hosts;  /* for mpirun: comma between; NULL: this one */
	const char *delays; /* the file of the pattern 'f', or NULL */
	int ranks;
	long rounds, samples, seconds;
	bool named; /* impls were: then one that does not exist is reported */
};

/* Run it all. 0, or -1 after a line on stderr. */
int qv_bl_measure(const struct qv_bl_plan *plan, struct qv_bench *bench);

int qv_bench_coll(int argc, char **argv);
int qv_bench_exchange(int argc, char **argv);

#endif /* BENCH_COLL_H */
