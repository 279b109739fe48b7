/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_lost.c - a peer is lost while requests are in every state: each completes once, with
 * an error, and traffic with others goes on.
 */
#include "tests/proto/rig/rig.h"

/* Requests of node 0 with node 1, as many states as a random run reaches, and some with node 2. */
#define REQS 40u

struct life {
	struct rig *rig;
	struct rig_req *mine[REQS];              /* between 0 and 1 */
	struct rig_req *send[REQS], *recv[REQS]; /* between 0 and 2 */
};

static void send_or_recv(struct life *l, unsigned i)
{
	static const size_t lens[] = {0, 100, 600, 2500, 9000, 30000};
	struct rig *rig = l->rig;
	size_t len = lens[qv_random_below(&rig->rng, 6)];
	unsigned flags = QV_REQ_TAGGED | (qv_random(&rig->rng) & 1 ? QV_REQ_ACK : 0);

	if (qv_random(&rig->rng) & 1) {
		l->mine[i] = rig_send(rig, 0, 1, len, i, flags);
		if (qv_random(&rig->rng) & 1)
			rig_recv(rig, 1, 0, len, i, QV_REQ_TAGGED);
	} else {
		rig_send(rig, 1, 0, len, i, flags);
		l->mine[i] = rig_recv(rig, 0, 1, len, i, QV_REQ_TAGGED);
	}
	if (i % 4)
		return;
	l->send[i] = rig_send(rig, i & 4 ? 0 : 2, i & 4 ? 2 : 0, len, 1000 + i, flags);
	l->recv[i] = rig_recv(rig, i & 4 ? 2 : 0, i & 4 ? 0 : 2, len, 1000 + i, QV_REQ_TAGGED);
}

static void meet(struct rig *rig, unsigned a, unsigned b)
{
	struct rig_req *recv = rig_recv(rig, b, (int)a, 0, 0, 0);

	rig_wait(rig, recv, rig_send(rig, a, b, 0, 0, 0));
	recv = rig_recv(rig, a, (int)b, 0, 0, 0);
	rig_wait(rig, recv, rig_send(rig, b, a, 0, 0, 0));
	rig_settle(rig);
}

/* What must be complete: all sends; receives of which anything had come. */
static void check_mine(const struct rig_req *req)
{
	if (!req->done) {
		assert_false(req->is_send);
		return;
	}
	if (req->comp.status == QV_OK)
		return;
	if (req->comp.status != QV_EPEER && req->comp.status != QV_EIO)
		fail_msg("completed with %s", qv_strerror(req->comp.status));
	if (!req->is_send)
		assert_int_equal(req->comp.len, 0);
}

static void one_loss(enum qv_loop_death how, bool last_words, bool by_transport)
{
	struct rig_settings set = rig_defaults(3);
	struct life l = {0};

	set.limits.read_max = qv_random(&(uint64_t){rig_seed()}) & 1 ? 2000 : 0;
	l.rig = rig_new(&set);
	set.limits.read_max = qv_random(&l.rig->rng) & 1 ? 2000 : 0;
	qv_loop_chaos(l.rig->loop)->capacity = 1 + (unsigned)qv_random_below(&l.rig->rng, 8);
	qv_loop_chaos(l.rig->loop)->eagain = 10;
	meet(l.rig, 0, 1);
	meet(l.rig, 0, 2);
	for (unsigned i = 0; i < REQS; i++) {
		send_or_recv(&l, i);
		for (uint64_t n = qv_random_below(&l.rig->rng, 12); n--;)
			rig_step(l.rig);
	}
	rig_kill(l.rig, 1, how, last_words);
	if (by_transport)
		rig_give_up(l.rig->node[0].p, l.rig->node[0].x, 1);
	else
		rig_peer(l.rig, 0, 1)->proc.pid = 0x7ffffff0; /* no such process */
	rig_settle(l.rig);
	if (how != QV_LOOP_STUCK || by_transport)
		rig_ticks(l.rig, 3000);
	else
		rig_ticks(l.rig, 1500);
	for (unsigned i = 0; i < REQS; i++) {
		check_mine(l.mine[i]);
		if (l.send[i]) {
			rig_check_status(l.send[i], QV_OK);
			rig_check(l.recv[i], l.send[i]);
		}
	}
	if (how != QV_LOOP_STUCK)
		rig_check_idle(l.rig, 0);
	else /* what the transport keeps for the dead is not waited for at the end */
		assert_int_equal(qv_proto_unsent(l.rig->node[0].p), 0);
	rig_check_idle(l.rig, 2);
	rig_free(l.rig);
}

