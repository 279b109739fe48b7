/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - `quiver bench match`: options, run, report. */
#include "match.h"
#include "bench/papers/papers.h"

#include <stdlib.h>
#include <string.h>

struct options {
	struct qv_bench_opts common;
	long rounds, seconds;
	bool scatter, papers;
	struct qv_bm_plugins plugins;
};

static void help(void)
{
	printf("usage: quiver bench match [options]\n\n"
	       "Matching engines side by side in one run: quiver's structures, and plugins.\n\n"
	       "  prq|umq/<head|tail|rand|miss>/<depth>      one match position at a depth\n"
	       "  burst|shuffle/<prq|umq>/<n>                fill, then empty: in order, at random\n"
	       "  moraru/rand/<n>                            both ways, random keys\n"
	       "  four/<post-miss|post-hit|arrive-miss|arrive-hit>/<n>   each path by itself\n"
	       "  wprq|wumq/<anysrc|anytag|both|mix><percent>/<depth>    wildcard receives\n"
	       "  app/<stencil|gather|gather_any|manysrc|manytag|near32|dup|dupblk>/<n>\n"
	       "  mem/<prq|umq>/<n>[-drained|-idle]          bytes beyond the nodes\n\n"
	       "%s"
	       "  --plugin FILE.so implementations of others, see <quiver/contender.h>; repeatable\n"
	       "  --rounds N       rounds per case (11; quick 7)\n"
	       "  --seconds N      end after so many seconds, with fewer rounds (900; quick 18)\n"
	       "  --scatter        nodes lie at random places, not one after the other\n"
	       "  --papers         instead: the papers' figures and ours\n"
	       "  --help           this text\n\n"
	       "impl: structure[:option[+option...]][/isa], as in llv/avx2 or pnp:lla+t=50;\n"
	       "structures:",
	       qv_bench_opts_help);
	for (const char *const *s = qv_match_structures(); *s; s++)
		printf(" %s", *s);
	printf("\n");
}

static int report(struct qv_bench *bench, const struct qv_bm_plan *plan,
		  const struct qv_bench_opts *opts)
{
	qv_bench_finish(bench);
	qv_bm_print(bench, plan, stdout);
	qv_bm_verdict(bench, stdout);
	return qv_bench_save(bench, opts);
}

static void announce(const struct qv_bm_plan *plan, const struct options *o, struct qv_bench *bench)
{
	qv_bench_fact_add(bench, "isa", "%s", qv_isa_name(qv_isa_best()));
	qv_bench_fact_add(bench, "engine",
			  "linked statically; every implementation by function pointer");
	qv_bench_fact_add(bench, "nodes", "%s, the same for all implementations",
			  plan->scatter ? "scattered" : "in order");
	qv_bench_machine_print(bench, stdout);
	printf("  %-10s %zu cases, %zu implementations, %u rounds; at most %ld s\n", "run",
	       plan->cases_n, plan->impls.n, plan->rounds, o->seconds);
	fflush(stdout);
}

static int run(const struct options *o, struct qv_bm_plan *plan)
{
	struct qv_bench bench = {.name = "match"};
	bool quick = o->common.quick;
	int status;

	plan->quick = quick;
	plan->scatter = o->scatter;
	plan->rounds = (uint32_t)o->rounds;
	plan->slices = quick ? 3 : 6;
	plan->slice_ns = quick ? 100e3 : 150e3;
	plan->slices_ns = quick ? 2e6 : 15e6;
	plan->cold_ns = quick ? 5e6 : 60e6;
	plan->turn_ns = quick ? 10e6 : 350e6;
	plan->compares = quick ? 5000000 : 200000000;
	qv_bench_tick_ns();
	plan->deadline = qv_bench_seconds() + (double)o->seconds;
	qv_bench_machine(&bench, &o->common);
	announce(plan, o, &bench);
	status = qv_bm_measure(plan, &bench) ? 1 : report(&bench, plan, &o->common);
	qv_bench_free(&bench);
	return status;
}

int qv_bench_match(int argc, char **argv)
{
	struct options o = {.rounds = 0};
	const struct qv_bench_option own[] = {
		{"scatter", .flag = &o.scatter},
		{"papers", .flag = &o.papers},
		{"rounds", .number = &o.rounds, .low = 1, .high = 1000},
		{"seconds", .number = &o.seconds, .low = 1, .high = 100000},
		{"plugin", .take = qv_bm_take_plugin, .ctx = &o.plugins},
		{.name = NULL},
	};
	struct qv_bm_plan plan = {.cases = NULL};
	int status, rc = qv_bench_parse(&o.common, "match", argc, argv, own);

	if (rc == 1)
		help();
	if (rc)
		return rc < 0 ? 2 : 0;
	if (o.papers) {
		status = qv_bench_papers(&o.common);
		qv_bench_opts_close(&o.common);
		return status;
	}
	o.rounds = o.rounds ? o.rounds : o.common.quick ? 7 : 11;
	o.seconds = o.seconds ? o.seconds : o.common.quick ? 18 : 900;
	plan.cases_n = qv_bm_case_list(&o.common, &plan.cases);
	status = plan.cases_n
			 ? qv_bm_impls_find(&plan.impls, o.common.impls, o.plugins.at, o.plugins.n)
			 : 2;
	if (!status)
		status = run(&o, &plan);
	qv_bm_impls_free(&plan.impls);
	free(plan.cases);
	qv_bench_opts_close(&o.common);
	return status;
}
