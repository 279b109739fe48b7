/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.c ROUNDS SAMPLES SECONDS CASE... -- IMPL... - a rank of `quiver bench coll` and
 * `quiver bench exchange`.
 *
 * Rank 0 prints, for every block of samples, a line
 *     row CASE IMPL ANSWER US...
 * and before one of an exchange by a schedule, what the rank that sends most sends in a call, and where
 * a plan of neighbours was made, how long that took,
 *     count CASE IMPL MESSAGES BYTES
 *     row CASE-planning IMPL checked US
 * The time of a sample is that to solution: from the first arrival to the last exit.
 */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

struct worker {
	struct qv_bl_rank r;
	struct qv_bl_case cases[QV_BL_CASES];
	double balanced[QV_BL_CASES]; /* what the MPI takes when all come at once, seconds */
	int cases_n;
	char **impls;
	int impls_n, samples;
	float *times, *delays;
	double deadline;
	struct qv_bl_trace trace;       /* on rank 0 */
	double come[QV_BL_RANKS];       /* when each does, in seconds after the beginning */
	uint64_t expected[QV_BL_RANKS]; /* the same in ns */
	double imbalance;               /* of the arrivals */
	uint64_t iteration; /* the first of this block; other implementations have the same */
};

/* When ranks come in this iteration: rank 0 tells, so that all know the same. */
static void arrange(struct worker *w, const struct qv_bl_case *c, double balanced,
		    uint64_t iteration)
{
	if (!w->r.rank)
		qv_bl_delays(c, &w->trace, balanced, iteration, w->come);
	PMPI_Bcast(w->come, w->r.ranks, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int i = 0; i < w->r.ranks; i++)
		w->expected[i] = (uint64_t)(1e9 * w->come[i]);
	qv_mpi_expect(MPI_Comm_c2f(MPI_COMM_WORLD), w->expected);
	w->imbalance = qv_bl_imbalance(w->come, w->r.ranks);
}

static const char *rule_of(const struct qv_bl_case *c)
{
	if (c->operation == QV_BL_SPMM)
		return c->pattern == 't' ? "allgather" : "neighbor_allgather";
	return qv_bl_operation_name(qv_bl_blocking(c->operation));
}

/* Let calls go to impl from here on. 0, or -1 if there is no such algorithm for it. */
static int choose(const struct qv_bl_case *c, const char *impl)
{
	char rule[QV_BENCH_NAME * 2];

	snprintf(rule, sizeof(rule), "%s=%s", rule_of(c), impl);
	return qv_mpi_set(rule) ? -1 : 0;
}

static void none(void)
{
	qv_mpi_set("");
}

