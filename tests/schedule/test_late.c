/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_late.c - the trees that know who is late: their time in the model, in rounds (a
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

/* From the first arrival, which is at 0, to the end of the last rank. */
static double time_by(const struct qv_schedule_spec *spec)
{
	static struct qv_sched_case c;
	double at[128], leave[128], last = 0;

	qv_sched_case_open(&c, spec);
	for (uint32_t r = 0; r < spec->ranks; r++)
		at[r] = (double)arrive[r] / ROUND;
	assert_int_equal(qv_schedule_time(&net, c.all, spec->ranks, 0, at, leave), QV_OK);
	for (uint32_t r = 0; r < spec->ranks; r++)
		last = fmax(last, leave[r]);
	qv_sched_case_close(&c);
	return last;
}

/* The same of a reduce that is built from `expected`. */
static double time_in(enum qv_algorithm algorithm, uint32_t ranks, uint32_t segments,
		      const uint64_t *expected)
{
	return time_by(&(struct qv_schedule_spec){.algorithm = algorithm,
						  .ranks = ranks,
						  .segments = segments,
						  .arrive = expected,
						  .round = ROUND});
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

/* Broadcasts. */

static double broadcast_time(enum qv_algorithm algorithm, uint32_t ranks, uint32_t root)
{
	return time_by(&(struct qv_schedule_spec){.coll = QV_COLL_BROADCAST,
						  .algorithm = algorithm,
						  .ranks = ranks,
						  .root = root,
						  .arrive = arrive,
						  .round = ROUND});
}

/* One rank late by so many times the binomial tree's time, at each place in turn: the mean and the greatest
 * of how many times as fast as that tree this one is. */
static void at_each_place(uint32_t ranks, uint32_t root, double times, double *mean, double *most)
{
	*mean = *most = 0;
	for (uint32_t place = 0; place < ranks; place++) {
		double gain;

		memset(arrive, 0, sizeof(arrive));
		arrive[place] = (uint64_t)(times * log2(ranks) * ROUND + 0.5);
		gain = broadcast_time(QV_ALG_BINOMIAL, ranks, root) /
		       broadcast_time(QV_ALG_CLAIRVOYANT, ranks, root);
		assert_true(gain > .9999);
		*mean += gain / ranks;
		*most = fmax(*most, gain);
	}
}

/* The greatest gain is with the rank late that half of the others are behind; a late root leaves none. */
static void test_broadcast_late(void **unused)
{
	static const struct {
		uint32_t ranks;
		double times, mean, most;
	} cases[] = {
		{16, .5, 1.0625, 1.5},  {16, 1, 1.1375, 1.6},    {16, 2, 1.0764, 1.3333},
		{64, .5, 1.0286, 1.5},  {64, 1, 1.1272, 1.7143}, {64, 2, 1.0685, 1.3846},
		{128, 1, 1.1172, 1.75},
	};
	double mean, most;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t root = 0; root < 6; root += 5) {
			at_each_place(cases[i].ranks, root, cases[i].times, &mean, &most);
			assert_near(mean, cases[i].mean);
			assert_near(most, cases[i].most);
		}
}

static void test_broadcast_in_time(void **unused)
{
	memset(arrive, 0, sizeof(arrive));
	for (uint32_t P = 1; P <= 70; P++)
		assert_near(broadcast_time(QV_ALG_CLAIRVOYANT, P, P / 2), ceil(log2(P)));
}

/* The best time of any order in which ranks that have the data, the first n of P, send them to others. */
static double best_broadcast(const double *free_at, uint32_t n, uint32_t P)
{
	double least = INFINITY;

	if (n == P) {
		for (uint32_t i = 0; i < P; i++)
			least = i ? fmax(least, free_at[i]) : free_at[i];
		return least;
	}
	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = n; to < P; to++) {
			double next[7];

			memcpy(next, free_at, P * sizeof(*next));
			next[to] = next[n];
			next[n] = next[from] = fmax(free_at[from], free_at[to]) + 1;
			least = fmin(least, best_broadcast(next, n + 1, P));
		}
	return least;
}

static void test_broadcast_is_optimal(void **unused)
{
	for (int round = 0; round < 100; round++) {
		const uint32_t P = 2 + (uint32_t)round % 5, root = (uint32_t)draw() % P;
		double ready[7];

		for (uint32_t r = 0; r < P; r++) {
			arrive[r] = draw() % (4 * ROUND);
			ready[r] = (double)arrive[r] / ROUND;
		}
		ready[root] = ready[0];
		ready[0] = (double)arrive[root] / ROUND;
		assert_near(broadcast_time(QV_ALG_CLAIRVOYANT, P, root),
			    best_broadcast(ready, 1, P));
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
		cmocka_unit_test(test_one_late),
		cmocka_unit_test(test_several_late),
		cmocka_unit_test(test_every_second_late),
		cmocka_unit_test(test_is_optimal),
		cmocka_unit_test(test_segments_balanced),
		cmocka_unit_test(test_segments_late),
		cmocka_unit_test(test_segments_very_late),
		cmocka_unit_test(test_broadcast_late),
		cmocka_unit_test(test_broadcast_in_time),
		cmocka_unit_test(test_broadcast_is_optimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
