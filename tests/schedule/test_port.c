/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_port.c - runs of single ranks over a network that delivers when it likes, in any
 * order, is busy at times, and fails.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"
#include "engine/schedule/schedule.h" /* whether blocks are of one length, what is a scan */
#include "tests/net/tagged.h"

#define RANKS 32
#define ROOM  128  /* elements */
#define TEMP  4096 /* of scratch, which holds whatever is forwarded */

static struct qv_run *runs[RANKS];

static void over(struct qv_end at, uint32_t step, size_t bytes, int status)
{
	qv_run_done(runs[at.rank], step, status);
}

static const struct qv_tagged net = {.over = over, .busy = 4, .exact = true};
static const struct qv_port calls = {qv_tagged_send, qv_tagged_receive};

/* y -> factor * y + sum, one after the other: does not commute. */
static void chain(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const uint32_t *x = a, *y = b;
	uint32_t *d = dst;

	for (size_t i = 0; i < 2 * count; i += 2) {
		const uint32_t factor = x[i] * y[i], sum = x[i + 1] * y[i] + y[i + 1];

		d[i] = factor;
		d[i + 1] = sum;
	}
}

static void add(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const uint32_t *x = a, *y = b;
	uint32_t *d = dst;

	for (size_t i = 0; i < 2 * count; i++)
		d[i] = x[i] + y[i];
}

static qv_reduce_fn reduce_of(int ordered)
{
	return ordered ? chain : add;
}

static uint32_t in[RANKS][2 * ROOM], work[RANKS][2 * ROOM], temp[RANKS][2 * TEMP], want[2 * ROOM];
static struct qv_end ends[RANKS];

static void open_runs(struct qv_sched_case *c)
{
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		ends[r].rank = r;
		assert_int_equal(qv_run_create(c->all[r], &calls, &ends[r], &runs[r]), QV_OK);
		assert_true(qv_schedule_scratch(c->all[r]) * ROOM / c->spec.ranks <= TEMP);
	}
}

/* What is wanted is from now on of this rank, too. */
static void want_rank(uint32_t rank, size_t count, int ordered)
{
	if (rank)
		reduce_of(ordered)(NULL, want, want, in[rank], count);
	else
		memcpy(want, in[0], 8 * count);
}

static void begin(struct qv_sched_case *c, size_t count)
{
	const qv_reduce_fn reduce = reduce_of(c->spec.ordered);

	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		const struct qv_run_data data = {reduce, NULL,    8,       count,
						 in[r],  work[r], temp[r], NULL};

		for (size_t i = 0; i < 2 * count; i++)
			in[r][i] = (uint32_t)qv_tagged_draw(UINT32_MAX) | 1;
		assert_int_equal(qv_run_start(runs[r], &data), QV_OK);
	}
	for (uint32_t r = 0; r < c->spec.ranks && !qv_is_scan(c->spec.coll); r++)
		want_rank(r, count, c->spec.ordered);
}

static void check_rank(const struct qv_schedule_spec *spec, uint32_t rank, size_t count)
{
	size_t from = 0, to = count;

	if ((spec->coll == QV_COLL_REDUCE && rank != spec->root) ||
	    (spec->coll == QV_COLL_EXSCAN && !rank))
		return;
	if (spec->coll == QV_COLL_REDUCE_SCATTER) {
		from = count * rank / spec->ranks;
		to = count * (rank + 1) / spec->ranks;
	}
	if (memcmp(work[rank] + 2 * from, want + 2 * from, 8 * (to - from)))
		fail_msg("%s: rank %u is wrong", qv_sched_case_name(spec), rank);
}

