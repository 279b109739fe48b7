/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ways.c - one endpoint over two transports: order, sources, peers that answer by
 * another way than they are spoken to, goodbyes. */
#include "tests/proto/rig/rig.h"

#include <string.h>

enum { SENDERS = 3, MESSAGES = 60 };

static struct rig *start(unsigned nodes)
{
	struct rig_settings set = rig_defaults(nodes);
	struct qv_loop_limits others = set.limits;
	struct rig *rig;

	others.packet_max = 2000; /* unlike the first, also in this: tags beside short messages */
	others.inject_max = 1000;
	others.headerless = true;
	set.others = &others;
	rig = rig_new(&set);
	rig->set.others = NULL;
	return rig;
}

static size_t length(struct rig *rig)
{
	static const size_t lens[] = {0, 8, 100, 500, 2500, 9000};

	return lens[qv_random_below(&rig->rng, 6)];
}

/* Nodes 1 and 2 come over the one, node 3 over the other: in wildcard receives each sender's
 * messages are in order, and every sender is one source. */
static void order(void **state)
{
	struct rig *rig = start(1 + SENDERS);
	struct rig_req *sends[SENDERS + 1][MESSAGES], *recvs[SENDERS * MESSAGES];
	unsigned seen[SENDERS + 1] = {0}, posted = 0;

	qv_loop_chaos(rig->loop)->eagain = qv_loop_chaos(rig->other)->eagain = 10;
	for (unsigned s = 1; s <= SENDERS; s++) {
		if (s == SENDERS) {
			rig_other_peer(rig, s, 0);
			rig_other_peer(rig, 0, s);
		} else {
			rig_peer(rig, 0, s);
		}
	}
	for (unsigned i = 0; i < MESSAGES; i++) {
		for (unsigned s = 1; s <= SENDERS; s++)
			sends[s][i] = rig_send(rig, s, 0, length(rig), 5, QV_REQ_TAGGED);
		for (uint64_t n = qv_random_below(&rig->rng, 8); n--;)
			rig_step(rig);
		for (; posted < i * SENDERS; posted++)
			recvs[posted] = rig_recv(rig, 0, RIG_ANY, 9000, 5, QV_REQ_TAGGED);
	}
	for (; posted < SENDERS * MESSAGES; posted++)
		recvs[posted] = rig_recv(rig, 0, RIG_ANY, 9000, 5, QV_REQ_TAGGED);
	rig_settle(rig);
	for (unsigned i = 0; i < posted; i++) {
		uint64_t s = recvs[i]->comp.user - RIG_USER(0);

		assert_in_range(s, 1, SENDERS);
		assert_in_range(seen[s], 0, MESSAGES - 1);
		rig_check(recvs[i], sends[s][seen[s]++]);
	}
	rig_check_idle(rig, 0);
	rig_free(rig);
}

/* There by one, back by the other: nothing is read that is registered on another transport. */
static void asymmetric(void **state)
{
	struct rig *rig = start(2);
	struct rig_req *send[2], *recv[2];

	rig_peer(rig, 0, 1);
	rig_other_peer(rig, 1, 0);
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned a = 0; a < 2; a++) {
			size_t len = i ? length(rig) : 9000; /* a rendezvous at least */

			send[a] = rig_send(rig, a, !a, len, i, QV_REQ_TAGGED | QV_REQ_ACK);
			recv[a] = rig_recv(rig, !a, (int)a, 9000, i, QV_REQ_TAGGED);
		}
		for (unsigned a = 0; a < 2; a++) {
			rig_wait(rig, send[a], recv[a]);
			rig_check(recv[a], send[a]);
		}
	}
	assert_true(rig_stats(rig, 0).rndv && rig_stats(rig, 1).rndv);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static int reset(struct qv_proto *p, struct qv_xport *x, uint64_t from, uint32_t session)
{
	const struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
					.version = QV_WIRE_VERSION,
					.op = QV_PKT_RESET,
					.src = QV_SRC_UNKNOWN,
					.arg = session};

	return qv_proto_packet(p, x, &hdr, sizeof hdr, from);
}

/* A RESET of a peer that answers by another way: it may come both ways, if the transport does not
 * name another sender. A transport that guesses names nobody. */
static void resets(void **state)
{
	for (unsigned form = 0; form < 8; form++) {
		const bool other = form & 1, itself = form & 2, guesses = form & 4;
		struct rig *rig = start(3);
		struct rig_node *node = &rig->node[0];
		struct qv_peer *peer = rig_peer(rig, 0, 1);
		struct qv_xport *x = other ? node->other : node->x;
		const uint32_t session = peer->session;

		rig_other_peer(rig, 1, 0);
		rig_wait(rig, rig_recv(rig, 1, 0, 8, 1, QV_REQ_TAGGED),
			 rig_send(rig, 0, 1, 8, 1, QV_REQ_TAGGED));
		rig_settle(rig);
		x->guesses_from = guesses;
		assert_int_equal(peer->session, session);
		assert_int_equal(reset(node->p, x, itself ? 1 : 2, session), QV_OK);
		assert_int_equal(peer->session == session, !itself && !guesses);
		assert_int_equal(reset(node->p, x, UINT64_MAX, session), QV_OK);
		assert_int_not_equal(peer->session, session);
		rig_free(rig);
	}
}

/* The peer has acknowledged a message, if only by its RESET, and has closed, before the transport says
 * that the message has gone. */
