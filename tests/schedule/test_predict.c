/* SPDX-License-Identifier: BSD-2-Clause */
/* test_predict.c - expectations of who is late, and figures of a network from measurements. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/predict.h>

#include "sched_case.h"

#define RANKS 64

static uint64_t state = 88172645463325252u;

static double draw(void) /* 0 .. 1 */
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static void test_mean(void **unused)
{
	struct qv_predict *p;
	const uint64_t told[2] = {7, 9};

	assert_int_equal(qv_predict_open(0, 1, &p), QV_EINVAL);
	assert_int_equal(qv_predict_open(1, 0, &p), QV_EINVAL);
	assert_int_equal(qv_predict_open(2, 3, &p), QV_OK);
	assert_int_equal(qv_predict_mine(p), 0);
	qv_predict_observe(p, 100);
	assert_int_equal(qv_predict_mine(p), 100);
	for (uint64_t i = 1; i <= 7; i++)
		qv_predict_observe(p, 10 * i);
	assert_int_equal(qv_predict_mine(p), 50); /* of 30 .. 70 */
	qv_predict_observe(p, UINT64_MAX);
	assert_true(qv_predict_mine(p) >= UINT64_MAX / 5);
	for (int i = 0; i < 7; i++)
		assert_int_equal(qv_predict_due(p), i % 3 == 0);
	assert_null(qv_predict_arrivals(p));
	qv_predict_learn(p, told);
	assert_memory_equal(qv_predict_arrivals(p), told, sizeof(told));
	qv_predict_close(p);
}

/* A program whose ranks are late by habit. */

/* Figures of a cluster with QDR InfiniBand; vectors of 16 MiB. */
static const struct qv_network net = {.alpha = 2.66e-6, .beta = 4.8179e-10, .gamma = 1.6654e-10};
static const double bytes = 16 << 20;

/* The first ranks draw most of a picture whose parts move slowly; the others have little to do. */
static uint64_t work_of(uint32_t rank, int iteration)
{
	const double slow = sin(iteration / 25.0 + rank % 4);
	const double ms = rank < 24 ? 60 + 25 * slow + 4 * draw() : 3 + 2 * draw();

	return (uint64_t)(ms * 1e6);
}

static double time_of(const uint64_t *expected, const uint64_t *real)
{
	struct qv_schedule_spec spec = {.algorithm = QV_ALG_BINOMIAL, .ranks = RANKS};
	static struct qv_schedule *all[RANKS];
	double at[RANKS], leave[RANKS], last = 0;

	if (expected) {
		spec.algorithm = QV_ALG_CLAIRVOYANT;
		spec.arrive = expected;
		spec.round = (uint64_t)((net.alpha + bytes * (net.beta + net.gamma)) * 1e9);
	}
	assert_int_equal(qv_schedule_build_all(&spec, all), QV_OK);
	for (uint32_t r = 0; r < RANKS; r++)
		at[r] = (double)real[r] * 1e-9;
	assert_int_equal(qv_schedule_time(&net, all, RANKS, bytes, at, leave), QV_OK);
	for (uint32_t r = 0; r < RANKS; r++) {
		last = fmax(last, leave[r]);
		qv_schedule_free(all[r]);
	}
	return last;
}

/* Knowing all is best; expecting what was is nearly as good, and better than not to expect. */
static void test_tracks(void **unused)
{
	struct qv_predict *p[RANKS];
	uint64_t told[RANKS], real[RANKS];
	double tree = 0, expects = 0, knows = 0;

	for (uint32_t r = 0; r < RANKS; r++)
		assert_int_equal(qv_predict_open(RANKS, 1, &p[r]), QV_OK);
	for (int i = 0; i < 100; i++) {
		for (uint32_t r = 0; r < RANKS; r++)
			real[r] = work_of(r, i);
		tree += time_of(NULL, real);
		knows += time_of(real, real);
		expects += time_of(qv_predict_arrivals(p[0]), real);
		for (uint32_t r = 0; r < RANKS; r++) {
			qv_predict_observe(p[r], real[r]);
			told[r] = qv_predict_mine(p[r]);
		}
		for (uint32_t r = 0; r < RANKS; r++)
			qv_predict_learn(p[r], told);
	}
	for (uint32_t r = 0; r < RANKS; r++)
		qv_predict_close(p[r]);
	print_message("tree / who expects %.3f, tree / who knows %.3f\n", tree / expects,
		      tree / knows);
	assert_true(knows <= expects);
	assert_true(tree / expects > 1.05);
	assert_true(expects < 1.05 * knows);
}

/* How much faster than the tree it is to expect what comes, but for errors to so many ms. */
static double gain(double ms)
{
	uint64_t expected[RANKS], real[RANKS];
	double tree = 0, expects = 0;

	for (int i = 0; i < 50; i++) {
		for (uint32_t r = 0; r < RANKS; r++) {
			const double error = ms * 1e6 * (2 * draw() - 1);

			real[r] = work_of(r, i);
			expected[r] = (uint64_t)fmax(0, (double)real[r] + error);
		}
		tree += time_of(NULL, real);
		expects += time_of(expected, real);
	}
	print_message("errors to %g ms: tree / who expects %.3f\n", ms, tree / expects);
	return tree / expects;
}

