/* SPDX-License-Identifier: BSD-2-Clause */
/* test_advice.c - the judgement of `quiver trace advise`, with made-up figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tools/trace/advice/advice.h"

/* A long trace, whole, of a program to which matching is nothing. */
static struct qv_advice_facts quiet(void)
{
	return (struct qv_advice_facts){.list = {20, 0.0002},
					.ob1 = {18, 0.00018},
					.quiver = {15, 0.00015},
					.messages = 100000,
					.measured = 1,
					.operations = 200000,
					.whole = true,
					.cheapest = "auto",
					.ratio = 1,
					.ratio_high = 1,
					.wanted = 100000,
					.any_source = 5,
					.any_tag = 7};
}

static void nothing_to_gain(void **state)
{
	const struct qv_advice_facts f = quiet();
	const struct qv_advice a = qv_advise(&f);

	assert_int_equal(a.over_list, QV_ADVICE_EQUAL);
	assert_int_equal(a.over_ob1, QV_ADVICE_EQUAL);
	assert_null(a.structure);
	assert_false(a.no_any_source || a.no_any_tag);
	assert_int_equal(a.doubt, QV_ADVICE_SURE);
}

static void helps_against_each(void **state)
{
	struct qv_advice_facts f = quiet();
	struct qv_advice a;

	f.list.share = 0.3;
	a = qv_advise(&f);
	assert_int_equal(a.over_list, QV_ADVICE_HELPS);
	assert_int_equal(a.over_ob1, QV_ADVICE_EQUAL);
	assert_int_equal(a.doubt, QV_ADVICE_SURE);
	f.ob1.share = 3; /* longer than the program took with what it was recorded over */
	a = qv_advise(&f);
	assert_int_equal(a.over_ob1, QV_ADVICE_HELPS);
	f.quiver.share = 0.5;
	a = qv_advise(&f);
	assert_int_equal(a.over_list, QV_ADVICE_HURTS);
	assert_int_equal(a.over_ob1, QV_ADVICE_HELPS);
}

/* All three take long, and the same: no reason to change. */
static void dear_but_equal(void **state)
{
	struct qv_advice_facts f = quiet();

	f.list.share = f.ob1.share = f.quiver.share = 0.2;
	assert_int_equal(qv_advise(&f).over_list, QV_ADVICE_EQUAL);
}

static void no_time(void **state)
{
	struct qv_advice_facts f = quiet();

	f.list.share = f.ob1.share = f.quiver.share = (double)NAN;
	assert_int_equal(qv_advise(&f).over_list, QV_ADVICE_UNKNOWN);
	assert_int_equal(qv_advise(&f).over_ob1, QV_ADVICE_UNKNOWN);
}

static void settings(void **state)
{
	struct qv_advice_facts f = quiet();

	f.cheapest = "llv";
	f.ratio = 0.98;
	f.ratio_high = 0.985;
	assert_null(qv_advise(&f).structure); /* less than 3 % */
	f.ratio = 0.9;
	f.ratio_high = 1.01;
	assert_null(qv_advise(&f).structure); /* perhaps chance */
	f.ratio_high = 0.94;
	assert_string_equal(qv_advise(&f).structure, "llv");
	f.ratio = f.ratio_high = (double)NAN;
	assert_null(qv_advise(&f).structure);
}

/* Of many that cost the same one looks cheapest: the second measurement finds it out. */
static void cheap_by_chance(void **state)
{
	const struct qv_advice_trial noisy[] = {
		{"auto", 1}, {"ompi", 0.93}, {"ll", 0.97}, {"nm", (double)NAN}, {"hash", 1.2}};
	const struct qv_advice_trial even[] = {{"auto", 1}, {"ll", 0.992}, {"nm", (double)NAN}};
	struct qv_advice_facts f = quiet();

	assert_null(qv_advice_candidate(even, 3));
	assert_null(qv_advice_candidate(even + 2, 1));
	assert_null(qv_advice_candidate(even, 0));
	f.cheapest = qv_advice_candidate(noisy, 5);
	assert_string_equal(f.cheapest, "ompi");
	f.ratio = 0.99;
	f.ratio_high = 0.995;
	assert_null(qv_advise(&f).structure);
	f.ratio = 0.92;
	f.ratio_high = 0.94;
	assert_string_equal(qv_advise(&f).structure, "ompi");
	f.ratio = f.ratio_high = (double)NAN; /* there was no second one */
	assert_null(qv_advise(&f).structure);
}

static void assertions(void **state)
{
	struct qv_advice_facts f = quiet();

	f.any_source = 0;
	assert_true(qv_advise(&f).no_any_source);
	assert_false(qv_advise(&f).no_any_tag);
	f.any_tag = 0;
	assert_true(qv_advise(&f).no_any_tag);
	f.wanted = 0; /* none was seen: nothing can be said */
	assert_false(qv_advise(&f).no_any_source || qv_advise(&f).no_any_tag);
}

static void doubts(void **state)
{
	struct qv_advice_facts f = quiet();

	f.list.share = f.quiver.share + 0.012;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_NEAR);
	f.list.share = f.quiver.share + 0.008;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_NEAR);
	assert_int_equal(qv_advise(&f).over_list, QV_ADVICE_EQUAL);
	f.measured = 0.1;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_PART);
	f.left_out = f.operations / 2;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_MISSING);
	f.left_out = 0;
	f.lost = 1;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_MISSING);
	f.lost = 0;
	f.whole = false;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_MISSING);
	f.messages = 999;
	assert_int_equal(qv_advise(&f).doubt, QV_ADVICE_FEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_gain), cmocka_unit_test(helps_against_each),
		cmocka_unit_test(dear_but_equal),  cmocka_unit_test(no_time),
		cmocka_unit_test(settings),        cmocka_unit_test(cheap_by_chance),
		cmocka_unit_test(assertions),      cmocka_unit_test(doubts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
