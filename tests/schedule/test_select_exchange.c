/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_select_exchange.c - alltoall and allgather in virtual time: from which length on the
 * straight way is faster than that through others, and how near what is selected comes to the best.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/select.h>

#include "sched_case.h"

static double time_of(const struct qv_network *net, enum qv_coll coll, enum qv_algorithm algorithm,
		      uint32_t P, double block)
{
	static struct qv_schedule *all[QV_CASE_RANKS];
	const struct qv_schedule_spec spec = {.coll = coll, .algorithm = algorithm, .ranks = P};
	double leave[QV_CASE_RANKS], last = 0;

	assert_int_equal(qv_schedule_build_all(&spec, all), QV_OK);
	assert_int_equal(qv_schedule_time(net, all, P, block * P, NULL, leave), QV_OK);
	for (uint32_t r = 0; r < P; r++) {
		last = fmax(last, leave[r]);
		qv_schedule_free(all[r]);
	}
	return last;
}

/* From where on. */

/* Bytes of a block at which an alltoall takes as long straight as by the other algorithm. */
static double crossing(const struct qv_network *net, enum qv_algorithm other, uint32_t P)
{
	double low = 1, high = 1e6;

	while (high > 1.03 * low) {
		const double block = sqrt(low * high);

		if (time_of(net, QV_COLL_ALLTOALL, other, P, block) <
		    time_of(net, QV_COLL_ALLTOALL, QV_ALG_DIRECT, P, block))
			low = block;
		else
			high = block;
	}
	return low;
}

/* On a square, from alpha / beta on, whatever its size: 1375 bytes by these figures of QsNet. With
 * what copying costs it is earlier. */
static void test_crossing(void **state)
{
	const struct qv_network net = {.alpha = 11e-6, .beta = 8e-9, .gamma = 0},
				copies = {.alpha = 11e-6, .beta = 8e-9, .gamma = 2e-9};

	for (uint32_t side = 3; side <= 5; side++) {
		const double at = crossing(&net, QV_ALG_MESH2, side * side);

		print_message("%u ranks: straight from %.0f bytes on, with copies from %.0f\n",
			      side * side, at, crossing(&copies, QV_ALG_MESH2, side * side));
		if (fabs(at - 1375) > 0.2 * 1375)
			fail_msg("%u ranks: %.0f bytes, not 1375", side * side, at);
		assert_true(crossing(&copies, QV_ALG_MESH2, side * side) < at);
	}
}

/* What is selected. */

struct score {
	unsigned int rows, near;
	double worst;
};

static enum qv_algorithm selected(const struct qv_network *net, enum qv_coll coll, uint32_t P,
				  uint32_t rank, size_t bytes)
{
	const struct qv_select_call call = {
		.group = 1, .coll = coll, .ranks = P, .rank = rank, .bytes = bytes};
	const struct qv_plan *plan;
	enum qv_algorithm algorithm;
	struct qv_select *s;

	assert_int_equal(qv_select_open(NULL, NULL, 0, &s), QV_OK);
	assert_int_equal(qv_select_network(s, net), QV_OK);
	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	algorithm = plan->algorithm;
	qv_select_put(s, plan);
	qv_select_close(s);
	return algorithm;
}

static void row(struct score *score, const struct qv_network *net, enum qv_coll coll, uint32_t P,
		size_t block)
{
	const enum qv_algorithm mine = selected(net, coll, P, 0, block * P);
	enum qv_algorithm best = mine;
	double time = time_of(net, coll, mine, P, (double)block), least = time;

	assert_int_equal(selected(net, coll, P, P - 1, block * P), mine); /* on all ranks */
	for (int a = 0; a < QV_N_ALGORITHMS; a++) {
		double other;

		if (!qv_schedule_exists(coll, (enum qv_algorithm)a, 0))
			continue;
		other = time_of(net, coll, (enum qv_algorithm)a, P, (double)block);
		if (other < least)
			best = (enum qv_algorithm)a;
		least = fmin(least, other);
	}
	score->rows++;
	score->near += time <= 1.1 * least;
	score->worst = fmax(score->worst, time / least);
	if (time > 1.1 * least)
		print_message("%s, %u ranks, %zu bytes: %s takes %.2f of %s\n", qv_coll_name(coll),
			      P, block, qv_algorithm_name(mine), time / least,
			      qv_algorithm_name(best));
}

