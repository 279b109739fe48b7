/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_credit.c - a receiver that does not receive stores no more payload than it has said,
 * whatever the others send; credit comes back by every way in which a message can end.
 */
#include "tests/proto/rig/rig.h"

#include <stdlib.h>

#define BUDGET 8192u
#define LEN    600u

static struct rig *start(unsigned nodes, size_t budget)
{
	struct rig_settings set = rig_defaults(nodes);

	set.budget = budget;
	return rig_new(&set);
}

static void check_credit(struct rig *rig, unsigned a, unsigned b)
{
	const struct qv_peer *peer = rig_peer(rig, a, b);

	if (peer->uid)
		assert_true(peer->budget_used <= peer->budget);
}

static void meet(struct rig *rig)
{
	struct rig_req *recv = rig_recv(rig, 1, 0, 0, 0, 0);

	rig_wait(rig, recv, rig_send(rig, 0, 1, 0, 0, 0));
	rig_settle(rig);
}

/* Many messages, no receive: payload is bounded, the rest waits with its senders. */
static void nobody_receives(void **state)
{
	struct rig *rig = start(3, BUDGET);
	struct rig_req *send[400], *recv[400];

	for (unsigned i = 0; i < 400; i++) {
		send[i] = rig_send(rig, i % 2 ? 2 : 0, 1, i % 5 ? LEN : 40, i, QV_REQ_TAGGED);
		for (unsigned k = 0; k < i % 7; k++)
			rig_step(rig);
		check_credit(rig, 0, 1);
		check_credit(rig, 2, 1);
		assert_true(rig_peer(rig, 1, 0)->stored <= BUDGET);
		assert_true(rig_peer(rig, 1, 2)->stored <= BUDGET);
	}
	rig_settle(rig);
	assert_in_range(rig_stats(rig, 1).unexpected_bytes_max, BUDGET / 2, 2 * BUDGET);
	assert_in_range(rig_stats(rig, 0).over_budget, 100, 200);
	for (unsigned i = 400; i--;) {
		recv[i] = rig_recv(rig, 1, RIG_ANY, LEN, i, QV_REQ_TAGGED);
		if (i % 3 == 0)
			rig_step(rig);
	}
	rig_settle(rig);
	for (unsigned i = 0; i < 400; i++) {
		rig_check_status(send[i], QV_OK);
		rig_check(recv[i], send[i]);
	}
	assert_in_range(rig_peer(rig, 0, 1)->budget_used, 0, BUDGET / 4);
	assert_in_range(rig_peer(rig, 2, 1)->budget_used, 0, BUDGET / 4);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

/* All the ways in which an eager message can end, each many times: no credit is lost. */
enum way { POSTED, UNEXPECTED, TRUNCATED, MULTI, CLAIMED, CLAIM_DISCARDED, DISCARDED, WAYS };

static void end_one(struct rig *rig, enum way way, size_t len)
{
	struct rig_req *req = rig_req_new(rig, 1, way == TRUNCATED ? len / 3 : len, 1);
	struct qv_recv_args args = rig_recv_args(req, 0, 1, 0, QV_REQ_TAGGED);
	struct qv_proto *p = rig->node[1].p;
	struct qv_unexp *u = NULL;

	if (way == MULTI)
		req->flags |= QV_REQ_MULTI;
	if (way == POSTED || way == TRUNCATED || way == MULTI)
		assert_int_equal(rig_recv_req(req, 0, 1, 0, req->flags, len), QV_OK);
	rig_send(rig, 0, 1, len, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	if (way == UNEXPECTED)
		assert_int_equal(rig_recv_req(req, 0, 1, 0, QV_REQ_TAGGED, 0), QV_OK);
	if (way == CLAIMED || way == CLAIM_DISCARDED) {
		qv_proto_peek(p, &args, QV_PEEK_CLAIM, &u);
		assert_non_null(u);
		req->done = 0;
		assert_int_equal(qv_proto_recv_claimed(p, u, &args, way == CLAIM_DISCARDED), QV_OK);
	}
	if (way == DISCARDED)
		qv_proto_peek(p, &args, QV_PEEK_DISCARD, NULL);
	rig_settle(rig);
	rig_check_status(req, way == TRUNCATED ? QV_ETRUNC : QV_OK);
}

static void every_way_back(void **state)
{
	for (enum way way = 0; way < WAYS; way++)
		for (size_t len = 129; len < 3000; len = len * 3 / 2) {
			struct rig *rig = start(2, BUDGET);

			meet(rig);
			for (unsigned i = 0; i < 3 * BUDGET / len + 4; i++)
				end_one(rig, way, len);
			assert_int_equal(rig_stats(rig, 0).over_budget, 0);
			assert_int_equal(rig_stats(rig, 1).unexpected_bytes, 0);
			assert_in_range(rig_peer(rig, 0, 1)->budget_used, 0, BUDGET / 4 + len);
			rig_free(rig);
		}
}

/* Budgets that leave no room, or any: traffic goes through. */
static void odd_budgets(void **state)
{
	static const size_t budgets[] = {0, 1, 129, 600, SIZE_MAX / 2, SIZE_MAX};

	for (unsigned b = 0; b < 6; b++) {
		struct rig *rig = start(2, budgets[b]);

		meet(rig);
		for (unsigned i = 0; i < 100; i++) {
			struct rig_req *send = rig_send(rig, 0, 1, LEN, i, QV_REQ_TAGGED);
			struct rig_req *recv = rig_recv(rig, 1, 0, LEN, i, QV_REQ_TAGGED);

			rig_wait(rig, send, recv);
			rig_check(recv, send);
			check_credit(rig, 0, 1);
		}
		if (b != 3) /* there the one credit may be on its way */
			assert_int_equal(rig_stats(rig, 0).over_budget, b < 3 ? 100 : 0);
		rig_free(rig);
	}
}

/* Both flood each other through a transport that takes one packet at a time. */
static void both_ways(void **state)
{
	struct rig *rig = start(2, BUDGET);
	struct rig_req *send[2][100], *recv[2][100];

	qv_loop_chaos(rig->loop)->capacity = 1;
	qv_loop_chaos(rig->loop)->eagain = 30;
	for (unsigned i = 0; i < 100; i++)
		for (unsigned n = 0; n < 2; n++)
			send[n][i] = rig_send(rig, n, !n, 20 * i, i, QV_REQ_TAGGED | QV_REQ_ACK);
	for (unsigned i = 0; i < 100; i++)
		for (unsigned n = 0; n < 2; n++)
			recv[n][i] = rig_recv(rig, n, !n, 20 * i, i, QV_REQ_TAGGED);
	rig_settle(rig);
	for (unsigned i = 0; i < 100; i++)
		for (unsigned n = 0; n < 2; n++) {
			rig_check_status(send[n][i], QV_OK);
			rig_check(recv[n][i], send[!n][i]);
		}
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

/* What waits at its sender has a limit, and room again when the queue goes down. */
static void queue_limit(void **state)
{
	struct rig *rig = start(2, BUDGET);
	struct rig_req *req = rig_req_new(rig, 0, 100, 1);
	struct qv_proto *p = rig->node[0].p;
	unsigned n = 0;
	int rc;

	meet(rig);
	qv_loop_chaos(rig->loop)->capacity = 0;
	p->queue_max = 11;
	while ((rc = rig_send_req(rig_req_new(rig, 0, 100, 1), 1, n, QV_REQ_INJECT)) == QV_OK)
		n++;
	assert_int_equal(rc, QV_EAGAIN);
	assert_int_equal(n, 11);
	assert_int_equal(rig_send_req(req, 1, n, 0), QV_EAGAIN);
	qv_loop_chaos(rig->loop)->capacity = 10;
	rig_settle(rig);
	assert_int_equal(p->waiting, 0);
	assert_int_equal(rig_send_req(req, 1, n, 0), QV_OK);
	rig_check_status(req, QV_OK);
	assert_int_equal(rig_send_req(rig_req_new(rig, 0, 100, 1), 1, n, QV_REQ_INJECT), QV_OK);
	assert_int_equal(
		rig_send_req(rig_req_new(rig, 0, QV_PROTO_INJECT + 1, 1), 1, n, QV_REQ_INJECT),
		QV_EINVAL);
	rig_free(rig);
}

/* Many messages of 8 bytes, no receive: what they take at both ends is bounded and small. In which
 * order they are received then does not matter. */
#define SHORT 3000u

enum taking { IN_ORDER, REVERSE, RANDOM, PEEKING };

static void peek_for(struct rig *rig, uint64_t tag)
{
	struct rig_req *req = rig_req_new(rig, 1, 8, 1);
	struct qv_recv_args args = rig_recv_args(req, 0, tag, 0, QV_REQ_TAGGED);

	for (unsigned tries = 0;; tries++) {
		req->done = 0;
		qv_proto_peek(rig->node[1].p, &args, QV_PEEK_LOOK, NULL);
		if (req->comp.status == QV_OK)
			return;
		assert_in_range(tries, 0, 100);
		rig_settle(rig);
	}
}

static void short_messages(enum taking how)
{
	struct rig *rig = start(2, BUDGET);
	struct rig_req **send = calloc(SHORT, sizeof *send);
	unsigned *order = calloc(SHORT, sizeof *order), waiting;
	const struct qv_peer *sender, *receiver;
	unsigned logs = 0;
	size_t bytes;

	meet(rig);
	sender = rig_peer(rig, 0, 1);
	receiver = rig_peer(rig, 1, 0);
	for (unsigned i = 0; i < SHORT; i++) {
		order[i] = how == REVERSE || how == PEEKING ? SHORT - 1 - i : i;
		send[i] = rig_send(rig, 0, 1, 8, i, QV_REQ_TAGGED);
	}
	rig_settle(rig);
	assert_true(receiver->stored <= BUDGET);
	assert_in_range(rig->node[1].p->unexps.live * (sizeof(struct qv_unexp) + 8), 1, BUDGET);
	waiting = (unsigned)rig->node[0].p->waiting;
	assert_in_range(waiting, SHORT - BUDGET / QV_WIRE_MESSAGE_COST, SHORT);
	for (const struct qv_tx *tx = sender->head; tx; tx = tx->next)
		logs++;
	bytes = logs * ((16u << 10) + sizeof(struct qv_tx));
	if (how == IN_ORDER)
		printf("%u messages wait at their sender in %zu bytes\n", waiting, bytes);
	assert_true(bytes <= waiting * 96u + (16u << 10)); /* the last log is not full */
	for (unsigned i = SHORT; how == RANDOM && i-- > 1;) {
		unsigned k = (unsigned)qv_random_below(&rig->rng, i + 1), was = order[i];

		order[i] = order[k];
		order[k] = was;
	}
	for (unsigned i = 0; i < SHORT; i++) {
		struct rig_req *recv;

		if (how == PEEKING)
			peek_for(rig, order[i]);
		recv = rig_recv(rig, 1, 0, 8, order[i], QV_REQ_TAGGED);
		rig_wait_long(rig, recv, send[order[i]]);
		rig_check(recv, send[order[i]]);
	}
	rig_ticks(rig, 500);
	rig_check_idle(rig, 0);
	assert_int_equal(rig->node[0].warnings + rig->node[1].warnings, 0);
	free(order);
	free(send);
	rig_free(rig);
}

static void short_without_receives(void **state)
{
	for (enum taking how = IN_ORDER; how <= PEEKING; how++)
		short_messages(how);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_receives), cmocka_unit_test(every_way_back),
		cmocka_unit_test(odd_budgets),     cmocka_unit_test(both_ways),
		cmocka_unit_test(queue_limit),     cmocka_unit_test(short_without_receives),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
