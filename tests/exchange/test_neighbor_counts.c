/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_neighbor_counts.c - collectives with neighbours: how many groups of friends there could be
 * and how many messages are sent, in all and between nodes, as another program found that follows
 * the published algorithm. The thesis has curves, and no such numbers. `slow` takes all graphs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "graph_case.h"
#include "engine/schedule/schedule.h" /* which steps send */

static int slow;
static struct qv_graph_case c;

static uint64_t sends_of(const struct qv_neighbor_plan *plan, enum qv_coll coll, uint32_t rank)
{
	struct qv_schedule *s;
	const struct qv_step *steps;
	uint64_t sends = 0;
	size_t n;

	assert_int_equal(qv_neighbor_schedule(plan, coll, rank, &s), QV_OK);
	steps = qv_schedule_steps(s, &n);
	for (size_t i = 0; i < n; i++)
		sends += qv_is_send(steps[i].kind);
	qv_schedule_free(s);
	return sends;
}

enum mode {
	AWARE,      /* groups within nodes */
	AGNOSTIC,   /* without regard to nodes */
	CUMULATIVE, /* within nodes, rounds of combining one behind the other */
};

#define MOORE(dims, side, reach) dims, side, reach
#define RANDOM(thousandths)      0, 1024, thousandths
#define NO                       (-1) /* not known */

struct row {
	uint32_t dims, side, reach;
	uint32_t k;
	enum mode mode;
	double possible, sends, ratio, far; /* of one rank */
	int rounds, slow;
};

static const struct row rows[] = {
	{MOORE(2, 64, 1), 2, AWARE, 3.8, 7.00, 1.14, 1.49, NO, 0},
	{MOORE(2, 64, 2), 2, AWARE, 7.5, 16.0, 1.50, 1.67, NO, 0},
	{MOORE(2, 64, 3), 2, AWARE, 10.9, 29.0, 1.66, 1.75, NO, 1},
	{MOORE(2, 64, 4), 2, AWARE, 14.2, 46.0, 1.74, 1.80, NO, 1},
	{MOORE(3, 16, 1), 2, AWARE, 11.7, 17.3, 1.51, 1.75, NO, 0},
	{MOORE(4, 8, 1), 2, AWARE, 18.0, 47.4, 1.69, 1.79, NO, 1},
	{MOORE(2, 64, 1), 4, AWARE, 0, 8.00, 1.00, NO, NO, 0},
	{MOORE(2, 64, 2), 4, AWARE, 7.1, 18.4, 1.31, 2.28, NO, 0},
	{MOORE(2, 64, 3), 4, AWARE, 69.4, 33.0, 1.45, 1.74, NO, 1},
	{MOORE(2, 64, 4), 4, AWARE, 186, 37.3, 2.15, 2.69, NO, 1},
	{MOORE(3, 16, 1), 4, AWARE, 27.2, 23.2, 1.12, 1.47, NO, 1},
	{MOORE(4, 8, 1), 4, AWARE, 238, 51.7, 1.55, 1.98, NO, 1},
	{MOORE(2, 64, 1), 2, AGNOSTIC, 8.0, 7.00, 1.14, NO, NO, 1},
	{MOORE(2, 64, 2), 2, AGNOSTIC, 68, 15.0, 1.60, NO, NO, 1},
	{MOORE(2, 64, 3), 2, AGNOSTIC, 156, 27.0, 1.78, NO, NO, 1},
	{MOORE(2, 64, 4), 2, AGNOSTIC, 276, 43.0, 1.86, NO, NO, 1},
	{MOORE(3, 16, 1), 2, AGNOSTIC, 92, 17.0, 1.53, NO, NO, 1},
	{MOORE(4, 8, 1), 2, AGNOSTIC, 544, 45.0, 1.78, NO, NO, 1},
	/* Larger groups: where there could be any. */
	{MOORE(2, 64, 3), 8, AWARE, 0, NO, NO, NO, NO, 1},
	{MOORE(3, 16, 1), 8, AWARE, 0, NO, NO, NO, NO, 1},
	{MOORE(2, 64, 4), 8, AWARE, 12.2, NO, NO, NO, NO, 1},
	{MOORE(4, 8, 1), 8, AWARE, 3.6, NO, NO, NO, NO, 1},
	{MOORE(3, 16, 1), 4, AGNOSTIC, 0, NO, NO, NO, NO, 1},
	{MOORE(2, 64, 2), 2, CUMULATIVE, NO, 11.0, 2.17, 3.64, 6, 0},
	{MOORE(2, 64, 4), 2, CUMULATIVE, NO, 19.8, 4.04, 6.49, 11, 1},
	{MOORE(3, 16, 1), 2, CUMULATIVE, NO, 12.1, 2.15, 3.55, 7, 1},
	{MOORE(4, 8, 1), 2, CUMULATIVE, NO, 22.1, 3.62, 5.37, 10, 1},
	/* Random graphs are not the same ones: within 2 %. */
	{RANDOM(50), 2, AWARE, NO, 46.0, 1.11, 1.25, NO, 0},
	{RANDOM(50), 3, AWARE, NO, 51, 1.00, NO, NO, 1},
	{RANDOM(50), 4, AWARE, NO, 51, 1.00, NO, NO, 1},
	{RANDOM(200), 2, AWARE, NO, 131, 1.56, 1.75, NO, 1},
	{RANDOM(200), 3, AWARE, NO, 163, 1.26, 1.53, NO, 1},
	{RANDOM(200), 4, AWARE, NO, 197, 1.04, 1.14, NO, 1},
	{RANDOM(400), 2, AWARE, NO, 234, 1.75, 1.87, NO, 1},
	{RANDOM(400), 3, AWARE, NO, 242, 1.69, 2.02, NO, 1},
	{RANDOM(400), 4, AWARE, NO, 291, 1.41, 1.75, NO, 1},
	{RANDOM(600), 2, AWARE, NO, 336, 1.83, 1.91, NO, 1},
	{RANDOM(600), 3, AWARE, NO, 311, 1.97, 2.27, NO, 1},
	{RANDOM(600), 4, AWARE, NO, 346, 1.77, 2.16, NO, 1},
	{RANDOM(800), 2, AWARE, NO, 438, 1.87, 1.93, NO, 1},
	{RANDOM(800), 3, AWARE, NO, 362, 2.26, 2.49, NO, 1},
	{RANDOM(800), 4, AWARE, NO, 366, 2.24, 2.57, NO, 1},
	{RANDOM(200), 2, CUMULATIVE, NO, 61.5, 3.33, 5.75, NO, 1},
	{RANDOM(400), 2, CUMULATIVE, NO, 61.8, 6.62, 11.7, NO, 1},
	{RANDOM(800), 2, CUMULATIVE, NO, 60.8, 13.5, 22.8, NO, 1},
};

