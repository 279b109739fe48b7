/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.c ROUNDS SAMPLES SECONDS CASE... -- IMPL... - a rank of `quiver bench coll` and
 * `quiver bench exchange`.
 *
 * Rank 0 prints, for every block of samples, a line
 *     row CASE IMPL ANSWER US...
 * and before one of an exchange by a schedule, what the rank that sends most sends in a call,
 *     count CASE IMPL MESSAGES BYTES
 * The time of a sample is that to solution: from the first arrival to the last exit.
 */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/mpi_control.h>

struct worker {
	struct qv_bl_rank r;
	struct qv_bl_case cases[QV_BL_CASES];
	double balanced[QV_BL_CASES]; /* what the MPI takes when all come at once, seconds */
	int cases_n;
	char **impls;
	int impls_n, samples;
	float *times, *delays;
	double deadline;
};

/* When this rank comes, after the beginning. */
static double arrival(const struct qv_bl_case *c, int rank, int ranks, double balanced)
{
	const int late = c->pattern == 'l' ? rank == ranks - 1 : c->pattern == 'a' && rank % 2;

	return late ? c->late * balanced : 0;
}

static const char *rule_of(const struct qv_bl_case *c)
{
	switch (c->operation) {
	case QV_BL_IREDUCE: return "reduce";
	case QV_BL_IALLREDUCE: return "allreduce";
	case QV_BL_SPMM: return "neighbor_allgather";
	default: return qv_bl_operation_name(c->operation);
	}
}

/* Let calls go to impl from here on. 0, or -1 if there is no such algorithm for it. */
static int choose(struct worker *w, const struct qv_bl_case *c, const char *impl, double balanced)
{
	char rule[QV_BENCH_NAME * 2];
	uint64_t *arrive;
	int rc;

	snprintf(rule, sizeof(rule), "%s=%s", rule_of(c), impl);
	rc = qv_mpi_set(rule);
	arrive = calloc((size_t)w->r.ranks, sizeof(*arrive));
	for (int i = 0; arrive && i < w->r.ranks; i++)
		arrive[i] = (uint64_t)(1e9 * arrival(c, i, w->r.ranks, balanced));
	if (arrive)
		qv_mpi_expect(MPI_Comm_c2f(MPI_COMM_WORLD), arrive);
	free(arrive);
	return rc ? -1 : 0;
}

static void none(void)
{
	qv_mpi_set("");
}

static void wait_until(double when)
{
	double left;

	while ((left = when - qv_bl_now()) > 0) {
		const struct timespec nap = {(time_t)left,
					     (long)((left - (double)(time_t)left) * 1e9)};

		if (left > 200e-6)
			nanosleep(&nap, NULL);
	}
}

/* Time to solution, seconds. */
static double sample(struct worker *w, const struct qv_bl_case *c, double balanced)
{
	double begin, end, came;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = qv_bl_now() + 20e-6;
	MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	wait_until(begin + arrival(c, w->r.rank, w->r.ranks, balanced));
	came = qv_bl_now();
	qv_bl_call(&w->r, c, c->work * balanced);
	end = qv_bl_now();
	MPI_Allreduce(MPI_IN_PLACE, &came, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return end - came;
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
static void print_delay(struct worker *w, const struct qv_bl_case *c, const char *impl,
			double balanced)
{
	char name[QV_BENCH_NAME + 8];

	if (c->pattern == 'b' || qv_bx_is(c))
		return;
	for (int i = 0; i < w->samples; i++)
		w->delays[i] = w->times[i] - (float)(1e6 * c->late * balanced);
	snprintf(name, sizeof(name), "%s-delay", c->name);
	print(w, name, impl, "checked", w->delays);
}

/* What the rank that sends most sends in one call; rank 0 says it. */
static void print_sent(struct worker *w, const struct qv_bl_case *c, const char *impl,
		       const uint64_t before[2])
{
	uint64_t sent[2], most[2];

	qv_mpi_sent(&sent[0], &sent[1]);
	sent[0] -= before[0];
	sent[1] -= before[1];
	MPI_Reduce(sent, most, 2, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!w->r.rank && most[0])
		printf("count %s %s %llu %llu\n", c->name, impl, (unsigned long long)most[0],
		       (unsigned long long)most[1]);
}

static void block(struct worker *w, const struct qv_bl_case *c, const char *impl, double balanced)
{
	uint64_t before = qv_mpi_taken(), sent[2];

	qv_bl_agree(&w->r);
	if (choose(w, c, impl, balanced)) {
		print(w, c->name, impl, "no-such-algorithm", NULL);
		return;
	}
	for (int i = 0; !strcmp(impl, "auto") && i < 150; i++) /* until it has made up its mind */
		sample(w, c, balanced);
	qv_mpi_sent(&sent[0], &sent[1]);
	if (!qv_bl_check(&w->r, c)) {
		print(w, c->name, impl, "wrong", NULL);
		return;
	}
	if (qv_bx_is(c)) /* auto may have left it to the MPI, which does not say */
		print_sent(w, c, impl, sent);
	if (strcmp(impl, "mpi") != 0 && strcmp(impl, "auto") != 0 && qv_mpi_taken() == before) {
		print(w, c->name, impl, "not-taken", NULL);
		return;
	}
	for (int i = 0; i < w->samples; i++)
		w->times[i] = (float)(1e6 * sample(w, c, balanced));
	print(w, c->name, impl, "checked", w->times);
	print_delay(w, c, impl, balanced);
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

	if (!qv_bx_is(c))
		flat.pattern = 'b';
	flat.work = 0;
	for (int i = 0; i < w->samples; i++)
		w->times[i] = (float)sample(w, &flat, 0);
	return qv_bench_percentile(w->times, (size_t)w->samples, 0.5);
}

static void one_case(struct worker *w, int i, int round)
{
	const struct qv_bl_case *c = &w->cases[i];

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
		w->balanced[i] = balanced_time(w, c);
	MPI_Bcast(&w->balanced[i], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int k = 0; k < w->impls_n; k++) {
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

static int parse(struct worker *w, int argc, char **argv)
{
	int i = 4;

	if (argc < 6)
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
	return w->times && w->delays && w->samples > 0 && w->impls_n > 0 ? 0 : -1;
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
	MPI_Finalize();
	return 0;
}
