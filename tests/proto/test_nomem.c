/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nomem.c - the same traffic again and again, each time with another allocation that
 * fails: calls say QV_ENOMEM and have done nothing, packets are kept, all ends well.
 */
#include "tests/proto/rig/rig.h"

#define MSGS 10u

static const size_t lens[MSGS] = {0, 50, 128, 400, 900, 2500, 2900, 5000, 9000, 100};

struct scene {
	struct rig *rig;
	struct rig_req *send[MSGS], *recv[MSGS];
};

static unsigned flags_of(unsigned i)
{
	return QV_REQ_TAGGED | (i % 2 ? QV_REQ_ACK : 0) | (i % 3 ? 0 : QV_REQ_DATA);
}

static void send_all(struct scene *s)
{
	for (unsigned i = 0; i < MSGS; i++) {
		s->send[i] = rig_req_new(s->rig, 0, lens[i], 1 + i % QV_IOV_MAX);
		while (rig_send_req(s->send[i], 1, i, flags_of(i)) == QV_ENOMEM)
			assert_int_equal(s->send[i]->done, 0);
	}
}

static void recv_all(struct scene *s, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		s->recv[i] = rig_req_new(s->rig, 1, lens[i], 1 + i % QV_IOV_MAX);
		while (rig_recv_req(s->recv[i], RIG_ANY, i, 0, QV_REQ_TAGGED, 0) == QV_ENOMEM)
			assert_int_equal(s->recv[i]->done, 0);
	}
}

/* True: an allocation did fail. */
static bool play(const struct rig_settings *set, unsigned nth, unsigned more)
{
	struct scene s = {.rig = rig_new(set)};
	bool failed;

	qv_loop_chaos(s.rig->loop)->capacity = 3;
	rig_peer(s.rig, 0, 1);
	qv_nomem_after(nth, more);
	recv_all(&s, 0, MSGS / 3);
	send_all(&s);
	rig_settle(s.rig);
	recv_all(&s, MSGS / 3, MSGS);
	rig_ticks(s.rig, 200);
	for (unsigned i = 0; i < MSGS; i++) {
		rig_check_status(s.send[i], QV_OK);
		rig_check(s.recv[i], s.send[i]);
	}
	assert_int_equal(rig_stats(s.rig, 1).tagged.arrived, MSGS);
	for (unsigned i = 0; i < 2; i++) {
		rig_check_idle(s.rig, i);
		assert_int_equal(rig_stats(s.rig, i).refused, 0);
		assert_int_equal(s.rig->node[i].warnings, 0);
	}
	failed = qv_nomem_failed() > 0;
	qv_nomem_after(0, 0);
	rig_free(s.rig);
	return failed;
}

static void each_allocation(void **state)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rig_settings set = rig_defaults(2);
		unsigned nth = 1;

		set.limits.read_max = kind & 1 ? 0 : 1000;
		set.limits.inject_max = kind & 2 ? 0 : 100;
		set.limits.inject_iov = 1;
		set.limits.send_iov = kind & 2 ? 1 : 4;
		for (unsigned more = 0; more < 4; more++, nth = 1) {
			while (play(&set, nth, more))
				nth++;
			assert_in_range(nth, 10, 1000);
		}
	}
}

/* No memory for a long time: the packet stays, nothing else comes, then it goes on. */
static void one_packet_many_times(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	struct rig_req *send[3], *recv;

	for (unsigned i = 0; i < 3; i++)
		send[i] = rig_send(rig, 0, 1, 700 + i, i, QV_REQ_TAGGED);
	qv_nomem_after(1, 1000000);
	for (unsigned i = 0; i < 200; i++)
		rig_step(rig);
	assert_in_range(qv_nomem_failed(), 10, 1000);
	assert_int_equal(rig_stats(rig, 1).unexpected_bytes, 0);
	qv_nomem_after(0, 0);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).unexpected_bytes, 3 * 700 + 3);
	assert_int_equal(rig_stats(rig, 1).tagged.arrived, 3);
	for (unsigned i = 3; i--;) {
		recv = rig_recv(rig, 1, 0, 800, i, QV_REQ_TAGGED);
		rig_check_status(recv, QV_OK);
		assert_int_equal(recv->comp.full, send[i]->len);
	}
	rig_free(rig);
}

/* A failed send takes no credit with it. */
static void credit_of_a_failed_send(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv;
	struct qv_peer *peer;
	struct rig *rig;

	set.budget = 1 << 20;
	rig = rig_new(&set);
	qv_loop_chaos(rig->loop)->capacity = 1000;
	recv = rig_recv(rig, 1, 0, 600, 0, 0);
	peer = rig_peer(rig, 0, 1);
	rig_wait(rig, recv, rig_send(rig, 0, 1, 600, 0, 0));
	rig_settle(rig);
	for (unsigned i = 0; i < 63; i++) /* handles in use, so that one more needs memory */
		rig_send(rig, 0, 1, 10000, i + 1, QV_REQ_TAGGED);
	for (unsigned i = 0; i < 3; i++) {
		size_t before = peer->budget_used;
		struct rig_req *send = rig_req_new(rig, 0, 500, 1);

		qv_nomem_after(1, 0);
		while (rig_send_req(send, 1, 99, QV_REQ_TAGGED | QV_REQ_ACK) == QV_ENOMEM)
			assert_int_equal(peer->budget_used, before);
		assert_int_equal(peer->budget_used, before + qv_cost(500));
	}
	assert_int_equal(qv_nomem_failed(), 0); /* of the last round: the second found room */
	qv_nomem_after(0, 0);
	rig_free(rig);
}