static double far[sizeof(rows) / sizeof(rows[0])]; /* of each row, as it came out; 1: no groups */

/* A figure is known to so many digits behind its point. */
static void figure(const struct row *row, const char *what, double got, double want, int digits)
{
	const double most = fmax(0.501 * pow(10, -digits), row->dims ? 0 : 0.02 * want);

	if (want >= 0 && fabs(got - want) > most)
		fail_msg("%u/%u/%u k %u mode %u, %s: %.4f, not %.*f", row->dims, row->side,
			 row->reach, row->k, (unsigned int)row->mode, what, got, digits, want);
}

static int digits_of(double figure)
{
	return figure < 10 ? 2 : figure < 100 ? 1 : 0;
}

static void open_graph(const struct row *row)
{
	if (row->dims)
		qv_graph_moore(&c, row->dims, row->side, row->reach, 1, 0, 40);
	else
		qv_graph_random(&c, row->side, row->reach, 0, 32, 1);
}

/* Schedules send what the plan says. */
static void count(const struct qv_neighbor_plan *plan, uint64_t messages)
{
	uint64_t sends = 0;

	for (uint32_t r = 0; r < c.graph.ranks; r++)
		sends += sends_of(plan, r % 2 ? QV_COLL_ALLGATHER : QV_COLL_ALLTOALL, r);
	assert_int_equal(sends, messages);
}

static double hold(const struct row *row)
{
	struct qv_neighbor_spec spec = {.k = row->k, .cumulative = row->mode == CUMULATIVE};
	struct qv_neighbor_plan *plan;
	struct qv_neighbor_stats s;
	double n, ratio;

	open_graph(row);
	n = c.graph.ranks;
	spec.graph = c.graph;
	spec.node = row->mode == AGNOSTIC ? NULL : c.node;
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	qv_neighbor_stats(plan, &s);
	ratio = s.far ? (double)s.far_edges / (double)s.far : 0;
	print_message("%u/%u/%u k %u mode %u: possible %.2f sends %.2f ratio %.3f far %.3f "
		      "rounds %u\n",
		      row->dims, row->side, row->reach, row->k, (unsigned int)row->mode,
		      (double)s.possible * row->k / n, (double)s.messages / n,
		      (double)s.edges / (double)s.messages, ratio, s.rounds);
	figure(row, "possible", (double)s.possible * row->k / n, row->possible,
	       row->possible < 70 && row->mode != AGNOSTIC);
	figure(row, "sends", (double)s.messages / n, row->sends, digits_of(row->sends));
	figure(row, "ratio", (double)s.edges / (double)s.messages, row->ratio,
	       row->ratio < 10 ? 2 : 1);
	if (s.far)
		figure(row, "far", ratio, row->far, row->far < 10 ? 2 : 1);
	figure(row, "rounds", s.rounds, row->rounds, 0);
	count(plan, s.messages);
	qv_neighbor_free(plan);
	qv_graph_close(&c);
	return ratio;
}

/* The groups of 2 to 4 in a node that leave the fewest messages between nodes, by density. */
static void hold_best_k(void)
{
	static const struct {
		uint32_t thousandths, best, published; /* the latter the fastest, of 2 to 6 */
	} densities[] = {{50, 2, 2}, {200, 2, 2}, {400, 3, 3}, {600, 3, 4}, {800, 4, 4}};

	for (size_t d = 0; d < sizeof(densities) / sizeof(densities[0]); d++) {
		uint32_t best = 0;
		double most = 0;

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (!rows[i].dims && rows[i].reach == densities[d].thousandths &&
			    rows[i].mode == AWARE && far[i] > most) {
				most = far[i];
				best = rows[i].k;
			}
		print_message("density %u/1000: best k %u, published %u\n",
			      densities[d].thousandths, best, densities[d].published);
		assert_int_equal(best, densities[d].best);
	}
}

static void test_messages(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (slow || !rows[i].slow)
			far[i] = hold(&rows[i]);
	if (slow)
		hold_best_k();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};

	slow = argc > 1 && !strcmp(argv[1], "slow");
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
