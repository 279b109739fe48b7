/* SPDX-License-Identifier: BSD-2-Clause */
/* test_select_rules.c - what users may ask for, and what they get for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "select_case.h"

static void refused(const char *rules, const char *because)
{
	struct qv_select *s = NULL;
	char why[256] = "";

	assert_int_equal(qv_select_open(rules, why, sizeof(why), &s), QV_EINVAL);
	assert_null(s);
	if (!strstr(why, because))
		fail_msg("'%s' is refused because '%s'", rules, why);
	assert_int_equal(qv_select_open(rules, NULL, 0, &s), QV_EINVAL);
}

static void test_rules(void **unused)
{
	qv_select_close(qv_select_case_open(NULL));
	qv_select_close(qv_select_case_open(""));
	qv_select_close(
		qv_select_case_open("reduce=auto:faithful,barrier=binomial,alltoall=direct"));
	refused("reduce", "no '='");
	refused("reduce=ring,", "no '=' in ''");
	refused("reduction=ring", "reduce allreduce reduce_scatter barrier");
	refused("reduce=rings", "unknown algorithm 'rings'");
	refused("broadcast=radix", "broadcast has auto binomial ring pipeline");
	refused("reduce=ring:exact", "known: faithful extended");
	refused("reduce=ring:4", "unknown mode '4'; known: faithful extended");
	refused("alltoall=auto:4", "unknown mode '4'");
	refused("allgather=kshift:0", "numbers from 1 to 65536");
	refused("allgather=kshift:65537", "numbers from 1 to 65536");
	refused("allgather=kshift:99999999999999999999", "numbers from 1 to 65536");
	refused("allgather=kshift:4x", "unknown mode '4x'");
	refused("allgather=kshift:", "unknown mode ''");
	refused("allgather=kshift:x", "65536; behind them paced=1 to paced=65536");
	refused("allgather=kshift:4:paced=0", "unknown mode 'paced=0'; known: paced=1 to");
	refused("allgather=kshift:4:paced=", "unknown mode 'paced='");
	refused("allgather=kshift:4:paced=2x", "unknown mode 'paced=2x'");
	refused("allgather=kshift:paced=65537", "unknown mode 'paced=65537'");
	refused("allgather=kshift:paced=2:4", "unknown mode 'paced=2:4'");
	refused("allgather=kshift:paced=2:paced=2", "unknown mode 'paced=2'");
	refused("allgather=kshift::paced=2", "unknown mode ''");
	refused("allgather=ring:paced=2", "unknown mode 'paced=2'; known: faithful extended");
	refused("reduce=direct:paced=2", "unknown mode 'paced=2'");
	refused("alltoall=auto:paced=2", "unknown mode 'paced=2'");
	refused("alltoall=hybrid:33", "numbers from 1 to 32");
	refused("reduce=radix:", "factors of the number of ranks");
	refused("reduce=radix:4:", "unknown mode '4:'");
	refused("reduce=radix:4:1", "unknown mode '4:1'");
	refused("reduce=radix:4:4x", "unknown mode '4:4x'");
	refused("reduce=radix:65536:32768", "unknown mode '65536:32768'");
	refused("reduce=radix:99999999999999999999:2", "factors of the number of ranks");
	refused("reduce=ring:4:4", "unknown mode '4:4'");
	refused("reduce=ring,barrier=auto,reduce=binomial", "twice");
}

static void test_named(void **unused)
{
	struct qv_select *s = qv_select_case_open("reduce=ring,allreduce=segmented");
	struct qv_select_call call = {.ranks = 5, .rank = 2, .root = 1, .bytes = 100};
	const struct qv_plan *plan;

	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	assert_int_equal(plan->algorithm, QV_ALG_RING);
	assert_int_equal(qv_schedule_blocks(plan->schedule), 5);
	qv_select_put(s, plan);
	/* A ring cannot keep the order: the user is told, not given something else. */
	call.ordered = 1;
	assert_int_equal(qv_select_get(s, &call, &plan), QV_ENOSYS);
	call.coll = QV_COLL_REDUCE_SCATTER; /* of which nothing is said */
	call.root = 0;
	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	assert_true(qv_schedule_exists(call.coll, plan->algorithm, 1));
	qv_select_put(s, plan);
	qv_select_close(s);
}

static size_t steps_of(const char *rules, enum qv_coll coll)
{
	struct qv_select *s = qv_select_case_open(rules);
	const struct qv_select_call call = {.coll = coll, .ranks = 64, .rank = 5, .bytes = 64};
	const struct qv_plan *plan;
	size_t n;

	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	qv_schedule_steps(plan->schedule, &n);
	qv_select_put(s, plan);
	qv_select_close(s);
	return n;
}

