/* SPDX-License-Identifier: BSD-2-Clause */
/* test_told.c - who hears of messages that were reported as sent, and are lost. */
#include "tests/proto/rig/rig.h"

/* Node 0 has sent messages to an endpoint that is not there any more; at its address is another. */
static struct rig *start_with_losses(void)
{
	struct rig *rig = rig_start(2, false);

	rig_exchange_after_loss(rig, 0, 1, 8);
	rig_ticks(rig, 300);
	for (unsigned i = 0; i < 5; i++)
		rig_check_status(rig_send(rig, 0, 1, 8, i, QV_REQ_TAGGED), QV_OK);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	rig_open(rig, 1, &rig->set);
	rig_ticks(rig, 5000);
	return rig;
}

/* Messages were reported as sent, and are lost: the next send says so, the one behind it goes. */
static void told_once(void **state)
{
	struct rig *rig = start_with_losses();
	struct rig_req *req = rig_req_new(rig, 0, 8, 1);

	assert_int_equal(rig_send_req(req, 1, 9, QV_REQ_TAGGED), QV_EPEER);
	assert_int_equal(rig_send_req(req, 1, 9, QV_REQ_TAGGED), QV_OK);
	for (unsigned i = 0; i < 5; i++)
		rig_send(rig, 0, 1, 8, 9, QV_REQ_TAGGED);
	rig_wait_long(rig, rig_recv(rig, 1, 0, 8, 9, QV_REQ_TAGGED), req);
	rig_free(rig);
}

/* Who wants something else of the peer than to send is not told, and the next send is. */
static void told_to_senders(void **state)
{
	struct rig *rig = start_with_losses();
	struct rig_req *req = rig_req_new(rig, 0, 8, 1);

	assert_int_equal(qv_proto_peer_want(rig_peer(rig, 0, 1)), QV_OK);
	assert_int_equal(rig_send_req(req, 1, 9, QV_REQ_TAGGED), QV_EPEER);
	assert_int_equal(rig_send_req(req, 1, 9, QV_REQ_TAGGED), QV_OK);
	rig_wait_long(rig, rig_recv(rig, 1, 0, 8, 9, QV_REQ_TAGGED), req);
	rig_free(rig);
}

/* Nothing was lost: nothing is told. */
static void nothing_to_tell(void **state)
{
	struct rig *rig = rig_start(2, false);
	struct rig_req *req = rig_req_new(rig, 0, 8, 1);

	rig_exchange_after_loss(rig, 0, 1, 8);
	rig_ticks(rig, 300);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	rig_open(rig, 1, &rig->set);
	rig_exchange_after_loss(rig, 1, 0, 8);
	assert_int_equal(rig_send_req(req, 1, 9, QV_REQ_TAGGED), QV_OK);
	assert_int_equal(rig->node[0].warnings, 0);
	rig_free(rig);
}

/* A transport that loses nothing keeps no packets: what it is that was not acknowledged is known all the
 * same. A credit is no message of the program; a message before it is one. */
static void credit_is_no_message(void **state)
{
	for (unsigned message = 0; message < 2; message++) {
		struct rig_settings set = rig_defaults(2);
		struct qv_peer *peer;
		struct rig *rig;

		set.limits.headerless = true;
		rig = rig_new(&set);
		peer = rig_peer(rig, 0, 1);
		for (unsigned i = 0; i < 2; i++) {
			rig_exchange_after_loss(rig, i, !i, 8);
			rig_exchange_after_loss(rig, !i, i, 8);
		}
		rig_ticks(rig, 5000);
		assert_int_equal(peer->sent, peer->acked);
		qv_loop_hold(rig->loop, 0, 1, true);
		if (message)
			rig_send(rig, 0, 1, 8, 1, QV_REQ_TAGGED);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(qv_tx_control(peer, QV_PKT_CREDIT, 8, NULL, 0), QV_OK);
			qv_peer_flush(peer);
		}
		assert_int_equal(peer->sent - peer->acked, 3 + message);
		rig_kill(rig, 1, QV_LOOP_SILENT, false);
		rig_give_up(rig->node[0].p, rig->node[0].x, 1);
		rig_ticks(rig, 100);
		assert_true(peer->failed);
		assert_int_equal(peer->untold, message);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_once),
		cmocka_unit_test(told_to_senders),
		cmocka_unit_test(nothing_to_tell),
		cmocka_unit_test(credit_is_no_message),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
