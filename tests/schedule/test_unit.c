/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unit.c - reductions by ranks that run the combine units of a tree: any group, root, number
 * of ways and length; a late rank delays only what needs it; a rank sends no more than there is
 * room for; several reductions under way.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/select.h>

#include "sched_case.h"
#include "tests/net/tagged.h"

#define MOST    40
#define RUNS    2
#define WORDS   512 /* of an element: four of them are a packet */
#define COUNT   41
#define AT_ONCE 4

typedef uint32_t vector[COUNT][WORDS];

static struct qv_schedule *all[MOST];
static struct qv_run *runs[RUNS][MOST];
static struct qv_end ends[RUNS][MOST];
static vector *in, *work[RUNS];
static unsigned int combined;
static struct qv_select *select_unit;

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int fails; /* the status of the next message that comes, or QV_OK */

static void over(struct qv_end at, uint32_t step, size_t bytes, int status)
{
	if (!status && at.rank == 0) {
		status = fails;
		fails = QV_OK;
	}
	qv_run_done(runs[at.group][at.rank], step, status);
}

static const struct qv_port calls = {qv_tagged_send, qv_tagged_receive};

static void add(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const uint32_t *x = a, *y = b;
	uint32_t *d = dst;

	for (size_t i = 0; i < count * WORDS; i++)
		d[i] = x[i] + y[i];
	combined++;
}

static void open_group(const struct qv_schedule_spec *spec)
{
	static char why[256];

	qv_tagged = (struct qv_tagged){.over = over, .busy = 4, .exact = true, .early = true};
	assert_int_equal(qv_schedule_build_all(spec, all), QV_OK);
	if (qv_schedule_check(spec, all, why, sizeof(why)))
		fail_msg("%s: %s", qv_sched_case_name(spec), why);
	for (uint32_t run = 0; run < RUNS; run++)
		for (uint32_t r = 0; r < spec->ranks; r++) {
			ends[run][r] = (struct qv_end){run, r};
			assert_int_equal(
				qv_run_create(all[r], &calls, &ends[run][r], &runs[run][r]), QV_OK);
		}
	combined = 0;
}

static void close_group(const struct qv_schedule_spec *spec)
{
	for (uint32_t r = 0; r < spec->ranks; r++) {
		for (uint32_t run = 0; run < RUNS; run++)
			qv_run_free(runs[run][r]);
		qv_schedule_free(all[r]);
	}
	qv_tagged_clear();
}

static void begin(uint32_t run, uint32_t rank, size_t count)
{
	const struct qv_run_data data = {.reduce = add,
					 .item = sizeof(in[0][0]),
					 .count = count,
					 .in = in[rank],
					 .work = work[run][rank]};

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < WORDS; j++)
			in[rank][i][j] = (uint32_t)(rank * 1000003 + i * WORDS + j);
	assert_int_equal(qv_run_start(runs[run][rank], &data), QV_OK);
}

static void check(const struct qv_schedule_spec *spec, uint32_t run, size_t count)
{
	for (uint32_t r = 0; r < spec->ranks; r++)
		for (size_t i = 0; i < count * WORDS; i++) {
			const uint32_t P = spec->ranks, sum = P * (P - 1) / 2 * 1000003;

			if (spec->coll == QV_COLL_REDUCE && r != spec->root)
				continue;
			if (work[run][r][i / WORDS][i % WORDS] != sum + P * (uint32_t)i)
				fail_msg("%s: rank %u is wrong at %zu", qv_sched_case_name(spec), r,
					 i);
		}
}

/* Ranks, but for one, go on until nothing moves. Returns how many runs are over. */
static uint32_t go_on(uint32_t ranks, uint32_t without)
{
	uint32_t ended = 0;

	for (unsigned int turns = 0; turns < 4000; turns++) {
		const uint32_t r = (uint32_t)qv_tagged_draw(ranks);

		if (r != without)
			qv_run_progress(runs[qv_tagged_draw(RUNS)][r]);
		while (qv_tagged_deliver())
			turns = 0;
	}
	for (uint32_t i = 0; i < RUNS * ranks; i++)
		if (i % ranks != without)
			ended += qv_run_progress(runs[i / ranks][i % ranks]) == QV_OK;
	return ended;
}

