/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_neighbor.c - collectives with neighbours: every block where it belongs, on grids with and
 * without edges and on random graphs, for all sizes of groups; numbers of messages as published.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "qv_graph_case.h"
#include "schedule/qv_schedule.h" /* races are looked for rank by rank */

#define ITEMS 3 /* in a block */

static int slow;
static struct qv_graph_case c;

static struct qv_neighbor_plan *plan_of(uint32_t k, int aware, int cumulative)
{
	const struct qv_neighbor_spec spec = {
		.graph = c.graph, .node = aware ? c.node : NULL, .k = k, .cumulative = cumulative};
	struct qv_neighbor_plan *plan = NULL;

	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	return plan;
}

/* ---- what comes -------------------------------------------------------------------------------
 */
/* The number in the block that one rank has for another; of an allgather, for all. */
static uint32_t number(enum qv_coll coll, uint32_t from, uint32_t to)
{
	return from * 1000 + (coll == QV_COLL_ALLTOALL ? to : 999) + 7;
}

static uint32_t *contribution(enum qv_coll coll, uint32_t r)
{
	uint32_t *in = calloc((size_t)c.graph.out_n[r] * ITEMS + ITEMS, sizeof(*in));

	for (uint32_t i = 0; i < ITEMS * (coll == QV_COLL_ALLTOALL ? c.graph.out_n[r] : 1); i++)
		in[i] = number(coll, r, coll == QV_COLL_ALLTOALL ? c.graph.out[r][i / ITEMS] : 0) *
				4 +
			i % ITEMS;
	return in;
}

static void check(enum qv_coll coll, uint32_t r, const uint32_t *got)
{
	for (uint32_t i = 0; i < ITEMS * c.graph.in_n[r]; i++)
		if (got[i] != number(coll, c.graph.in[r][i / ITEMS], r) * 4 + i % ITEMS)
			fail_msg("rank %u of %u: block %u is wrong", r, c.graph.ranks, i / ITEMS);
	assert_int_equal(got[ITEMS * c.graph.in_n[r]], 0);
}

static void run(const struct qv_neighbor_plan *plan, enum qv_coll coll, uint64_t seed)
{
	const uint32_t n = c.graph.ranks;
	const struct qv_local_run local = {.item = 4, .count = ITEMS, .seed = seed};
	struct qv_schedule **all = calloc(n, sizeof(*all));
	const void **in = calloc(n, sizeof(*in));
	void **work = calloc(n, sizeof(*work));

	for (uint32_t r = 0; r < n; r++) {
		uint32_t other;

		assert_int_equal(qv_neighbor_schedule(plan, coll, r, &all[r]), QV_OK);
		assert_int_equal(qv_check_order(all[r], &other), QV_STEP_NONE);
		in[r] = contribution(coll, r);
		work[r] = calloc((size_t)c.graph.in_n[r] * ITEMS + 1, 4);
	}
	assert_int_equal(qv_schedule_run_local(&local, all, n, in, work), QV_OK);
	for (uint32_t r = 0; r < n; r++) {
		check(coll, r, work[r]);
		free((void *)(uintptr_t)in[r]);
		free(work[r]);
		qv_schedule_free(all[r]);
	}
	free(all);
	free(in);
	free(work);
}

static void each_plan(void)
{
	static const uint32_t k[] = {0, 2, 3, 4, 6, 8, 16};

	for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++)
		for (int mode = 0; mode < 4; mode++) {
			struct qv_neighbor_plan *plan = plan_of(k[i], mode & 1, mode >> 1);

			run(plan, QV_COLL_ALLGATHER, i + 1);
			run(plan, QV_COLL_ALLTOALL, i + 7);
			qv_neighbor_free(plan);
		}
	qv_graph_close(&c);
}

static void test_moore(void **state)
{
	for (int periodic = 0; periodic < 2; periodic++)
		for (int self = 0; self < 2; self++) {
			qv_graph_moore(&c, 2, 6, 2, periodic, self, 9);
			each_plan();
			qv_graph_moore(&c, 3, 3, 1, periodic, self, 7);
			each_plan();
			qv_graph_moore(&c, 1, 20, 7, periodic, self, 10);
			each_plan();
		}
}

