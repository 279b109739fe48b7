/* SPDX-License-Identifier: BSD-2-Clause */
/* test_select.c - the choice of a schedule: formulas beside virtual time, rules, the same choice on
 * every rank, late ranks, what is kept. */
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

/* Figures of a cluster with QDR InfiniBand. */
static const struct qv_network net = {.alpha = 2.66e-6, .beta = 4.8179e-10, .gamma = 1.6654e-10};

static double last_of(const double *times, uint32_t n)
{
	double last = 0;

	for (uint32_t i = 0; i < n; i++)
		last = fmax(last, times[i]);
	return last;
}

/* The model. */

static double worst;

static void compare(const struct qv_schedule_spec *spec, double bytes, double most)
{
	static struct qv_schedule *all[QV_CASE_RANKS];
	double leave[QV_CASE_RANKS];
	const double formula = qv_model_seconds(&net, spec->coll, spec->algorithm, spec->ranks,
						bytes, spec->segments);
	double run;

	assert_int_equal(qv_schedule_build_all(spec, all), QV_OK);
	assert_int_equal(qv_schedule_time(&net, all, spec->ranks, bytes, NULL, leave), QV_OK);
	run = last_of(leave, spec->ranks);
	worst = fmax(worst, fmax(run / formula, formula / run));
	if (run > most * formula || formula > most * run)
		fail_msg("%s, %g bytes: %g us by the formula, %g us in virtual time",
			 qv_sched_case_name(spec), bytes, 1e6 * formula, 1e6 * run);
	for (uint32_t r = 0; r < spec->ranks; r++)
		qv_schedule_free(all[r]);
}

static void each_model(uint32_t ranks, double most)
{
	for (int coll = 0; coll < QV_N_COLLS; coll++)
		for (int algorithm = 0; algorithm < QV_N_ALGORITHMS; algorithm++)
			for (double bytes = 64; bytes < 1e7; bytes *= 64) {
				struct qv_schedule_spec spec = {
					.coll = (enum qv_coll)coll,
					.algorithm = (enum qv_algorithm)algorithm,
					.ranks = ranks};

				if (!qv_schedule_exists(spec.coll, spec.algorithm, 0))
					continue;
				spec.segments =
					qv_model_segments(&net, spec.algorithm, ranks, bytes);
				/* Holes of a mesh let some ranks wait for others. */
				compare(&spec, bytes,
					algorithm < QV_ALG_MESH2 || most > 1.5 ? most : 1.5);
			}
}

static void test_model(void **unused)
{
	worst = 1;
	each_model(2, 1.15);
	each_model(8, 1.15);
	each_model(32, 1.15);
	print_message("powers of two: within %.3f\n", worst);
	worst = 1;
	each_model(3, 1.6);
	each_model(7, 1.6);
	each_model(12, 1.6);
	each_model(33, 1.6);
	print_message("others: within %.3f\n", worst);
}

static void test_segments(void **unused)
{
	assert_int_equal(qv_model_segments(&net, QV_ALG_BINOMIAL, 128, 1e6), 1);
	assert_int_equal(qv_model_segments(&net, QV_ALG_SEGMENTED, 128, 2000), 1);
	assert_int_equal(qv_model_segments(&net, QV_ALG_SEGMENTED, 2, 1e6), 1);
	/* 13.7 by the formula for 128 KiB, 39.2 for 1 MiB */
	assert_int_equal(qv_model_segments(&net, QV_ALG_SEGMENTED, 128, 131072), 16);
	assert_int_equal(qv_model_segments(&net, QV_ALG_SEGMENTED, 128, 1048576), 32);
	assert_int_equal(qv_model_segments(&net, QV_ALG_PIPELINE, 128, 1e9), 128);
}

/* Rules. */

static struct qv_select *open_select(const char *rules)
{
	struct qv_select *s = NULL;
	char why[256] = "";

	if (qv_select_open(rules, why, sizeof(why), &s))
		fail_msg("'%s': %s", rules, why);
	assert_int_equal(qv_select_network(s, &net), QV_OK);
	return s;
}

