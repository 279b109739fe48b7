/* SPDX-License-Identifier: BSD-2-Clause */
/* test_select.c - the same choice on every rank, and what is kept of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "select_case.h"
#include "sched_case.h"

/* Ranks. */

/* The plans of all ranks are a schedule that is right. */
static void all_agree(struct qv_select *s, struct qv_select_call call)
{
	const struct qv_plan *plans[64];
	static struct qv_schedule *all[64];
	struct qv_schedule_spec spec = {
		.coll = call.coll, .ranks = call.ranks, .root = call.root, .ordered = call.ordered};
	char why[160] = "";

	for (call.rank = 0; call.rank < call.ranks; call.rank++) {
		assert_int_equal(qv_select_get(s, &call, &plans[call.rank]), QV_OK);
		all[call.rank] = (struct qv_schedule *)(uintptr_t)plans[call.rank]->schedule;
		assert_int_equal(plans[call.rank]->algorithm, plans[0]->algorithm);
	}
	spec.algorithm = plans[0]->algorithm;
	if (qv_schedule_check(&spec, all, why, sizeof(why)))
		fail_msg("%s, %zu bytes: %s", qv_sched_case_name(&spec), call.bytes, why);
	for (uint32_t r = 0; r < call.ranks; r++)
		qv_select_put(s, plans[r]);
}

static void test_all_agree(void **unused)
{
	static uint64_t arrive[64];
	uint64_t x = 88172645463325252u;

	for (uint32_t ranks = 1; ranks <= 21; ranks += 4)
		for (int coll = 0; coll < QV_N_COLLS; coll++)
			for (size_t bytes = 0; bytes < 20000000; bytes = bytes * 31 + 7) {
				struct qv_select *s = qv_select_case_open(NULL);
				struct qv_select_call call = {
					.coll = (enum qv_coll)coll, .ranks = ranks, .bytes = bytes};

				all_agree(s, call);
				call.ordered = 1;
				all_agree(s, call);
				call.ordered = 0;
				call.arrive = arrive;
				for (uint32_t r = 0; r < ranks; r++) {
					x ^= x << 13, x ^= x >> 7, x ^= x << 17;
					arrive[r] = (x >> 20) % (bytes + 100000);
				}
				all_agree(s, call);
				qv_select_close(s);
			}
}

/* What is kept. */

static void test_kept(void **unused)
{
	static const struct qv_network other = {.alpha = 1e-6, .beta = 1e-9, .gamma = 1e-9},
				       wrong = {.alpha = -1, .beta = 0, .gamma = 0},
				       none = {.alpha = NAN, .beta = 0, .gamma = 0};
	static const struct qv_network order = {.alpha = 1, .longer = {{100, 1, 1}, {50, 1, 1}}},
				       gap = {.alpha = 1, .longer = {{0, 1, 1}, {50, 1, 1}}};
	struct qv_select *s = qv_select_case_open(NULL);
	struct qv_select_call call = {.ranks = 4, .bytes = 1500, .group = 1};
	const struct qv_plan *a, *b;
	size_t plans;
	uint64_t found;

	assert_int_equal(qv_select_get(s, &call, &a), QV_OK);
	call.bytes = 1100; /* the same class */
	assert_int_equal(qv_select_get(s, &call, &b), QV_OK);
	assert_ptr_equal(a, b);
	qv_select_put(s, b);
	call.group = 2;
	assert_int_equal(qv_select_get(s, &call, &b), QV_OK);
	assert_ptr_not_equal(a, b);
	qv_select_put(s, b);
	qv_select_stats(s, &plans, &found);
	assert_int_equal(plans, 2);
	assert_int_equal(found, 1);
	qv_select_forget(s, 1); /* a is in use */
	qv_select_forget(s, 2);
	qv_select_stats(s, &plans, &found);
	assert_int_equal(plans, 1);
	/* Ranges of lengths that are not in order are no network. */
	assert_int_equal(qv_select_network(s, &order), QV_EINVAL);
	assert_int_equal(qv_select_bursts(s, &order), QV_EINVAL);
	assert_int_equal(qv_select_bursts(s, &gap), QV_EINVAL);
	/* Another network, other plans. */
	call.group = 1;
	assert_int_equal(qv_select_network(s, &wrong), QV_EINVAL);
	assert_int_equal(qv_select_network(s, &none), QV_EINVAL);
	assert_int_equal(qv_select_network(s, &other), QV_OK);
	assert_int_equal(qv_select_get(s, &call, &b), QV_OK);
	assert_ptr_not_equal(a, b);
	qv_select_put(s, a);
	qv_select_put(s, b);
	/* There is an end to it. */
	for (call.group = 3; call.group < 2000; call.group++) {
		assert_int_equal(qv_select_get(s, &call, &a), QV_OK);
		qv_select_put(s, a);
	}
	qv_select_stats(s, &plans, &found);
	assert_in_range(plans, 10, 256);
	call.rank = 4;
	assert_int_equal(qv_select_get(s, &call, &a), QV_EINVAL);
	qv_select_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_agree),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
