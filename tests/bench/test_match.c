/* SPDX-License-Identifier: BSD-2-Clause */
/* test_match.c - short runs of `quiver bench match`: rows, plugins, wrong implementations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bench/match/match.h"

static const char *tool, *faulty, *other_abi, *json_file;

static int run(const char *arguments)
{
	char command[8192];

	snprintf(command, sizeof(command),
		 "'%s' bench match --seconds 60 %s --json '%s' > '%s.out' 2>&1", tool, arguments,
		 json_file, json_file);
	return system(command);
}

static json_t *result(void)
{
	json_t *root = json_load_file(json_file, 0, NULL);

	assert_non_null(root);
	return root;
}

/* The row of a case and an impl. */
static json_t *find(json_t *root, const char *name, const char *impl)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "rows"), i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "case")), name) == 0 &&
		    strcmp(json_string_value(json_object_get(row, "impl")), impl) == 0)
			return row;
	}
	fail_msg("no row %s %s", name, impl);
	return NULL;
}

static const char *answer_of(json_t *root, const char *name, const char *impl)
{
	return json_string_value(json_object_get(find(root, name, impl), "answer"));
}

static void check_row(json_t *row)
{
	double p50, p99, mean;
	const char *name, *impl, *unit, *answer;
	int n;

	if (json_unpack(row, "{s:s, s:s, s:s, s:F, s:F, s:F, s:i, s:s}", "case", &name, "impl",
			&impl, "unit", &unit, "p50", &p50, "p99", &p99, "mean", &mean, "n", &n,
			"answer", &answer))
		fail_msg("a row without figures");
	assert_string_equal(answer, "checked");
	assert_true(p50 > 0 && p99 >= p50 && mean > 0 && n > 0);
	assert_string_equal(unit, strncmp(name, "mem/", 4) ? "ns/op" : "bytes");
}

/* A case of every group, over structures of every kind of need. */
static void every_group(void **state)
{
	json_t *root, *rows, *row;
	size_t i;

	assert_int_equal(
		run("--rounds 1 --impl auto,ll,clu,pnp-static,col-pnp,pnp:lla+t=8,llv/scalar "
		    "--filter 'prq/*/4,umq/*/2,prq/miss/0,umq/rand/77,burst/prq/4,shuffle/umq/64,"
		    "moraru/rand/64,four/*/1000,wprq/mix50/64,wumq/*10/8,app/*/26,app/*/64,"
		    "app/dup*/1*,mem/*/100,mem/umq/100-drained,mem/prq/100-idle'"),
		0);
	root = result();
	assert_string_equal(json_string_value(json_object_get(root, "bench")), "match");
	rows = json_object_get(root, "rows");
	/* prq 4, umq 4 less one that has too few, 0, 77; 3 fills; 4 paths; 1 + 4; 1 + 5 + 3;
	 * 2 + 1 */
	assert_int_equal(json_array_size(rows) % 7, 0);
	assert_true(json_array_size(rows) / 7 > 30);
	json_array_foreach(rows, i, row) check_row(row);
	find(root, "umq/rand/77", "pnp:lla+t=8");
	assert_non_null(json_object_get(json_object_get(root, "verdict"), "p50_near_best"));
	assert_non_null(json_object_get(json_object_get(root, "verdict"), "mean_geomean_shipping"));
	json_decref(root);
}

/* An implementation that is wrong has no figures, and the run fails; the others are measured. */
static void wrong_implementations(void **state)
{
	char arguments[4096];
	json_t *root;

	snprintf(arguments, sizeof(arguments),
		 "--rounds 2 --impl ll --plugin '%s' --filter "
		 "app/dup/16,prq/rand/8,wprq/anysrc50/8,wprq/anytag50/8",
		 faulty);
	assert_int_not_equal(run(arguments), 0);
	root = result();
	assert_string_equal(answer_of(root, "app/dup/16", "ll"), "checked");
	assert_string_equal(answer_of(root, "app/dup/16", "newest"),
			    "wrong answer at operation 16");
	assert_true(json_is_null(json_object_get(find(root, "app/dup/16", "newest"), "p50")));
	assert_string_equal(answer_of(root, "prq/rand/8", "newest"), "checked");
	assert_string_equal(answer_of(root, "prq/rand/8", "late"), "wrong answer while timed");
	assert_true(json_is_null(json_object_get(find(root, "prq/rand/8", "late"), "p50")));
	assert_string_equal(answer_of(root, "prq/rand/8", "exact"), "checked");
	assert_string_equal(answer_of(root, "wprq/anysrc50/8", "exact"),
			    "has no any-source receives");
	assert_string_equal(answer_of(root, "wprq/anytag50/8", "exact"), "has no any-tag receives");
	assert_string_equal(answer_of(root, "prq/rand/8", "full"), "wrong answer at operation 4");
	assert_string_equal(answer_of(root, "prq/rand/8", "silent"), "wrong answer at operation 0");
	assert_string_equal(answer_of(root, "prq/rand/8", "absent"), "cannot be created");
	assert_string_equal(answer_of(root, "prq/rand/8", "sticky"), "wrong answer of cancel");
	json_decref(root);
}

static void bad_use(void **state)
{
	char arguments[4096];

	assert_int_equal(run("--help"), 0);
	assert_int_not_equal(run("--frobnicate"), 0);
	assert_int_not_equal(run("--filter nothing/of/that"), 0);
	assert_int_not_equal(run("--filter prq/rand/8,nothing/of/that --impl ll"), 0);
	assert_int_not_equal(run("--filter prq/rand/1x --impl ll"), 0);
	assert_int_not_equal(run("--impl no_such_structure --filter prq/rand/8"), 0);
	assert_int_not_equal(run("--impl ll/no_such_isa --filter prq/rand/8"), 0);
	assert_int_not_equal(run("--impl ll,ll --filter prq/rand/8"), 0);
	assert_int_not_equal(run("--plugin /nonexistent.so --filter prq/rand/8"), 0);
	assert_int_not_equal(run("--rounds none"), 0);
	snprintf(arguments, sizeof(arguments), "--plugin '%s' --impl ll --filter prq/rand/8",
		 other_abi);
	assert_int_not_equal(run(arguments), 0);
}

/* The oracle finds one answer that is not the oldest. */
static void oracle(void **state)
{
	const char *const names[] = {"app/dup/100", "app/gather_any/100", "moraru/rand/100",
				     "wumq/mix50/100"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct qv_bench_opts opts = {.filter = names[i]};
		struct qv_bm_case *cases;
		struct qv_bm_trace t;

		assert_int_equal(qv_bm_case_list(&opts, &cases), 1);
		qv_bm_trace_build(&t, &cases[0]);
		assert_int_equal(qv_bm_oracle(&t, names[i], UINT64_MAX), 0);
		assert_true(t.ops > 4096);
		for (size_t at = t.ops / 2;; at++) {
			if (t.expect[at]) {
				t.expect[at] ^= 1;
				break;
			}
		}
		assert_int_equal(qv_bm_oracle(&t, names[i], UINT64_MAX), -1);
		qv_bm_trace_free(&t);
		free(cases);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oracle),
		cmocka_unit_test(every_group),
		cmocka_unit_test(wrong_implementations),
		cmocka_unit_test(bad_use),
	};

	if (argc != 5) {
		fprintf(stderr, "usage: %s QUIVER FAULTY.so OTHER_ABI.so FILE.json\n", argv[0]);
		return 2;
	}
	tool = argv[1];
	faulty = argv[2];
	other_abi = argv[3];
	json_file = argv[4];
	return cmocka_run_group_tests_name("bench.match.smoke", tests, NULL, NULL);
}
