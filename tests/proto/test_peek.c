/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_peek.c - look at, claim and discard unexpected messages of every kind, whole and with
 * their rest still to come; and the end of an endpoint that still has some.
 */
#include "tests/proto/rig/rig.h"

enum what { LOOK, CLAIM, CLAIM_SHORT, CLAIM_DISCARD, DISCARD, WHATS };

static unsigned packets;

static void count(void *ctx, unsigned from, unsigned to, const void *buf, size_t len)
{
	packets += to == 1;
}

static void meet(struct rig *rig)
{
	struct rig_req *recv = rig_recv(rig, 1, 0, 0, 0, 0);

	rig_wait(rig, recv, rig_send(rig, 0, 1, 0, 0, 0));
	rig_settle(rig);
	packets = 0;
	qv_loop_set_tap(rig->loop, count, NULL);
}

static struct qv_unexp *peek(struct rig *rig, struct rig_req *req, enum qv_peek how, size_t full)
{
	struct qv_recv_args args = rig_recv_args(req, RIG_ANY, 0, UINT64_MAX, QV_REQ_TAGGED);
	struct qv_unexp *u = NULL;

	qv_proto_peek(rig->node[1].p, &args, how, &u);
	rig_check_status(req, QV_OK);
	assert_int_equal(req->comp.full, full);
	assert_int_equal(req->comp.tag, 42);
	assert_true(req->comp.tagged && req->comp.recv);
	req->done = 0;
	return u;
}

/* A message of which `have` packets have come. */
static void one(struct rig *rig, size_t len, unsigned have, unsigned flags, enum what what)
{
	struct rig_req *send = rig_send(rig, 0, 1, len, 42, flags | QV_REQ_TAGGED);
	struct rig_req *req = rig_req_new(rig, 1, what == CLAIM_SHORT ? len / 2 : len, 1);
	struct rig_req *next = rig_recv(rig, 1, 0, 10, 43, QV_REQ_TAGGED);
	struct qv_proto *p = rig->node[1].p;
	struct qv_recv_args args;
	struct qv_unexp *u;

	packets = 0;
	while (packets < have)
		rig_step(rig);
	u = peek(rig, req, QV_PEEK_LOOK, len);
	assert_null(u);
	if (what == DISCARD) {
		peek(rig, req, QV_PEEK_DISCARD, len);
	} else if (what == LOOK) {
		assert_int_equal(rig_recv_req(req, 0, 42, 0, QV_REQ_TAGGED, 0), QV_OK);
	} else {
		u = peek(rig, req, QV_PEEK_CLAIM, len);
		if (flags & QV_REQ_ACK)
			rig_step(rig);
		args = rig_recv_args(req, RIG_ANY, 42, 0, QV_REQ_TAGGED);
		assert_int_equal(qv_proto_recv_claimed(p, u, &args, what == CLAIM_DISCARD), QV_OK);
	}
	assert_int_equal(rig_stats(rig, 1).tagged.unexpected_now, 0);
	rig_wait(rig, send, what == DISCARD ? NULL : req);
	rig_check_status(send, QV_OK);
	if (what == LOOK || what == CLAIM || what == CLAIM_SHORT)
		rig_check(req, send);
	else if (what == CLAIM_DISCARD)
		assert_int_equal(req->comp.len, 0);
	rig_wait(rig, next, rig_send(rig, 0, 1, 10, 43, QV_REQ_TAGGED)); /* the rest is clean */
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).unexpected_bytes, 0);
}

static void every_state(void **state)
{
	static const struct {
		size_t len;
		unsigned packets;
	} forms[] = {{0, 1}, {60, 1}, {500, 1}, {2900, 1}, {2900, 2}, {2900, 3}, {9000, 1}};

	for (unsigned read = 0; read < 2; read++) {
		struct rig_settings set = rig_defaults(2);
		struct rig *rig;

		set.limits.read_max = read ? 2000 : 0;
		rig = rig_new(&set);
		meet(rig);
		for (unsigned f = 0; f < 7; f++)
			for (enum what what = 0; what < WHATS; what++)
				for (unsigned ack = 0; ack < 2; ack++)
					one(rig, forms[f].len, forms[f].packets,
					    ack ? QV_REQ_ACK : QV_REQ_DATA, what);
		rig_check_idle(rig, 0);
		rig_check_idle(rig, 1);
		assert_int_equal(rig->node[1].p->unexps.live, 0);
		rig_free(rig);
	}
}

