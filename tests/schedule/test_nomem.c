/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nomem.c - schedules where memory is out: all that are asked for, or none; combine units are
 * counted without any. Linked with --wrap=calloc, so that each allocation can be the one that fails.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <quiver/select.h>

#define RANKS 4

static int left = -1; /* allocations before one fails; less than 0: none does */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return left >= 0 && left-- == 0 ? NULL : __real_calloc(n, size);
}

static void all_or_none(enum qv_algorithm algorithm)
{
	const struct qv_schedule_spec spec = {.algorithm = algorithm, .ranks = RANKS};
	struct qv_schedule *all[RANKS] = {NULL};
	int at = 0, rc = QV_ENOMEM;

	for (; rc; at++) {
		left = at;
		rc = qv_schedule_build_all(&spec, all);
		left = -1;
		if (rc)
			assert_int_equal(rc, QV_ENOMEM);
		for (int r = 0; r < RANKS; r++)
			assert_int_equal(all[r] != NULL, rc == QV_OK);
	}
	assert_true(at > RANKS); /* every rank's has failed once */
	for (int r = 0; r < RANKS; r++)
		qv_schedule_free(all[r]);
}

static void test_build_all(void **state)
{
	all_or_none(QV_ALG_BINOMIAL);
	all_or_none(QV_ALG_SEGMENTED);
}

/* The other members of a group have counted theirs: a member does not fail alone. */
static void test_units(void **state)
{
	const struct qv_select_call call = {.ranks = RANKS};
	struct qv_select *select;

	assert_int_equal(qv_select_open("reduce=unit,barrier=unit", NULL, 0, &select), QV_OK);
	left = 0;
	assert_int_equal(qv_select_units(select, &call), 2);
	left = -1;
	qv_select_close(select);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_build_all),
					   cmocka_unit_test(test_units)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
