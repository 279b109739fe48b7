/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_order.c - random traffic among several endpoints over transports that refuse, delay
 * and reorder what they may: each receive gets the message that MPI's rule gives it, whole.
 */
#include "tests/proto/rig/rig_order.h"

#define NODES 4u
#define REQS  400u

struct traffic {
	struct rig *rig;
	struct order *order;
	struct rig_req *all[REQS]; /* of this round */
	struct rig_req *claims[REQS];
	struct qv_unexp *claimed[REQS];
	unsigned n, nclaims;
	unsigned storm; /* allocations fail once in so many, 0: never */
};

static uint64_t below(struct traffic *t, uint64_t n)
{
	return qv_random_below(&t->rig->rng, n);
}

static size_t random_len(struct traffic *t)
{
	static const size_t max[] = {1, 20, 140, 1100, 3300, 3300, 20000};

	return below(t, max[below(t, 7)]);
}

static uint64_t random_ignore(struct traffic *t)
{
	static const uint64_t ignores[] = {0, 0, 0, 1, 3, UINT64_MAX};

	return ignores[below(t, 6)];
}

static void maybe_fail(struct traffic *t)
{
	if (t->storm)
		qv_nomem_after(1 + (unsigned)below(t, t->storm), (unsigned)below(t, 2));
}

static void do_send(struct traffic *t)
{
	struct rig_req *req = rig_req_new(t->rig, (unsigned)below(t, NODES), random_len(t),
					  1 + (unsigned)below(t, QV_IOV_MAX));
	unsigned flags = (unsigned)below(t, 2) * QV_REQ_TAGGED |
			 (unsigned)below(t, 2) * QV_REQ_DATA |
			 (below(t, 4) ? 0 : (unsigned)QV_REQ_ACK);
	unsigned to = (unsigned)below(t, NODES);
	uint64_t tag = below(t, 4);
	int rc;

	if (req->len <= QV_PROTO_INJECT && below(t, 2))
		flags |= QV_REQ_INJECT;
	rig_peer(t->rig, req->node, to);
	do {
		maybe_fail(t);
		rc = rig_send_req(req, to, tag, flags);
		assert_true(rc == QV_OK || rc == QV_ENOMEM);
	} while (rc);
	order_sent(t->order, req);
	t->all[t->n++] = req;
}

static void do_recv(struct traffic *t)
{
	struct rig_req *req = rig_req_new(t->rig, (unsigned)below(t, NODES), random_len(t),
					  1 + (unsigned)below(t, QV_IOV_MAX));
	int from = (int)below(t, NODES + 1) - 1, rc;
	uint64_t tag = below(t, 4), ignore = random_ignore(t);
	unsigned flags = (unsigned)below(t, 2) * QV_REQ_TAGGED;

	if (from >= 0)
		rig_peer(t->rig, req->node, (unsigned)from);
	do {
		maybe_fail(t);
		rc = rig_recv_req(req, from, tag, ignore, flags, 0);
		assert_true(rc == QV_OK || rc == QV_ENOMEM);
		assert_true(rc == QV_OK || req->done == 0);
	} while (rc);
	order_post(t->order, req, from, tag, ignore);
	t->all[t->n++] = req;
}

static void do_cancel(struct traffic *t)
{
	struct rig_req *req = t->n ? t->all[below(t, t->n)] : NULL;
	bool queued;

	if (!req || req->is_send)
		return;
	queued = order_cancel(t->order, req);
	assert_int_equal(qv_proto_cancel(t->rig->node[req->node].p, req),
			 queued ? QV_OK : QV_ENOENT);
	if (queued)
		rig_check_status(req, QV_ECANCELED);
}

static void do_peek(struct traffic *t)
{
	enum qv_peek how = (enum qv_peek)below(t, 3);
	struct rig_req *req = rig_req_new(t->rig, (unsigned)below(t, NODES), random_len(t), 1);
	int from = (int)below(t, NODES + 1) - 1;
	uint64_t tag = below(t, 4), ignore = random_ignore(t);
	unsigned flags = (unsigned)below(t, 2) * QV_REQ_TAGGED;
	struct qv_recv_args args = rig_recv_args(req, from, tag, ignore, flags);
	struct rig_req *send =
		order_peek(t->order, req->node, from, tag, ignore, flags, how != QV_PEEK_LOOK);

	qv_proto_peek(t->rig->node[req->node].p, &args, how, &t->claimed[t->nclaims]);
	rig_check_status(req, send ? QV_OK : QV_ENOENT);
	if (!send)
		return;
	assert_int_equal(req->comp.full, send->len);
	assert_int_equal(req->comp.tag, send->tag);
	if (how != QV_PEEK_CLAIM)
		return;
	req->done = 0;
	req->user = send;
	t->claims[t->nclaims++] = req;
}

static void do_recv_claimed(struct traffic *t)
{
	unsigned i = t->nclaims ? (unsigned)below(t, t->nclaims) : 0;
	bool discard = below(t, 3) == 0;
	struct rig_req *req = t->claims[i];
	struct qv_recv_args args;
	int rc;

	if (!t->nclaims)
		return;
	args = rig_recv_args(req, RIG_ANY, req->tag, 0, req->flags);
	do {
		maybe_fail(t);
		qv_nomem_enter();
		rc = qv_proto_recv_claimed(t->rig->node[req->node].p, t->claimed[i], &args,
					   discard);
		qv_nomem_leave();
	} while (rc == QV_ENOMEM);
	assert_int_equal(rc, QV_OK);
	t->nclaims--;
	t->claims[i] = t->claims[t->nclaims];
	t->claimed[i] = t->claimed[t->nclaims];
	if (!discard)
		t->all[t->n++] = req;
	else
		assert_int_equal(req->done, 1);
}

