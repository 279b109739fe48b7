/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_multi.c - one buffer for many messages: each lies where its completion says, the
 * buffer ends once, with or after its last message; and taking receives back.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

#define MSGS 60u

static struct rig *start(unsigned kind)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig;

	set.limits.read_max = kind & 1 ? 0 : 700;
	set.eager_max = kind & 2 ? 300 : 3000;
	rig = rig_new(&set);
	qv_loop_chaos(rig->loop)->capacity = 1 + (unsigned)qv_random_below(&rig->rng, 6);
	return rig;
}

static struct rig_req *post(struct rig *rig, size_t room, size_t min, unsigned tagged)
{
	struct rig_req *req = rig_req_new(rig, 1, room, 1);

	assert_int_equal(rig_recv_req(req, RIG_ANY, 0, UINT64_MAX, tagged | QV_REQ_MULTI, min),
			 QV_OK);
	return req;
}

/* Every message that a buffer took, by tag; they do not overlap, and the last one ends it. */
static unsigned check_buffer(const struct rig_req *req, struct rig_req *const *send, bool *seen)
{
	size_t used = 0;
	unsigned messages = 0;

	for (unsigned i = 0; i < req->done; i++) {
		const struct qv_comp *c = &req->all[i];

		assert_int_equal(c->multi_end, i + 1 == req->done && req->ended);
		if (c->status == QV_ECANCELED)
			continue;
		assert_true(c->tag < MSGS && !seen[c->tag]);
		seen[c->tag] = true;
		messages++;
		assert_int_equal(c->full, send[c->tag]->len);
		assert_int_equal(c->status, c->len < c->full ? QV_ETRUNC : QV_OK);
		assert_true((char *)c->buf >= (char *)req->iov[0].iov_base);
		assert_true((char *)c->buf + c->len <=
			    (char *)req->iov[0].iov_base + req->iov[0].iov_len);
		assert_true(rig_payload_is(c->buf, c->len, send[c->tag]->stamp));
		used += c->len;
	}
	assert_true(used <= req->len);
	return messages;
}

/* Buffers of random size, messages of random size, before and after; some are canceled. */
static void one_run(unsigned kind)
{
	struct rig *rig = start(kind);
	struct rig_req *send[MSGS], *buf[4 * MSGS];
	bool seen[MSGS] = {false};
	unsigned n = 0, taken = 0;

	for (unsigned i = 0; i < MSGS; i++) {
		if (qv_random_percent(&rig->rng, 20))
			buf[n++] = post(rig, qv_random_below(&rig->rng, 6000),
					qv_random_below(&rig->rng, 1000), QV_REQ_TAGGED);
		send[i] = rig_send(rig, 0, 1, qv_random_below(&rig->rng, 2000), i, QV_REQ_TAGGED);
		for (uint64_t k = qv_random_below(&rig->rng, 10); k--;)
			rig_step(rig);
		if (n && qv_random_percent(&rig->rng, 10))
			qv_proto_cancel(rig->node[1].p, buf[qv_random_below(&rig->rng, n)]);
	}
	rig_settle(rig);
	for (;;) {
		struct qv_match_stats tagged = rig_stats(rig, 1).tagged;

		if (!tagged.unexpected_now && !rig_peer(rig, 0, 1)->head)
			break;
		buf[n++] = post(rig, 1 + qv_random_below(&rig->rng, 6000), 100, QV_REQ_TAGGED);
		assert_true(n < 4 * MSGS);
		rig_settle(rig);
	}
	rig_settle(rig);
	while (qv_proto_engine(rig->node[1].p, QV_REQ_TAGGED) && n--) {
		if (!buf[n]->ended) /* nothing is coming in: the cancel ends it */
			assert_int_equal(qv_proto_cancel(rig->node[1].p, buf[n]), QV_OK);
		assert_true(buf[n]->ended);
		assert_int_equal(qv_proto_cancel(rig->node[1].p, buf[n]), QV_ENOENT);
		taken += check_buffer(buf[n], send, seen);
	}
	assert_int_equal(taken, MSGS);
	for (unsigned i = 0; i < MSGS; i++)
		rig_check_status(send[i], QV_OK);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	assert_int_equal(rig->node[1].p->rxs.live, 0);
	rig_free(rig);
}

static void many_messages(void **state)
{
	for (unsigned i = 0; i < rig_scaled(200); i++)
		one_run(i);
}

/* A buffer without minimum ends when it is full to the last byte, not with the next message. */
static void exactly_full(void **state)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rig *rig = start(kind);
		struct rig_req *a, *b, *buf = post(rig, 500, 0, QV_REQ_TAGGED), *next;

		a = rig_send(rig, 0, 1, 100, 0, QV_REQ_TAGGED);
		b = rig_send(rig, 0, 1, 0, 1, QV_REQ_TAGGED);
		rig_wait(rig, a, b);
		rig_settle(rig);
		assert_int_equal(buf->done, 2);
		assert_false(buf->ended);
		rig_wait(rig, rig_send(rig, 0, 1, 400, 2, QV_REQ_TAGGED), NULL);
		rig_settle(rig);
		assert_int_equal(buf->done, 3);
		assert_true(buf->ended);
		next = post(rig, 500, 0, QV_REQ_TAGGED);
		rig_wait(rig, rig_send(rig, 0, 1, 0, 3, QV_REQ_TAGGED), next);
		assert_false(next->ended);
		rig_free(rig);
	}
}