static bool acknowledged_once(bool by_reset)
{
	struct rig *rig = start(2);
	struct rig_node *node = &rig->node[0];
	struct qv_peer *peer = rig_peer(rig, 0, 1), *back = rig_other_peer(rig, 1, 0);
	const uint32_t session = peer->session;
	struct rig_req *send, *recv;
	bool early;

	rig_wait(rig, rig_recv(rig, 1, 0, 8, 1, QV_REQ_TAGGED),
		 rig_send(rig, 0, 1, 8, 1, QV_REQ_TAGGED));
	rig_settle(rig);
	recv = rig_recv(rig, 1, 0, 800, 2, QV_REQ_TAGGED);
	send = rig_send(rig, 0, 1, 800, 2, QV_REQ_TAGGED | QV_REQ_SENT);
	while (!recv->done)
		qv_loop_step(rig->loop);
	early = !send->done;
	if (early) {
		if (by_reset)
			qv_peer_send_reset(back, back->theirs);
		else
			qv_peer_send_ack(back);
		while (qv_loop_step(rig->other))
			;
		if (!by_reset)
			assert_int_equal(reset(node->p, node->other, 1, peer->session), QV_OK);
		assert_int_not_equal(peer->session, session);
		rig_settle(rig);
		assert_int_equal(send->done, 1);
		assert_int_equal(send->comp.status, QV_OK);
	}
	rig_free(rig);
	return early;
}

static void acknowledged(void **state)
{
	for (unsigned early = 0; early < 20;)
		early += acknowledged_once(early & 1);
}

/* Where both go the same way, the payload is read. */
static void together(void **state)
{
	struct rig *rig = start(2);
	struct rig_req *send, *recv;

	rig_other_peer(rig, 0, 1);
	rig_other_peer(rig, 1, 0);
	send = rig_send(rig, 0, 1, 9000, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	/* Of one that its transport must poll for. */
	assert_int_equal(rig->node[0].other->outstanding, 1);
	assert_int_equal(rig->node[0].x->outstanding, 0);
	assert_int_equal(qv_loop_registered(rig->other, 0), 1);
	assert_int_equal(qv_loop_registered(rig->loop, 0), 0);
	recv = rig_recv(rig, 1, RIG_ANY, 9000, 1, QV_REQ_TAGGED);
	rig_wait(rig, send, recv);
	rig_check(recv, send);
	rig_settle(rig);
	assert_int_equal(rig->node[0].other->outstanding, 0);
	rig_free(rig);
}

/* An address that one transport has lost is not that of the other. */
static void lost_on_one(void **state)
{
	struct rig *rig = start(2);
	struct rig_req *send, *recv;

	rig_peer(rig, 0, 1);
	send = rig_send(rig, 0, 1, 9000, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	rig_give_up(rig->node[0].p, rig->node[0].other, 1);
	recv = rig_recv(rig, 1, 0, 9000, 1, QV_REQ_TAGGED);
	rig_wait(rig, send, recv);
	rig_check(recv, send);
	rig_free(rig);
}

/* Only peers over a transport that drops what it holds are waited for at the end. */
static void goodbye(void **state)
{
	struct rig *rig = start(3);
	struct qv_proto *p = rig->node[0].p;
	struct rig_req *send, *recv;

	for (unsigned i = 0; i < 3; i++)
		rig->node[i].other->drops = false;
	rig_other_peer(rig, 0, 1);
	rig_other_peer(rig, 1, 0);
	send = rig_send(rig, 0, 1, 8, 1, QV_REQ_TAGGED);
	recv = rig_recv(rig, 1, 0, 8, 1, QV_REQ_TAGGED);
	rig_wait(rig, send, recv);
	qv_proto_send_leave(p);
	assert_true(qv_proto_may_leave(p));
	send = rig_send(rig, 0, 2, 8, 1, QV_REQ_TAGGED);
	recv = rig_recv(rig, 2, 0, 8, 1, QV_REQ_TAGGED);
	rig_wait(rig, send, recv);
	qv_proto_send_leave(p);
	assert_false(qv_proto_may_leave(p));
	rig_settle(rig);
	assert_true(qv_proto_may_leave(p));
	rig_free(rig);
}

static void lose_answers(struct rig_node *node, uint64_t from, const void *buf, size_t len, int rc)
{
	struct qv_wire_hdr hdr;

	(void)from;
	(void)rc;
	assert_true(len >= sizeof hdr);
	memcpy(&hdr, buf, sizeof hdr);
	if (hdr.op == QV_PKT_LEAVE) /* all that follows it is lost */
		qv_loop_chaos(node->rig->loop)->lose[!node->index] = 100;
}

/* Who closes too has said all with that: nobody waits for an answer, which would find nobody. */
static void both_leave(void **state)
{
	struct rig *rig = start(2);

	for (unsigned i = 0; i < 2; i++)
		rig_wait(rig, rig_recv(rig, !i, (int)i, 8, 1, QV_REQ_TAGGED),
			 rig_send(rig, i, !i, 8, 1, QV_REQ_TAGGED));
	rig_settle(rig);
	rig->on_packet = lose_answers;
	for (unsigned i = 0; i < 2; i++)
		qv_proto_send_leave(rig->node[i].p);
	rig_settle(rig);
	for (unsigned i = 0; i < 2; i++)
		assert_true(qv_proto_may_leave(rig->node[i].p));
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),       cmocka_unit_test(asymmetric),
		cmocka_unit_test(resets),      cmocka_unit_test(together),
		cmocka_unit_test(lost_on_one), cmocka_unit_test(goodbye),
		cmocka_unit_test(both_leave),  cmocka_unit_test(acknowledged),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
