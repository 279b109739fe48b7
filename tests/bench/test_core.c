/* SPDX-License-Identifier: BSD-2-Clause */
/* test_core.c - statistics, options and JSON of the benches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bench/common/bench.h"

static void percentiles(void **state)
{
	float s[101];

	for (int i = 0; i <= 100; i++)
		s[i] = (float)(100 - i);
	assert_true(qv_bench_percentile(s, 101, 0.5) == 50);
	assert_true(qv_bench_percentile(s, 101, 0.99) == 99);
	assert_true(qv_bench_percentile(s, 101, 0.01) == 1);
	assert_true(qv_bench_percentile(s, 1, 0.99) == 0);
	assert_true(qv_bench_median((const double[]){4, 1, 3, 2}, 4) == 2.5);
}

/* Rounds stay together: noise that hits both sides of a round does not widen the interval. */
static void ratio_is_of_rounds(void **state)
{
	double a[20], b[20], far[20];
	struct qv_bench_interval r;
	char text[64];

	for (int i = 0; i < 20; i++) {
		a[i] = 2.0 * (10 + i % 2);
		b[i] = 10 + i % 2;
		far[i] = 10 + 5 * (i % 3);
	}
	r = qv_bench_ratio(a, b, 20);
	assert_true(r.value == 2.0);
	assert_true(r.low <= r.value && r.value <= r.high);
	assert_true(r.high == r.low);
	qv_bench_interval_text(r, text, sizeof(text));
	assert_string_equal(text, "2.000 [2.000, 2.000]");
	r = qv_bench_ratio(a, far, 20);
	assert_true(r.low < r.value && r.value < r.high);
	qv_bench_interval_text(qv_bench_ratio(a, b, 1), text, sizeof(text));
	assert_string_equal(text, "2.000 [one round]");
}

static void distance_in_words(void **state)
{
	char text[64];
	double ns = qv_bench_distance_ns();

	assert_true(ns > 1 || (ns < 0 && !qv_bench_pin(1)));
	qv_bench_distance_text(45.2, text, sizeof(text));
	assert_string_equal(text, "45 ns, near");
	qv_bench_distance_text(230, text, sizeof(text));
	assert_string_equal(text, "230 ns, far");
	qv_bench_distance_text(-1, text, sizeof(text));
	assert_string_equal(text, "one processor");
}

static int parse(struct qv_bench_opts *o, long *n, const char *a, const char *b)
{
	static char *argv[] = {"b", NULL, NULL, NULL};
	const struct qv_bench_option own[] = {{"n", .number = n, .low = 1, .high = 10},
					      {.name = NULL}};

	argv[1] = (char *)(uintptr_t)a;
	argv[2] = (char *)(uintptr_t)b;
	return qv_bench_parse(o, "b", b ? 3 : a ? 2 : 1, argv, own);
}

static void options(void **state)
{
	struct qv_bench_opts o = {.quick = false};
	long n = 0;

	assert_int_equal(parse(&o, &n, "--filter", "lat/*,bw/8"), 0);
	assert_int_equal(parse(&o, &n, "--impl=shm,tcp;ofi_rxm", "--quick"), 0);
	assert_true(o.quick);
	assert_true(qv_bench_case_wanted(&o, "lat/8/prq0"));
	assert_true(qv_bench_case_wanted(&o, "bw/8"));
	assert_false(qv_bench_case_wanted(&o, "bw/80"));
	assert_true(qv_bench_impl_wanted(&o, "tcp;ofi_rxm"));
	assert_false(qv_bench_impl_wanted(&o, "tcp"));
	assert_int_equal(parse(&o, &n, "--filter", NULL), -1);
	assert_int_equal(parse(&o, &n, "--quick=yes", NULL), -1);
	assert_int_equal(parse(&o, &n, "--plot", "x.png"), -1);
	assert_int_equal(parse(&o, &n, "--quick", "lat/8"), -1);
}

static void all_options(void **state)
{
	struct qv_bench_opts o = {.quick = false};
	long n = 0;

	assert_int_equal(parse(&o, &n, NULL, NULL), 0);
	assert_int_equal(parse(&o, &n, "--n=3", "--quick"), 0);
	assert_int_equal(n, 3);
	assert_true(o.quick);
	assert_int_equal(parse(&o, &n, "--n", "30"), -1);
	assert_int_equal(parse(&o, &n, "--quick", "--m"), -1);
	assert_int_equal(parse(&o, &n, "--n=4", "--help"), 1);
	assert_int_equal(parse(&o, &n, "-h", "--m"), 1);
	assert_int_equal(parse(&o, &n, "--json=/dev/null", "--m"), -1);
	assert_null(o.json_file);
	assert_int_equal(parse(&o, &n, "--json", "/dev/null"), 0);
	assert_non_null(o.json_file);
	qv_bench_opts_close(&o);
	qv_bench_opts_close(&o);
}

/* The exit status: wrong data fails a run, what an implementation cannot do does not. */
static void saved(void **state)
{
	struct qv_bench bench = {.name = "match"};
	struct qv_bench_opts o = {.json = "/dev/full"};

	qv_bench_row_add(&bench, "lat/8", "shm", "us", false);
	qv_bench_row_add(&bench, "lat/8", "net", "us", false);
	strcpy(bench.rows[0].answer, "hangs");
	qv_bench_finish(&bench);
	assert_int_equal(qv_bench_save(&bench, &(struct qv_bench_opts){.json = NULL}), 0);
	o.json_file = fopen(o.json, "w");
	assert_non_null(o.json_file);
	assert_int_equal(qv_bench_save(&bench, &o), 1);
	qv_bench_opts_close(&o);
	strcpy(bench.rows[1].answer, "wrong result");
	assert_int_equal(qv_bench_save(&bench, &(struct qv_bench_opts){.json = NULL}), 1);
	qv_bench_free(&bench);
}