static void refused(const char *rules, const char *because)
{
	struct qv_select *s = NULL;
	char why[256] = "";

	assert_int_equal(qv_select_open(rules, why, sizeof(why), &s), QV_EINVAL);
	assert_null(s);
	if (!strstr(why, because))
		fail_msg("'%s' is refused because '%s'", rules, why);
	assert_int_equal(qv_select_open(rules, NULL, 0, &s), QV_EINVAL);
}

static void test_rules(void **unused)
{
	qv_select_close(open_select(NULL));
	qv_select_close(open_select(""));
	qv_select_close(open_select("reduce=auto:faithful,barrier=binomial,alltoall=direct"));
	refused("reduce", "no '='");
	refused("reduce=ring,", "no '=' in ''");
	refused("reduction=ring", "reduce allreduce reduce_scatter barrier");
	refused("reduce=rings", "unknown algorithm 'rings'");
	refused("broadcast=radix", "broadcast has auto binomial ring pipeline");
	refused("reduce=ring:exact", "known: faithful extended");
	refused("reduce=ring:4", "unknown mode '4'; known: faithful extended");
	refused("alltoall=auto:4", "unknown mode '4'");
	refused("allgather=kshift:0", "numbers from 1 to 65536");
	refused("allgather=kshift:65537", "numbers from 1 to 65536");
	refused("allgather=kshift:99999999999999999999", "numbers from 1 to 65536");
	refused("allgather=kshift:4x", "unknown mode '4x'");
	refused("allgather=kshift:", "unknown mode ''");
	refused("allgather=kshift:x", "65536; behind them paced=1 to paced=65536");
	refused("allgather=kshift:4:paced=0", "unknown mode 'paced=0'; known: paced=1 to");
	refused("allgather=kshift:4:paced=", "unknown mode 'paced='");
	refused("allgather=kshift:4:paced=2x", "unknown mode 'paced=2x'");
	refused("allgather=kshift:paced=65537", "unknown mode 'paced=65537'");
	refused("allgather=kshift:paced=2:4", "unknown mode 'paced=2:4'");
	refused("allgather=kshift:paced=2:paced=2", "unknown mode 'paced=2'");
	refused("allgather=kshift::paced=2", "unknown mode ''");
	refused("allgather=ring:paced=2", "unknown mode 'paced=2'; known: faithful extended");
	refused("reduce=direct:paced=2", "unknown mode 'paced=2'");
	refused("alltoall=auto:paced=2", "unknown mode 'paced=2'");
	refused("alltoall=hybrid:33", "numbers from 1 to 32");
	refused("reduce=radix:", "factors of the number of ranks");
	refused("reduce=radix:4:", "unknown mode '4:'");
	refused("reduce=radix:4:1", "unknown mode '4:1'");
	refused("reduce=radix:4:4x", "unknown mode '4:4x'");
	refused("reduce=radix:65536:32768", "unknown mode '65536:32768'");
	refused("reduce=radix:99999999999999999999:2", "factors of the number of ranks");
	refused("reduce=ring:4:4", "unknown mode '4:4'");
	refused("reduce=ring,barrier=auto,reduce=binomial", "twice");
}

static void test_named(void **unused)
{
	struct qv_select *s = open_select("reduce=ring,allreduce=segmented");
	struct qv_select_call call = {.ranks = 5, .rank = 2, .root = 1, .bytes = 100};
	const struct qv_plan *plan;

	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	assert_int_equal(plan->algorithm, QV_ALG_RING);
	assert_int_equal(qv_schedule_blocks(plan->schedule), 5);
	qv_select_put(s, plan);
	/* A ring cannot keep the order: the user is told, not given something else. */
	call.ordered = 1;
	assert_int_equal(qv_select_get(s, &call, &plan), QV_ENOSYS);
	call.coll = QV_COLL_REDUCE_SCATTER; /* of which nothing is said */
	call.root = 0;
	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	assert_true(qv_schedule_exists(call.coll, plan->algorithm, 1));
	qv_select_put(s, plan);
	qv_select_close(s);
}

static size_t steps_of(const char *rules, enum qv_coll coll)
{
	struct qv_select *s = open_select(rules);
	const struct qv_select_call call = {.coll = coll, .ranks = 64, .rank = 5, .bytes = 64};
	const struct qv_plan *plan;
	size_t n;

	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	qv_schedule_steps(plan->schedule, &n);
	qv_select_put(s, plan);
	qv_select_close(s);
	return n;
}

