/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queues.c - several queues instead of one (microbenchmarks MB1 to MB3 of
 * Ghazimirsaeed's thesis, row Q1). What source belongs to which queue is told to `clu` by a
 * profile: sources with the same count share a cluster.
 */
#include "run.h"

#include <string.h>

static const char *const only[] = {""};

/* In 1-D, K-means with as many clusters as there are counts takes each for one. */
static const uint32_t count_of_queue[] = {1, 100, 10000, 1000000};

/* Source i sends each[i] messages, one source after the other; all are unexpected, and received
 * from the last to the first. */
static struct qv_pp_trace make_bottom_up(const uint32_t *each, uint32_t sources)
{
	struct qv_pp_trace t = qv_pp_trace_new(only, 1);
	uint32_t n;

	t.settings.sources = sources;
	qv_pp_phase(&t, QV_PP_ARRIVE, 0);
	for (uint32_t i = 0; i < sources; i++)
		for (uint32_t k = 0; k < each[i]; k++)
			qv_pp_op(&t, k, 0, i);
	n = t.ops;
	qv_pp_phase(&t, QV_PP_POST, 1);
	while (n--) {
		struct qv_pp_key key = t.key[n];

		qv_pp_op(&t, key.tag, 0, key.src);
	}
	qv_pp_solve(&t);
	return t;
}

/* MB2, Q1: four groups of senders with 2, 10, 50, 100 messages, in two queues. */

enum { GROUPS = 4, MEMBERS = 16, SENDERS = GROUPS * MEMBERS };

static double count_with(struct qv_pp *pp, struct qv_pp_trace *t, const int queue[GROUPS],
			 const char *structure)
{
	uint32_t counts[SENDERS];

	for (int i = 0; i < SENDERS; i++)
		counts[i] = count_of_queue[queue[i / MEMBERS]];
	t->settings.profile = qv_pp_profile(pp, counts, SENDERS);
	return qv_pp_inspected(pp, t, structure);
}

void qv_pp_q1(struct qv_pp *pp)
{
	static const uint32_t messages[GROUPS] = {2, 10, 50, 100};
	static const struct {
		const char *name;
		int queue[GROUPS];
		const char *structure;
		double closed; /* gain over one queue for long queues */
	} ways[] = {
		{"C1 {s,m|l,vl}", {0, 0, 1, 1}, "clu:kmeans=2", 1.159},
		{"C2 {s,l|m,vl}", {0, 1, 0, 1}, "clu:kmeans=2", 1.771},
		{"C3 {s,vl|m,l}", {0, 1, 1, 0}, "clu:kmeans=2", 1.873},
		{"C4 {s,m,l|vl}", {0, 0, 0, 1}, "clu:kmeans=2", 1.897},
		{"C5 {m,l,vl|s}", {0, 1, 1, 1}, "clu:kmeans=2", 1.025},
		{"C6 {s,m,vl|l}", {0, 0, 1, 0}, "clu:kmeans=2", 1.745},
		{"C7 {s,l,vl|m}", {0, 1, 0, 0}, "clu:kmeans=2", 1.131},
		{"four queues", {0, 1, 2, 3}, "clu:kmeans=4", 2.080},
	};
	uint32_t each[SENDERS];
	struct qv_pp_trace t;
	double one;

	for (int i = 0; i < SENDERS; i++)
		each[i] = messages[i / MEMBERS];
	t = make_bottom_up(each, SENDERS);
	one = qv_pp_inspected(pp, &t, "ll");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char paper[28];

		snprintf(paper, sizeof(paper), "%.2fx (closed form)", ways[i].closed);
		qv_pp_line(pp, "Q1", paper, "x",
			   qv_pp_exact(one / count_with(pp, &t, ways[i].queue, ways[i].structure)),
			   0.97 * ways[i].closed, 1.03 * ways[i].closed,
			   "MB2: fewer traversals, %s", ways[i].name);
	}
	qv_pp_trace_free(&t);
}

/* MB1: one queue or two, by length. */

void qv_pp_mb1(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {{"ll", false}, {"clu:kmeans=2", false}};
	enum { PROCESSES = 8 };

	for (uint32_t m = 10; m <= 640; m *= 8) {
		uint32_t each[PROCESSES], counts[PROCESSES];
		struct qv_pp_trace t;
		char name[QV_BENCH_NAME];
		size_t row;

		for (uint32_t i = 0; i < PROCESSES; i++) {
			each[i] = m;
			counts[i] = count_of_queue[i >= PROCESSES / 2];
		}
		t = make_bottom_up(each, PROCESSES);
		t.settings.profile = qv_pp_profile(pp, counts, PROCESSES);
		snprintf(name, sizeof(name), "mb1/%u", m * PROCESSES);
		row = qv_pp_measure(pp, name, &t, sides, 2, 1);
		qv_pp_line(pp, "MB1", "grows with length", "x", qv_pp_gain(pp, row, row + 1), NAN,
			   NAN, "two queues over one, %u messages", m * PROCESSES);
		qv_pp_trace_free(&t);
	}
}

/* MB3: the last of (n - 1) * m messages. */

static struct qv_pp_trace make_last(uint32_t n, uint32_t m)
{
	struct qv_pp_trace t = qv_pp_trace_new(only, 1);
	uint32_t all;

	t.settings.sources = n;
	qv_pp_phase(&t, QV_PP_ARRIVE, 0);
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = 0; k < m; k++)
			qv_pp_op(&t, k, 0, i);
	all = t.ops;
	qv_pp_op(&t, m, 0, 1);
	qv_pp_phase(&t, QV_PP_POST, 1);
	qv_pp_op(&t, m, 0, 1);
	qv_pp_phase(&t, QV_PP_POST, 0);
	for (uint32_t i = 0; i < all; i++) {
		struct qv_pp_key key = t.key[i];

		qv_pp_op(&t, key.tag, 0, key.src);
	}
	qv_pp_solve(&t);
	return t;
}

void qv_pp_mb3(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {
		{"ll", false}, {"ompi", false}, {"llv", false}, {"auto", false}};
	static const uint32_t each[] = {10, 50};
	double time[2][2][4];

	for (int i = 0; i < 2; i++) {
		for (int big = 0; big < 2; big++) {
			uint32_t n = big ? 512 : 64;
			struct qv_pp_trace t = make_last(n, each[i]);
			char name[QV_BENCH_NAME];
			size_t row;

			snprintf(name, sizeof(name), "mb3/%ux%u", n, each[i]);
			row = qv_pp_measure(pp, name, &t, sides, 4, 1);
			for (size_t s = 0; s < 4; s++)
				time[i][big][s] = qv_pp_time(pp, row + s).value;
			qv_pp_trace_free(&t);
		}
		qv_pp_line(pp, "MB3", "linear (MVAPICH)", "x",
			   qv_pp_exact(time[i][1][0] / time[i][0][0]), 6, NAN,
			   "ll, 512 processes to 64, %u messages each", each[i]);
		qv_pp_line(pp, "MB3", "flat (Open MPI)", "x",
			   qv_pp_exact(time[i][1][1] / time[i][0][1]), NAN, 5,
			   "ompi, 512 processes to 64, %u messages each", each[i]);
	}
}
