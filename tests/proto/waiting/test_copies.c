/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_copies.c - injected messages that are not short: the memory is the sender's again at once, all
 * of them arrive, and what waits for a receiver that takes nothing is bounded as long as it is silent.
 */
#include "tests/proto/rig/rig.h"

#include <stdlib.h>

#define BUDGET 65536u
#define LEN    QV_PROTO_INJECT
#define MOST   20000u

static struct rig *start(unsigned nodes)
{
	struct rig_settings set = rig_defaults(nodes);
	struct rig *rig;

	set.budget = BUDGET;
	rig = rig_new(&set);
	for (unsigned to = 1; to < nodes; to++) {
		struct rig_req *recv = rig_recv(rig, to, 0, 0, 0, 0);

		rig_wait(rig, recv, rig_send(rig, 0, to, 0, 0, 0));
	}
	rig_settle(rig);
	return rig;
}

static size_t held(struct rig *rig, unsigned to)
{
	return rig_peer(rig, 0, to)->copies.bytes;
}

/* Tags n, n + 1, ... until there is no more room; returns the next. */
static unsigned inject_all(struct rig *rig, unsigned to, unsigned n, unsigned flags)
{
	const unsigned end = n + MOST;
	int rc;

	do {
		rc = rig_send_req(rig_req_new(rig, 0, LEN, 1), to, n, QV_REQ_INJECT | flags);
	} while (rc == QV_OK && ++n < end);
	assert_int_equal(rc, QV_EAGAIN);
	return n;
}

static void receive_all(struct rig *rig, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rig_req *recv = rig_recv(rig, 1, 0, LEN, i, 0);

		rig_wait_long(rig, recv, NULL);
		rig_check_status(recv, QV_OK);
		assert_int_equal(recv->comp.len, LEN);
	}
	rig_settle(rig);
}

/* Longer than what the receiver has room for in all; in any order. */
static void arrive_whole(void **state)
{
	enum { N = 300 };
	struct rig *rig = start(2);
	struct rig_req *send[N], *recv[N];

	for (unsigned i = 0; i < N; i++) {
		size_t len = QV_PROTO_SHORT + 1 +
			     qv_random_below(&rig->rng, QV_PROTO_INJECT - QV_PROTO_SHORT);

		send[i] = rig_req_new(rig, 0, len, 1 + i % QV_IOV_MAX);
		assert_int_equal(
			rig_send_req(send[i], 1, i, QV_REQ_INJECT | (i % 2 ? QV_REQ_TAGGED : 0)),
			QV_OK);
	}
	rig_settle(rig);
	assert_true(held(rig, 1) > 0);
	assert_true(qv_proto_unsent(rig->node[0].p) > 0);
	for (unsigned i = N; i--;)
		recv[i] = rig_recv(rig, 1, 0, LEN, i, i % 2 ? QV_REQ_TAGGED : 0);
	for (unsigned i = 0; i < N; i++) {
		rig_wait_long(rig, send[i], recv[i]);
		rig_check(recv[i], send[i]);
	}
	rig_settle(rig);
	assert_int_equal(held(rig, 1), 0);
	assert_int_equal(qv_proto_unsent(rig->node[0].p), 0);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

static void too_long(void **state)
{
	struct rig *rig = start(2);

	assert_int_equal(
		rig_send_req(rig_req_new(rig, 0, QV_PROTO_INJECT + 1, 1), 1, 1, QV_REQ_INJECT),
		QV_EINVAL);
	rig_free(rig);
}

/* Who does not answer holds its sender back, and no other; who answers and receives nothing may be in
 * the same need, so there is more room then. */
static void bounded_while_silent(void **state)
{
	struct rig *rig = start(3);
	unsigned n, more;
	size_t first;

	qv_loop_hold(rig->loop, 1, 0, true);
	rig_ticks(rig, 100);
	n = inject_all(rig, 1, 0, 0);
	first = held(rig, 1);
	assert_true(first > 0);
	for (unsigned i = 0; i < 20; i++) {
		rig_ticks(rig, 100);
		assert_int_equal(inject_all(rig, 1, n, 0), n);
	}
	assert_int_equal(held(rig, 1), first);
	inject_all(rig, 2, 0, 0);
	qv_loop_hold(rig->loop, 1, 0, false);
	for (unsigned i = 0; i < 10; i++) {
		rig_ticks(rig, 100);
		more = inject_all(rig, 1, n, 0);
		if (more > n)
			break;
	}
	assert_true(more > n);
	assert_in_range(held(rig, 1), first + LEN, 2 * first + 2 * LEN);
	receive_all(rig, more);
	assert_int_equal(held(rig, 1), 0);
	rig_free(rig);
}

/* A receiver that takes some now and then is waited for. */
static void bounded_while_taken(void **state)
{
	struct rig *rig = start(2);
	unsigned n = inject_all(rig, 1, 0, 0);
	size_t first = held(rig, 1);

	for (unsigned i = 0; i < 100; i++) {
		struct rig_req *recv = rig_recv(rig, 1, 0, LEN, n - 1 - i, 0);

		rig_wait_long(rig, recv, NULL);
		rig_ticks(rig, 100);
		(void)inject_all(rig, 1, MOST * (i + 1), 0);
	}
	assert_in_range(held(rig, 1), 0, first);
	rig_free(rig);
}

/* Two that both inject more than there is room for, before they receive, do not wait for ever. */
static void both_before_they_receive(void **state)
{
	enum { N = 6000 };
	struct rig *rig = start(2);
	unsigned sent[2] = {0, 0};

	for (unsigned tries = 0; sent[0] + sent[1] < 2 * N; tries++) {
		assert_in_range(tries, 0, 1000);
		for (unsigned from = 0; from < 2; from++)
			while (sent[from] < N && !rig_send_req(rig_req_new(rig, from, LEN, 1),
							       !from, sent[from], QV_REQ_INJECT))
				sent[from]++;
		rig_ticks(rig, 100);
	}
	for (unsigned i = 0; i < N; i++)
		for (unsigned to = 0; to < 2; to++) {
			struct rig_req *recv = rig_recv(rig, to, !to, LEN, i, 0);

			rig_wait_long(rig, recv, NULL);
			rig_check_status(recv, QV_OK);
		}
	rig_settle(rig);
	assert_int_equal(held(rig, 1), 0);
	rig_free(rig);
}

/* Nobody waits for the dead, and the next session has all the room; the loss is told. */
static void to_the_dead(void **state)
{
	enum qv_loop_death how[] = {QV_LOOP_ERRORS, QV_LOOP_SILENT, QV_LOOP_STUCK};

	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = start(2);

		inject_all(rig, 1, 0, QV_REQ_QUIET);
		rig_kill(rig, 1, how[i], false);
		rig_give_up(rig->node[0].p, rig->node[0].x, 1);
		rig_ticks(rig, 100);
		assert_int_equal(qv_proto_unsent(rig->node[0].p), 0);
		if (how[i] != QV_LOOP_STUCK)
			assert_int_equal(held(rig, 1), 0);
		assert_true(rig_peer(rig, 0, 1)->untold);
		rig_free(rig);
	}
}

