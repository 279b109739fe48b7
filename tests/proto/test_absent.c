/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_absent.c - a peer that has never spoken and does not answer: it is given up when the
 * transport says for long enough that nobody is there, and tried again when something is sent.
 */
#include "tests/proto/rig/rig.h"

enum { PATIENCE = 2000 };

static enum qv_presence presence;
static unsigned asked;
static uint64_t silence; /* ms, of a host that is silent */

static enum qv_presence look(struct qv_xport *x, uint64_t addr, uint64_t *silent)
{
	assert_int_equal(addr, 1);
	asked++;
	*silent = silence;
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
	assert_int_equal(rig->node[0].warnings, 1);
	rig_check_idle(rig, 0);
	rig_ticks(rig, 600); /* before, a send says so at once */
	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	rig_free(rig);
}

/* Who was given up is tried again by a send, but not at once. */
static void tried_again(void **state)
{
	struct rig *rig = start(QV_GONE);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);
	struct rig_req *next = rig_req_new(rig, 0, 4000, 1);

	while (!send->done)
		rig_ticks(rig, 50);
	rig_check_status(send, QV_EPEER);
	presence = QV_PRESENT;
	qv_loop_chaos(rig->loop)->eagain = 0;
	rig_ticks(rig, 450);
	assert_int_equal(rig_send_req(next, 1, 7, 0), QV_EPEER);
	rig_ticks(rig, 50);
	assert_int_equal(rig_send_req(next, 1, 7, 0), QV_OK);
	arrives(rig, next);
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

/* Nobody can tell: who never answers is given up, who answers once is not. */
static void untold(void **state)
{
	struct rig *rig = start(QV_UNTOLD);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);

	rig_ticks(rig, PATIENCE);
	assert_int_equal(send->done, 0);
	rig_ticks(rig, 1000);
	rig_check_status(send, QV_EPEER);
	rig_ticks(rig, 600);
	arrives(rig, rig_send(rig, 0, 1, 4000, 8, 0));
	presence = QV_UNTOLD;
	qv_loop_chaos(rig->loop)->eagain = 100;
	send = rig_send(rig, 0, 1, 4000, 9, 0);
	rig_ticks(rig, 5 * PATIENCE);
	assert_int_equal(send->done, 0);
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

/* A peer that has spoken is looked for when it is silent; if nobody is there any more, it is over,
 * and what it has got but not answered, too. */
static void the_known(void **state)
{
	struct rig *rig = start(QV_PRESENT);
	struct rig_req *send;

	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	rig_settle(rig);
	send = rig_send(rig, 0, 1, 4000, 8, 0);
	rig_ticks(rig, 60000);
	assert_int_equal(send->done, 0);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	asked = 0;
	rig_ticks(rig, 60000); /* it may be busy */
	assert_true(asked > 100);
	assert_int_equal(send->done, 0);
	presence = QV_ABSENT;
	rig_ticks(rig, 2000);
	rig_check_status(send, QV_EPEER);
	assert_int_equal(rig->node[0].warnings, 1);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

/* Its host does not answer: for as long as is said, and no longer. */
static void silent_host(void **state)
{
	struct rig *rig = start(QV_PRESENT);
	struct rig_req *send;

	rig->node[0].p->death = 10000;
	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	send = rig_send(rig, 0, 1, 4000, 8, 0);
	rig_settle(rig);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	presence = QV_SILENT;
	for (silence = 0; silence < 8500; silence += 50)
		rig_ticks(rig, 50);
	assert_int_equal(send->done, 0);
	for (; silence < 11000; silence += 50)
		rig_ticks(rig, 50);
	rig_check_status(send, QV_EPEER);
	rig_free(rig);
}

/* The same of a peer not yet known, if both times are over: it may come with its host. */
static void silent_unknown(void **state)
{
	struct rig *rig = start(QV_SILENT);
	struct rig_req *send = rig_send(rig, 0, 1, 4000, 7, 0);

	rig->node[0].p->death = 10000;
	for (silence = 0; silence < 8500; silence += 50)
		rig_ticks(rig, 50);
	assert_int_equal(send->done, 0);
	for (; silence < 11000; silence += 50)
		rig_ticks(rig, 50);
	rig_check_status(send, QV_EPEER);
	rig->node[0].p->patience = 20000;
	send = rig_send(rig, 0, 1, 4000, 7, 0);
	rig_ticks(rig, 18500);
	assert_int_equal(send->done, 0);
	arrives(rig, send);
	rig_free(rig);
}

/* A peer has answered while we did not look; of what waits here we have seen a part. */
static void away(void **state)
{
	struct rig *rig = start(QV_PRESENT);
	struct qv_proto *p = rig->node[0].p;
	struct rig_req *send;

	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	rig_ticks(rig, 500);
	send = rig_send(rig, 0, 1, 4000, 8, 0);
	qv_proto_tick(p, rig->now += 50);
	p->peers[0]->heard = true;
	qv_proto_tick(p, rig->now += 60000);
	assert_int_equal(send->done, 0);
	arrives(rig, send);
	rig_free(rig);
}

/* A program that looks seldom is told of the dead all the same. */
static void seldom(void **state)
{
	struct rig *rig = start(QV_PRESENT);
	struct rig_req *send;
	unsigned looks;

	arrives(rig, rig_send(rig, 0, 1, 4000, 7, 0));
	send = rig_send(rig, 0, 1, 4000, 8, 0);
	rig_settle(rig);
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	presence = QV_ABSENT;
	for (looks = 0; looks < 30 && !send->done; looks++)
		qv_proto_tick(rig->node[0].p, rig->now += 2000);
	rig_check_status(send, QV_EPEER);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_up),    cmocka_unit_test(tried_again),
		cmocka_unit_test(comes_late),  cmocka_unit_test(untold),
		cmocka_unit_test(unsure),      cmocka_unit_test(gone),
		cmocka_unit_test(no_end),      cmocka_unit_test(the_known),
		cmocka_unit_test(silent_host), cmocka_unit_test(silent_unknown),
		cmocka_unit_test(away),        cmocka_unit_test(seldom),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
