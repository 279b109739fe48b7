/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unnamed.c - peers that the application has no name for, on other hosts: freed when they have
 * died, and not before; and asked seldom.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

enum { NODES = 4 };

static enum qv_presence presence;
static unsigned asked, pings, cuts;

static enum qv_presence look(struct qv_xport *x, uint64_t addr, uint64_t *silent)
{
	(void)x;
	(void)addr;
	asked++;
	*silent = 3600000;
	return presence;
}

static void reconnect(struct qv_xport *x, uint64_t addr, bool others)
{
	(void)x;
	(void)addr;
	(void)others;
	cuts++;
}

static void count(struct rig_node *node, uint64_t from, const void *buf, size_t len, int rc)
{
	struct qv_wire_hdr hdr;

	(void)rc;
	if (node->index && from == 0 && len >= sizeof hdr) {
		memcpy(&hdr, buf, sizeof hdr);
		pings += hdr.op == QV_PKT_PING;
	}
}

/* All have sent node 0 a message, which it has received. */
static struct rig *start(void)
{
	static struct qv_xport_ops ops;
	struct rig_settings set = rig_defaults(NODES);
	struct rig *rig = rig_new(&set);
	struct rig_node *server = &rig->node[0];

	ops = *server->x->ops;
	ops.presence = look;
	ops.reconnect = reconnect;
	server->x->ops = &ops;
	server->p->self.host ^= 2; /* on a host of its own */
	server->p->death = 5000;
	presence = QV_PRESENT;
	for (unsigned i = 1; i < NODES; i++) {
		struct rig_req *recv = rig_recv(rig, 0, RIG_ANY, 100, i, 0);

		rig_wait(rig, recv, rig_send(rig, i, 0, 100, i, 0));
	}
	rig_settle(rig);
	rig_ticks(rig, 1000);
	rig->on_packet = count;
	asked = pings = cuts = 0;
	return rig;
}

static void kill_all(struct rig *rig)
{
	for (unsigned i = 1; i < NODES; i++)
		rig_kill(rig, i, QV_LOOP_SILENT, false);
}

static void end(struct rig *rig, unsigned freed)
{
	assert_int_equal(rig->node[0].ended, freed);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

/* The transport takes nothing for them, and nobody listens there: one after the other goes. */
static void dead(void **state)
{
	struct rig *rig = start();

	kill_all(rig);
	qv_loop_chaos(rig->loop)->eagain = 100;
	rig_ticks(rig, 120000);
	assert_int_equal(rig->node[0].ended, 0); /* they may be busy */
	presence = QV_ABSENT;
	rig_ticks(rig, 90000);
	assert_int_equal(cuts, 0); /* they might be others' connections */
	end(rig, NODES - 1);
}

/* The same in a program that seldom looks, and with a long time for silent hosts. */
static void dead_seldom(void **state)
{
	struct rig *rig = start();
	struct qv_proto *p = rig->node[0].p;
	struct qv_peer *first;

	kill_all(rig);
	p->death = 60000;
	qv_loop_chaos(rig->loop)->eagain = 100;
	while (!p->suspect)
		qv_proto_tick(p, rig->now += 50);
	first = p->suspect;
	for (unsigned i = 0; i < 70000 / 50; i++)
		qv_proto_tick(p, rig->now += 50);
	assert_ptr_not_equal(p->suspect, first); /* nothing was found: the next one's turn */
	presence = QV_ABSENT;
	p->death = 5000;
	for (unsigned i = 0; i < 4000; i++)
		qv_proto_tick(p, rig->now += 2000);
	end(rig, NODES - 1);
}

/* The host has lost power, for longer than a cable is pulled. */
static void silent_host(void **state)
{
	struct rig *rig = start();

	kill_all(rig);
	for (unsigned i = 0; i < 3; i++) { /* outages */
		presence = QV_SILENT;
		rig_ticks(rig, 250000);
		presence = QV_PRESENT;
		rig_ticks(rig, 250000);
	}
	assert_int_equal(rig->node[0].ended, 0);
	presence = QV_SILENT;
	rig_ticks(rig, 400000);
	end(rig, NODES - 1);
}

/* Nobody has looked between two outages. */
static void looks_apart(void **state)
{
	struct rig *rig = start();

	kill_all(rig);
	presence = QV_SILENT;
	rig_ticks(rig, 60000);
	qv_proto_tick(rig->node[0].p, rig->now += 3600000);
	rig_ticks(rig, 60000);
	end(rig, 0);
}

/* Who answers lives, whatever the transport finds at its address. */
static void living(void **state)
{
	struct rig *rig = start();

	presence = QV_ABSENT;
	rig_ticks(rig, 600000);
	assert_int_equal(rig->node[0].warnings, 0);
	assert_in_range(pings, NODES - 1, 20 * (NODES - 1));
	rig_wait(rig, rig_recv(rig, 0, RIG_ANY, 100, 7, 0), rig_send(rig, 1, 0, 100, 7, 0));
	end(rig, 0);
}

/* It does not answer, and nobody can call it; but what is sent to it goes, by the connection that it
 * has made. */
static void busy(void **state)
{
	struct rig *rig = start();

	kill_all(rig); /* what is sent seems to arrive */
	presence = QV_ABSENT;
	rig_ticks(rig, 600000);
	assert_int_equal(rig->node[0].warnings, 0);
	end(rig, 0);
}

/* On this host their process tells; nobody is asked. */
static void near(void **state)
{
	struct rig *rig = start();

	rig->node[0].p->self.host ^= 2;
	kill_all(rig);
	presence = QV_ABSENT;
	qv_loop_chaos(rig->loop)->eagain = 100;
	rig_ticks(rig, 120000);
	assert_int_equal(asked, 0);
	end(rig, 0); /* it is this one */
}

/* The application learns its name while it is suspected, and sends to it. */
static void named_meanwhile(void **state)
{
	struct rig *rig = start();
	struct qv_proto *p = rig->node[0].p;
	struct rig_req *send;

	kill_all(rig);
	for (unsigned i = 0; i < 1000 && !p->suspect; i++)
		rig_ticks(rig, 50);
	assert_non_null(p->suspect);
	qv_proto_peer_set_user(p->suspect, 77);
	rig_ticks(rig, 20000);
	presence = QV_ABSENT;
	qv_loop_chaos(rig->loop)->eagain = 100;
	send = rig_send(rig, 0, 1, 100, 7, QV_REQ_ACK);
	rig_ticks(rig, 90000);
	rig_check_status(send, QV_EPEER);
	end(rig, NODES - 2);
}

/* The server gives a client up that lives, by a fault of a transport that loses nothing: it is freed at
 * once, and what the client still waits for fails. */
static void given_up(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig_settings set = rig_defaults(2);
		struct rig_req *recv, *send;
		struct rig *rig;

		set.limits.headerless = headerless;
		set.limits.read_max = 0;
		rig = rig_new(&set);
		recv = rig_recv(rig, 1, RIG_ANY, 100, 1, 0);
		rig_wait(rig, recv, rig_send(rig, 0, 1, 100, 1, 0));
		send = rig_send(rig, 0, 1, 9000, 1, QV_REQ_TAGGED);
		rig_ticks(rig, 300);
		qv_peer_mark_failed(rig->node[1].p->peers[0], "a fault of its transport");
		rig_ticks(rig, 300);
		recv = rig_recv(rig, 1, RIG_ANY, 9000, 1, QV_REQ_TAGGED);
		rig_ticks(rig, 10000);
		rig_check_status(recv, QV_EPEER);
		rig_check_status(send, QV_EPEER);
		rig_exchange_after_loss(rig, 0, 1, 100);
		rig_free(rig);
	}
}

