/* SPDX-License-Identifier: BSD-2-Clause */
/* test_closing.c - messages that come to an endpoint which is closing: none is taken, each sender
 * hears of it, whatever form it has. */
#include "tests/proto/rig/rig.h"

static struct rig *start(bool headerless)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv;
	struct rig *rig;

	set.limits.headerless = headerless;
	set.limits.read_max = 0;
	rig = rig_new(&set);
	rig->node[0].p->self.host ^= 2; /* another process: it can be told */
	recv = rig_recv(rig, 1, 0, 0, 0, 0);
	rig_wait(rig, recv, rig_send(rig, 0, 1, 0, 0, 0));
	rig_settle(rig);
	return rig;
}

/* A message that no receive waits for is not kept, and its sender is told that it was lost. */
static void unexpected(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig *rig = start(headerless);

		qv_proto_shutdown(rig->node[1].p);
		rig_send(rig, 0, 1, 8, 1, QV_REQ_TAGGED);
		rig_settle(rig);
		assert_int_equal(rig->node[1].p->unexps.live, 0);
		assert_true(rig_peer(rig, 1, 0)->turned_away);
		qv_proto_leave(rig->node[1].p);
		rig_settle(rig);
		assert_true(rig_peer(rig, 0, 1)->untold);
		/* A notice of a collective does not take the error, the next send does. */
		(void)rig_send_req(rig_req_new(rig, 0, 0, 1), 1, 7, QV_REQ_COLL | QV_REQ_INJECT);
		assert_true(rig_peer(rig, 0, 1)->untold);
		assert_int_equal(rig_send_req(rig_req_new(rig, 0, 0, 1), 1, 7, QV_REQ_INJECT),
				 QV_EPEER);
		rig_kill(rig, 1, QV_LOOP_ERRORS, false);
		rig_free(rig);
	}
}

/* A message that is turned away is not followed by a later one. */
static void in_order(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig *rig = start(headerless);
		struct rig_req *recv = rig_recv(rig, 1, 0, 3000, 7, QV_REQ_TAGGED);

		qv_proto_shutdown(rig->node[1].p);
		rig_send(rig, 0, 1, 2900, 7, QV_REQ_TAGGED);
		rig_send(rig, 0, 1, 8, 7, QV_REQ_TAGGED);
		rig_settle(rig);
		assert_int_equal(recv->done, 0);
		rig_kill(rig, 1, QV_LOOP_ERRORS, false);
		rig_free(rig);
	}
}

/* The rest of a message that was told to fail need not come; who sends the next hears of it. */
static void half_a_message(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig *rig = start(headerless);
		struct rig_req *first, *next;
		uint64_t refused = rig_stats(rig, 1).refused;

		qv_loop_chaos(rig->loop)->capacity = 1;
		first = rig_send(rig, 0, 1, 2900, 1, QV_REQ_TAGGED | QV_REQ_ACK);
		while (!rig_peer(rig, 1, 0)->open_unexp)
			rig_step(rig);
		qv_loop_hold(rig->loop, 0, 1, true);
		qv_proto_shutdown(rig->node[1].p);
		rig_settle(rig);
		rig_check_status(first, QV_EPEER);
		qv_loop_hold(rig->loop, 0, 1, false);
		rig_settle(rig);
		next = rig_send(rig, 0, 1, 50, 2, QV_REQ_TAGGED | QV_REQ_ACK);
		rig_settle(rig);
		rig_check_status(next, QV_EPEER);
		assert_int_equal(rig_stats(rig, 1).refused - refused, 0);
		rig_kill(rig, 1, QV_LOOP_ERRORS, false);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unexpected),
		cmocka_unit_test(in_order),
		cmocka_unit_test(half_a_message),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
