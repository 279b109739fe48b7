/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_proto_absent.c - a peer that has never spoken and does not answer: it is given up when the
 * transport says for long enough that nobody is there, and tried again when something is sent.
 */
#include "qv_rig.h"

enum { PATIENCE = 2000 };

static enum qv_presence presence;
static unsigned asked;

static enum qv_presence look(struct qv_xport *x, uint64_t addr)
{
	assert_int_equal(addr, 1);
	asked++;
	return presence;
}

/* Node 0 wants to send to node 1, which the transport does not reach. */
static struct rig *start(enum qv_presence first)
{
	static struct qv_xport_ops ops;
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);

	ops = *rig->node[0].x->ops;
	ops.presence = look;
	rig->node[0].x->ops = &ops;
	rig->node[0].p->patience = PATIENCE;
	qv_loop_chaos(rig->loop)->eagain = 100;
	presence = first;
	asked = 0;
	return rig;
}

static void arrives(struct rig *rig, struct rig_req *send)
{
	struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, send->len, send->tag, 0);

	qv_loop_chaos(rig->loop)->eagain = 0;
	presence = QV_PRESENT;
	rig_ticks(rig, 500);
	rig_check_status(send, QV_OK);
	rig_check(recv, send);
}

/* Short and long messages; the next one finds somebody. */
static void given_up(void **state)
{
	struct rig *rig = start(QV_ABSENT);
	struct rig_req *send[3];

	for (unsigned i = 0; i < 3; i++)
		send[i] = rig_send(rig, 0, 1, i * 4000, i, 0);
	rig_ticks(rig, PATIENCE);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(send[i]->done, 0);
	rig_ticks(rig, 1000);
	for (unsigned i = 0; i < 3; i++)
		rig_check_status(send[i], QV_EPEER);
	assert_int_equal(rig->node[0].complaints, 1);
	rig_check_idle(rig, 0);
	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	rig_free(rig);
}

/* Absent for less than patience lasts, again and again. */
static void comes_late(void **state)
{
	struct rig *rig = start(QV_ABSENT);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);

	for (unsigned i = 0; i < 5; i++) {
		presence = QV_ABSENT;
		rig_ticks(rig, PATIENCE - 500);
		presence = QV_PRESENT;
		rig_ticks(rig, 1000);
	}
	arrives(rig, send);
	rig_free(rig);
}

static void unsure(void **state)
{
	struct rig *rig = start(QV_UNSURE);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);

	rig_ticks(rig, 10 * PATIENCE);
	assert_true(asked > 50);
	arrives(rig, send);
	rig_free(rig);
}

static void gone(void **state)
{
	struct rig *rig = start(QV_GONE);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);

	rig->node[0].p->patience = 0;
	rig_ticks(rig, 1000);
	rig_check_status(send, QV_EPEER);
	rig_free(rig);
}

static void no_end(void **state)
{
	struct rig *rig = start(QV_ABSENT);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);

	rig->node[0].p->patience = 0;
	rig_ticks(rig, 60000);
	arrives(rig, send);
	rig_free(rig);
}

/* Nobody looks for a peer that has spoken, and if that one dies, it does not come again by itself.
 */
static void not_the_known(void **state)
{
	struct rig *rig = start(QV_PRESENT);
	struct rig_req *send;

	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	rig_settle(rig);
	presence = QV_GONE;
	asked = 0;
	send = rig_send(rig, 0, 1, 4000, 8, 0);
	rig_ticks(rig, 5000);
	assert_int_equal(asked, 0);
	assert_int_equal(send->done, 0);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	rig_peer(rig, 0, 1)->proc.pid = 0x7ffffff0;
	rig_ticks(rig, 3000);
	rig_check_status(send, QV_EPEER);
	assert_int_equal(qv_proto_send(rig->node[0].p, rig_peer(rig, 0, 1),
				       &(struct qv_send_args){.context = NULL}),
			 QV_EPEER);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_up), cmocka_unit_test(comes_late),
		cmocka_unit_test(unsure),   cmocka_unit_test(gone),
		cmocka_unit_test(no_end),   cmocka_unit_test(not_the_known),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