/* It has sent something, and its address is taken back before anything was heard from there. The answer
 * may be on its way: it is remembered, and has its name again if that comes back. */
static void unanswered(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	struct rig_node *node = &rig->node[0];
	struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, 100, 1, 0), *back;
	struct qv_peer *peer = rig_peer(rig, 0, 1);

	rig_send(rig, 0, 1, 100, 1, 0);
	qv_proto_peer_set_user(peer, QV_USER_UNKNOWN);
	qv_proto_peer_drop(peer);
	for (unsigned i = 0; i < 100; i++)
		qv_proto_tick(node->p, rig->now += 100);
	assert_int_equal(node->ended, 0);
	qv_proto_peer_set_user(peer, RIG_USER(1));
	back = rig_recv(rig, 0, RIG_ANY, 100, 2, 0);
	rig_wait(rig, recv, NULL);
	rig_wait(rig, back, rig_send(rig, 1, 0, 100, 2, 0));
	rig_check_status(back, QV_OK);
	assert_int_equal(node->warnings + rig->node[1].warnings, 0);
	rig_free(rig);
}

/* It says that it leaves, and closes; its address is taken back, and given to who has it now. Its last
 * word, RESET, is still under way then: it ends nothing that was said behind it. */
static void left_and_named_again(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, 100, 1, 0);
	struct qv_peer *peer = rig_peer(rig, 0, 1);

	rig->node[0].p->self.host ^= 2; /* another process: it can be told */
	rig_wait(rig, recv, rig_send(rig, 0, 1, 100, 1, 0));
	rig_settle(rig);
	qv_proto_shutdown(rig->node[1].p);
	qv_proto_send_leave(rig->node[1].p);
	rig_settle(rig);
	assert_true(peer->leaving);
	qv_proto_peer_set_user(peer, QV_USER_UNKNOWN);
	qv_proto_peer_drop(peer);
	qv_loop_hold(rig->loop, 1, 0, true);
	qv_proto_leave(rig->node[1].p);
	rig_kill(rig, 1, QV_LOOP_SILENT, true);
	rig_open(rig, 1, &set);
	qv_proto_peer_set_user(peer, RIG_USER(1));
	recv = rig_recv(rig, 1, RIG_ANY, 100, 2, 0);
	rig_send(rig, 0, 1, 100, 2, 0);
	qv_loop_hold(rig->loop, 1, 0, false);
	for (unsigned i = 0; i < 100 && !recv->done; i++)
		rig_ticks(rig, 100);
	assert_true(recv->done);
	rig_check_status(recv, QV_OK);
	rig_free(rig);
}

/* Nobody ever answers: it goes. */
static void never_answered(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	struct rig_node *node = &rig->node[0];

	rig_send(rig, 0, 1, 100, 1, 0);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	qv_proto_peer_set_user(rig_peer(rig, 0, 1), QV_USER_UNKNOWN);
	qv_proto_peer_drop(rig_peer(rig, 0, 1));
	for (unsigned i = 0; i < 400; i++)
		qv_proto_tick(node->p, rig->now += 100);
	assert_int_equal(node->ended, 1);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dead),           cmocka_unit_test(dead_seldom),
		cmocka_unit_test(looks_apart),    cmocka_unit_test(silent_host),
		cmocka_unit_test(living),         cmocka_unit_test(busy),
		cmocka_unit_test(near),           cmocka_unit_test(named_meanwhile),
		cmocka_unit_test(given_up),       cmocka_unit_test(unanswered),
		cmocka_unit_test(never_answered), cmocka_unit_test(left_and_named_again),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