/* Canceled, or full, while rendezvous are coming in: the last of them ends the buffer. */
static void ends_after_the_last(void **state)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rig *rig = start(kind);
		struct rig_req *buf, *a, *b;
		unsigned n = 0;

		qv_loop_chaos(rig->loop)->capacity = 64;
		buf = post(rig, kind & 1 ? 10000 : 20000, 1, QV_REQ_TAGGED);
		a = rig_send(rig, 0, 1, 5000, 0, QV_REQ_TAGGED);
		b = rig_send(rig, 0, 1, 5000, 1, QV_REQ_TAGGED);
		while (rig_stats(rig, 1).tagged.matched < 2) {
			rig_step(rig);
			assert_in_range(n++, 0, 10000);
		}
		if (kind & 1)
			assert_int_equal(qv_proto_cancel(rig->node[1].p, buf), QV_ENOENT);
		else
			assert_int_equal(qv_proto_cancel(rig->node[1].p, buf), QV_OK);
		assert_false(buf->ended);
		rig_wait(rig, a, b);
		rig_settle(rig);
		assert_true(buf->ended);
		assert_int_equal(buf->done, kind & 1 ? 2 : 3);
		assert_true(buf->all[buf->done - 1].multi_end);
		rig_free(rig);
	}
}

/* The peer dies in the middle of it. */
static void peer_dies(void **state)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rig *rig = start(kind);
		struct rig_req *buf = post(rig, 6000, 1, QV_REQ_TAGGED), *more;
		unsigned n = 0;

		qv_loop_chaos(rig->loop)->capacity = 64;
		rig_send(rig, 0, 1, 5000, 0, QV_REQ_TAGGED);
		rig_send(rig, 0, 1, 5000, 1, QV_REQ_TAGGED);
		while (rig_stats(rig, 1).tagged.matched < 2) {
			rig_step(rig);
			assert_in_range(n++, 0, 10000);
		}
		rig_kill(rig, 0, QV_LOOP_STUCK, false);
		rig_give_up(rig->node[1].p, rig->node[1].x, 0);
		assert_int_equal(buf->done, 2);
		assert_true(buf->ended);
		assert_int_equal(buf->all[1].status, QV_EPEER);
		more = post(rig, 6000, 1, QV_REQ_TAGGED);
		rig_open(rig, 0, &rig->set);
		rig_wait(rig, rig_send(rig, 0, 1, 100, 2, QV_REQ_TAGGED), more);
		assert_int_equal(more->comp.status, QV_OK);
		rig_free(rig);
	}
}

/* A canceled receive takes no message; the next one does. */
static void cancel_single(void **state)
{
	struct rig *rig = start(0);
	struct rig_req *recv[20], *send;

	for (unsigned i = 0; i < 20; i++)
		recv[i] = rig_recv(rig, 1, RIG_ANY, 4000, 1, i & 1 ? QV_REQ_TAGGED : 0);
	for (unsigned i = 0; i < 20; i += 4) {
		assert_int_equal(qv_proto_cancel(rig->node[1].p, recv[i]), QV_OK);
		assert_int_equal(qv_proto_cancel(rig->node[1].p, recv[i + 1]), QV_OK);
		rig_check_status(recv[i], QV_ECANCELED);
		rig_check_status(recv[i + 1], QV_ECANCELED);
		assert_true(recv[i + 1]->comp.tagged && !recv[i]->comp.tagged);
	}
	for (unsigned i = 0; i < 20; i++) {
		if (i % 4 < 2)
			continue;
		send = rig_send(rig, 0, 1, i * 200, 1, i & 1 ? QV_REQ_TAGGED : 0);
		rig_wait(rig, send, recv[i]);
		assert_int_equal(qv_proto_cancel(rig->node[1].p, recv[i]), QV_ENOENT);
		assert_int_equal(recv[i]->comp.full, send->len);
	}
	rig_free(rig);
}

/* While a message is coming in, its receive cannot be taken back. */
static void cancel_too_late(void **state)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rig *rig = start(kind);
		struct rig_req *recv = rig_recv(rig, 1, 0, 2500, 1, QV_REQ_TAGGED);
		struct rig_req *send = rig_send(rig, 0, 1, 2500, 1, QV_REQ_TAGGED);

		while (!rig_stats(rig, 1).tagged.matched)
			rig_step(rig);
		assert_int_equal(qv_proto_cancel(rig->node[1].p, recv), QV_ENOENT);
		rig_wait(rig, send, recv);
		rig_check(recv, send);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_messages),       cmocka_unit_test(exactly_full),
		cmocka_unit_test(ends_after_the_last), cmocka_unit_test(peer_dies),
		cmocka_unit_test(cancel_single),       cmocka_unit_test(cancel_too_late),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
