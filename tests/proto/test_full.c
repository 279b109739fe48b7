/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_full.c - a transport that takes nothing for a peer: it is told to connect anew, after a
 * second at first and then less and less often, whether or not the peer is heard.
 */
#include "tests/proto/rig/rig.h"

static const struct qv_xport_ops *loop_ops;
static bool full; /* what node 0 sends */
static unsigned reconnects;

static int inject(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt)
{
	return full ? QV_EAGAIN : loop_ops->inject(x, to, iov, cnt);
}

static int send(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt,
		struct qv_xfer *xfer)
{
	return full ? QV_EAGAIN : loop_ops->send(x, to, iov, cnt, xfer);
}

static void reconnect(struct qv_xport *x, uint64_t addr, bool others)
{
	assert_int_equal(addr, 1);
	reconnects++;
}

/* Nodes 0 and 1 know each other. */
static struct rig *start(void)
{
	static struct qv_xport_ops ops;
	struct rig *rig = rig_start(2, false);

	full = false;
	reconnects = 0;
	loop_ops = rig->node[0].x->ops;
	ops = *loop_ops;
	ops.inject = inject;
	ops.send = send;
	ops.reconnect = reconnect;
	rig->node[0].x->ops = &ops;
	for (unsigned at = 0; at < 2; at++) {
		struct rig_req *rx = rig_recv(rig, !at, RIG_ANY, 100, 1, 0);

		rig_wait_long(rig, rig_send(rig, at, !at, 100, 1, 0), rx);
	}
	rig_ticks(rig, 5000);
	return rig;
}

/* Full for 12 s: after 1, 3, 7 s. */
static void nothing_goes(bool heard)
{
	struct rig *rig = start();
	struct rig_req *rx = rig_recv(rig, 1, RIG_ANY, 100, 7, 0);
	struct rig_req *tx;

	qv_loop_chaos(rig->loop)->lose[0] = 1000; /* it was taken, and waits to be acknowledged */
	tx = rig_send(rig, 0, 1, 100, 7, 0);
	rig_settle(rig);
	full = true;
	for (unsigned i = 0; i < 60; i++) {
		if (heard) {
			rig_recv(rig, 0, RIG_ANY, 8, i, 0);
			rig_send(rig, 1, 0, 8, i, 0);
		}
		rig_ticks(rig, 200);
	}
	assert_in_range(reconnects, 2, 4);
	qv_loop_chaos(rig->loop)->lose[0] = 0;
	full = false;
	rig_wait_long(rig, tx, rx);
	rig_check(rx, tx);
	rig_ticks(rig, 5000);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void silent(void **state)
{
	nothing_goes(false);
}

static void heard_meanwhile(void **state)
{
	nothing_goes(true);
}

/* It was full once, and what was on its way arrived; that it is again for a moment, long after, is
 * another matter. */
static void moments(void **state)
{
	struct rig *rig = start();

	for (unsigned i = 0; i < 4; i++) {
		struct rig_req *rx = rig_recv(rig, 1, RIG_ANY, 100, i, 0), *tx;

		qv_loop_hold(rig->loop, 0, 1, true);
		tx = rig_send(rig, 0, 1, 100, i, 0);
		rig_settle(rig);
		full = true;
		rig_ticks(rig, 500);
		qv_loop_hold(rig->loop, 0, 1, false);
		rig_ticks(rig, 100);
		full = false;
		rig_wait_long(rig, tx, rx);
		rig_ticks(rig, 5000);
	}
	assert_int_equal(reconnects, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent),
		cmocka_unit_test(heard_meanwhile),
		cmocka_unit_test(moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
