/* SPDX-License-Identifier: BSD-2-Clause */
/* test_delays.c - names of cases of `quiver bench coll`, and when they let ranks come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/coll/coll.h"

#define RANKS      5
#define ITERATIONS 20000
#define UNIT       0.002 /* seconds */

static struct qv_bl_case parsed(const char *name)
{
	struct qv_bl_case c;

	if (qv_bl_case_parse(name, RANKS, &c))
		fail_msg("%s is refused", name);
	return c;
}

static void names(void **state)
{
	static const char *const wrong[] = {
		"5late1.0",
		"0late1.0",
		"1.5late1.0",
		"-1late1.0",
		"2late",
		"2late101",
		"late-1",
		"late",
		"latenan",
		"late 1.0",
		"uniform",
		"uniform101",
		"uniform1.0x",
		"gamma1.0",
		"gamma1.0-shape",
		"gamma1.0-shape0",
		"gamma1.0-shape1001",
		"gamma-shape1",
		"file1",
		"files",
		"balanced-work1.0",
		"late1.0-work",
		"late1.0-work-1",
		"late1.0-work101",
		"late1.0-work1.0x",
		"-work1.0",
		"",
	};
	struct qv_bl_case c = parsed("reduce/5/8/3late1.5-work0.25");
	char name[64];

	assert_true(c.pattern == 'o' && c.some == 3 && c.late == 1.5 && c.work == 0.25);
	c = parsed("iallreduce/5/8/gamma2-shape0.5");
	assert_true(c.pattern == 'g' && c.late == 2 && c.shape == 0.5 && c.work == 0);
	c = parsed("ireduce/5/8/uniform0.5-work1.0");
	assert_true(c.pattern == 'n' && c.late == 0.5 && c.work == 1);
	c = parsed("allreduce/5/8/file-work0");
	assert_true(c.pattern == 'f');
	assert_int_equal(qv_bl_case_parse("barrier/5/0/late1.0-work1.0", RANKS, &c), -1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(name, sizeof(name), "reduce/5/8/%s", wrong[i]);
		if (!qv_bl_case_parse(name, RANKS, &c))
			fail_msg("%s is accepted", name);
	}
}

struct seen {
	double mean, variance, least, most;
	int late[RANKS]; /* how often */
};

static struct seen look(const char *name)
{
	const struct qv_bl_case c = parsed(name);
	struct seen s = {.least = 1e9};
	double delays[RANKS], squares = 0;

	for (uint64_t i = 0; i < ITERATIONS; i++) {
		qv_bl_delays(&c, NULL, UNIT, i, delays);
		for (int r = 0; r < RANKS; r++) {
			s.mean += delays[r] / (RANKS * ITERATIONS);
			squares += delays[r] * delays[r] / (RANKS * ITERATIONS);
			s.least = delays[r] < s.least ? delays[r] : s.least;
			s.most = delays[r] > s.most ? delays[r] : s.most;
			s.late[r] += delays[r] > 0;
		}
	}
	s.variance = squares - s.mean * s.mean;
	return s;
}

static void assert_near(double value, double wanted, double part)
{
	if (!(value > wanted * (1 - part) && value < wanted * (1 + part)))
		fail_msg("%g is not within %g of %g", value, part, wanted);
}

static void by_rule(void **state)
{
	struct seen s = look("reduce/5/8/late2.0");

	assert_true(s.late[RANKS - 1] == ITERATIONS && s.most == 2 * UNIT);
	assert_near(s.mean, 2 * UNIT / RANKS, 1e-9);
	s = look("reduce/5/8/alt1.0");
	assert_true(s.late[0] == 0 && s.late[1] == ITERATIONS && s.late[2] == 0);
	s = look("reduce/5/8/balanced");
	assert_true(s.most == 0);
}

static void some_are_late(void **state)
{
	struct seen s = look("reduce/5/8/3late2.0");

	assert_true(s.least == 0 && s.most == 2 * UNIT);
	assert_near(s.mean, 2 * UNIT * 3 / RANKS, 1e-9); /* three each time */
	for (int r = 0; r < RANKS; r++)
		assert_near(s.late[r], ITERATIONS * 3.0 / RANKS, 0.02);
}

