/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.h - combine on every instruction set, against a plain loop and Open MPI's operator.
 *
 * All implementations run in this process, on the same arrays, in turn. Open MPI is reached through
 * a module of its own, so that the tool does not need an MPI to start.
 */
#ifndef BENCH_COMBINE_H
#define BENCH_COMBINE_H

#include "bench/common/bench.h"

#include <quiver/combine.h>

#define QV_BC_IMPLS 8
#define QV_BC_BYTES ((size_t)256 << 20) /* of one array at most */

/* inout = inout op in, or in op inout: what is measured is the same. 0, or -1 if undefined. */
typedef int (*qv_bc_fn)(const struct qv_combine *combine, enum qv_op op, enum qv_type type,
			void *inout, const void *in, size_t count);

struct qv_bc_impl {
	const char *name; /* an ISA's, "loop" or "ompi" */
	const struct qv_combine *combine;
	qv_bc_fn run;
};

struct qv_bc_case {
	char name[QV_BENCH_NAME];
	enum qv_op op;
	enum qv_type type;
	size_t bytes, count;
};

struct qv_bc_plan {
	struct qv_bc_impl impls[QV_BC_IMPLS];
	size_t impls_n;
	struct qv_bc_case *cases;
	size_t cases_n;
	uint32_t rounds;
	double block_ns;
	double deadline; /* of qv_bench_seconds() */
	size_t offset;   /* bytes that the arrays are off a multiple of 64 */
};

int qv_bench_combine(int argc, char **argv);

/* From cases.c. */

/* 0, or -1 if name is no case that can be run. */
int qv_bc_case_parse(const char *name, struct qv_bc_case *out);
/* Cases of a run in the order of the table; the caller frees *out. Returns how many. */
size_t qv_bc_case_list(const struct qv_bench_opts *opts, struct qv_bc_case **out);

/* From impl.c. */

/* The implementations that --impl names, or all that can run. -1 if a named one cannot. */
int qv_bc_impls_find(struct qv_bc_plan *plan, const struct qv_bench_opts *opts,
		     struct qv_bench *bench);
void qv_bc_impls_free(void);

/* From loop.c. */

int qv_bc_loop(const struct qv_combine *unused, enum qv_op op, enum qv_type type, void *inout,
	       const void *in, size_t count);

/* From rounds.c. */

/* Every case over every implementation. -1 without memory. */
int qv_bc_measure(struct qv_bc_plan *plan, struct qv_bench *bench);
/* Where the widest ISA is slower than the others. */
void qv_bc_verdict(const struct qv_bench *bench, FILE *out);

/* ompi.c: in the module. */

#define QV_BC_MODULE "quiver-bench-ompi.so"
/* Starts Open MPI in this process alone and tells its version. 0 or -1. */
QV_API int qv_bc_ompi_open(char *version, size_t size);
QV_API int qv_bc_ompi_run(const struct qv_combine *unused, enum qv_op op, enum qv_type type,
			  void *inout, const void *in, size_t count);
QV_API void qv_bc_ompi_close(void);

#endif /* BENCH_COMBINE_H */