/* A number is that of the schedule. */
static void test_numbers(void **unused)
{
	for (uint32_t k = 1; k <= 6; k++) {
		const struct qv_schedule_spec spec = {
			.coll = QV_COLL_ALLTOALL, .algorithm = QV_ALG_HYBRID, .ranks = 64, .k = k};
		struct qv_schedule *schedule;
		char rules[32];
		size_t n;

		snprintf(rules, sizeof(rules), "alltoall=hybrid:%u", k);
		assert_int_equal(qv_schedule_build(&spec, 5, &schedule), QV_OK);
		qv_schedule_steps(schedule, &n);
		assert_int_equal(steps_of(rules, QV_COLL_ALLTOALL), n);
		assert_int_equal(n == steps_of("alltoall=hybrid", QV_COLL_ALLTOALL), k == 3);
		qv_schedule_free(schedule);
	}
}

/* So is a pace, with a number or alone. */
static void test_paces(void **unused)
{
	static const struct {
		const char *rules;
		enum qv_coll coll;
		enum qv_algorithm algorithm;
		uint32_t k, pace;
	} rows[] = {{"allgather=kshift:4:paced=2", QV_COLL_ALLGATHER, QV_ALG_KSHIFT, 4, 2},
		    {"allgather=kprefix:paced=1", QV_COLL_ALLGATHER, QV_ALG_KPREFIX, 0, 1},
		    {"alltoall=direct:paced=65536", QV_COLL_ALLTOALL, QV_ALG_DIRECT, 0, 65536},
		    {"alltoall=prefix:paced=16", QV_COLL_ALLTOALL, QV_ALG_PREFIX, 0, 16}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct qv_schedule_spec spec = {.coll = rows[i].coll,
						      .algorithm = rows[i].algorithm,
						      .ranks = 64,
						      .k = rows[i].k,
						      .pace = rows[i].pace};
		struct qv_schedule *schedule;
		size_t n;

		assert_int_equal(qv_schedule_build(&spec, 5, &schedule), QV_OK);
		qv_schedule_steps(schedule, &n);
		assert_int_equal(steps_of(rows[i].rules, rows[i].coll), n);
		qv_schedule_free(schedule);
	}
}

/* A broadcast on many ranks: a tree of whole vectors, one of segments, then blocks that go around. */
static void test_broadcast(void **unused)
{
	static const struct {
		size_t bytes;
		enum qv_algorithm algorithm;
	} rows[] = {{4096, QV_ALG_BINOMIAL}, {262144, QV_ALG_BINARY}, {8388608, QV_ALG_RING}};
	struct qv_select *s = open_select("broadcast=auto");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct qv_select_call call = {
			.coll = QV_COLL_BROADCAST, .ranks = 256, .bytes = rows[i].bytes};
		const struct qv_plan *plan;

		assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
		assert_int_equal(plan->algorithm, rows[i].algorithm);
		qv_select_put(s, plan);
	}
	qv_select_close(s);
}

/* The steps of rank 1 of so many are those of a schedule with these factors. */
static void has_factors(struct qv_select *s, uint32_t ranks, const uint32_t *factors, size_t n)
{
	const struct qv_schedule_spec spec = {
		.algorithm = QV_ALG_RADIX, .ranks = ranks, .radix = factors, .radix_n = n};
	const struct qv_select_call call = {.ranks = ranks, .rank = 1, .bytes = 64};
	const struct qv_step *expected, *found;
	struct qv_schedule *schedule;
	const struct qv_plan *plan;
	size_t steps, same;

	assert_int_equal(qv_schedule_build(&spec, 1, &schedule), QV_OK);
	assert_int_equal(qv_select_get(s, &call, &plan), QV_OK);
	expected = qv_schedule_steps(schedule, &steps);
	found = qv_schedule_steps(plan->schedule, &same);
	assert_int_equal(same, steps);
	assert_memory_equal(found, expected, steps * sizeof(*found));
	assert_int_equal(plan->primes, n == 0);
	qv_select_put(s, plan);
	qv_schedule_free(schedule);
}

