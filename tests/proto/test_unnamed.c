/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unnamed.c - peers that the application has no name for, on other hosts: freed when they have
 * died, and not before; and asked seldom.
 */
#include "tests/proto/rig/rig.h"

enum { NODES = 4 };

static enum qv_presence presence;
static unsigned asked;

static enum qv_presence look(struct qv_xport *x, uint64_t addr, uint64_t *silent)
{
	(void)x;
	(void)addr;
	asked++;
	*silent = 3600000;
	return presence;
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
	asked = 0;
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
	end(rig, NODES - 1);
}

/* The host has lost power. */
static void silent_host(void **state)
{
	struct rig *rig = start();

	kill_all(rig);
	presence = QV_SILENT;
	rig_ticks(rig, 29000);
	assert_int_equal(rig->node[0].ended, 0);
	rig_ticks(rig, 61000);
	end(rig, NODES - 1);
}

/* Who answers lives, whatever the transport finds at its address. */
static void living(void **state)
{
	struct rig *rig = start();
	uint64_t before = rig->node[1].p->peers[0]->got;

	presence = QV_ABSENT;
	rig_ticks(rig, 600000);
	assert_int_equal(rig->node[0].warnings, 0);
	assert_true(rig->node[1].p->peers[0]->got - before < 100);
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
	while (!p->suspect)
		rig_ticks(rig, 50);
	qv_proto_peer_set_user(p->suspect, 77);
	rig_ticks(rig, 20000);
	presence = QV_ABSENT;
	qv_loop_chaos(rig->loop)->eagain = 100;
	send = rig_send(rig, 0, 1, 100, 7, QV_REQ_ACK);
	rig_ticks(rig, 90000);
	rig_check_status(send, QV_EPEER);
	end(rig, NODES - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dead),   cmocka_unit_test(silent_host),
		cmocka_unit_test(living), cmocka_unit_test(busy),
		cmocka_unit_test(near),   cmocka_unit_test(named_meanwhile),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