static void test_random(void **state)
{
	static const uint32_t densities[] = {0, 20, 50, 200, 400, 600, 800, 1000};

	for (size_t i = 0; i < sizeof(densities) / sizeof(densities[0]); i++) {
		qv_graph_random(&c, 24, densities[i], i % 2 == 0, 8, i);
		each_plan();
		qv_graph_random(&c, 1 + (uint32_t)i * 2, densities[i], 1, 3, i);
		each_plan();
	}
}

/* ---- how many messages -------------------------------------------------------------------------
 */
/* The figure has so many digits behind its point. */
static void figure(const char *what, double got, double want, int digits, double share)
{
	const double most = fmax(0.501 * pow(10, -digits), share * want);

	if (fabs(got - want) > most)
		fail_msg("%s: %.4f, not %.*f", what, got, digits, want);
}

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

struct row {
	uint32_t a, b, r; /* Moore: dims, side, distance; random: 0, ranks, density */
	uint32_t k;
	int aware, cumulative;
	double possible, sends, ratio, far; /* of one rank; less than 0: not published */
	int digits;                         /* of sends */
	int slow;
};

static const struct row rows[] = {
	{2, 64, 1, 2, 1, 0, 3.8, 7.00, 1.14, 1.49, 2, 0},
	{2, 64, 2, 2, 1, 0, 7.5, 16.0, 1.50, 1.67, 1, 0},
	{2, 64, 3, 2, 1, 0, 10.9, 29.0, 1.66, 1.75, 1, 1},
	{2, 64, 4, 2, 1, 0, 14.2, 46.0, 1.74, 1.80, 1, 1},
	{3, 16, 1, 2, 1, 0, 11.7, 17.3, 1.51, 1.75, 1, 0},
	{4, 8, 1, 2, 1, 0, 18.0, 47.4, 1.69, 1.79, 1, 1},
	{2, 64, 1, 4, 1, 0, 0, 8.00, 1.00, -1, 2, 0},
	{2, 64, 2, 4, 1, 0, 7.1, 18.4, 1.31, 2.28, 1, 0},
	{2, 64, 3, 4, 1, 0, 69.4, 33.0, 1.45, 1.74, 1, 1},
	{2, 64, 4, 4, 1, 0, 186, 37.3, 2.15, 2.69, 1, 1},
	{3, 16, 1, 4, 1, 0, 27.2, 23.2, 1.12, 1.47, 1, 1},
	{4, 8, 1, 4, 1, 0, 238, 51.7, 1.55, 1.98, 1, 1},
	{2, 64, 1, 2, 0, 0, 8.0, 7.00, 1.14, 1.49, 2, 1},
	{2, 64, 2, 2, 0, 0, 68, 15.0, 1.60, 1.81, 1, 1},
	{2, 64, 3, 2, 0, 0, 156, 27.0, 1.78, 1.90, 1, 1},
	{2, 64, 4, 2, 0, 0, 276, 43.0, 1.86, 1.94, 1, 1},
	{3, 16, 1, 2, 0, 0, 92, 17.0, 1.53, 1.75, 1, 1},
	{4, 8, 1, 2, 0, 0, 544, 45.0, 1.78, 1.88, 1, 1},
	/* Cumulative. */
	{2, 64, 2, 2, 1, 1, -1, 11.0, 2.17, 3.64, 1, 0},
	{2, 64, 4, 2, 1, 1, -1, 19.8, 4.04, 6.49, 1, 1},
	{3, 16, 1, 2, 1, 1, -1, 12.1, 2.15, 3.55, 1, 1},
	{4, 8, 1, 2, 1, 1, -1, 22.1, 3.62, 5.37, 1, 1},
	/* Random graphs are not the published ones: within 2 %. */
	{0, 1024, 50, 2, 1, 0, -1, 46.0, 1.11, 1.25, 1, 0},
	{0, 1024, 200, 2, 1, 0, -1, 131, 1.56, 1.75, 0, 1},
	{0, 1024, 200, 3, 1, 0, -1, 163, 1.26, 1.53, 0, 1},
	{0, 1024, 200, 4, 1, 0, -1, 197, 1.04, 1.14, 0, 1},
	{0, 1024, 400, 2, 1, 0, -1, 234, 1.75, 1.87, 0, 1},
	{0, 1024, 400, 3, 1, 0, -1, 242, 1.69, 2.02, 0, 1},
	{0, 1024, 400, 4, 1, 0, -1, 291, 1.41, 1.75, 0, 1},
	{0, 1024, 600, 2, 1, 0, -1, 336, 1.83, 1.91, 0, 1},
	{0, 1024, 600, 3, 1, 0, -1, 311, 1.97, 2.27, 0, 1},
	{0, 1024, 600, 4, 1, 0, -1, 346, 1.77, 2.16, 0, 1},
	{0, 1024, 800, 2, 1, 0, -1, 438, 1.87, 1.93, 0, 1},
	{0, 1024, 800, 3, 1, 0, -1, 362, 2.26, 2.49, 0, 1},
	{0, 1024, 800, 4, 1, 0, -1, 366, 2.24, 2.57, 0, 1},
};