static void in_every_state(void **state)
{
	for (unsigned n = rig_scaled(25); n--;)
		for (unsigned how = QV_LOOP_ERRORS; how <= QV_LOOP_STUCK; how++)
			for (unsigned f = 0; f < 4; f++)
				one_loss(how, f & 1, f & 2);
}

static struct rig *pair(void)
{
	struct rig_settings set = rig_defaults(2);

	return rig_new(&set);
}

/* The receiver had it all, said so, and went: its last word counts. */
static void fin_of_the_dead(void **state)
{
	struct rig *rig = pair();
	struct rig_req *send, *recv;

	meet(rig, 0, 1);
	recv = rig_recv(rig, 1, 0, 100, 1, 0);
	send = rig_send(rig, 0, 1, 100, 1, QV_REQ_ACK);
	while (!recv->done)
		rig_step(rig);
	assert_int_equal(send->done, 0);
	rig_kill(rig, 1, QV_LOOP_ERRORS, true);
	rig_peer(rig, 0, 1)->proc.pid = 0x7ffffff0;
	rig->now += 1000;
	qv_proto_tick(rig->node[0].p, rig->now); /* sees that it is dead before its FIN */
	assert_int_equal(send->done, 0);
	rig_settle(rig);
	rig_check_status(send, QV_OK);
	rig_ticks(rig, 400); /* not yet tried again */
	assert_int_equal(qv_proto_send(rig->node[0].p, rig_peer(rig, 0, 1),
				       &(struct qv_send_args){.context = NULL}),
			 QV_EPEER);
	rig_free(rig);
}

/* Errors of the transport on packets to it: they are sent again, and what the peer sent before
 * still counts. That its process has died ends it. */
static void last_message_after_error(void **state)
{
	struct rig *rig = pair();
	struct rig_req *recv, *send, *mine[3];

	meet(rig, 0, 1);
	send = rig_send(rig, 1, 0, 3000, 5, 0); /* several packets */
	rig_kill(rig, 1, QV_LOOP_ERRORS, true);
	for (unsigned i = 0; i < 3; i++)
		mine[i] = rig_send(rig, 0, 1, 600, i, 0);
	recv = rig_recv(rig, 0, 1, 3000, 5, 0);
	rig_ticks(rig, 3000);
	rig_check(recv, send);
	for (unsigned i = 0; i < 3; i++) /* nobody has got them, or has died, for all we know */
		assert_int_equal(mine[i]->done, 0);
	rig_peer(rig, 0, 1)->proc.pid = 0x7ffffff0;
	rig_ticks(rig, 2000);
	for (unsigned i = 0; i < 3; i++)
		rig_check_status(mine[i], QV_EPEER);
	rig_check_idle(rig, 0);
	assert_int_equal(rig->node[0].warnings, 1);
	rig_free(rig);
}

static unsigned packets_to_1;

static void count(void *ctx, unsigned from, unsigned to, const void *buf, size_t len)
{
	packets_to_1 += to == 1;
}

/* Half an eager message is here, matched, unexpected, claimed or discarded, when the
 * rest is lost. */