static void check(struct qv_sched_case *c, size_t count)
{
	const struct qv_schedule_spec *spec = &c->spec;
	const void *inputs[RANKS];

	for (uint32_t r = 0; r < spec->ranks; r++)
		inputs[r] = in[r];
	for (uint32_t r = 0; r < spec->ranks; r++) {
		if (!qv_combines(spec->coll))
			qv_sched_check_moved(spec, r, count, 8, work[r], inputs);
		if (spec->coll == QV_COLL_SCAN)
			want_rank(r, count, spec->ordered);
		if (qv_combines(spec->coll))
			check_rank(spec, r, count);
		if (spec->coll == QV_COLL_EXSCAN)
			want_rank(r, count, spec->ordered);
	}
}

static void close_runs(struct qv_sched_case *c)
{
	for (uint32_t r = 0; r < c->spec.ranks; r++)
		qv_run_free(runs[r]);
	qv_tagged_clear();
}

/* Until all runs are over; ranks come to it when they like. */
static void to_the_end(struct qv_sched_case *c)
{
	int over[RANKS] = {0};
	uint32_t left = c->spec.ranks;

	for (int turns = 0; left; turns++) {
		for (uint32_t r = 0; r < c->spec.ranks; r++) {
			if (over[r] || qv_tagged_draw(2))
				continue;
			over[r] = qv_run_progress(runs[r]) == QV_OK;
			left -= (uint32_t)over[r];
		}
		qv_tagged_deliver();
		qv_tagged_deliver();
		if (turns > 100000)
			fail_msg("%s: no end", qv_sched_case_name(&c->spec));
	}
	assert_int_equal(qv_tagged_n(), 0);
}

static void several_times(struct qv_sched_case *c)
{
	const struct qv_run_data again = {.item = 8};

	qv_tagged = net;
	qv_tagged.empty = c->spec.coll == QV_COLL_BARRIER;
	qv_tagged_seed(0);
	open_runs(c);
	for (size_t count = 0; count <= 100; count = count * 3 + 1) {
		if (!qv_count_fits(c->all[0], count)) {
			assert_int_equal(
				qv_run_start(runs[0],
					     &(struct qv_run_data){.item = 8, .count = count}),
				QV_EINVAL);
			count += c->spec.ranks - count % c->spec.ranks;
		}
		begin(c, count);
		if (c->all[0]->n) /* else it is over */
			assert_int_equal(qv_run_start(runs[0], &again), QV_EAGAIN);
		to_the_end(c);
		check(c, count);
	}
	close_runs(c);
}

static void test_all(void **unused)
{
	for (uint32_t n = 1; n <= 9; n++) {
		qv_sched_each(n, several_times);
		qv_sched_each_move(n, several_times);
	}
	qv_sched_each(16, several_times);
	qv_sched_each(21, several_times);
	qv_sched_each_move(21, several_times);
}

/* One message fails: its rank says so and starts nothing more; after that it can be used again. */
static void test_failure(void **unused)
{
	const struct qv_schedule_spec spec = {
		.coll = QV_COLL_ALLREDUCE, .algorithm = QV_ALG_RING, .ranks = 4};
	struct qv_sched_case c;
	uint32_t failed = 0;
	size_t before;

	qv_tagged = net;
	qv_tagged_seed(99);
	qv_sched_case_open(&c, &spec);
	open_runs(&c);
	begin(&c, 40);
	qv_tagged.fail_after = 3;
	for (int turns = 0; turns < 1000; turns++) {
		for (uint32_t r = 0; r < 4; r++)
			qv_run_progress(runs[r]);
		qv_tagged_deliver();
	}
	for (uint32_t r = 0; r < 4; r++)
		failed += qv_run_progress(runs[r]) == QV_EIO;
	assert_int_equal(failed, 1);
	before = qv_tagged_n();
	for (uint32_t r = 0; r < 4; r++)
		if (qv_run_progress(runs[r]) == QV_EIO)
			assert_int_equal(qv_run_progress(runs[r]), QV_EIO);
	assert_int_equal(qv_tagged_n(), before);
	close_runs(&c);
	qv_sched_case_close(&c);
	several_times((qv_sched_case_open(&c, &spec), &c));
	qv_sched_case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
					   cmocka_unit_test(test_failure)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