static void hold(const struct row *row)
{
	const double share = row->a ? 0 : 0.02;
	struct qv_neighbor_spec spec = {.k = row->k, .cumulative = row->cumulative};
	struct qv_neighbor_plan *plan;
	struct qv_neighbor_stats s;
	double n;
	uint64_t far = 0, sends = 0;

	if (row->a)
		qv_graph_moore(&c, row->a, row->b, row->r, 1, 0, 40);
	else
		qv_graph_random(&c, row->b, row->r, 0, 32, 1);
	n = c.graph.ranks;
	spec.graph = c.graph;
	spec.node = row->aware ? c.node : NULL;
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	qv_neighbor_stats(plan, &s);
	for (uint32_t r = 0; r < c.graph.ranks; r++)
		sends += sends_of(plan, r % 2 ? QV_COLL_ALLGATHER : QV_COLL_ALLTOALL, r);
	assert_int_equal(sends, s.messages);
	far = s.far;
	print_message("%u/%u/%u k %u%s%s: possible %.2f sends %.2f ratio %.3f far %.3f rounds %u\n",
		      row->a, row->b, row->r, row->k, row->aware ? " aware" : "",
		      row->cumulative ? " cumulative" : "", (double)s.possible / n,
		      (double)s.messages / n, (double)s.edges / (double)s.messages,
		      far ? (double)s.far_edges / (double)far : 0, s.rounds);
	if (row->possible > 0)
		figure("possible", (double)s.possible * row->k / n, row->possible,
		       row->possible < 70 && row->aware, share);
	figure("sends", (double)s.messages / n, row->sends, row->digits, share);
	figure("ratio", (double)s.edges / (double)s.messages, row->ratio, 2, share);
	if (row->far > 0 && row->aware)
		figure("far", (double)s.far_edges / (double)far, row->far, 2, share);
	qv_neighbor_free(plan);
	qv_graph_close(&c);
}

static void test_messages(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (slow || !rows[i].slow)
			hold(&rows[i]);
}

static void test_bad_graphs(void **state)
{
	static const uint32_t one[] = {1}, twice[] = {1, 1}, far[] = {9};
	static const uint32_t n1[] = {1, 0}, n2[] = {2, 0}, m1[] = {0, 1}, m2[] = {0, 2};
	static const uint32_t zero[] = {0}, zeros[] = {0, 0};
	const uint32_t *const out[] = {one, one}, *const in[] = {zero, zero};
	const uint32_t *const out2[] = {twice, one}, *const in2[] = {zeros, zeros};
	const uint32_t *const outside[] = {far, one};
	struct qv_neighbor_spec spec = {.graph = {2, n1, m1, out, in}, .k = 2};
	struct qv_neighbor_plan *plan = NULL;
	struct qv_schedule *s = NULL;

	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	assert_int_equal(qv_neighbor_schedule(plan, QV_COLL_GATHER, 0, &s), QV_EINVAL);
	assert_int_equal(qv_neighbor_schedule(plan, QV_COLL_ALLGATHER, 2, &s), QV_EINVAL);
	qv_neighbor_free(plan);
	plan = NULL;
	spec.k = 17;
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_EINVAL);
	spec.k = 2;
	spec.graph.in_n = zeros; /* an edge that its receiver does not know */
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_EINVAL);
	spec.graph = (struct qv_graph){2, n2, m2, out2, in2};
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_EINVAL);
	spec.graph = (struct qv_graph){2, n1, m1, outside, in};
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_EINVAL);
	spec.graph = (struct qv_graph){0};
	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_EINVAL);
	assert_null(plan);
	qv_neighbor_free(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moore), cmocka_unit_test(test_random),
		cmocka_unit_test(test_messages), cmocka_unit_test(test_bad_graphs)};

	slow = argc > 1 && !strcmp(argv[1], "slow");
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
