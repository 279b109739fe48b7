/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_combine.c - a short `quiver bench combine`: every implementation is there and checked.
 *     test_bench_combine QUIVER FILE.json OMPI      OMPI: 1 if Open MPI has to be an implementation
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static const char *tool, *json_file;
static int with_ompi;

static int run(const char *arguments)
{
	char command[8192];

	snprintf(command, sizeof(command), "'%s' bench combine %s > '%s.out' 2>&1", tool, arguments,
		 json_file);
	return system(command);
}

static const char *text_of(json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static void check_rows(json_t *rows, const char *name, const char *impl, const char *answer)
{
	json_t *row;
	size_t i, found = 0;

	json_array_foreach(rows, i, row)
	{
		if (strcmp(text_of(row, "case"), name) || strcmp(text_of(row, "impl"), impl))
			continue;
		found++;
		assert_string_equal(text_of(row, "answer"), answer);
		assert_string_equal(text_of(row, "unit"), "MB/s");
		if (!strcmp(answer, "checked")) {
			double p50 = json_real_value(json_object_get(row, "p50"));

			assert_true(p50 > 0 && p50 >= json_real_value(json_object_get(row, "p99")));
		}
	}
	assert_int_equal(found, 1);
}

static void short_run(void **state)
{
	static const char *const cases[] = {"sum/double/4096", "prod/float_complex/64",
					    "min/int8/512", "max/long_double/4096"};
	char arguments[2048];
	json_t *root, *rows;

	snprintf(arguments, sizeof(arguments),
		 "--filter '%s,%s,%s,%s,lxor/double/64' --rounds 3 --block-us 20 --json '%s'",
		 cases[0], cases[1], cases[2], cases[3], json_file);
	assert_int_equal(run(arguments), 0);
	root = json_load_file(json_file, 0, NULL);
	assert_non_null(root);
	assert_string_equal(text_of(root, "bench"), "combine");
	rows = json_object_get(root, "rows");
	for (size_t c = 0; c < 4; c++) {
		check_rows(rows, cases[c], "scalar", "checked");
		check_rows(rows, cases[c], "loop", "checked");
		if (with_ompi)
			check_rows(rows, cases[c], "ompi", "checked");
	}
	if (with_ompi) /* MPI has logical operations on integers only */
		check_rows(rows, "lxor/double/64", "ompi", "undefined");
	assert_true(json_array_size(json_object_get(root, "ratios")) >= 5);
	json_decref(root);
}

static void one_case_by_name(void **state)
{
	assert_int_equal(run("--filter band/uint128/48 --impl scalar,loop --rounds 2 --block-us 5 "
			     "--offset 48"),
			 0);
	assert_int_not_equal(run("--filter band/uint128/40 --impl scalar"), 0); /* not whole */
	assert_int_not_equal(run("--filter band/double/64 --impl scalar"), 0);  /* not defined */
}

static void bad_use(void **state)
{
	assert_int_not_equal(run("--frobnicate"), 0);
	assert_int_not_equal(run("--filter sum/double"), 0);
	assert_int_not_equal(run("--filter sum/double/64 --impl loop,abacus"), 0);
	assert_int_not_equal(run("--offset 8"), 0);
	assert_int_not_equal(run("--offset 64"), 0);
	assert_int_not_equal(run("--rounds none"), 0);
	assert_int_equal(run("--help"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_run),
		cmocka_unit_test(one_case_by_name),
		cmocka_unit_test(bad_use),
	};

	if (argc != 4) {
		fprintf(stderr, "usage: %s QUIVER FILE.json OMPI\n", argv[0]);
		return 2;
	}
	tool = argv[1];
	json_file = argv[2];
	with_ompi = atoi(argv[3]);
	return cmocka_run_group_tests_name("bench.combine.smoke", tests, NULL, NULL);
}
