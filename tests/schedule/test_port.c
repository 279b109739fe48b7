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
#include "engine/schedule/schedule.h" /* whether blocks are of one length */

#define RANKS 32
#define ROOM  128  /* elements */
#define TEMP  4096 /* of scratch, which holds whatever is forwarded */
#define OPS   8192 /* under way at once */

struct op {
	uint32_t rank, step, peer, tag;
	int is_send;
	const void *from;
	void *into;
	size_t bytes;
};

/* Operations that wait for their other end, or to be delivered. */
static struct op ops[OPS];
static size_t ops_n;
static struct qv_run *runs[RANKS];
static uint64_t state;
static int is_barrier; /* its messages have no bytes */
static int fail_after; /* so many more messages until one fails; 0: none does */

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 20;
}

static int start(const struct op *op)
{
	if (draw() % 4 == 0)
		return QV_EAGAIN;
	assert_true((op->bytes > 0 || is_barrier) && ops_n < OPS);
	ops[ops_n++] = *op;
	return QV_OK;
}

static int port_send(void *port, uint32_t step, uint32_t peer, uint32_t tag, const void *buf,
		     size_t bytes)
{
	const uint32_t rank = *(uint32_t *)port;

	return start(&(struct op){rank, step, peer, tag, 1, buf, NULL, bytes});
}

static int port_receive(void *port, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
			size_t bytes)
{
	const uint32_t rank = *(uint32_t *)port;

	return start(&(struct op){rank, step, peer, tag, 0, NULL, buf, bytes});
}

static const struct qv_port calls = {port_send, port_receive};

static struct op take(size_t i)
{
	const struct op op = ops[i];

	ops[i] = ops[--ops_n];
	return op;
}

static int fit(const struct op *a, const struct op *b)
{
	return a->is_send != b->is_send && a->rank == b->peer && a->peer == b->rank &&
	       a->tag == b->tag;
}

/* Some message that has both ends. */
static void deliver(void)
{
	const size_t first = ops_n ? draw() % ops_n : 0;

	for (size_t k = 0; k < ops_n; k++) {
		const size_t i = (first + k) % ops_n;

		for (size_t j = 0; j < ops_n; j++) {
			struct op a = ops[i], b = ops[j];

			if (!fit(&a, &b))
				continue;
			take(i > j ? i : j);
			take(i > j ? j : i);
			assert_int_equal(a.bytes, b.bytes);
			if (a.bytes)
				memcpy(a.is_send ? b.into : a.into, a.is_send ? a.from : b.from,
				       a.bytes);
			qv_run_done(runs[a.rank], a.step, fail_after == 1 ? QV_EIO : QV_OK);
			fail_after -= fail_after > 0;
			qv_run_done(runs[b.rank], b.step, QV_OK);
			return;
		}
	}
}

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

static uint32_t in[RANKS][2 * ROOM], work[RANKS][2 * ROOM], temp[RANKS][2 * TEMP], want[2 * ROOM];
static uint32_t ranks[RANKS];

static void open_runs(struct qv_sched_case *c)
{
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		ranks[r] = r;
		assert_int_equal(qv_run_create(c->all[r], &calls, &ranks[r], &runs[r]), QV_OK);
		assert_true(qv_schedule_scratch(c->all[r]) * ROOM / c->spec.ranks <= TEMP);
	}
	ops_n = 0;
}

static void begin(struct qv_sched_case *c, size_t count)
{
	const qv_reduce_fn reduce = c->spec.ordered ? chain : add;

	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		const struct qv_run_data data = {reduce, NULL,    8,       count,
						 in[r],  work[r], temp[r], NULL};

		for (size_t i = 0; i < 2 * count; i++)
			in[r][i] = (uint32_t)draw() | 1;
		assert_int_equal(qv_run_start(runs[r], &data), QV_OK);
	}
	memcpy(want, in[0], 8 * count);
	for (uint32_t r = 1; r < c->spec.ranks; r++)
		reduce(NULL, want, want, in[r], count);
}

static void check(struct qv_sched_case *c, size_t count)
{
	const struct qv_schedule_spec *spec = &c->spec;
	const void *inputs[RANKS];

	for (uint32_t r = 0; r < spec->ranks; r++)
		inputs[r] = in[r];
	for (uint32_t r = 0; r < spec->ranks; r++) {
		size_t from = 0, to = count;

		if (spec->coll >= QV_COLL_BARRIER) {
			qv_sched_check_moved(spec, r, count, 8, work[r], inputs);
			continue;
		}
		if (spec->coll == QV_COLL_REDUCE && r != spec->root)
			continue;
		if (spec->coll == QV_COLL_REDUCE_SCATTER) {
			from = count * r / spec->ranks;
			to = count * (r + 1) / spec->ranks;
		}
		if (memcmp(work[r] + 2 * from, want + 2 * from, 8 * (to - from)))
			fail_msg("%s: rank %u is wrong", qv_sched_case_name(spec), r);
	}
}

static void close_runs(struct qv_sched_case *c)
{
	for (uint32_t r = 0; r < c->spec.ranks; r++)
		qv_run_free(runs[r]);
}

/* Until all runs are over; ranks come to it when they like. */
static void to_the_end(struct qv_sched_case *c)
{
	int over[RANKS] = {0};
	uint32_t left = c->spec.ranks;

	for (int turns = 0; left; turns++) {
		for (uint32_t r = 0; r < c->spec.ranks; r++) {
			if (over[r] || draw() % 2)
				continue;
			over[r] = qv_run_progress(runs[r]) == QV_OK;
			left -= (uint32_t)over[r];
		}
		deliver();
		deliver();
		if (turns > 100000)
			fail_msg("%s: no end", qv_sched_case_name(&c->spec));
	}
	assert_int_equal(ops_n, 0);
}

static void several_times(struct qv_sched_case *c)
{
	const struct qv_run_data again = {.item = 8};

	state = 88172645463325252u;
	fail_after = 0;
	open_runs(c);
	is_barrier = c->spec.coll == QV_COLL_BARRIER;
	for (size_t count = 0; count <= 100; count = count * 3 + 1) {
		if (!qv_count_fits(c->all[0], count)) {
			assert_int_equal(
				qv_run_start(runs[0],
					     &(struct qv_run_data){.item = 8, .count = count}),
				QV_EINVAL);
			count += c->spec.ranks - count % c->spec.ranks;
		}
		begin(c, count);
		if (c->spec.coll != QV_COLL_BARRIER || c->spec.ranks > 1) /* else it is over */
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

	state = 99;
	qv_sched_case_open(&c, &spec);
	open_runs(&c);
	begin(&c, 40);
	fail_after = 3;
	for (int turns = 0; turns < 1000; turns++) {
		for (uint32_t r = 0; r < 4; r++)
			qv_run_progress(runs[r]);
		deliver();
	}
	for (uint32_t r = 0; r < 4; r++)
		failed += qv_run_progress(runs[r]) == QV_EIO;
	assert_int_equal(failed, 1);
	before = ops_n;
	for (uint32_t r = 0; r < 4; r++)
		if (qv_run_progress(runs[r]) == QV_EIO)
			assert_int_equal(qv_run_progress(runs[r]), QV_EIO);
	assert_int_equal(ops_n, before);
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
