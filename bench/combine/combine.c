/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - `quiver bench combine`: options, run, report. */
#include "combine.h"

#include <stdlib.h>
#include <string.h>

struct options {
	struct qv_bench_opts common;
	long rounds, block_us, seconds, offset;
};

static void help(void)
{
	printf("usage: quiver bench combine [options]\n\n"
	       "Element by element reductions of two arrays: quiver's kernels against a plain loop\n"
	       "compiled with -O3 and Open MPI's operators (MPI_Reduce_local), in one run, in turn.\n\n"
	       "  <op>/<type>/<bytes>   MB/s of one array; the arrays stay in whatever cache they fit\n\n"
	       "op:  ");
	for (int i = 0; i < QV_N_OPS; i++)
		printf(" %s", qv_op_name((enum qv_op)i));
	printf("\ntype:");
	for (int i = 0; i < QV_N_TYPES; i++)
		printf("%s %s", i == 8 ? "\n     " : "", qv_type_name((enum qv_type)i));
	printf("\nimpl: scalar, avx2, avx512f, avx512, neon (where the CPU has them), loop, ompi (where it was\n"
	       "found at configure time)\n\n"
	       "%s"
	       "  --rounds N       rounds per case (9; quick 5)\n"
	       "  --block-us N     time of one block of one implementation (300)\n"
	       "  --seconds N      end after so many seconds, with fewer rounds (600; quick 16)\n"
	       "  --offset N       bytes that arrays are off a multiple of 64 (16, as malloc has it)\n"
	       "  --help           this text\n",
	       qv_bench_opts_help);
}

static int report(struct qv_bench *bench, const struct qv_bench_opts *opts)
{
	qv_bench_finish(bench);
	qv_bench_print(bench, stdout);
	qv_bc_verdict(bench, stdout);
	return qv_bench_save(bench, opts);
}

static int run(const struct options *o, struct qv_bc_plan *plan)
{
	struct qv_bench bench = {.name = "combine"};
	int status = 1;

	plan->rounds = (uint32_t)o->rounds;
	plan->block_ns = 1e3 * (double)o->block_us;
	plan->offset = (size_t)o->offset;
	qv_bench_tick_ns();
	plan->deadline = qv_bench_seconds() + (double)o->seconds;
	qv_bench_machine(&bench, &o->common);
	qv_bench_fact_add(&bench, "isa", "%s", qv_isa_name(qv_isa_best()));
	qv_bench_fact_add(&bench, "offset", "%ld", o->offset);
	if (qv_bc_impls_find(plan, &o->common, &bench) == 0) {
		qv_bench_machine_print(&bench, stdout);
		if (qv_bc_measure(plan, &bench) == 0)
			status = report(&bench, &o->common);
	}
	qv_bc_impls_free();
	qv_bench_free(&bench);
	return status;
}

int qv_bench_combine(int argc, char **argv)
{
	struct options o = {.block_us = 300, .offset = 16};
	const struct qv_bench_option own[] = {
		{"rounds", .number = &o.rounds, .low = 1, .high = 1000},
		{"block-us", .number = &o.block_us, .low = 1, .high = 1000000},
		{"seconds", .number = &o.seconds, .low = 1, .high = 100000},
		/* The plain loop may not be run on less than a multiple of 16. */
		{"offset", .number = &o.offset, .low = 0, .high = 48, .step = 16},
		{.name = NULL},
	};
	struct qv_bc_plan plan = {.cases = NULL};
	int status = 2, rc = qv_bench_parse(&o.common, "combine", argc, argv, own);

	if (rc == 1)
		help();
	if (rc)
		return rc < 0 ? 2 : 0;
	o.rounds = o.rounds ? o.rounds : o.common.quick ? 5 : 9;
	o.seconds = o.seconds ? o.seconds : o.common.quick ? 16 : 600;
	plan.cases_n = qv_bc_case_list(&o.common, &plan.cases);
	if (plan.cases_n)
		status = run(&o, &plan);
	else
		fprintf(stderr, "quiver: no case matches --filter %s\n", o.common.filter);
	free(plan.cases);
	qv_bench_opts_close(&o.common);
	return status;
}