static void nothing_there(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	struct rig_req *req = rig_req_new(rig, 1, 10, 1);
	struct qv_recv_args args = rig_recv_args(req, 0, 7, 0, QV_REQ_TAGGED);
	struct qv_unexp *u = NULL;

	rig_send(rig, 0, 1, 10, 7, 0); /* untagged: another engine */
	rig_send(rig, 0, 1, 10, 6, QV_REQ_TAGGED);
	rig_settle(rig);
	for (enum qv_peek how = QV_PEEK_LOOK; how <= QV_PEEK_DISCARD; how++) {
		req->done = 0;
		qv_proto_peek(rig->node[1].p, &args, how, &u);
		rig_check_status(req, QV_ENOENT);
		assert_null(u);
		assert_int_equal(req->comp.tag, 7);
	}
	rig_free(rig);
}

/* Closing: senders that wait for a receive are told; nothing leaks, whatever was under way. */
static void close_with_messages(void **state)
{
	for (unsigned form = 0; form < 16; form++) {
		struct rig_settings set = rig_defaults(2);
		struct rig *rig;
		struct rig_req *send[5], *req, *late;
		struct qv_recv_args args;
		struct qv_unexp *u = NULL;

		set.limits.read_max = form & 1 ? 2000 : 0;
		rig = rig_new(&set);
		meet(rig);
		send[0] = rig_send(rig, 0, 1, 9000, 1, QV_REQ_TAGGED);
		send[1] = rig_send(rig, 0, 1, 50, 2, QV_REQ_TAGGED | QV_REQ_ACK);
		send[2] = rig_send(rig, 0, 1, 9000, 3, QV_REQ_TAGGED);
		send[3] = rig_send(rig, 0, 1, 9000, 4, 0);
		rig_settle(rig);
		send[4] = rig_send(rig, 0, 1, 2900, 5, QV_REQ_TAGGED | QV_REQ_ACK);
		packets = 0;
		while (packets < 2)
			rig_step(rig);
		req = rig_req_new(rig, 1, 9000, 1);
		args = rig_recv_args(req, 0, form & 2 ? 3 : 5, 0, QV_REQ_TAGGED);
		qv_proto_peek(rig->node[1].p, &args, form & 4 ? QV_PEEK_CLAIM : QV_PEEK_DISCARD,
			      &u);
		if (form & 8)
			rig_recv(rig, 1, 0, 9000, 1, QV_REQ_TAGGED); /* is coming in */
		qv_proto_shutdown(rig->node[1].p);
		late = rig_send(rig, 0, 1, 9000, 6, QV_REQ_TAGGED);
		rig_settle(rig);
		for (unsigned i = 0; i < 4; i++)
			if (send[i]->comp.status != QV_OK || i == 1)
				rig_check_status(send[i], QV_EPEER);
		rig_check_status(late, QV_EPEER);
		assert_int_equal(send[4]->done, 1);
		rig_check_idle(rig, 0);
		rig_kill(rig, 1, QV_LOOP_ERRORS, false); /* with what is left in it */
		rig_free(rig);
	}
}

/* Both say that they leave, and wait for each other. */
static void leaving(void **state)
{
	for (unsigned form = 0; form < 2; form++) {
		struct rig_settings set = rig_defaults(3);
		struct rig *rig = rig_new(&set);
		struct qv_proto *p = rig->node[0].p, *q = rig->node[1].p;
		struct rig_req *last[12];

		meet(rig);
		for (unsigned i = 0; i < 12; i++)
			last[i] = rig_send(rig, 0, 1, 60 * i, i, QV_REQ_TAGGED);
		qv_proto_shutdown(p);
		qv_proto_send_leave(p);
		assert_false(qv_proto_may_leave(p));
		if (form) {
			qv_proto_shutdown(q);
			qv_proto_send_leave(q);
		}
		rig_settle(rig);
		assert_true(qv_proto_may_leave(p));
		assert_int_equal(qv_proto_unsent(p), 0);
		if (form)
			assert_true(qv_proto_may_leave(q));
		else
			assert_int_equal(rig_stats(rig, 1).tagged.unexpected, 12);
		for (unsigned i = 0; i < 12; i++)
			rig_check_status(last[i], QV_OK);
		rig_kill(rig, 0, QV_LOOP_ERRORS, false);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(close_with_messages),
		cmocka_unit_test(leaving),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
