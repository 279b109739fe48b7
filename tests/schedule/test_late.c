/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_late.c - the tree that knows who is late: its time in the model, in rounds (a
 * message and its combining), beside the binomial tree's and beside the best of all trees.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"

#define ROUND 840 /* units, divided by all that the tests divide it by */

static const struct qv_network net = {.alpha = 1, .beta = 0, .gamma = 0}; /* a round is 1 */

static uint64_t arrive[128];
static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 20;
}

/* From the first arrival, which is at 0, to the end of the last rank; it is
 * built from `expected`. */
static double time_in(enum qv_algorithm algorithm, uint32_t ranks, uint32_t segments,
		      const uint64_t *expected)
{
	const struct qv_schedule_spec spec = {.algorithm = algorithm,
					      .ranks = ranks,
					      .segments = segments,
					      .arrive = expected,
					      .round = ROUND};
	static struct qv_sched_case c;
	double at[128], leave[128], last = 0;

	qv_sched_case_open(&c, &spec);
	for (uint32_t r = 0; r < ranks; r++)
		at[r] = (double)arrive[r] / ROUND;
	assert_int_equal(qv_schedule_time(&net, c.all, ranks, 0, at, leave), QV_OK);
	for (uint32_t r = 0; r < ranks; r++)
		last = fmax(last, leave[r]);
	qv_sched_case_close(&c);
	return last;
}

static double time_of(enum qv_algorithm algorithm, uint32_t ranks)
{
	return time_in(algorithm, ranks, 1, arrive);
}

static void late(uint32_t first, uint32_t step, uint32_t ranks, double rounds)
{
	memset(arrive, 0, sizeof(arrive));
	for (uint32_t r = first; r < ranks; r += step)
		arrive[r] = (uint64_t)(rounds * ROUND + 0.5);
}

static double speed_up(uint32_t ranks)
{
	return time_of(QV_ALG_BINOMIAL, ranks) / time_of(QV_ALG_CLAIRVOYANT, ranks);
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 0.0006)
		fail_msg("%g, not %g", got, want);
}

/* One rank late by a multiple of the binomial tree's time; the best is 2 / (1 + 1/n) at 1. */
static void test_one_late(void **unused)
{
	static const struct {
		uint32_t ranks;
		double late, speed_up;
	} cases[] = {
		{128, 0, 1},         {128, 1 / 7.0, 1}, {128, .25, 1.094},  {128, .5, 1.3125},
		{128, .75, 1.53125}, {128, 1, 1.75},    {128, 1.25, 1.615}, {128, 1.5, 1.522},
		{128, 2, 1.4},       {128, 4, 1.207},   {32, .25, 1.042},   {32, .5, 1.25},
		{32, .75, 1.458},    {32, 1, 1.667},    {32, 1.25, 1.552},  {32, 1.5, 1.471},
		{32, 2, 1.364},      {32, 4, 1.190},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t P = cases[i].ranks;

		late(P - 1, 1, P, cases[i].late * log2(P));
		assert_near(speed_up(P), cases[i].speed_up);
	}
}

static void test_several_late(void **unused)
{
	static const double want[] = {1.667, 1.429, 1.25, 1.111, 1.0};

	for (uint32_t i = 0; i < 5; i++) {
		late(32 - (1u << i), 1, 32, 5);
		assert_near(speed_up(32), want[i]);
	}
}

/* Nothing can be done while every second rank is away. */
static void test_every_second_late(void **unused)
{
	late(1, 2, 128, 5);
	assert_near(time_of(QV_ALG_CLAIRVOYANT, 128), 12);
	assert_near(time_of(QV_ALG_BINOMIAL, 128), 12);
}

/* The best time of any order of combining two partial results. */
static double best(const double *ready, uint32_t n)
{
	double least = INFINITY, left[7];

	if (n == 1)
		return ready[0];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			uint32_t m = 0;

			for (uint32_t k = 0; k < n; k++)
				if (k != i && k != j)
					left[m++] = ready[k];
			left[m++] = fmax(ready[i], ready[j]) + 1;
			least = fmin(least, best(left, m));
		}
	return least;
}

static void test_is_optimal(void **unused)
{
	for (int round = 0; round < 60; round++) {
		const uint32_t P = 2 + (uint32_t)round % 6;
		double ready[7];

		arrive[0] = 0;
		for (uint32_t r = 0; r < P; r++) {
			arrive[r] = r ? draw() % (4 * ROUND) : 0;
			ready[r] = (double)arrive[r] / ROUND;
		}
		assert_near(time_of(QV_ALG_CLAIRVOYANT, P), best(ready, P));
	}
}

/* Segments: a round is one of them. */

/* n + N - 1 rounds, where n is the least number of rounds for one segment. */
static void test_segments_balanced(void **unused)
{
	memset(arrive, 0, sizeof(arrive));
	for (uint32_t P = 4; P <= 64; P *= 2)
		for (uint32_t N = 4; N <= 64; N *= 2)
			assert_near(time_in(QV_ALG_SEGMENTED, P, N, NULL), log2(P) + N - 1);
	for (uint32_t P = 3; P <= 40; P += 5)
		for (uint32_t N = 1; N <= 33; N += 8)
			assert_true(time_in(QV_ALG_SEGMENTED, P, N, NULL) <= ceil(log2(P)) + N);
}

/* One rank late: never slower than the schedule that does not know it. */
static void test_segments_late(void **unused)
{
	for (uint32_t N = 16; N <= 40; N += 24)
		for (double share = .25; share <= 2; share *= 2) {
			const double rounds = 7 + N - 1;
			double knows, floor;

			late(127, 1, 128, share * rounds);
			knows = time_in(QV_ALG_SEGMENTED, 128, N, arrive);
			floor = fmax(rounds, share * rounds + N);
			assert_true(knows <= 1.12 * floor);
			assert_true(knows <= time_in(QV_ALG_SEGMENTED, 128, N, NULL));
		}
}

/* One rank comes long after the others are done: all that is left to do is its N segments. */
static void test_segments_very_late(void **unused)
{
	late(127, 1, 128, 60 / .643);
	assert_near(time_in(QV_ALG_SEGMENTED, 128, 40, arrive), (double)arrive[127] / ROUND + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_late),           cmocka_unit_test(test_several_late),
		cmocka_unit_test(test_every_second_late),  cmocka_unit_test(test_is_optimal),
		cmocka_unit_test(test_segments_balanced),  cmocka_unit_test(test_segments_late),
		cmocka_unit_test(test_segments_very_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