/* A round takes 11 ms, and ranks are up to 89 ms late. Errors of a round leave half of the gain, those of
 * two rounds none; who expects what is far from true takes three times as long as the tree. */
static void test_errors(void **unused)
{
	static const double ms[] = {0, 5, 11, 22, 85, 1000};
	double last = 2, now;

	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++, last = now) {
		now = gain(ms[i]);
		assert_true(now < last);
		assert_true(now > (ms[i] <= 11 ? 1.05 : ms[i] <= 22 ? .95 : .25));
	}
	assert_true(now < .5);
}

/* Networks. */

static void test_fit(void **unused)
{
	struct qv_sample moves[60], combines[20];
	struct qv_network got;
	const struct qv_sample alone = {100, 1};

	for (int i = 0; i < 60; i++) {
		const double m = 1000.0 * (1 + i % 12) * (1 + i % 12);

		moves[i] = (struct qv_sample){m, net.alpha + m * net.beta};
		moves[i].seconds *= 1 + .02 * (draw() - .5);
		if (i % 9 == 0) /* the scheduler was elsewhere */
			moves[i].seconds += 5e-3;
	}
	for (int i = 0; i < 20; i++)
		combines[i] = (struct qv_sample){4000.0 * i, 1e-7 + 4000.0 * i * net.gamma};
	assert_int_equal(qv_network_fit(moves, 60, combines, 20, &got), QV_OK);
	assert_true(fabs(got.alpha / net.alpha - 1) < .2);
	assert_true(fabs(got.beta / net.beta - 1) < .02);
	assert_true(fabs(got.gamma / net.gamma - 1) < .001);
	assert_int_equal(qv_network_fit(&alone, 1, combines, 20, &got), QV_EINVAL);
	assert_int_equal(qv_network_fit(moves, 60, combines, 0, &got), QV_EINVAL);
	moves[1] = moves[0];
	assert_int_equal(qv_network_fit(moves, 2, combines, 20, &got), QV_EINVAL);
	/* What gets faster with its length costs nothing by length. */
	moves[0] = (struct qv_sample){1, 1e-3};
	moves[1] = (struct qv_sample){1e6, 1e-5};
	assert_int_equal(qv_network_fit(moves, 2, combines, 20, &got), QV_OK);
	assert_true(got.beta <= 0 && got.beta >= 0 && got.alpha > 0);
}

/* QsNet: 11 us and 8 ns a byte, but from 288 bytes to 1667 16 us and 5 ns. */
static double qsnet(double m)
{
	return m < 288 || m > 1667 ? 11e-6 + m * 8e-9 : 16e-6 + m * 5e-9;
}

static void test_bursts(void **unused)
{
	struct qv_sample moves[90];
	struct qv_network got = {.gamma = 3};
	size_t n = 0;

	for (double m = 8; n < 90; m *= 2)
		for (int turn = 0; turn < 5; turn++, n++) {
			moves[n] = (struct qv_sample){m, qsnet(m)};
			moves[n].seconds *= turn == 3 ? 100 : 1 + .01 * (draw() - .5);
		}
	assert_int_equal(qv_network_fit_bursts(moves, n, 3, &got), QV_OK);
	assert_true(got.longer[0].from > 256 && got.longer[0].from <= 512);
	assert_true(got.longer[1].from > 1024 && got.longer[1].from <= 2048);
	assert_true(got.gamma >= 3 && got.gamma <= 3);
	for (double m = 8; m < 1e6; m *= 2)
		assert_true(fabs(qv_network_seconds(&got, m) / qsnet(m) - 1) < .05);
	/* As many as may be; all of one length are none. */
	assert_int_equal(qv_network_fit_bursts(moves, n, 1, &got), QV_OK);
	assert_true(got.longer[0].from <= 0);
	assert_int_equal(qv_network_fit_bursts(moves, 5, 3, &got), QV_EINVAL);
	assert_int_equal(qv_network_fit_bursts(moves, n, 4, &got), QV_EINVAL);
	moves[7].seconds = 0;
	assert_int_equal(qv_network_fit_bursts(moves, n, 3, &got), QV_EINVAL);
}

/* More ranges than make a difference are not taken. */
static void test_one_range(void **unused)
{
	struct qv_sample moves[12];
	struct qv_network got = {.alpha = 0};

	for (size_t i = 0; i < 12; i++) {
		moves[i].bytes = 8 << i;
		moves[i].seconds = (2e-6 + moves[i].bytes * 1e-9) * (1 + (i % 2 ? .01 : -.01));
	}
	assert_int_equal(qv_network_fit_bursts(moves, 12, 3, &got), QV_OK);
	assert_true(got.longer[0].from <= 0 && got.longer[1].from <= 0);
	assert_true(fabs(got.alpha / 2e-6 - 1) < .05 && fabs(got.beta / 1e-9 - 1) < .05);
}

static void test_segments(void **unused)
{
	static const uint32_t N[] = {64, 2, 4, 8, 16, 32};
	static const double t[] = {2.0, 9, 5, 2.03, 2.02, 1.99};

	assert_int_equal(qv_segments_fit(N, t, 6), 16);
	assert_int_equal(qv_segments_fit(N, t, 3), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean),      cmocka_unit_test(test_tracks),
		cmocka_unit_test(test_fit),       cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_one_range), cmocka_unit_test(test_segments),
		cmocka_unit_test(test_errors)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
