/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_planner.c - plans by messages: whatever the order in which messages of different ranks come,
 * each rank has the part that it has in the plan of who knows the whole graph.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/neighbor/neighbor.h" /* the hops of a plan */

#include "planner_net.h"

static struct qv_graph_case c;

static int by_all(const void *x, const void *y)
{
	const struct qv_edge_hop *a = x, *b = y;
	const uint32_t as[] = {a->phase, a->from, a->to, a->src, a->dst};
	const uint32_t bs[] = {b->phase, b->from, b->to, b->src, b->dst};

	for (int i = 0; i < 5; i++)
		if (as[i] != bs[i])
			return as[i] < bs[i] ? -1 : 1;
	return 0;
}

/* The hops of one rank, sorted. */
static struct qv_edge_hop *hops_of(const struct qv_neighbor_plan *plan, uint32_t rank, size_t *n)
{
	const uint32_t place = rank - plan->first;
	struct qv_edge_hop *hops;

	*n = plan->touch_at[place + 1] - plan->touch_at[place];
	hops = calloc(*n + 1, sizeof(*hops));
	for (size_t i = 0; i < *n; i++)
		hops[i] = plan->hops[plan->touch[plan->touch_at[place] + i]];
	qsort(hops, *n, sizeof(*hops), by_all);
	return hops;
}

static void same_part(const struct qv_neighbor_plan *whole, const struct qv_neighbor_plan *part,
		      uint32_t rank)
{
	size_t n, m;
	struct qv_edge_hop *want = hops_of(whole, rank, &n), *got = hops_of(part, rank, &m);

	assert_int_equal(n, m);
	assert_int_equal(part->n, m); /* and nothing of others */
	for (size_t i = 0; i < n; i++)
		if (by_all(&want[i], &got[i]))
			fail_msg("rank %u of %u: hop %zu is another one", rank, whole->ranks, i);
	free(want);
	free(got);
}

static void add(struct qv_neighbor_stats *to, const struct qv_neighbor_stats *s)
{
	to->edges += s->edges;
	to->possible += s->possible;
	to->groups += s->groups;
	to->messages += s->messages;
	to->rounds = s->rounds > to->rounds ? s->rounds : to->rounds;
}

static void compare(uint32_t k, int aware, int cumulative, uint64_t seed)
{
	const struct qv_neighbor_spec spec = {
		.graph = c.graph, .node = aware ? c.node : NULL, .k = k, .cumulative = cumulative};
	struct planner_net *net = planner_net_run(&c, k, aware, cumulative, seed);
	struct qv_neighbor_stats want, got = {0};
	struct qv_neighbor_plan *whole;
	struct qv_schedule *schedule;

	assert_int_equal(qv_neighbor_plan(&spec, &whole), QV_OK);
	for (uint32_t r = 0; r < c.graph.ranks; r++) {
		struct qv_neighbor_plan *part = planner_net_plan(net, r);
		struct qv_neighbor_stats s;

		same_part(whole, part, r);
		qv_neighbor_stats(part, &s);
		add(&got, &s);
		assert_int_equal(qv_neighbor_schedule(part, QV_COLL_ALLTOALL, r, &schedule), QV_OK);
		qv_schedule_free(schedule);
		assert_int_equal(qv_neighbor_schedule(part, QV_COLL_ALLTOALL, r + 1, &schedule),
				 QV_EINVAL);
		qv_neighbor_free(part);
	}
	qv_neighbor_stats(whole, &want);
	want.far = want.far_edges = 0;
	assert_memory_equal(&got, &want, sizeof(got));
	qv_neighbor_free(whole);
	planner_net_close(net);
}

static void each_plan(uint32_t most)
{
	for (uint32_t k = 1; k <= most; k++)
		for (int mode = 0; mode < 4; mode++)
			compare(k, mode & 1, mode >> 1, k * 4 + (uint32_t)mode);
	qv_graph_close(&c);
}

static void test_moore(void **state)
{
	for (int periodic = 0; periodic < 2; periodic++)
		for (int self = 0; self < 2; self++) {
			qv_graph_moore(&c, 2, 6, 2, periodic, self, 9);
			each_plan(6);
			qv_graph_moore(&c, 3, 3, 1, periodic, self, 7);
			each_plan(4);
			qv_graph_moore(&c, 1, 20, 7, periodic, self, 10);
			each_plan(6);
		}
}

static void test_random(void **state)
{
	static const uint32_t densities[] = {0, 20, 50, 200, 400, 600, 800, 1000};

	for (size_t i = 0; i < sizeof(densities) / sizeof(densities[0]); i++) {
		qv_graph_random(&c, 18, densities[i], i % 2 == 0, 8, i);
		each_plan(5);
		qv_graph_random(&c, 1 + (uint32_t)i * 2, densities[i], 1, 3, i);
		each_plan(QV_MOST_FRIENDS);
	}
}