/* Time to solution, from the first arrival, seconds; *delay: from the last one. */
static double sample(struct worker *w, const struct qv_bl_case *c, double balanced,
		     uint64_t iteration, double *delay)
{
	double begin, came, moments[3]; /* the first arrival, negative; the last; the last exit */

	arrange(w, c, balanced, iteration);
	MPI_Barrier(MPI_COMM_WORLD);
	begin = qv_bl_now() + 20e-6;
	MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	qv_bl_wait_until(begin + w->come[w->r.rank]);
	came = qv_bl_now();
	qv_bl_call(&w->r, c, c->work * w->imbalance);
	moments[0] = -came;
	moments[1] = came;
	moments[2] = qv_bl_now();
	MPI_Allreduce(MPI_IN_PLACE, moments, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	*delay = moments[2] - moments[1];
	return moments[2] + moments[0];
}

static void print(const struct worker *w, const char *name, const char *impl, const char *answer,
		  const float *times)
{
	if (w->r.rank)
		return;
	printf("row %s %s %s", name, impl, answer);
	for (int i = 0; times && i < w->samples; i++)
		printf(" %.3f", (double)times[i]);
	putchar('\n');
	fflush(stdout);
}

/* Beside the time to solution: how long after the last arrival. */
static void print_delay(struct worker *w, const struct qv_bl_case *c, const char *impl)
{
	char name[QV_BENCH_NAME + 8];

	if (c->pattern == 'b' || qv_bx_is(c))
		return;
	snprintf(name, sizeof(name), "%s-delay", c->name);
	print(w, name, impl, "checked", w->delays);
}

static void block(struct worker *w, const struct qv_bl_case *c, const char *impl, double balanced)
{
	const uint64_t before = qv_mpi_taken();
	struct qv_bx_counts counts;
	double delay;

	qv_bl_agree(&w->r);
	arrange(w, c, balanced, w->iteration);
	if (choose(c, impl)) {
		print(w, c->name, impl, "no-such-algorithm", NULL);
		return;
	}
	for (int i = 0; !strcmp(impl, "auto") && i < 150; i++) /* until it has made up its mind */
		sample(w, c, balanced, w->iteration + (uint64_t)i, &delay);
	qv_bx_count_begin(&counts);
	if (!qv_bl_check(&w->r, c)) {
		print(w, c->name, impl, "wrong", NULL);
		return;
	}
	if (qv_bx_is(c)) /* auto may have left it to the MPI, which does not say */
		qv_bx_count_print(&w->r, c, impl, &counts);
	if (strcmp(impl, "mpi") != 0 && strcmp(impl, "auto") != 0 && qv_mpi_taken() == before) {
		print(w, c->name, impl, "not-taken", NULL);
		return;
	}
	for (int i = 0; i < w->samples; i++) {
		w->times[i] =
			(float)(1e6 * sample(w, c, balanced, w->iteration + (uint64_t)i, &delay));
		w->delays[i] = (float)(1e6 * delay);
	}
	print(w, c->name, impl, "checked", w->times);
	print_delay(w, c, impl);
}

static void block_of_pairs(struct worker *w, const struct qv_bl_case *c, int round)
{
	const int pairings = w->r.ranks + w->r.ranks % 2 - 1;

	for (int i = 0; i < w->samples; i++)
		qv_bl_pairs(&w->r, c, (round * w->samples + i) % pairings, &w->times[i],
			    &w->delays[i]);
	print(w, c->name, "transfer", "checked", w->times);
	print(w, c->name, "combine", "checked", w->delays);
}

static void block_of_items(struct worker *w, const struct qv_bl_case *c, const char *impl)
{
	const char *answer = "checked";

	for (int i = 0; i < w->samples && !strcmp(answer, "checked"); i++)
		answer = qv_bx_stream(&w->r, c, impl, &w->times[i]);
	if (strcmp(impl, "auto") != 0) /* there is nothing to choose by */
		print(w, c->name, impl, answer, strcmp(answer, "checked") ? NULL : w->times);
}

/* The median of a few. */
static double balanced_time(struct worker *w, const struct qv_bl_case *c)
{
	struct qv_bl_case flat = *c;
	double delay;

	if (!qv_bx_is(c))
		flat.pattern = 'b';
	flat.operation = qv_bl_blocking(c->operation);
	for (int i = 0; i < w->samples; i++)
		w->times[i] = (float)sample(w, &flat, 0, 0, &delay);
	return qv_bench_percentile(w->times, (size_t)w->samples, 0.5);
}

/* Whether delays of the two cases are in one unit, so that they can be compared. */
static bool have_one_unit(const struct qv_bl_case *a, const struct qv_bl_case *b)
{
	return !qv_bx_is(a) && !qv_bx_is(b) && a->bytes == b->bytes &&
	       qv_bl_blocking(a->operation) == qv_bl_blocking(b->operation);
}

static double unit_of(struct worker *w, int i)
{
	for (int k = 0; k < i; k++)
		if (have_one_unit(&w->cases[k], &w->cases[i]))
			return w->balanced[k];
	return balanced_time(w, &w->cases[i]);
}

static void one_case(struct worker *w, int i, int round)
{
	const struct qv_bl_case *c = &w->cases[i];

	w->iteration = (uint64_t)round * (uint64_t)w->samples;
	none();
	qv_bl_agree(&w->r);
	for (int k = 0; k < w->impls_n && c->operation == QV_BL_STREAM; k++)
		block_of_items(w, c, w->impls[(k + round) % w->impls_n]);
	if (c->operation == QV_BL_STREAM)
		return;
	qv_bl_prepare(&w->r, c);
	if (c->operation == QV_BL_PAIR) {
		block_of_pairs(w, c, round);
		return;
	}
	if (!round)
		w->balanced[i] = unit_of(w, i);
	MPI_Bcast(&w->balanced[i], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int k = 0; k < w->impls_n; k++) {
		if (k && qv_bx_is(c)) /* a graph of its own, and so a plan */
			qv_bl_prepare(&w->r, c);
		block(w, c, w->impls[(k + round) % w->impls_n], w->balanced[i]);
		none();
	}
}

static void run(struct worker *w, int rounds)
{
	int go = 1;

	for (int round = 0; round < rounds && go; round++)
		for (int i = 0; i < w->cases_n && go; i++) {
			one_case(w, i, round);
			go = !round ||
			     qv_bl_now() < w->deadline; /* each case once, whatever it takes */
			MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
		}
}

/* The file of a case that has one is what rank 0 reads, wherever it runs. */
static int take_trace(struct worker *w)
{
	for (int i = 0; i < w->cases_n && !w->r.rank; i++)
		if (w->cases[i].pattern == 'f')
			return qv_bl_trace_read("/dev/stdin", w->r.ranks, &w->trace);
	return 0;
}

static int parse(struct worker *w, int argc, char **argv)
{
	int i = 4;

	if (argc < 6 || w->r.ranks > QV_BL_RANKS)
		return -1;
	w->samples = atoi(argv[2]);
	w->deadline = qv_bl_now() + atof(argv[3]);
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (w->cases_n == QV_BL_CASES ||
		    qv_bl_case_parse(argv[i], w->r.ranks, &w->cases[w->cases_n++]))
			return -1;
	w->impls = argv + i + 1;
	w->impls_n = argc - i - 1;
	w->times = calloc((size_t)w->samples + 1, sizeof(float));
	w->delays = calloc((size_t)w->samples + 1, sizeof(float));
	if (!w->times || !w->delays || w->samples <= 0 || w->impls_n <= 0)
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	static struct worker w;
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	/* So that the network is measured; which way calls go is said for each block of samples. */
	setenv("QUIVER_MPI_COLL", "allreduce=auto,alltoall=auto", 0);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &w.r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &w.r.ranks);
	if (parse(&w, argc, argv)) {
		fprintf(stderr,
			"quiver: this program is started by `quiver bench coll` or `exchange`\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (take_trace(&w)) /* which says why */
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Get_library_version(version, &length);
	if (!w.r.rank)
		printf("mpi %.*s\n", (int)strcspn(version, ","), version);
	run(&w, atoi(argv[1]));
	qv_bx_release(&w.r);
	free(w.r.in);
	free(w.r.out);
	free(w.r.expected);
	free(w.times);
	free(w.delays);
	qv_bl_trace_free(&w.trace);
	MPI_Finalize();
	return 0;
}
