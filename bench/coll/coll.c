/* SPDX-License-Identifier: BSD-2-Clause */
/* coll.c - options, run, report of `quiver bench coll` and `quiver bench exchange`. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
	struct qv_bench_opts common;
	struct qv_bl_plan plan;
	long ranks;
	char *named; /* implementations that --impl has, each ends with 0 */
};

static void help(const struct qv_bl_front *front)
{
	char own[512] = "";

	for (int i = 0; i < QV_BL_OPERATIONS; i++)
		if (front->is_own((enum qv_bl_operation)i)) {
			strcat(own, " ");
			strcat(own, qv_bl_operation_name((enum qv_bl_operation)i));
		}
	printf("usage: quiver bench %s [options]\n\n%s\noperation:%s\n%s"
	       "impl:     mpi, auto, or an algorithm, as in QUIVER_MPI_COLL (quiver-mpi(7)):\n"
	       "          kshift:4:paced=1\n\n"
	       "%s"
	       "  --ranks N        processes (2)\n"
	       "  --stack NAME     plain: Open MPI as it is (default); else it runs over quiver with\n"
	       "                   this core: shm, tcp, ...\n"
	       "  --hosts A,B      these hosts, one process after the other; mpirun starts them by\n"
	       "                   ssh, or as OMPI_MCA_plm_rsh_agent says\n"
	       "  --rounds N       rounds per case (20; quick 8)\n"
	       "  --samples N      samples per round and implementation (20; quick 10)\n"
	       "  --seconds N      end after so many seconds, with fewer rounds (600; quick 15)\n"
	       "%s"
	       "  --help           this text\n",
	       front->name, front->about, own, front->patterns, qv_bench_opts_help, front->options);
}

static void take(struct options *o, const char *impl)
{
	if (o->plan.impls_n < QV_BL_IMPLS)
		o->plan.impls[o->plan.impls_n] = impl;
	o->plan.impls_n++;
}

static bool has_long_name(const struct qv_bl_plan *plan)
{
	for (size_t i = 0; i < plan->impls_n; i++)
		if (strlen(plan->impls[i]) >= QV_BENCH_NAME)
			return true;
	return false;
}

static bool has_taken(const struct options *o, const char *impl)
{
	for (size_t i = 0; i < o->plan.impls_n && i < QV_BL_IMPLS; i++)
		if (!strcmp(o->plan.impls[i], impl))
			return true;
	return false;
}

/* Of n characters of names, those of an algorithm, also with a mode behind it: "kshift:4" of kshift. */
static void take_named(struct options *o, size_t n, const char *algorithm)
{
	const size_t length = strlen(algorithm);

	for (const char *name = o->named; name < o->named + n; name += strlen(name) + 1)
		if (!strncmp(name, algorithm, length) && (!name[length] || name[length] == ':') &&
		    !has_taken(o, name))
			take(o, name);
}

/* Those that are named are meant, quick or not. */
static void choose_impls(struct options *o, const struct qv_bl_front *front)
{
	const char *const *impls = o->common.quick ? front->quick : front->impls;
	size_t n;

	for (; !o->common.impls && *impls; impls++)
		take(o, *impls);
	if (!o->common.impls)
		return;
	o->named = strdup(o->common.impls);
	if (!o->named)
		return;
	n = strlen(o->named);
	for (char *comma = strchr(o->named, ','); comma; comma = strchr(comma + 1, ','))
		*comma = 0;
	for (impls = front->impls; *impls; impls++)
		if (!strchr(*impls, ':'))
			take_named(o, n, *impls);
}

/* A name of --impl that is none; NULL: there is no such name. */
static const char *unknown(const struct options *o)
{
	const size_t n = o->named ? strlen(o->common.impls) : 0;

	for (const char *name = o->named; n && name < o->named + n; name += strlen(name) + 1)
		if (*name && !has_taken(o, name))
			return name;
	return NULL;
}

/* What a row that is compared with the other calls it; NULL: it is not. A sparse product is also compared
 * with that which gathers all. */
static const char *compared(const struct qv_bench_row *row, const struct qv_bench_row *other)
{
	const size_t n = strlen(row->name);

	if (*row->name == 'i' && !strcmp(row->name + 1, other->name) &&
	    !strcmp(row->impl, other->impl))
		return "blocking";
	if (strcmp(other->impl, "mpi") != 0 || strncmp(row->name, other->name, n) != 0)
		return NULL;
	if (!other->name[n])
		return strcmp(row->impl, "mpi") != 0 ? "mpi" : NULL;
	return strcmp(other->name + n, QV_BX_GATHER) ? NULL : "allgather";
}

static void compare(struct qv_bench *bench)
{
	for (size_t i = 0; i < bench->rows_n; i++)
		for (size_t k = 0; k < bench->rows_n; k++) {
			const struct qv_bench_row *a = &bench->rows[i], *b = &bench->rows[k];
			const size_t n = a->rounds < b->rounds ? a->rounds : b->rounds;
			const char *of = compared(a, b);

			if (of && n)
				qv_bench_ratio_add(bench, i, of,
						   qv_bench_ratio(a->medians, b->medians, n));
		}
}

static int report(struct qv_bench *bench, const struct qv_bench_opts *opts)
{
	qv_bench_finish(bench);
	qv_bx_payback(bench);
	qv_bench_finish(bench); /* with the rows that came */
	compare(bench);
	qv_bench_machine_print(bench, stdout);
	qv_bench_print(bench, stdout);
	return qv_bench_save(bench, opts);
}