/* Within a tenth of the best in 19 of 20 rows. */
static void test_selection(void **state)
{
	/* QsNet of the year 2005 (the last with ranges of lengths), QDR InfiniBand, and a network
	 * of today. */
	static const struct qv_network nets[] = {
		{.alpha = 11e-6, .beta = 8e-9, .gamma = 2e-9},
		{.alpha = 2.66e-6, .beta = 4.8e-10, .gamma = 1.7e-10},
		{.alpha = 1.2e-6, .beta = 8e-11, .gamma = 5e-11},
		{.alpha = 11e-6,
		 .beta = 8e-9,
		 .gamma = 2e-9,
		 .longer = {{288, 16e-6, 5e-9}, {1667, 11e-6, 8e-9}}}};
	static const uint32_t P[] = {4, 9, 16, 23, 32};
	struct score score = {0};

	for (size_t n = 0; n < sizeof(nets) / sizeof(nets[0]); n++)
		for (size_t p = 0; p < sizeof(P) / sizeof(P[0]); p++)
			for (size_t block = 8; block <= 32768; block *= 4) {
				row(&score, &nets[n], QV_COLL_ALLTOALL, P[p], block);
				row(&score, &nets[n], QV_COLL_ALLGATHER, P[p], block);
			}
	print_message("%u of %u rows within a tenth of the best, the worst takes %.2f of it\n",
		      score.near, score.rows, score.worst);
	assert_true(20 * score.near >= 19 * score.rows);
}

/* By which algorithm 64 ranks gather blocks of so many bytes. */
static enum qv_algorithm gathers_by(struct qv_select *s, enum qv_coll coll, size_t block)
{
	const struct qv_select_call call = {
		.coll = coll, .ranks = 64, .rank = 3, .bytes = 64 * block};
	const struct qv_plan *plan;
	enum qv_algorithm algorithm;

	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	algorithm = plan->algorithm;
	qv_select_put(s, plan);
	return algorithm;
}

/* Whether a root gathers from all at once depends on what a message takes behind others. */
static void test_root(void **state)
{
	const struct qv_network net = {.alpha = 2e-6, .beta = 1e-10, .gamma = 1e-10},
				quick = {.alpha = 5e-8, .beta = 1e-10, .gamma = 1e-10},
				slow = {.alpha = 5e-7, .beta = 1e-10, .gamma = 1e-10};
	struct qv_select *s;

	for (int scatter = 0; scatter < 2; scatter++) {
		const enum qv_coll coll = scatter ? QV_COLL_SCATTER : QV_COLL_GATHER;

		assert_int_equal(qv_select_open("gather=auto,scatter=auto", NULL, 0, &s), QV_OK);
		assert_int_equal(qv_select_network(s, &net), QV_OK);
		assert_int_equal(gathers_by(s, coll, 8), QV_ALG_BINOMIAL); /* 12 us, or 126 */
		assert_int_equal(qv_select_bursts(s, &slow), QV_OK);
		assert_int_equal(gathers_by(s, coll, 8), QV_ALG_BINOMIAL); /* 33 us */
		assert_int_equal(qv_select_bursts(s, &quick), QV_OK);
		assert_int_equal(gathers_by(s, coll, 8), QV_ALG_DIRECT); /* 5 us */
		assert_int_equal(qv_select_network(s, &net), QV_OK);     /* bursts are forgotten */
		assert_int_equal(gathers_by(s, coll, 8), QV_ALG_BINOMIAL);
		qv_select_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_crossing),
					   cmocka_unit_test(test_selection),
					   cmocka_unit_test(test_root)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