static void half_a_message(void **state)
{
	for (unsigned form = 0; form < 5; form++) {
		struct rig *rig = pair();
		struct rig_req *recv = rig_req_new(rig, 1, 3000, 1);
		struct rig_req *peek = rig_req_new(rig, 1, 0, 1);
		struct qv_recv_args args = rig_recv_args(peek, RIG_ANY, 7, 0, QV_REQ_TAGGED);
		struct qv_unexp *u = NULL;

		meet(rig, 0, 1);
		if (form == 0)
			rig_recv_req(recv, 0, 7, 0, QV_REQ_TAGGED, 0);
		packets_to_1 = 0;
		qv_loop_set_tap(rig->loop, count, NULL);
		rig_send(rig, 0, 1, 3000, 7, QV_REQ_TAGGED);
		while (packets_to_1 < 2)
			rig_step(rig);
		if (form >= 3)
			qv_proto_peek(rig->node[1].p, &args,
				      form == 3 ? QV_PEEK_CLAIM : QV_PEEK_DISCARD, &u);
		rig_kill(rig, 0, QV_LOOP_SILENT, false);
		rig_peer(rig, 1, 0)->proc.pid = 0x7ffffff0;
		if (form == 1)
			rig_recv_req(recv, 0, 7, 0, QV_REQ_TAGGED, 0);
		rig_ticks(rig, 2000);
		if (form == 2)
			rig_recv_req(recv, 0, 7, 0, QV_REQ_TAGGED, 0);
		if (form == 3) {
			args = rig_recv_args(recv, RIG_ANY, 7, 0, QV_REQ_TAGGED);
			assert_int_equal(qv_proto_recv_claimed(rig->node[1].p, u, &args, false),
					 QV_OK);
		}
		if (form < 4) {
			rig_check_status(recv, QV_EPEER);
			assert_int_equal(recv->comp.len, 0);
		}
		assert_int_equal(rig_stats(rig, 1).unexpected_bytes, 0);
		rig_check_idle(rig, 1);
		rig_free(rig);
	}
}

/* A hard error in the call itself, on any packet, or told later: it is sent again. */
static void error_of_a_packet(unsigned nth, bool at_once, size_t inject_max)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig;
	struct rig_req *recv, *send;

	set.limits.read_max = 0;
	set.limits.inject_max = inject_max;
	rig = rig_new(&set);
	meet(rig, 0, 1);
	*qv_loop_chaos(rig->loop) = (struct qv_loop_chaos){
		.capacity = 64, .fail_send = nth, .fail_at_once = at_once, .fail_status = QV_EIO};
	recv = rig_recv(rig, 1, 0, 3500, 9, QV_REQ_TAGGED);
	send = rig_send(rig, 0, 1, 3500, 9, QV_REQ_TAGGED);
	rig_ticks(rig, 3000);
	assert_int_equal(qv_loop_chaos(rig->loop)->fail_send, 0); /* there were so many */
	rig_check_status(send, QV_OK);
	rig_check(recv, send);
	assert_int_equal(rig->node[0].warnings + rig->node[1].warnings, 0);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void error_in_the_call(void **state)
{
	for (unsigned nth = 1; nth <= 6; nth++) {
		error_of_a_packet(nth, true, 256);
		error_of_a_packet(nth, true, 0);
		error_of_a_packet(nth, false, 0);
	}
}

/* One of many that wait fails for good, over a transport whose packets are not sent again: none of
 * those behind it may arrive, as if nothing were missing. */
static void error_while_they_wait(void **state)
{
	enum { N = 3000, GOOD = 100 };
	struct rig_settings set = rig_defaults(2);
	static struct rig_req *send[N];
	struct rig *rig;
	unsigned failed = 0;

	set.limits.headerless = true;
	rig = rig_new(&set);
	meet(rig, 0, 1);
	qv_loop_chaos(rig->loop)->eagain = 100;
	for (unsigned i = 0; i < N; i++) {
		rig_recv(rig, 1, 0, 8, i, QV_REQ_TAGGED);
		send[i] = rig_send(rig, 0, 1, 8, i, QV_REQ_TAGGED);
	}
	*qv_loop_chaos(rig->loop) = (struct qv_loop_chaos){
		.capacity = 64, .fail_send = GOOD, .fail_at_once = true, .fail_status = QV_EIO};
	rig_ticks(rig, 3000);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(send[i]->done, 1);
		failed += send[i]->comp.status != QV_OK;
		assert_true(!failed || send[i]->comp.status);
	}
	assert_in_range(failed, 1, N - 1);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_every_state),           cmocka_unit_test(fin_of_the_dead),
		cmocka_unit_test(last_message_after_error), cmocka_unit_test(half_a_message),
		cmocka_unit_test(error_in_the_call),        cmocka_unit_test(error_while_they_wait),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