static void uniform(void **state)
{
	struct seen s = look("reduce/5/8/uniform3.0");

	assert_true(s.least >= 0 && s.most <= 3 * UNIT);
	assert_true(s.least < 0.001 * UNIT && s.most > 2.999 * UNIT);
	assert_near(s.mean, 1.5 * UNIT, 0.01);
	assert_near(s.variance, 9 * UNIT * UNIT / 12, 0.02);
}

static void gamma_distributed(void **state)
{
	static const double shapes[] = {0.25, 1, 4};
	char name[64];

	for (int i = 0; i < 3; i++) {
		struct seen s;

		snprintf(name, sizeof(name), "reduce/5/8/gamma2.0-shape%g", shapes[i]);
		s = look(name);
		assert_true(s.least >= 0);
		assert_near(s.mean, 2 * UNIT, 0.02);
		assert_near(s.variance, 4 * UNIT * UNIT / shapes[i], 0.06);
	}
	assert_true(look("reduce/5/8/gamma100-shape0.001").least >= 0);
	assert_near(look("reduce/5/8/gamma1.0-shape1000").mean, UNIT, 0.01);
}

static void repeated(void **state)
{
	const struct qv_bl_case c = parsed("reduce/5/8/uniform1.0");
	const struct qv_bl_case other = parsed("ireduce/5/4096/uniform1.0-work1.0");
	double a[RANKS], b[RANKS];

	qv_bl_delays(&c, NULL, UNIT, 7, a);
	qv_bl_delays(&other, NULL, UNIT, 7, b);
	assert_memory_equal(a, b, sizeof(a));
	qv_bl_delays(&c, NULL, UNIT, 8, b);
	for (int r = 0; r < RANKS; r++)
		assert_true(a[r] != b[r]);
	assert_true(qv_bl_imbalance((const double[]){3, 1, 6}, 3) == 5);
}

/* 0 or -1, as the file is taken. */
static int take(const char *text, size_t n, int ranks, struct qv_bl_trace *trace)
{
	char path[64];
	int fd = qv_bench_memory_file(path, sizeof(path)), rc;

	assert_true(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	rc = qv_bl_trace_read(path, ranks, trace);
	close(fd);
	return rc;
}

static void files(void **state)
{
	static const char good[] = "# seconds\n0 1 2 3 4e-3\r\n\n \t\n.5\t0 0 0 0 \n1 1 1 1 100";
	static const char *const wrong[] = {"",
					    "# nothing\n\n",
					    "0 1 2 3\n",
					    "0 1 2 3 4 5\n",
					    "0 1 2 3 4\n1 2 3",
					    "0 1 2 3 -1\n",
					    "0 1 2 3 100.5\n",
					    "0 1 2 3 nan\n",
					    "0 1 2 3 inf\n",
					    "0 1 2 3 1e999\n",
					    "0,1,2,3,4\n",
					    "0 1 2 3 four\n",
					    "0 1 2 3.4.5\n",
					    "0 1 2 3 4 # late\n"};
	const struct qv_bl_case c = parsed("reduce/5/8/file");
	struct qv_bl_trace trace;
	double delays[RANKS];

	assert_int_equal(take(good, sizeof(good) - 1, RANKS, &trace), 0);
	assert_int_equal(trace.lines, 3);
	qv_bl_delays(&c, &trace, UNIT, 3, delays); /* the first line again */
	assert_true(delays[1] == 1 && delays[4] == 0.004);
	qv_bl_delays(&c, &trace, UNIT, 4, delays);
	assert_true(delays[0] == 0.5 && delays[1] == 0);
	qv_bl_trace_free(&trace);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!take(wrong[i], strlen(wrong[i]), RANKS, &trace))
			fail_msg("taken: %s", wrong[i]);
	assert_int_equal(take("0 1 2 3 4\0\n", 11, RANKS, &trace), -1);
	assert_int_equal(qv_bl_trace_read("/dev/zero", RANKS, &trace), -1);
	assert_int_equal(qv_bl_trace_read("/", RANKS, &trace), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(by_rule),
		cmocka_unit_test(some_are_late),
		cmocka_unit_test(uniform),
		cmocka_unit_test(gamma_distributed),
		cmocka_unit_test(repeated),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