static bool somebody_waits(const struct traffic *t)
{
	for (unsigned node = 0; node < NODES; node++) {
		struct qv_proto *p = t->rig->node[node].p;

		for (struct qv_peer *peer = NULL; (peer = qv_proto_next_peer(p, peer));)
			if (peer->head)
				return true;
	}
	return false;
}

/* What has come is received; what waits for room at its sender may come then, as if somebody had
 * looked for it in vain. */
static void take_unexpected(struct traffic *t)
{
	for (unsigned node = 0; node < NODES; node++)
		for (unsigned tagged = 0; tagged < 2; tagged++)
			while (t->order->q[node][tagged].nunexp) {
				struct rig_req *req = rig_req_new(t->rig, node, 20000, 1);

				assert_int_equal(rig_recv_req(req, RIG_ANY, 0, UINT64_MAX,
							      tagged ? QV_REQ_TAGGED : 0, 0),
						 QV_OK);
				order_post(t->order, req, RIG_ANY, 0, UINT64_MAX);
				t->all[t->n++] = req;
			}
	rig_settle(t->rig);
	for (unsigned node = 0; node < NODES; node++)
		qv_proto_widen(t->rig->node[node].p, NULL);
	rig_settle(t->rig);
}

/* The rest: everything unexpected is received, posted receives are taken back. */
static void clear(struct traffic *t)
{
	qv_nomem_after(0, 0);
	t->storm = 0;
	while (t->nclaims)
		do_recv_claimed(t);
	rig_ticks(t->rig, 200); /* answers that found no memory are tried again */
	for (unsigned i = 0; i < t->n; i++)
		if (!t->all[i]->is_send && order_cancel(t->order, t->all[i]))
			assert_int_equal(
				qv_proto_cancel(t->rig->node[t->all[i]->node].p, t->all[i]), QV_OK);
	take_unexpected(t);
	for (unsigned tries = 0; somebody_waits(t); tries++) {
		assert_in_range(tries, 0, 100);
		take_unexpected(t);
	}
	take_unexpected(t);
}

static void check_all(struct traffic *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct rig_req *req = t->all[i];

		if (req->is_send)
			rig_check_status(req, QV_OK);
		else if (req->user)
			rig_check(req, req->user);
		else
			rig_check_status(req, QV_ECANCELED);
	}
	for (unsigned node = 0; node < NODES; node++) {
		rig_check_idle(t->rig, node);
		assert_int_equal(rig_stats(t->rig, node).unexpected_bytes, 0);
		assert_int_equal(rig_stats(t->rig, node).refused, 0);
	}
}

static void round_of(struct traffic *t)
{
	unsigned calm = 1 + (unsigned)below(t, 12);

	t->n = 0;
	while (t->n < REQS / 4) {
		switch (below(t, 12)) {
		case 0:
		case 1:
		case 2:
		case 3: do_send(t); break;
		case 4:
		case 5:
		case 6:
		case 7: do_recv(t); break;
		case 8: do_cancel(t); break;
		case 9: do_recv_claimed(t); break;
		default: do_peek(t); break;
		}
		for (uint64_t i = below(t, calm); i--;) {
			maybe_fail(t);
			rig_step(t->rig);
		}
	}
	clear(t);
	check_all(t);
	rig_reqs_free(t->rig);
}

static void run(unsigned kind, unsigned storm)
{
	struct rig_settings set = rig_defaults(0);
	struct traffic t = {.rig = rig_new(&set)};
	bool headerless = below(&t, 3) == 0;

	for (unsigned i = 0; i < NODES; i++) {
		set.limits.read_max = kind & 1 ? 0 : 1 + below(&t, 9000);
		set.limits.inject_max = kind & 2 ? 0 : below(&t, 1100);
		set.limits.inject_iov = set.limits.inject_max ? 1 + below(&t, 5) : 0;
		set.limits.send_iov = 1 + below(&t, 5);
		set.limits.packet_max = QV_WIRE_MIN_PACKET + below(&t, 2000);
		set.limits.headerless = headerless;
		set.limits.hide_from = kind & 4;
		set.eager_max = below(&t, 5000);
		set.budget = below(&t, 3) ? 100 + below(&t, 20000) : 0;
		rig_open(t.rig, i, &set);
	}
	qv_loop_chaos(t.rig->loop)->capacity = 1 + (unsigned)below(&t, 20);
	qv_loop_chaos(t.rig->loop)->eagain = (unsigned)below(&t, 2) * (unsigned)below(&t, 60);
	qv_loop_chaos(t.rig->loop)->fail_register =
		(unsigned)below(&t, 2) * (unsigned)below(&t, 60);
	t.order = order_new(t.rig);
	for (unsigned i = 0; i < 6; i++) {
		t.storm = storm;
		round_of(&t);
	}
	order_free(t.order);
	rig_free(t.rig);
}

static void random_traffic(void **state)
{
	for (unsigned i = 0; i < rig_scaled(80); i++)
		run(i, 0);
}

/* The same while allocations fail: nothing is lost, nothing comes twice. */
static void random_traffic_without_memory(void **state)
{
	for (unsigned i = 0; i < rig_scaled(60); i++)
		run(i, 2 + i % 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_traffic),
		cmocka_unit_test(random_traffic_without_memory),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