/* Factors are those of the schedule, where their product is the number of ranks. */
static void test_factors(void **unused)
{
	static const uint32_t factors[] = {4, 4, 8};
	struct qv_select *s = open_select("reduce=radix:4:4:8,allreduce=radix:65536:32767");

	has_factors(s, 128, factors, 3);
	has_factors(s, 64, NULL, 0);
	has_factors(s, 12, NULL, 0);
	qv_select_close(s);
}

/* Ranks. */

/* The plans of all ranks are a schedule that is right. */
static void all_agree(struct qv_select *s, struct qv_select_call call)
{
	const struct qv_plan *plans[64];
	static struct qv_schedule *all[64];
	struct qv_schedule_spec spec = {
		.coll = call.coll, .ranks = call.ranks, .root = call.root, .ordered = call.ordered};
	char why[160] = "";

	for (call.rank = 0; call.rank < call.ranks; call.rank++) {
		assert_int_equal(qv_select_get(s, &call, &plans[call.rank]), QV_OK);
		all[call.rank] = (struct qv_schedule *)(uintptr_t)plans[call.rank]->schedule;
		assert_int_equal(plans[call.rank]->algorithm, plans[0]->algorithm);
	}
	spec.algorithm = plans[0]->algorithm;
	if (qv_schedule_check(&spec, all, why, sizeof(why)))
		fail_msg("%s, %zu bytes: %s", qv_sched_case_name(&spec), call.bytes, why);
	for (uint32_t r = 0; r < call.ranks; r++)
		qv_select_put(s, plans[r]);
}

static void test_all_agree(void **unused)
{
	static uint64_t arrive[64];
	uint64_t x = 88172645463325252u;

	for (uint32_t ranks = 1; ranks <= 21; ranks += 4)
		for (int coll = 0; coll < QV_N_COLLS; coll++)
			for (size_t bytes = 0; bytes < 20000000; bytes = bytes * 31 + 7) {
				struct qv_select *s = open_select(NULL);
				struct qv_select_call call = {
					.coll = (enum qv_coll)coll, .ranks = ranks, .bytes = bytes};

				all_agree(s, call);
				call.ordered = 1;
				all_agree(s, call);
				call.ordered = 0;
				call.arrive = arrive;
				for (uint32_t r = 0; r < ranks; r++) {
					x ^= x << 13, x ^= x >> 7, x ^= x << 17;
					arrive[r] = (x >> 20) % (bytes + 100000);
				}
				all_agree(s, call);
				qv_select_close(s);
			}
}

/* Late ranks. */

/* How long a plan for these arrivals, built by all ranks, takes. */
static double time_of(struct qv_select *s, struct qv_select_call call, int *by_arrival)
{
	const struct qv_plan *plans[128];
	static struct qv_schedule *all[128];
	double at[128], leave[128];

	for (call.rank = 0; call.rank < call.ranks; call.rank++) {
		assert_int_equal(qv_select_get(s, &call, &plans[call.rank]), QV_OK);
		all[call.rank] = (struct qv_schedule *)(uintptr_t)plans[call.rank]->schedule;
		at[call.rank] = call.arrive ? (double)call.arrive[call.rank] * 1e-9 : 0;
	}
	assert_int_equal(qv_schedule_time(&net, all, call.ranks, (double)call.bytes, at, leave),
			 QV_OK);
	*by_arrival = plans[0]->by_arrival;
	for (uint32_t r = 0; r < call.ranks; r++)
		qv_select_put(s, plans[r]);
	return last_of(leave, call.ranks);
}

/* One late: the plan for it is taken, and pays. Of vectors that are not cut, nearly twofold. */
static void test_one_late(void **unused)
{
	static uint64_t arrive[128];
	struct qv_select *s = open_select(NULL), *knows = open_select("reduce=clairvoyant"),
			 *tree = open_select("reduce=binomial");
	struct qv_select_call call = {.ranks = 128, .bytes = 400 << 10, .arrive = arrive};
	const double round = net.alpha + (400 << 10) * (net.beta + net.gamma);
	double known, best;
	int by_arrival;

	arrive[127] = (uint64_t)(7 * round * 1e9);
	known = time_of(knows, call, &by_arrival);
	assert_true(by_arrival);
	assert_true(time_of(tree, call, &by_arrival) / known > .95 * 1.75);
	assert_false(by_arrival);
	best = time_of(s, call, &by_arrival);
	assert_true(by_arrival);
	assert_true(best <= known);
	qv_select_close(s);
	qv_select_close(knows);
	qv_select_close(tree);
}