/* What waits at its receiver does not wait here, though its end is to come. */
static void eager_is_not_held(void **state)
{
	struct rig *rig = start(2);
	struct rig_req *send = rig_req_new(rig, 0, 2000, 1), *recv;

	assert_int_equal(rig_send_req(send, 1, 7, QV_REQ_INJECT | QV_REQ_ACK), QV_OK);
	rig_settle(rig);
	rig_ticks(rig, 100);
	assert_int_equal(send->done, 0);
	assert_int_equal(held(rig, 1), 0);
	assert_int_equal(qv_proto_unsent(rig->node[0].p), 0);
	recv = rig_recv(rig, 1, 0, 2000, 7, 0);
	rig_wait(rig, send, recv);
	rig_check(recv, send);
	rig_free(rig);
}

/* One that is refused for want of memory has not begun. */
static void without_memory(void **state)
{
	struct rig *rig = start(2);
	struct rig_req *send = rig_req_new(rig, 0, LEN, 2), *recv;
	unsigned failed = 0;
	int rc = QV_ENOMEM;

	for (unsigned after = 1; rc; after++) {
		qv_nomem_after(after, 0);
		rc = rig_send_req(send, 1, 7, QV_REQ_INJECT | QV_REQ_ACK);
		failed += rc == QV_ENOMEM;
		assert_true(rc == QV_OK || rc == QV_ENOMEM);
		assert_true(rc == QV_OK || !held(rig, 1));
	}
	qv_nomem_after(0, 0);
	assert_true(failed);
	recv = rig_recv(rig, 1, 0, LEN, 7, 0);
	rig_wait(rig, send, recv);
	rig_check(recv, send);
	rig_settle(rig);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrive_whole),
		cmocka_unit_test(too_long),
		cmocka_unit_test(bounded_while_silent),
		cmocka_unit_test(bounded_while_taken),
		cmocka_unit_test(both_before_they_receive),
		cmocka_unit_test(to_the_dead),
		cmocka_unit_test(eager_is_not_held),
		cmocka_unit_test(without_memory),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
