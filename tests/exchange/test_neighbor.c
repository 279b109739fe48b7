/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_neighbor.c - collectives with neighbours: every block where it belongs, on grids with and
 * without edges and on random graphs, for all sizes of groups.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "graph_case.h"
#include "engine/schedule/schedule.h" /* races are looked for rank by rank */

#define ITEMS 3 /* in a block */

static struct qv_graph_case c;

static struct qv_neighbor_plan *plan_of(uint32_t k, int aware, int cumulative)
{
	const struct qv_neighbor_spec spec = {
		.graph = c.graph, .node = aware ? c.node : NULL, .k = k, .cumulative = cumulative};
	struct qv_neighbor_plan *plan = NULL;

	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	return plan;
}

/* What comes. */

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
	for (uint32_t k = 1; k <= QV_MOST_FRIENDS; k++) /* 1: none */
		for (int mode = 0; mode < 4; mode++) {
			struct qv_neighbor_plan *plan = plan_of(k, mode & 1, mode >> 1);

			run(plan, QV_COLL_ALLGATHER, k);
			run(plan, QV_COLL_ALLTOALL, k + 7);
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

static void refused(struct qv_graph graph, uint32_t k)
{
	const struct qv_neighbor_spec spec = {.graph = graph, .k = k};
	struct qv_neighbor_plan *plan = NULL;

	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_EINVAL);
	assert_null(plan);
}

static void test_bad_graphs(void **state)
{
	static const uint32_t one[] = {1}, twice[] = {1, 1}, far[] = {9};
	static const uint32_t n1[] = {1, 0}, n2[] = {2, 0}, m1[] = {0, 1}, m2[] = {0, 2};
	static const uint32_t zero[] = {0}, zeros[] = {0, 0};
	const uint32_t *const out[] = {one, one}, *const in[] = {zero, zero};
	const uint32_t *const out2[] = {twice, one}, *const in2[] = {zeros, zeros};
	const uint32_t *const outside[] = {far, one};
	const struct qv_neighbor_spec spec = {.graph = {2, n1, m1, out, in}, .k = 2};
	struct qv_neighbor_plan *plan = NULL;
	struct qv_schedule *s = NULL;

	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	assert_int_equal(qv_neighbor_schedule(plan, QV_COLL_GATHER, 0, &s), QV_EINVAL);
	assert_int_equal(qv_neighbor_schedule(plan, QV_COLL_ALLGATHER, 2, &s), QV_EINVAL);
	qv_neighbor_free(plan);
	refused(spec.graph, 17);
	refused((struct qv_graph){2, n1, zeros, out, in}, 2); /* its receiver does not know of it */
	refused((struct qv_graph){2, n2, m2, out2, in2}, 2);
	refused((struct qv_graph){2, n1, m1, outside, in}, 2);
	refused((struct qv_graph){0}, 2);
	qv_neighbor_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moore),
					   cmocka_unit_test(test_random),
					   cmocka_unit_test(test_bad_graphs)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