static int run(struct options *o, const struct qv_bl_front *front)
{
	struct qv_bench bench = {.name = front->name};
	int status = 1;

	qv_bench_machine(&bench, &o->common);
	qv_bench_fact_add(&bench, "stack", "%s", o->plan.stack);
	qv_bench_fact_add(&bench, "ranks", "%d", o->plan.ranks);
	if (o->plan.hosts)
		qv_bench_fact_add(&bench, "hosts", "%s", o->plan.hosts);
	if (o->plan.delays)
		qv_bench_fact_add(&bench, "delays", "%s", o->plan.delays);
	if (qv_bl_measure(&o->plan, &bench) == 0)
		status = report(&bench, &o->common);
	qv_bench_free(&bench);
	return status;
}

/* Faults of the file are found before anything is measured. 0, or -1 after a line on stderr. */
static int check_delays(const struct qv_bl_plan *plan)
{
	struct qv_bl_trace trace;
	struct stat status;
	bool asked = false;

	for (size_t i = 0; i < plan->cases_n; i++)
		asked = asked || plan->cases[i].pattern == 'f';
	if (asked != (plan->delays != NULL)) {
		fprintf(stderr,
			"quiver: --delays FILE belongs to cases with the pattern file, and they to it\n");
		return -1;
	}
	if (!asked)
		return 0;
	if (!stat(plan->delays, &status) && !S_ISREG(status.st_mode)) {
		fprintf(stderr, "quiver: --delays %s is no file: it is read twice\n", plan->delays);
		return -1;
	}
	if (qv_bl_trace_read(plan->delays, plan->ranks, &trace))
		return -1;
	qv_bl_trace_free(&trace);
	return 0;
}

int qv_bl_main(const struct qv_bl_front *front, int argc, char **argv)
{
	struct options o = {.ranks = 2, .plan = {.stack = "plain"}};
	const struct qv_bench_option own[] = {
		{"ranks", .number = &o.ranks, .low = 2, .high = QV_BL_RANKS},
		{"rounds", .number = &o.plan.rounds, .low = 1, .high = 10000},
		{"samples", .number = &o.plan.samples, .low = 1, .high = 1000},
		{"seconds", .number = &o.plan.seconds, .low = 1, .high = 100000},
		{"stack", .text = &o.plan.stack},
		{"hosts", .text = &o.plan.hosts},
		{"delays", .text = &o.plan.delays},
		{.name = NULL},
	};
	int status = 2, rc = qv_bench_parse(&o.common, front->name, argc, argv, own);

	if (rc == 1)
		help(front);
	if (rc)
		return rc < 0 ? 2 : 0;
	o.plan.ranks = (int)o.ranks;
	o.plan.named = o.common.impls != NULL;
	o.plan.rounds = o.plan.rounds ? o.plan.rounds : o.common.quick ? 8 : 20;
	o.plan.samples = o.plan.samples ? o.plan.samples : o.common.quick ? 10 : 20;
	o.plan.seconds = o.plan.seconds ? o.plan.seconds : o.common.quick ? 15 : 600;
	o.plan.cases_n = front->cases(&o.common, o.plan.ranks, o.plan.cases);
	choose_impls(&o, front);
	if (!o.plan.cases_n || !o.plan.impls_n)
		fprintf(stderr, "quiver: no %s matches\n", o.plan.cases_n ? "--impl" : "--filter");
	else if (o.plan.impls_n > QV_BL_IMPLS)
		fprintf(stderr, "quiver: --impl takes %d names at most\n", QV_BL_IMPLS);
	else if (unknown(&o))
		fprintf(stderr, "quiver: bench %s has no implementation '%s'; see --help\n",
			front->name, unknown(&o));
	else if (has_long_name(&o.plan))
		fprintf(stderr, "quiver: a name of --impl has %d characters at most\n",
			QV_BENCH_NAME - 1);
	else if (!check_delays(&o.plan))
		status = run(&o, front);
	free(o.named);
	qv_bench_opts_close(&o.common);
	return status;
}

static int is_coll(enum qv_bl_operation operation)
{
	return operation <= QV_BL_PAIR;
}

int qv_bench_coll(int argc, char **argv)
{
	static const char *const impls[] = {
		"mpi",           "auto",      "memory",      "binomial", "butterfly", "ring",
		"radix",         "segmented", "clairvoyant", "direct",   "pipeline",  "redirect",
		"dissemination", "prefix",    "kprefix",     "kshift",   "mesh2",     "mesh3",
		"hypercube",     "hybrid",    "unit",        "binary",   NULL};
	static const char *const quick[] = {"mpi", "auto", "binomial", "segmented", NULL};
	static const struct qv_bl_front front = {
		.name = "coll",
		.about =
			"Collectives of MPI programs by libquiver-mpi's schedules against the MPI's "
			"own, in the\nsame processes, in turn, with ranks that come late.\n\n"
			"  <operation>/<ranks>/<bytes>/<pattern>   us from the first arrival to the "
			"last exit;\n"
			"                   <pattern>-delay: from the last arrival\n",
		.patterns =
			"pattern:  balanced; late<x>: the last rank late by x times what the MPI takes\n"
			"          balanced; alt<x>: every second rank; <k>late<x>: k others each time;\n"
			"          uniform<x>: each by 0 to x times that; gamma<x>-shape<s>: by a gamma\n"
			"          distribution, x times that on average; file: as --delays says\n"
			"          of reductions also <pattern>-work<y>: other work for y times what is\n"
			"          between first and last arrival, before the wait of ireduce and\n"
			"          iallreduce, after reduce and allreduce\n"
			"          of pair: all; transfer and combine of pairs of ranks, all at once\n",
		.options =
			"  --delays FILE    a line for each sample, on it for each rank how many seconds\n"
			"                   it comes late; from the beginning again after the last line\n",
		.impls = impls,
		.quick = quick,
		.is_own = is_coll,
		.cases = qv_bl_case_list,
	};

	return qv_bl_main(&front, argc, argv);
}