/* The same for lengths at the ends of a class, where the time of a round could be taken for
 * another: when the last partial results are there, and not before, the late rank's comes in. */
static void test_lengths(void **unused)
{
	static const size_t lengths[] = {128 << 10, (256 << 10) - 8, 1 << 20};
	static uint64_t arrive[128];

	for (size_t i = 0; i < 3; i++) {
		struct qv_select *knows = open_select("reduce=clairvoyant"),
				 *tree = open_select("reduce=binomial");
		struct qv_select_call call = {.ranks = 128, .bytes = lengths[i], .arrive = arrive};
		const double round = net.alpha + (double)lengths[i] * (net.beta + net.gamma);
		int by_arrival;

		arrive[127] = (uint64_t)(7 * round * 1e9);
		assert_true(time_of(tree, call, &by_arrival) / time_of(knows, call, &by_arrival) >
			    .95 * 1.75);
		qv_select_close(knows);
		qv_select_close(tree);
	}
}

/* Every eighth rank late by half of the time: rounds that know it are slower than ones that do not.
 * The faithful mode takes them nevertheless, the extended one has the balanced schedule as its
 * floor. */
static void test_floor(void **unused)
{
	static uint64_t arrive[128];
	struct qv_select *faithful = open_select("reduce=segmented:faithful"),
			 *extended = open_select("reduce=segmented");
	struct qv_select_call call = {.ranks = 128, .bytes = 3 << 16, .arrive = arrive};
	const uint32_t N = qv_model_segments(&net, QV_ALG_SEGMENTED, 128, 3 << 16);
	const double round = net.alpha + (3 << 16) / N * (net.beta + net.gamma);
	double slow, fast;
	int by_arrival;

	for (uint32_t r = 7; r < 128; r += 8)
		arrive[r] = (uint64_t)(.5 * (6 + N) * round * 1e9);
	slow = time_of(faithful, call, &by_arrival);
	assert_true(by_arrival);
	fast = time_of(extended, call, &by_arrival);
	assert_false(by_arrival);
	if (fast > .9 * slow)
		fail_msg("%g us and %g us", 1e6 * fast, 1e6 * slow);
	qv_select_close(faithful);
	qv_select_close(extended);
}

/* Broadcasts, one late by the binomial tree's time, at each place in turn, also of lengths at the ends of a
 * class: the tree that knows it is not slower than that one. `auto` takes it where half of the others would be
 * behind that rank, and not where it is the root, for which all wait. */
static void test_late_broadcast(void **unused)
{
	static const size_t lengths[] = {8, 1025};
	struct qv_select *knows = open_select("broadcast=clairvoyant:faithful"),
			 *tree = open_select("broadcast=binomial"), *s = open_select(NULL);
	static uint64_t arrive[64];
	int by_arrival;

	for (uint32_t i = 0; i < 4; i++) {
		struct qv_select_call call = {.coll = QV_COLL_BROADCAST,
					      .ranks = i % 2 ? 16 : 64,
					      .root = 3,
					      .bytes = lengths[i / 2],
					      .arrive = arrive};
		const uint32_t middle = 3 + call.ranks / 2; /* half of the others are behind it */
		const double round = net.alpha + (double)call.bytes * net.beta;

		for (uint32_t late = 0; late < call.ranks; late++) {
			double known, blind;

			memset(arrive, 0, sizeof(arrive));
			arrive[late] = (uint64_t)(log2(call.ranks) * round * 1e9);
			blind = time_of(tree, call, &by_arrival);
			known = time_of(knows, call, &by_arrival);
			assert_true(by_arrival);
			assert_true(known <= 1.02 * blind);
			if (late != middle && late != call.root)
				continue;
			assert_true(time_of(s, call, &by_arrival) <= 1.02 * blind);
			assert_int_equal(by_arrival, late == middle);
			if (late == middle)
				assert_true(1.5 * known < blind);
		}
	}
	qv_select_close(knows);
	qv_select_close(tree);
	qv_select_close(s);
}