/* A number is that of the schedule. */
static void test_numbers(void **unused)
{
	for (uint32_t k = 1; k <= 6; k++) {
		const struct qv_schedule_spec spec = {
			.coll = QV_COLL_ALLTOALL, .algorithm = QV_ALG_HYBRID, .ranks = 64, .k = k};
		struct qv_schedule *schedule;
		char rules[32];
		size_t n;

		snprintf(rules, sizeof(rules), "alltoall=hybrid:%u", k);
		assert_int_equal(qv_schedule_build(&spec, 5, &schedule), QV_OK);
		qv_schedule_steps(schedule, &n);
		assert_int_equal(steps_of(rules, QV_COLL_ALLTOALL), n);
		assert_int_equal(n == steps_of("alltoall=hybrid", QV_COLL_ALLTOALL), k == 3);
		qv_schedule_free(schedule);
	}
}

/* So is a pace, with a number or alone. */
static void test_paces(void **unused)
{
	static const struct {
		const char *rules;
		enum qv_coll coll;
		enum qv_algorithm algorithm;
		uint32_t k, pace;
	} rows[] = {{"allgather=kshift:4:paced=2", QV_COLL_ALLGATHER, QV_ALG_KSHIFT, 4, 2},
		    {"allgather=kprefix:paced=1", QV_COLL_ALLGATHER, QV_ALG_KPREFIX, 0, 1},
		    {"alltoall=direct:paced=65536", QV_COLL_ALLTOALL, QV_ALG_DIRECT, 0, 65536},
		    {"alltoall=prefix:paced=16", QV_COLL_ALLTOALL, QV_ALG_PREFIX, 0, 16}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct qv_schedule_spec spec = {.coll = rows[i].coll,
						      .algorithm = rows[i].algorithm,
						      .ranks = 64,
						      .k = rows[i].k,
						      .pace = rows[i].pace};
		struct qv_schedule *schedule;
		size_t n;

		assert_int_equal(qv_schedule_build(&spec, 5, &schedule), QV_OK);
		qv_schedule_steps(schedule, &n);
		assert_int_equal(steps_of(rows[i].rules, rows[i].coll), n);
		qv_schedule_free(schedule);
	}
}

/* A broadcast on many ranks: a tree of whole vectors, one of segments, then blocks that go around. */
static void test_broadcast(void **unused)
{
	static const struct {
		size_t bytes;
		enum qv_algorithm algorithm;
	} rows[] = {{4096, QV_ALG_BINOMIAL}, {262144, QV_ALG_BINARY}, {8388608, QV_ALG_RING}};
	struct qv_select *s = qv_select_case_open("broadcast=auto");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct qv_select_call call = {
			.coll = QV_COLL_BROADCAST, .ranks = 256, .bytes = rows[i].bytes};
		const struct qv_plan *plan;

		assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
		assert_int_equal(plan->algorithm, rows[i].algorithm);
		qv_select_put(s, plan);
	}
	qv_select_close(s);
}

/* The steps of rank 1 of so many are those of a schedule with these factors. */
static void has_factors(struct qv_select *s, uint32_t ranks, const uint32_t *factors, size_t n)
{
	const struct qv_schedule_spec spec = {
		.algorithm = QV_ALG_RADIX, .ranks = ranks, .radix = factors, .radix_n = n};
	const struct qv_select_call call = {.ranks = ranks, .rank = 1, .bytes = 64};
	const struct qv_step *expected, *found;
	struct qv_schedule *schedule;
	const struct qv_plan *plan;
	size_t steps, same;

	assert_int_equal(qv_schedule_build(&spec, 1, &schedule), QV_OK);
	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	expected = qv_schedule_steps(schedule, &steps);
	found = qv_schedule_steps(plan->schedule, &same);
	assert_int_equal(same, steps);
	assert_memory_equal(found, expected, steps * sizeof(*found));
	assert_int_equal(plan->primes, n == 0);
	qv_select_put(s, plan);
	qv_schedule_free(schedule);
}

/* Factors are those of the schedule, where their product is the number of ranks. */
static void test_factors(void **unused)
{
	static const uint32_t factors[] = {4, 4, 8};
	struct qv_select *s = qv_select_case_open("reduce=radix:4:4:8,allreduce=radix:65536:32767");

	has_factors(s, 128, factors, 3);
	has_factors(s, 64, NULL, 0);
	has_factors(s, 12, NULL, 0);
	qv_select_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),     cmocka_unit_test(test_named),
		cmocka_unit_test(test_numbers),   cmocka_unit_test(test_paces),
		cmocka_unit_test(test_broadcast), cmocka_unit_test(test_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
