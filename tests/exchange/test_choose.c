/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_choose.c - which way for a sparse exchange and which friends for a neighbourhood: what the
 * model says of messages is what is sent, and what is chosen is near the best in virtual time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <quiver/choose.h>

#include "exchange_net.h"
#include "graph_case.h"

static const struct qv_network edr = {.alpha = 1.5e-6, .beta = 1e-10, .gamma = 1e-10};

/* Sparse exchanges. */

/* Bundles that the rank sends that sends most. */
static uint64_t bundles(enum qv_way way, uint32_t P, uint32_t radix)
{
	const struct qv_exchange_spec spec = {.way = way, .ranks = P, .radix = radix};
	uint64_t most = 0;

	qv_net_open(0, &spec);
	for (uint32_t r = 0; r < P; r++)
		assert_int_equal(qv_exchange_start(qv_net_rank(0, r), NULL, 0), QV_OK);
	qv_net_run(1);
	for (uint32_t r = 0; r < P; r++) {
		struct qv_exchange_stats stats;

		qv_exchange_stats(qv_net_rank(0, r), &stats);
		most = stats.bundles > most ? stats.bundles : most;
	}
	qv_net_close(0);
	return most;
}

/* Where a message takes 1 and its length nothing, the model counts them. */
static void test_count(void **state)
{
	const struct qv_network one = {.alpha = 1};
	static const struct {
		enum qv_way way;
		uint32_t P, radix;
	} rows[] = {{QV_WAY_CRYSTAL, 64, 2},   {QV_WAY_CRYSTAL, 64, 4},   {QV_WAY_CRYSTAL, 33, 2},
		    {QV_WAY_CRYSTAL, 27, 3},   {QV_WAY_CRYSTAL, 5, 8},    {QV_WAY_MESH2, 64, 0},
		    {QV_WAY_MESH2, 25, 0},     {QV_WAY_MESH3, 64, 0},     {QV_WAY_MESH3, 27, 0},
		    {QV_WAY_HYPERCUBE, 64, 0}, {QV_WAY_HYPERCUBE, 32, 0}, {QV_WAY_DIRECT, 17, 0},
		    {QV_WAY_DIRECT, 1, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct qv_traffic traffic = {rows[i].P, 0, 0};
		const double model = qv_way_seconds(&one, rows[i].way, rows[i].radix, &traffic);
		const uint64_t sent = bundles(rows[i].way, rows[i].P, rows[i].radix);

		if (fabs(model - (double)sent) > 1e-9)
			fail_msg("%s of %u: %g bundles by the model, %lu sent",
				 qv_way_name(rows[i].way), rows[i].P, model, (unsigned long)sent);
	}
}

static struct qv_way_choice chosen(uint32_t ranks, double degree, double bytes, double margin)
{
	const struct qv_traffic traffic = {ranks, degree, bytes};
	struct qv_way_choice choice;

	assert_int_equal(qv_choose_way(&edr, &traffic, margin, &choice), QV_OK);
	return choice;
}

static void test_way(void **state)
{
	struct qv_way_choice choice = chosen(256, 26, 8, 0.95);
	const struct qv_traffic traffic = {256, 26, 8};
	double last = 0;

	/* Short messages through others, to few ranks or long ones straight. */
	assert_false(choice.straight);
	assert_true(choice.seconds < .5 * qv_straight_seconds(&edr, &traffic));
	assert_true(chosen(256, 26, 131072, 0.95).straight);
	assert_true(chosen(256, 2, 8, 0.95).straight);
	assert_true(chosen(2, 1, 8, 1).straight);
	assert_true(chosen(1, 0, 0, 1).straight);
	assert_true(chosen(256, 26, 8, 0).straight);
	/* The best of all that there are. */
	for (int way = 0; way < QV_N_WAYS; way++)
		for (uint32_t radix = 2; radix <= 32; radix *= 2)
			assert_true(choice.seconds <=
				    qv_way_seconds(&edr, (enum qv_way)way, radix, &traffic));
	for (double bytes = 8; bytes < 1e6; bytes *= 2) { /* more takes longer */
		choice = chosen(64, 30, bytes, 1);
		assert_true(choice.seconds > last);
		last = choice.seconds;
	}
}

/* The degree from which one way takes no longer than another. */
static double crossing(double bytes, double (*first)(const struct qv_traffic *),
		       double (*second)(const struct qv_traffic *))
{
	struct qv_traffic traffic = {2048, 1, bytes};

	while (traffic.degree < 2048 && first(&traffic) < second(&traffic))
		traffic.degree++;
	return traffic.degree;
}

/* QsNet, as Kumar measured it. */
static const struct qv_network qsnet = {.alpha = 11e-6, .beta = 8e-9};

static double straight(const struct qv_traffic *t)
{
	return qv_straight_seconds(&qsnet, t);
}

static double mesh2(const struct qv_traffic *t)
{
	return qv_way_seconds(&qsnet, QV_WAY_MESH2, 0, t);
}

static double mesh3(const struct qv_traffic *t)
{
	return qv_way_seconds(&qsnet, QV_WAY_MESH3, 0, t);
}

/* 2048 ranks, each to some others. To few, straight is fastest; of 76 bytes, a square is from 96 ranks on by
 * the closed form. Up to some hundreds a cube is faster than the square, of longer items up to fewer. */
static void test_published(void **state)
{
	assert_true(fabs(crossing(76, straight, mesh2) / 96 - 1) < .2);
	assert_true(crossing(76, straight, mesh3) < crossing(76, straight, mesh2));
	assert_true(crossing(76, mesh3, mesh2) > 500);
	assert_true(crossing(476, mesh3, mesh2) < crossing(76, mesh3, mesh2) / 4);
}

/* A Cray XE6, as in tests/sim/sim_platform.py. */
static const struct qv_network xe6 = {.alpha = 10.6e-6, .beta = 0.31e-9, .gamma = 0.2e-9};

static double crystal(uint32_t ranks)
{
	const struct qv_traffic t = {ranks, 26, 8};

	return qv_way_seconds(&xe6, QV_WAY_CRYSTAL, 2, &t);
}

/* How many times as fast as a message to each rank, whoever wants one. */
static double gain(uint32_t ranks)
{
	const struct qv_traffic all = {ranks, ranks - 1.0, 8};

	return qv_straight_seconds(&xe6, &all) / crystal(ranks);
}

/* 8 bytes for each of 26 ranks, of 256 and of 8192: 38 and 685 times as fast as MPI_Alltoallv, and at most 3.2
 * times as long, were measured; the model has no contention, and an MPI_Alltoallv of the plainest kind. */
static void test_growth(void **state)
{
	assert_true(fabs(gain(256) / 38 - 1) < .25);
	assert_true(fabs(gain(8192) / 685 - 1) < .25);
	for (uint32_t ranks = 256; ranks < 8192; ranks *= 2) /* one phase more each time */
		assert_true(crystal(2 * ranks) > 1.05 * crystal(ranks) &&
			    crystal(2 * ranks) < 1.15 * crystal(ranks));
	assert_true(crystal(8192) < 3.2 * crystal(256));
}

/* To forward pays from some number of partners on, the longer messages are the later. */
static void test_degrees(void **state)
{
	for (uint32_t ranks = 16; ranks <= 1024; ranks *= 4) {
		uint32_t last = 0;

		for (double bytes = 8; bytes <= 32768; bytes *= 16) {
			uint32_t from = 1;

			while (from < ranks && chosen(ranks, from, bytes, 0.95).straight)
				from++;
			for (uint32_t degree = from; degree < ranks; degree++)
				assert_false(chosen(ranks, degree, bytes, 0.95).straight);
			assert_true(from >= last);
			last = from;
		}
		assert_true(last == ranks); /* 32 KiB: never */
		/* 8 bytes: to 4 ranks never, to all always */
		assert_true(chosen(ranks, 4, 8, 0.95).straight);
		assert_false(chosen(ranks, ranks - 1, 8, 0.95).straight);
	}
}

static void test_bad(void **state)
{
	const struct qv_traffic none = {0, 1, 1}, odd = {4, NAN, 1}, less = {4, 1, -1},
				good = {4, 1, 1};
	struct qv_way_choice choice;

	assert_int_equal(qv_choose_way(&edr, &none, 1, &choice), QV_EINVAL);
	assert_int_equal(qv_choose_way(&edr, &odd, 1, &choice), QV_EINVAL);
	assert_int_equal(qv_choose_way(&edr, &less, 1, &choice), QV_EINVAL);
	assert_int_equal(qv_choose_way(&edr, &good, NAN, &choice), QV_EINVAL);
	assert_int_equal(qv_choose_way(&edr, &good, 1, &choice), QV_OK);
}

/* Neighbourhoods. */

static struct qv_graph_case c;

static double virtual_time(const struct qv_neighbor_plan *plan, double bytes)
{
	const uint32_t n = c.graph.ranks;
	struct qv_schedule **all = calloc(n, sizeof(struct qv_schedule *));
	double *leave = calloc(n, sizeof(*leave)), last = 0;

	assert_true(all && leave);
	for (uint32_t r = 0; r < n; r++)
		assert_int_equal(qv_neighbor_schedule(plan, QV_COLL_ALLGATHER, r, &all[r]), QV_OK);
	assert_int_equal(qv_schedule_time(&edr, all, n, bytes, NULL, leave), QV_OK);
	for (uint32_t r = 0; r < n; r++) {
		last = fmax(last, leave[r]);
		qv_schedule_free(all[r]);
	}
	free(all);
	free(leave);
	return last;
}

static double time_of(uint32_t k, int cumulative, double bytes)
{
	const struct qv_neighbor_spec spec = {
		.graph = c.graph, .node = c.node, .k = k, .cumulative = cumulative};
	struct qv_neighbor_plan *plan;
	double time;

	assert_int_equal(qv_neighbor_plan(&spec, &plan), QV_OK);
	time = virtual_time(plan, bytes);
	qv_neighbor_free(plan);
	return time;
}

/* Virtual time is stricter than the model: both ends of a message are busy, in no good order. The
 * tests of label sim judge more sharply. */
static void choose_neighbor(double bytes)
{
	const struct qv_neighbor_spec spec = {
		.graph = c.graph, .node = c.node, .k = 4, .cumulative = 1};
	struct qv_neighbor_plan *plan;
	double model, mine, best, straight;

	assert_int_equal(
		qv_choose_neighbor(&edr, &spec, QV_COLL_ALLGATHER, bytes, 1, &plan, &model), QV_OK);
	mine = best = virtual_time(plan, bytes);
	for (uint32_t k = 1; k <= 4; k++)
		for (int cumulative = 0; cumulative <= (k > 1); cumulative++)
			best = fmin(best, time_of(k, cumulative, bytes));
	straight = time_of(0, 0, bytes);
	print_message("%u ranks, %.0f bytes: %.1f us, model %.1f, best %.1f, straight %.1f\n",
		      c.graph.ranks, bytes, 1e6 * mine, 1e6 * model, 1e6 * best, 1e6 * straight);
	assert_true(mine <= 1.25 * best);
	assert_true(mine <= 1.05 * straight);
	qv_neighbor_free(plan);
}

static void test_neighbor(void **state)
{
	static const double bytes[] = {4, 1024, 16384};

	for (size_t i = 0; i < 3; i++) {
		qv_graph_moore(&c, 2, 8, 2, 1, 0, 16);
		choose_neighbor(bytes[i]);
		qv_graph_close(&c);
		for (uint32_t density = 50; density <= 800; density *= 4) {
			qv_graph_random(&c, 48, density, 0, 16, density);
			choose_neighbor(bytes[i]);
			qv_graph_close(&c);
		}
	}
}

static void test_neighbor_bad(void **state)
{
	struct qv_neighbor_spec spec = {.k = 4};
	struct qv_neighbor_plan *plan = NULL;
	double seconds;

	qv_graph_moore(&c, 1, 6, 1, 1, 0, 6);
	spec.graph = c.graph;
	assert_int_equal(qv_choose_neighbor(&edr, &spec, QV_COLL_REDUCE, 8, 1, &plan, NULL),
			 QV_EINVAL);
	spec.k = 17;
	assert_int_equal(qv_choose_neighbor(&edr, &spec, QV_COLL_ALLTOALL, 8, 1, &plan, NULL),
			 QV_EINVAL);
	assert_null(plan);
	/* Two neighbours and no friends: one message to each. */
	spec.k = 4;
	assert_int_equal(qv_choose_neighbor(&edr, &spec, QV_COLL_ALLTOALL, 8, 1, &plan, &seconds),
			 QV_OK);
	assert_true(fabs(seconds - 2 * qv_network_seconds(&edr, 8)) < 1e-12);
	qv_neighbor_free(plan);
	qv_graph_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),     cmocka_unit_test(test_way),
		cmocka_unit_test(test_published), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_degrees),   cmocka_unit_test(test_bad),
		cmocka_unit_test(test_neighbor),  cmocka_unit_test(test_neighbor_bad)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