/* The same graph again and again, messages in another order each time. */
static void test_orders(void **state)
{
	qv_graph_random(&c, 40, 350, 1, 40, 5);
	for (uint64_t seed = 0; seed < 60; seed++)
		compare(2 + seed % 2, seed % 3 == 0, seed % 5 == 0, seed);
	qv_graph_close(&c);
}

/* Nothing is sent. */
static void nobody(void *context, uint32_t to, const uint32_t *words, size_t n)
{
	fail_msg("%zu words to %u", n, to);
}

static void refused(struct qv_planner_spec spec)
{
	struct qv_planner *planner = NULL;

	assert_int_equal(qv_planner_create(&spec, nobody, NULL, &planner), QV_EINVAL);
	assert_null(planner);
}

static void test_bad_lists(void **state)
{
	const uint32_t one[] = {1}, twice[] = {1, 1}, far[] = {9};
	const struct qv_planner_spec good = {
		.ranks = 3, .out_n = 1, .out = one, .in_n = 1, .in = one, .k = 2};
	struct qv_planner_spec bad = good;

	bad.out = far;
	refused(bad);
	bad = good;
	bad.in = far;
	refused(bad);
	bad = good;
	bad.out = twice;
	bad.out_n = 2;
	refused(bad);
	bad = good;
	bad.rank = 3;
	refused(bad);
	bad = good;
	bad.k = QV_MOST_FRIENDS + 1;
	refused(bad);
	qv_planner_free(NULL);
}

static void ignore(void *context, uint32_t to, const uint32_t *words, size_t n)
{
}

/* Messages that no planner sends. */
static void test_bad_messages(void **state)
{
	static const struct {
		uint32_t from, words[8];
		size_t n;
	} bad[] = {
		{1, {0}, 0},     /* nothing */
		{1, {77, 0}, 2}, /* no such kind */
		{1, {0}, 1},     /* HELLO without a node */
		{2, {0, 5}, 2},  /* of a stranger */
		{2, {1}, 1},     /* LIST of a stranger */
		{1, {2}, 1},     /* WORD, DONE without a round */
		{1, {3}, 1},
		{2, {4, 0xffff, 2}, 3}, /* DELIVER of a stranger, */
		{1, {4, 0xffff, 2}, 3}, /* of a stranger's block */
		{1, {4}, 1},            /* without a phase */
	};
	const uint32_t one[] = {1};
	const struct qv_planner_spec spec = {
		.ranks = 3, .out_n = 1, .out = one, .in_n = 1, .in = one, .k = 2};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct qv_neighbor_plan *plan = NULL;
		struct qv_planner *p = NULL;

		assert_int_equal(qv_planner_create(&spec, ignore, NULL, &p), QV_OK);
		assert_int_equal(qv_planner_hear(p, 1, one, 1), QV_EINVAL); /* it has not begun */
		assert_int_equal(qv_planner_result(p, &plan), QV_EAGAIN);
		assert_int_equal(qv_planner_start(p), QV_OK);
		if (qv_planner_hear(p, bad[i].from, bad[i].words, bad[i].n) != QV_EINVAL)
			fail_msg("message %zu is taken", i);
		assert_int_equal(qv_planner_result(p, &plan), QV_EAGAIN);
		qv_planner_free(p);
	}
}

/* Cut to any length, and with any word changed: refused or taken, and nothing is touched. */
static void test_damaged(void **state)
{
	static const uint32_t hello[] = {0, 5}, list[] = {1, 2}, word[] = {2, 0, 0, 3, 0, 2},
			      done[] = {3, 0, 0, 1, 1, 1, 2}, deliver[] = {4, 0xffff, 1};
	static const struct {
		const uint32_t *words;
		size_t n;
	} all[] = {{hello, 2}, {list, 2}, {word, 6}, {done, 7}, {deliver, 3}};
	const uint32_t one[] = {1};
	const struct qv_planner_spec spec = {
		.ranks = 3, .out_n = 1, .out = one, .in_n = 1, .in = one, .k = 2};
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 20000; i++) {
		struct qv_neighbor_plan *plan = NULL;
		struct qv_planner *p = NULL;

		assert_int_equal(qv_planner_create(&spec, ignore, NULL, &p), QV_OK);
		assert_int_equal(qv_planner_start(p), QV_OK);
		for (int j = 0; j < 6; j++) {
			uint32_t words[8];
			size_t which, n;

			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			which = (x >> 8) % 5;
			n = all[which].n - ((x >> 16) % 3 ? 0 : (x >> 24) % all[which].n);
			memcpy(words, all[which].words, all[which].n * sizeof(*words));
			if ((x >> 40) % 2)
				words[(x >> 32) % all[which].n] = (uint32_t)(x >> 44) % 9;
			if (qv_planner_hear(p, (uint32_t)(x >> 60) % 3, words, n))
				break;
		}
		if (!qv_planner_result(p, &plan))
			qv_neighbor_free(plan);
		qv_planner_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moore),        cmocka_unit_test(test_random),
		cmocka_unit_test(test_orders),       cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_bad_messages), cmocka_unit_test(test_damaged)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
