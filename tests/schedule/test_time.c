/* SPDX-License-Identifier: BSD-2-Clause */
/* test_time.c - virtual time gives what the formulas of each algorithm say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <cmocka.h>

#include <quiver/select.h>

#include "sched_case.h"

/* Figures of a cluster with QDR InfiniBand. */
static const struct qv_network net = {.alpha = 2.66e-6, .beta = 4.8179e-10, .gamma = 1.6654e-10};

static struct qv_sched_case c;
static double leave[QV_CASE_RANKS];

static void open_case(enum qv_coll coll, enum qv_algorithm algorithm, uint32_t ranks,
		      uint32_t segments)
{
	const struct qv_schedule_spec spec = {
		.coll = coll, .algorithm = algorithm, .ranks = ranks, .segments = segments};

	qv_sched_case_open(&c, &spec);
}

/* From the first arrival to the last rank that is done. */
static double time_of(double bytes, const double *arrive)
{
	double last = 0;

	assert_int_equal(qv_schedule_time(&net, c.all, c.spec.ranks, bytes, arrive, leave), QV_OK);
	for (uint32_t r = 0; r < c.spec.ranks; r++)
		last = leave[r] > last ? leave[r] : last;
	return last;
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * want)
		fail_msg("%s: %g us, not %g us", qv_sched_case_name(&c.spec), 1e6 * got,
			 1e6 * want);
}

static const uint32_t powers[] = {2, 4, 8, 32, 128};
static const double sizes[] = {0, 4096, 131072, 4194304};

static void each_power(void (*test)(uint32_t P, double n, double m))
{
	for (size_t p = 0; p < sizeof(powers) / sizeof(powers[0]); p++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			test(powers[p], log2(powers[p]), sizes[s]);
}

static void binomial(uint32_t P, double n, double m)
{
	const double d = net.alpha + m * (net.beta + net.gamma);

	open_case(QV_COLL_REDUCE, QV_ALG_BINOMIAL, P, 0);
	assert_near(time_of(m, NULL), n * d);
	/* Whoever is late, nothing of it is absorbed. */
	for (uint32_t late = 0; late < P; late += P / 2 + 1) {
		double arrive[128] = {0};

		arrive[late] = 2.5 * d;
		assert_near(time_of(m, arrive), n * d + arrive[late]);
	}
	qv_sched_case_close(&c);
}

static void ring(uint32_t P, double n, double m)
{
	const double part = m * (P - 1) / P;

	open_case(QV_COLL_REDUCE_SCATTER, QV_ALG_RING, P, 0);
	assert_near(time_of(m, NULL), (P - 1) * net.alpha + part * (net.beta + net.gamma));
	qv_sched_case_close(&c);
	open_case(QV_COLL_REDUCE, QV_ALG_RING, P, 0);
	assert_near(time_of(m, NULL), (P - 1 + n) * net.alpha + part * (2 * net.beta + net.gamma));
	qv_sched_case_close(&c);
}

static void butterfly(uint32_t P, double n, double m)
{
	const double part = m * (P - 1) / P;
	const double want = 2 * n * net.alpha + part * (2 * net.beta + net.gamma);

	open_case(QV_COLL_REDUCE, QV_ALG_BUTTERFLY, P, 0);
	assert_near(time_of(m, NULL), want);
	qv_sched_case_close(&c);
	open_case(QV_COLL_ALLREDUCE, QV_ALG_BUTTERFLY, P, 0);
	assert_near(time_of(m, NULL), want);
	qv_sched_case_close(&c);
}

static void pipeline(uint32_t P, double n, double m)
{
	for (uint32_t N = 1; N <= 64; N *= 8) {
		open_case(QV_COLL_REDUCE, QV_ALG_PIPELINE, P, N);
		assert_near(time_of(m, NULL),
			    (P - 2 + N) * (net.alpha + m / N * (net.beta + net.gamma)));
		qv_sched_case_close(&c);
	}
}

static void direct(uint32_t P, double n, double m)
{
	open_case(QV_COLL_REDUCE_SCATTER, QV_ALG_DIRECT, P, 0);
	assert_near(time_of(m, NULL),
		    (P - 1) * net.alpha + m * (P - 1) / P * (net.beta + net.gamma));
	qv_sched_case_close(&c);
}

/* When the first segment has come to rank v, in messages. */
static uint32_t comes(uint32_t v)
{
	return v ? comes((v - 1) / 2) + 2 - v % 2 : 0;
}

/* Each segment takes two messages at every rank with two children. */
static void test_binary(void **unused)
{
	const double m = 131072;

	for (uint32_t P = 2; P <= 70; P++)
		for (uint32_t N = 1; N <= 8; N *= 8) {
			const double one = net.alpha + m / N * net.beta;
			uint32_t depth = 0;

			for (uint32_t v = 0; v < P; v++)
				depth = comes(v) > depth ? comes(v) : depth;
			open_case(QV_COLL_BROADCAST, QV_ALG_BINARY, P, N);
			assert_near(time_of(m, NULL), (depth + (P > 2 ? 2 : 1) * (N - 1)) * one);
			assert_near(
				qv_model_seconds(&net, QV_COLL_BROADCAST, QV_ALG_BINARY, P, m, N),
				(depth + (P > 2 ? 2 : 1) * (N - 1)) * one);
			qv_sched_case_close(&c);
		}
}

#define TEST_POWERS(name)                     \
	static void test_##name(void **state) \
	{                                     \
		each_power(name);             \
	}
TEST_POWERS(binomial)
TEST_POWERS(ring)
TEST_POWERS(butterfly)
TEST_POWERS(pipeline)
TEST_POWERS(direct)

/* Nobody is done before the last one has come, but for ranks of which nothing depends on it. */
static void test_arrival(void **state)
{
	double arrive[7] = {0, 0, 0, 0, 0, 0, 5e-3};

	open_case(QV_COLL_ALLREDUCE, QV_ALG_BUTTERFLY, 7, 0);
	assert_true(time_of(1000, arrive) > 5e-3);
	for (uint32_t r = 0; r < 7; r++)
		assert_true(leave[r] > 5e-3);
	qv_sched_case_close(&c);
	open_case(QV_COLL_REDUCE, QV_ALG_BINOMIAL, 7, 0);
	time_of(1000, arrive);
	assert_true(leave[1] < 1e-3 && leave[0] > 5e-3);
	qv_sched_case_close(&c);
}

/*
 * Nothing is sent while a rank combines. Rank 2 comes at t, when rank 1 has just received from rank
 * 0. It gets rank 1's part from t+g on, and rank 0's when that one has combined twice: from 3t+2g
 * on.
 */
static void test_no_overlap(void **state)
{
	const double m = 3e6, t = net.alpha + m / 3 * net.beta, g = m / 3 * net.gamma;
	const double arrive[3] = {0, 0, t};

	open_case(QV_COLL_REDUCE_SCATTER, QV_ALG_DIRECT, 3, 0);
	assert_near(time_of(m, arrive), 4 * t + 3 * g);
	qv_sched_case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binomial),   cmocka_unit_test(test_ring),
		cmocka_unit_test(test_butterfly),  cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_direct),     cmocka_unit_test(test_arrival),
		cmocka_unit_test(test_no_overlap), cmocka_unit_test(test_binary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