/* Two reductions are under way at a time. */
static void any_group(void **unused)
{
	uint32_t load[MOST];

	for (unsigned int i = 0; i < 60; i++) {
		struct qv_schedule_spec spec = {.size = sizeof(spec),
						.coll = i % 2 ? QV_COLL_REDUCE : QV_COLL_ALLREDUCE,
						.algorithm = QV_ALG_UNIT,
						.ranks = 2 + (uint32_t)qv_tagged_draw(MOST - 1),
						.k = 2 + (uint32_t)qv_tagged_draw(11),
						.load = i % 3 ? load : NULL};

		qv_tagged_seed(i);
		for (uint32_t r = 0; r < MOST; r++)
			load[r] = (uint32_t)qv_tagged_draw(5);
		spec.root = i % 2 ? (uint32_t)qv_tagged_draw(spec.ranks) : 0;
		open_group(&spec);
		for (uint32_t r = 0; r < spec.ranks; r++) {
			begin(0, r, 1 + i % COUNT);
			begin(1, r, 1 + i % 5);
		}
		assert_int_equal(go_on(spec.ranks, MOST), RUNS * spec.ranks);
		assert_int_equal(qv_tagged_n(), 0);
		check(&spec, 0, 1 + i % COUNT);
		check(&spec, 1, 1 + i % 5);
		close_group(&spec);
	}
}

/* Ranks 1 to 3, 4, 8 and 12 hang on rank 0, and 5 to 7 on rank 4. Without rank 5, two operands are
 * missing: its own at rank 4, and rank 4's at rank 0. All others are combined, whichever come first,
 * but for the root's own, which is last. */
static void late(void **unused)
{
	const struct qv_schedule_spec spec = {
		.coll = QV_COLL_REDUCE, .algorithm = QV_ALG_UNIT, .ranks = 16};

	for (uint64_t seed = 0; seed < 20; seed++) {
		qv_tagged_seed(seed);
		open_group(&spec);
		for (uint32_t r = 0; r < spec.ranks; r++) {
			begin(1, r, 0);
			if (r != 5)
				begin(0, r, 4);
		}
		assert_int_equal(go_on(spec.ranks, 5), 15 + 13); /* not ranks 0 and 4 */
		assert_int_equal(combined, 15 - 3);
		begin(0, 5, 4);
		assert_int_equal(go_on(spec.ranks, MOST), RUNS * spec.ranks);
		assert_int_equal(combined, 15);
		check(&spec, 0, 4);
		close_group(&spec);
	}
}

/* A message that fails ends its run with what it says, and nothing is combined from it. */
static void failed(void **unused)
{
	const struct qv_schedule_spec spec = {
		.coll = QV_COLL_REDUCE, .algorithm = QV_ALG_UNIT, .ranks = 4};

	qv_tagged_seed(3);
	open_group(&spec);
	for (uint32_t r = 0; r < spec.ranks; r++)
		begin(0, r, 4);
	fails = QV_ENOMEM;
	go_on(spec.ranks, MOST);
	assert_int_equal(qv_run_progress(runs[0][0]), QV_ENOMEM);
	assert_true(combined < 3);
	close_group(&spec);
}

/* The rank that it hangs on has not come: it sends what that has places for, and waits for one
 * more. */
static void credits(void **unused)
{
	const struct qv_schedule_spec spec = {
		.coll = QV_COLL_REDUCE, .algorithm = QV_ALG_UNIT, .ranks = 4};

	qv_tagged_seed(7);
	open_group(&spec);
	qv_tagged.early = false;
	begin(0, 2, COUNT);
	for (unsigned int turns = 0; turns < 100; turns++)
		qv_run_progress(runs[0][2]);
	assert_int_equal(qv_tagged_n(), AT_ONCE + 1);
	close_group(&spec);
}

/* 200 groups of 2 to 19 of so many ranks, in any order. How many units the rank that runs most of
 * them has, as a multiple of the mean. */
