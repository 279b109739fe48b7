/* SPDX-License-Identifier: BSD-2-Clause */
/* test_select_late.c - plans for ranks that come late. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "select_case.h"

/* How long a plan for these arrivals, built by all ranks, takes. */
static double time_of(struct qv_select *s, struct qv_select_call call, int *by_arrival)
{
	const struct qv_plan *plans[128];
	static struct qv_schedule *all[128];
	double at[128], leave[128];

	for (call.rank = 0; call.rank < call.ranks; call.rank++) {
		assert_int_equal(qv_select_get(s, &call, &plans[call.rank]), QV_OK);
		all[call.rank] = (struct qv_schedule *)(uintptr_t)plans[call.rank]->schedule;
		at[call.rank] = call.arrive ? (double)call.arrive[call.rank] * 1e-9 : 0;
	}
	assert_int_equal(qv_schedule_time(&qv_select_case_net, all, call.ranks, (double)call.bytes,
					  at, leave),
			 QV_OK);
	*by_arrival = plans[0]->by_arrival;
	for (uint32_t r = 0; r < call.ranks; r++)
		qv_select_put(s, plans[r]);
	return qv_select_case_last(leave, call.ranks);
}

/* One late: the plan for it is taken, and pays. Of vectors that are not cut, nearly twofold. */
static void test_one_late(void **unused)
{
	static uint64_t arrive[128];
	struct qv_select *s = qv_select_case_open(NULL),
			 *knows = qv_select_case_open("reduce=clairvoyant"),
			 *tree = qv_select_case_open("reduce=binomial");
	struct qv_select_call call = {.ranks = 128, .bytes = 400 << 10, .arrive = arrive};
	const double round = qv_select_case_net.alpha +
			     (400 << 10) * (qv_select_case_net.beta + qv_select_case_net.gamma);
	double known, best;
	int by_arrival;

	arrive[127] = (uint64_t)(7 * round * 1e9);
	known = time_of(knows, call, &by_arrival);
	assert_true(by_arrival);
	assert_true(time_of(tree, call, &by_arrival) / known > .95 * 1.75);
	assert_false(by_arrival);
	best = time_of(s, call, &by_arrival);
	assert_true(by_arrival);
	assert_true(best <= known);
	qv_select_close(s);
	qv_select_close(knows);
	qv_select_close(tree);
}

/* The same for lengths at the ends of a class, where the time of a round could be taken for
 * another: when the last partial results are there, and not before, the late rank's comes in. */
static void test_lengths(void **unused)
{
	static const size_t lengths[] = {128 << 10, (256 << 10) - 8, 1 << 20};
	static uint64_t arrive[128];

	for (size_t i = 0; i < 3; i++) {
		struct qv_select *knows = qv_select_case_open("reduce=clairvoyant"),
				 *tree = qv_select_case_open("reduce=binomial");
		struct qv_select_call call = {.ranks = 128, .bytes = lengths[i], .arrive = arrive};
		const double round =
			qv_select_case_net.alpha +
			(double)lengths[i] * (qv_select_case_net.beta + qv_select_case_net.gamma);
		int by_arrival;

		arrive[127] = (uint64_t)(7 * round * 1e9);
		assert_true(time_of(tree, call, &by_arrival) / time_of(knows, call, &by_arrival) >
			    .95 * 1.75);
		qv_select_close(knows);
		qv_select_close(tree);
	}
}

/* Every eighth rank late by half of the time: rounds that know it are slower than ones that do not.
 * The faithful mode takes them nevertheless, the extended one has the balanced schedule as its
 * floor. */
static void test_floor(void **unused)
{
	static uint64_t arrive[128];
	struct qv_select *faithful = qv_select_case_open("reduce=segmented:faithful"),
			 *extended = qv_select_case_open("reduce=segmented");
	struct qv_select_call call = {.ranks = 128, .bytes = 3 << 16, .arrive = arrive};
	const uint32_t N = qv_model_segments(&qv_select_case_net, QV_ALG_SEGMENTED, 128, 3 << 16);
	const double round = qv_select_case_net.alpha +
			     (3 << 16) / N * (qv_select_case_net.beta + qv_select_case_net.gamma);
	double slow, fast;
	int by_arrival;

	for (uint32_t r = 7; r < 128; r += 8)
		arrive[r] = (uint64_t)(.5 * (6 + N) * round * 1e9);
	slow = time_of(faithful, call, &by_arrival);
	assert_true(by_arrival);
	fast = time_of(extended, call, &by_arrival);
	assert_false(by_arrival);
	if (fast > .9 * slow)
		fail_msg("%g us and %g us", 1e6 * fast, 1e6 * slow);
	qv_select_close(faithful);
	qv_select_close(extended);
}

/* Broadcasts, one late by the binomial tree's time, at each place in turn, also of lengths at the ends of a
 * class: the tree that knows it is not slower than that one. `auto` takes it where half of the others would be
 * behind that rank, and not where it is the root, for which all wait. */
static void test_late_broadcast(void **unused)
{
	static const size_t lengths[] = {8, 1025};
	struct qv_select *knows = qv_select_case_open("broadcast=clairvoyant:faithful"),
			 *tree = qv_select_case_open("broadcast=binomial"),
			 *s = qv_select_case_open(NULL);
	static uint64_t arrive[64];
	int by_arrival;

	for (uint32_t i = 0; i < 4; i++) {
		struct qv_select_call call = {.coll = QV_COLL_BROADCAST,
					      .ranks = i % 2 ? 16 : 64,
					      .root = 3,
					      .bytes = lengths[i / 2],
					      .arrive = arrive};
		const uint32_t middle = 3 + call.ranks / 2; /* half of the others are behind it */
		const double round =
			qv_select_case_net.alpha + (double)call.bytes * qv_select_case_net.beta;

		for (uint32_t late = 0; late < call.ranks; late++) {
			double known, blind;

			memset(arrive, 0, sizeof(arrive));
			arrive[late] = (uint64_t)(log2(call.ranks) * round * 1e9);
			blind = time_of(tree, call, &by_arrival);
			known = time_of(knows, call, &by_arrival);
			assert_true(by_arrival);
			assert_true(known <= 1.02 * blind);
			if (late != middle && late != call.root)
				continue;
			assert_true(time_of(s, call, &by_arrival) <= 1.02 * blind);
			assert_int_equal(by_arrival, late == middle);
			if (late == middle)
				assert_true(1.5 * known < blind);
		}
	}
	qv_select_close(knows);
	qv_select_close(tree);
	qv_select_close(s);
}

/* An algorithm that is not built from arrivals has one plan, whoever is late; segments are those of its length. */
static void test_blind(void **unused)
{
	static const char *const rules[] = {"broadcast=ring", "broadcast=pipeline",
					    "allreduce=pipeline", "allreduce=redirect"};
	static uint64_t arrive[128];

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct qv_select *s = qv_select_case_open(rules[i]);
		struct qv_select_call call = {.coll = i < 2 ? QV_COLL_BROADCAST : QV_COLL_ALLREDUCE,
					      .ranks = 128,
					      .bytes = 1500};
		const struct qv_plan *blind, *told;

		assert_int_equal(qv_select_get(s, &call, &blind), QV_OK);
		call.arrive = arrive;
		arrive[1 + i] = 1000000;
		assert_int_equal(qv_select_get(s, &call, &told), QV_OK);
		assert_ptr_equal(blind, told);
		qv_select_put(s, blind);
		qv_select_put(s, told);
		qv_select_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_late), cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_floor),    cmocka_unit_test(test_late_broadcast),
		cmocka_unit_test(test_blind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