static void numbers(void **state)
{
	static const char *const wrong[] = {"70", "0", "x", "7x", ""};
	struct qv_bench_opts o = {.quick = false};
	long value = 0;

	assert_int_equal(parse(&o, &value, "--n", "7"), 0);
	assert_int_equal(value, 7);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(&o, &value, "--n", wrong[i]), -1);
	assert_int_equal(parse(&o, &value, "--n", NULL), -1);
	assert_int_equal(value, 7);
}

static json_t *written(struct qv_bench *bench)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *root;

	assert_non_null(out);
	assert_int_equal(qv_bench_write_json(bench, out), 0);
	fclose(out);
	root = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(root);
	return root;
}

static void json_shape(void **state)
{
	struct qv_bench bench = {.name = "match"};
	const float rates[] = {1, 2, 3};
	const char *name, *impl, *unit, *answer, *machine;
	double p50, p99, mean;
	json_int_t n;
	json_t *root;

	qv_bench_fact_add(&bench, "cpu", "x");
	qv_bench_row_add(&bench, "rate/8/64", "shm", "Mmsg/s", true);
	qv_bench_row_add(&bench, "rate/8/64", "net", "Mmsg/s", true);
	qv_bench_row_round(&bench.rows[0], rates, 3);
	strcpy(bench.rows[0].answer, "checked");
	strcpy(bench.rows[1].answer, "hangs");
	qv_bench_finish(&bench);
	root = written(&bench);
	assert_int_equal(json_unpack(root, "{s:s, s:{s:s}, s:[{s:s,s:s,s:s,s:F,s:F,s:F,s:I,s:s}]}",
				     "bench", &name, "machine", "cpu", &machine, "rows", "case",
				     &name, "impl", &impl, "unit", &unit, "p50", &p50, "p99", &p99,
				     "mean", &mean, "n", &n, "answer", &answer),
			 0);
	assert_true(p50 == 2 && mean == 2 && p99 == 1 && n == 3); /* p99 of a rate: the slow end */
	assert_int_equal(json_unpack(root, "{s:[{},{s:n,s:s}]}", "rows", "p50", "answer", &answer),
			 0);
	assert_string_equal(answer, "hangs");
	json_decref(root);
	qv_bench_free(&bench);
}

/* How often a text is in a file. */
static int count_in(const char *path, const char *what)
{
	static char text[65536];
	FILE *f = fopen(path, "r");
	int n = 0;

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* A panel for the cases that differ in their last number, a dot for each figure. */
static void plot(void **state)
{
	const char *const names[] = {"prq/rand/0", "prq/rand/8", "umq/rand/8", "mem/prq/8-idle"};
	struct qv_bench bench = {.name = "match"};
	const float values[] = {2, 3};
	int fd = memfd_create("plot", 0);
	char path[64];

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int i = 0; i < 4; i++)
		qv_bench_row_round(qv_bench_row_add(&bench, names[i], "auto", "ns/op", false),
				   values, 2);
	qv_bench_row_add(&bench, "prq/rand/8", "ll", "ns/op", false); /* has no figures */
	qv_bench_finish(&bench);
	assert_int_equal(qv_bench_plot(&bench, path), 0);
	assert_int_equal(count_in(path, "<svg "), 1);
	assert_int_equal(count_in(path, "</svg>"), 1);
	assert_int_equal(count_in(path, "prq/rand/n (ns/op)"), 1);
	assert_int_equal(count_in(path, "umq/rand/n (ns/op)"), 1);
	assert_int_equal(count_in(path, "<circle"), 3);
	assert_int_equal(count_in(path, ">auto<"), 3); /* in the legend, and in two panels */
	assert_int_equal(count_in(path, "nan"), 0);
	assert_int_equal(qv_bench_plot(&bench, "/nonexistent/x.svg"), -1);
	close(fd);
	qv_bench_free(&bench);
}

/* The mean of a row whose rounds have means of their own, and figures that sum up. */
static void means(void **state)
{
	struct qv_bench bench = {.name = "match"};
	const float values[] = {2, 3};
	double figure;
	json_t *root;

	qv_bench_row_add(&bench, "prq/rand/8", "auto", "ns/op", false);
	for (int round = 0; round < 3; round++) {
		qv_bench_row_round(&bench.rows[0], values, 2);
		qv_bench_row_mean(&bench.rows[0], round == 1 ? 100 : 7 + round);
	}
	qv_bench_verdict_add(&bench, "p50_cases", 1);
	qv_bench_finish(&bench);
	assert_true(bench.rows[0].mean == 9);
	root = written(&bench);
	assert_int_equal(json_unpack(root, "{s:{s:F}}", "verdict", "p50_cases", &figure), 0);
	assert_true(figure == 1);
	json_decref(root);
	qv_bench_free(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles),
		cmocka_unit_test(ratio_is_of_rounds),
		cmocka_unit_test(distance_in_words),
		cmocka_unit_test(options),
		cmocka_unit_test(numbers),
		cmocka_unit_test(json_shape),
		cmocka_unit_test(plot),
		cmocka_unit_test(means),
		cmocka_unit_test(all_options),
		cmocka_unit_test(saved),
	};

	return cmocka_run_group_tests_name("bench.core", tests, NULL, NULL);
}