static double uneven(int by_load)
{
	enum { RANKS = 256 };
	uint32_t load[RANKS] = {0}, most = 0, units = 0;

	for (unsigned int group = 0; group < 200; group++) {
		uint32_t ranks[RANKS], of_group[RANKS];
		struct qv_select_call call = {.ranks = 2 + (uint32_t)qv_tagged_draw(18)};

		for (uint32_t r = 0; r < RANKS; r++)
			ranks[r] = r;
		for (uint32_t i = 0; i < call.ranks; i++) {
			const uint32_t j = i + (uint32_t)qv_tagged_draw(RANKS - i), r = ranks[j];

			ranks[j] = ranks[i];
			ranks[i] = r;
		}
		qsort(ranks, call.ranks, sizeof(ranks[0]), by_number);
		for (uint32_t i = 0; i < call.ranks; i++)
			of_group[i] = load[ranks[i]];
		call.load = by_load ? of_group : NULL;
		for (; call.rank < call.ranks; call.rank++)
			load[ranks[call.rank]] += (uint32_t)qv_select_units(select_unit, &call);
	}
	for (uint32_t r = 0; r < RANKS; r++) {
		most = load[r] > most ? load[r] : most;
		units += load[r];
	}
	return (double)most * RANKS / units;
}

static void leaders(void **unused)
{
	double least = 1e9, worst = 0;

	assert_int_equal(qv_select_open("allreduce=unit", NULL, 0, &select_unit), QV_OK);
	for (uint64_t seed = 0; seed < 20; seed++) {
		double even, naive;

		qv_tagged_seed(seed);
		even = uneven(1);
		qv_tagged_seed(seed);
		naive = uneven(0);
		worst = even > worst ? even : worst;
		least = naive < least ? naive : least;
	}
	print_message("most by mean: %.2f at most, %.2f at least if the first one leads\n", worst,
		      least);
	assert_true(worst <= 2);
	assert_true(least > 3);
	qv_select_close(select_unit);
}

/* Whether a rank of an allreduce is sent operands to combine. */
static int combines(const struct qv_select_call *call)
{
	const struct qv_plan *plan;
	const struct qv_step *steps;
	int found = 0;
	size_t n;

	assert_int_equal(qv_select_get(select_unit, call, &plan), QV_OK);
	steps = qv_schedule_steps(plan->schedule, &n);
	for (size_t i = 0; i < n; i++)
		found |= steps[i].kind == QV_STEP_COMBINE;
	qv_select_put(select_unit, plan);
	return found;
}

/* Those that count as leaders are those that combine. */
static void who_leads(void **unused)
{
	static const char *const rules[] = {"allreduce=unit", "allreduce=unit:2",
					    "allreduce=unit:3", "allreduce=unit:7"};
	uint32_t load[MOST];

	qv_tagged_seed(1);
	for (unsigned int i = 0; i < 200; i++) {
		struct qv_select_call call = {.group = i,
					      .coll = QV_COLL_ALLREDUCE,
					      .ranks = 1 + (uint32_t)qv_tagged_draw(MOST),
					      .bytes = 8,
					      .load = i % 3 ? load : NULL};

		for (uint32_t r = 0; r < MOST; r++)
			load[r] = (uint32_t)qv_tagged_draw(5);
		assert_int_equal(qv_select_open(rules[i % 4], NULL, 0, &select_unit), QV_OK);
		for (; call.rank < call.ranks; call.rank++)
			assert_int_equal(qv_select_units(select_unit, &call), combines(&call));
		qv_select_close(select_unit);
	}
}

static void too_many_ways(void **unused)
{
	struct qv_schedule_spec spec = {
		.coll = QV_COLL_REDUCE, .algorithm = QV_ALG_UNIT, .ranks = 5000, .k = 32};
	struct qv_schedule *s = NULL;

	/* A unit has 64 ports, whatever is asked for. */
	assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_OK);
	qv_schedule_free(s);
	spec.k = 33;
	assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_EINVAL);
	spec.k = 1;
	assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_EINVAL);
	spec.k = 0;
	spec.ordered = 1;
	assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_group),    cmocka_unit_test(late),
		cmocka_unit_test(failed),       cmocka_unit_test(credits),
		cmocka_unit_test(leaders),      cmocka_unit_test(who_leads),
		cmocka_unit_test(too_many_ways)};

	in = calloc((1 + RUNS) * MOST, sizeof(*in));
	if (!in)
		return 1;
	for (uint32_t run = 0; run < RUNS; run++)
		work[run] = in + (1 + run) * MOST;
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