/* A discarded message whose sender cannot be told at once: told at a later tick. */
static void discard(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	struct rig_req *send = rig_send(rig, 0, 1, 600, 1, QV_REQ_TAGGED | QV_REQ_ACK);
	struct rig_req *req = rig_req_new(rig, 1, 0, 1);
	struct qv_recv_args args = rig_recv_args(req, 0, 1, 0, QV_REQ_TAGGED);
	struct qv_proto *p = rig->node[1].p;
	struct qv_pool_item *spare;

	rig_settle(rig);
	spare = p->txs.free;
	p->txs.free = NULL;
	qv_nomem_after(1, 1000);
	qv_nomem_enter();
	qv_proto_peek(p, &args, QV_PEEK_DISCARD, NULL);
	qv_nomem_leave();
	assert_in_range(qv_nomem_failed(), 1, 10);
	qv_nomem_after(0, 0);
	p->txs.free = spare;
	rig_settle(rig);
	assert_int_equal(send->done, 0);
	rig_ticks(rig, 100);
	rig_check_status(send, QV_OK);
	assert_int_equal(rig_stats(rig, 1).unexpected_bytes, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

/* For a while a node has no memory for packets of its own. */
static void no_answers(struct rig *rig, unsigned node, unsigned steps)
{
	struct qv_proto *p = rig->node[node].p;
	struct qv_pool_item *spare = p->txs.free;

	p->txs.free = NULL;
	qv_nomem_after(1, 1000000);
	while (steps--)
		rig_step(rig);
	qv_nomem_after(0, 0);
	p->txs.free = spare;
}

/* Who only receives has nothing to say but its answer to HELLO; the sender waits for that. */
static void answer_to_hello(void **state)
{
	struct rig_settings set = rig_defaults(0);
	struct rig *rig = rig_new(&set);
	struct rig_req *send[3];

	rig_open(rig, 1, &set);
	set.budget = 1; /* what node 0 takes the other's for: the second message waits */
	rig_open(rig, 0, &set);
	rig_peer(rig, 1, 0);
	for (unsigned i = 0; i < 3; i++)
		rig_recv(rig, 1, RIG_ANY, 50, 0, QV_REQ_TAGGED);
	for (unsigned i = 0; i < 3; i++)
		send[i] = rig_send(rig, 0, 1, 50, 0, QV_REQ_TAGGED);
	no_answers(rig, 1, 30);
	assert_true(rig_peer(rig, 1, 0)->connected);
	assert_false(rig_peer(rig, 1, 0)->hello_sent);
	rig_ticks(rig, 200);
	for (unsigned i = 0; i < 3; i++)
		rig_check_status(send[i], QV_OK);
	for (struct rig_req *req = rig->reqs; req; req = req->next)
		assert_int_equal(req->done, 1);
	rig_free(rig);
}

/* A message is here, or as much of it as there is room for; its sender cannot be told at once. */
static void late_fin(size_t read_max, size_t room, unsigned after)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *send, *recv;
	struct rig *rig;

	set.limits.read_max = read_max;
	rig = rig_new(&set);
	rig_wait(rig, rig_recv(rig, 1, RIG_ANY, 5000, 0, 0), rig_send(rig, 0, 1, 5000, 0, 0));
	rig_settle(rig);
	recv = rig_recv(rig, 1, 0, room, 0, 0);
	send = rig_send(rig, 0, 1, 5000, 0, 0);
	for (unsigned i = 0; i < after; i++)
		rig_step(rig);
	no_answers(rig, 1, 30);
	rig_ticks(rig, 200);
	rig_check_status(send, QV_OK);
	rig_check(recv, send);
	assert_int_equal(rig_stats(rig, 1).refused + rig_stats(rig, 0).refused, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void each_late_fin(void **state)
{
	static const size_t rooms[] = {0, 700, 5000, 6000};

	for (unsigned i = 0; i < 8; i++)
		for (unsigned after = 0; after < 30; after++)
			late_fin(i & 1 ? 4096 : 0, rooms[i / 2], after);
}

/* An endpoint that cannot be made leaves nothing behind. */
static void create(void **state)
{
	static const struct qv_proto_owner_ops ops = {
		.complete = NULL, .sent = NULL, .identify = NULL, .warn = NULL};
	struct qv_proto_settings ps = {.budget = 1};
	struct qv_proto *p = NULL;
	int rc = QV_ENOMEM;
	unsigned n = 0;

	qv_match_settings_default(&ps.match);
	while (rc == QV_ENOMEM) {
		qv_nomem_after(++n, 0);
		qv_nomem_enter();
		rc = qv_proto_create(&ps, &ops, NULL, &p);
		qv_nomem_leave();
		assert_true(rc == QV_OK || p == NULL);
	}
	assert_int_equal(rc, QV_OK);
	assert_in_range(n, 4, 100);
	qv_nomem_after(0, 0);
	qv_proto_destroy(p);
	p = NULL;
	ps.match.structure = "no such structure";
	assert_int_equal(qv_proto_create(&ps, &ops, NULL, &p), QV_EINVAL);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation),
		cmocka_unit_test(one_packet_many_times),
		cmocka_unit_test(credit_of_a_failed_send),
		cmocka_unit_test(discard),
		cmocka_unit_test(answer_to_hello),
		cmocka_unit_test(each_late_fin),
		cmocka_unit_test(create),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
