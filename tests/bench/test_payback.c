/* SPDX-License-Identifier: BSD-2-Clause */
/* test_payback.c - after how many calls a plan of neighbours is paid back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bench/coll/coll.h"

#define CASE "neighbor_allgather/9/64/moore1"

static void add(struct qv_bench *bench, const char *name, const char *impl, float us)
{
	qv_bench_row_round(qv_bench_row_add(bench, name, impl, "us", false), &us, 1);
}

/* Calls against that standard; -1: never, -2: not said. */
static double calls(const struct qv_bench *bench, const char *impl, const char *standard)
{
	char name[QV_BENCH_NAME];

	snprintf(name, sizeof(name), CASE "-payback-%s", standard);
	for (size_t i = 0; i < bench->rows_n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];

		if (strcmp(row->name, name) != 0 || strcmp(row->impl, impl) != 0)
			continue;
		assert_string_equal(row->answer, row->n ? "checked" : "never");
		return row->n ? row->p50 : -1;
	}
	return -2;
}

static void test_calls(void **state)
{
	struct qv_bench bench = {.name = "exchange"};

	add(&bench, CASE, "mpi", 10);
	add(&bench, CASE, "direct", 14);
	add(&bench, CASE "-planning", "direct", 5);
	add(&bench, CASE, "friends", 8);
	add(&bench, CASE "-planning", "friends", 101);
	add(&bench, CASE, "nodes", 10);
	add(&bench, CASE "-planning", "nodes", 102);
	add(&bench, CASE "-allgather", "mpi", 1000); /* another case */
	qv_bench_finish(&bench);
	qv_bx_payback(&bench);
	qv_bench_finish(&bench);
	assert_float_equal(calls(&bench, "friends", "mpi"), 51, 0);    /* 101 / 2 */
	assert_float_equal(calls(&bench, "friends", "direct"), 17, 0); /* 101 / 6 */
	assert_float_equal(calls(&bench, "nodes", "mpi"), -1, 0);      /* as fast */
	assert_float_equal(calls(&bench, "nodes", "direct"), 26, 0);   /* 102 / 4 */
	assert_float_equal(calls(&bench, "direct", "mpi"), -1, 0);
	assert_float_equal(calls(&bench, "direct", "direct"), -2, 0); /* itself */
	assert_float_equal(calls(&bench, "mpi", "direct"), -2, 0);    /* has no plan of ours */
	qv_bench_free(&bench);
}

/* Where what it would be compared with was not run, or gave no figures. */
static void test_nothing(void **state)
{
	struct qv_bench bench = {.name = "exchange"};

	add(&bench, CASE, "friends", 8);
	add(&bench, CASE "-planning", "friends", 101);
	qv_bench_row_add(&bench, CASE, "direct", "us", false);
	qv_bench_finish(&bench);
	qv_bx_payback(&bench);
	assert_int_equal(bench.rows_n, 3);
	qv_bench_free(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls),
					   cmocka_unit_test(test_nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