/* An algorithm that is not built from arrivals has one plan, whoever is late; segments are those of its length. */
static void test_blind(void **unused)
{
	static const char *const rules[] = {"broadcast=ring", "broadcast=pipeline",
					    "allreduce=pipeline", "allreduce=redirect"};
	static uint64_t arrive[128];

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct qv_select *s = open_select(rules[i]);
		struct qv_select_call call = {.coll = i < 2 ? QV_COLL_BROADCAST : QV_COLL_ALLREDUCE,
					      .ranks = 128,
					      .bytes = 1500};
		const struct qv_plan *blind, *told;

		assert_int_equal(qv_select_get(s, &call, &blind), QV_OK);
		call.arrive = arrive;
		arrive[1 + i] = 1000000;
		assert_int_equal(qv_select_get(s, &call, &told), QV_OK);
		assert_ptr_equal(blind, told);
		qv_select_put(s, blind);
		qv_select_put(s, told);
		qv_select_close(s);
	}
}

/* What is kept. */

static void test_kept(void **unused)
{
	static const struct qv_network other = {.alpha = 1e-6, .beta = 1e-9, .gamma = 1e-9},
				       wrong = {.alpha = -1, .beta = 0, .gamma = 0},
				       none = {.alpha = NAN, .beta = 0, .gamma = 0};
	static const struct qv_network order = {.alpha = 1, .longer = {{100, 1, 1}, {50, 1, 1}}},
				       gap = {.alpha = 1, .longer = {{0, 1, 1}, {50, 1, 1}}};
	struct qv_select *s = open_select(NULL);
	struct qv_select_call call = {.ranks = 4, .bytes = 1500, .group = 1};
	const struct qv_plan *a, *b;
	size_t plans;
	uint64_t found;

	assert_int_equal(qv_select_get(s, &call, &a), QV_OK);
	call.bytes = 1100; /* the same class */
	assert_int_equal(qv_select_get(s, &call, &b), QV_OK);
	assert_ptr_equal(a, b);
	qv_select_put(s, b);
	call.group = 2;
	assert_int_equal(qv_select_get(s, &call, &b), QV_OK);
	assert_ptr_not_equal(a, b);
	qv_select_put(s, b);
	qv_select_stats(s, &plans, &found);
	assert_int_equal(plans, 2);
	assert_int_equal(found, 1);
	qv_select_forget(s, 1); /* a is in use */
	qv_select_forget(s, 2);
	qv_select_stats(s, &plans, &found);
	assert_int_equal(plans, 1);
	/* Ranges of lengths that are not in order are no network. */
	assert_int_equal(qv_select_network(s, &order), QV_EINVAL);
	assert_int_equal(qv_select_bursts(s, &order), QV_EINVAL);
	assert_int_equal(qv_select_bursts(s, &gap), QV_EINVAL);
	/* Another network, other plans. */
	call.group = 1;
	assert_int_equal(qv_select_network(s, &wrong), QV_EINVAL);
	assert_int_equal(qv_select_network(s, &none), QV_EINVAL);
	assert_int_equal(qv_select_network(s, &other), QV_OK);
	assert_int_equal(qv_select_get(s, &call, &b), QV_OK);
	assert_ptr_not_equal(a, b);
	qv_select_put(s, a);
	qv_select_put(s, b);
	/* There is an end to it. */
	for (call.group = 3; call.group < 2000; call.group++) {
		assert_int_equal(qv_select_get(s, &call, &a), QV_OK);
		qv_select_put(s, a);
	}
	qv_select_stats(s, &plans, &found);
	assert_in_range(plans, 10, 256);
	call.rank = 4;
	assert_int_equal(qv_select_get(s, &call, &a), QV_EINVAL);
	qv_select_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),     cmocka_unit_test(test_segments),
		cmocka_unit_test(test_rules),     cmocka_unit_test(test_named),
		cmocka_unit_test(test_numbers),   cmocka_unit_test(test_paces),
		cmocka_unit_test(test_broadcast), cmocka_unit_test(test_factors),
		cmocka_unit_test(test_all_agree), cmocka_unit_test(test_one_late),
		cmocka_unit_test(test_lengths),   cmocka_unit_test(test_floor),
		cmocka_unit_test(test_kept),      cmocka_unit_test(test_late_broadcast),
		cmocka_unit_test(test_blind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
