/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_seq.c - a transport that loses packets, repeats them, or loses all that is on its way:
 * every message arrives once, in order, with the right bytes, and every request completes well.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

#define MSGS 8u

struct run {
	struct rig *rig;
	struct rig_req *send[2][MSGS], *recv[2][MSGS];
	unsigned packets; /* that have come anywhere */
};

/* Lengths and kinds: injected, eager, of several packets, acknowledged, read or asked for. */
static const struct {
	size_t len;
	unsigned flags;
} kinds[MSGS] = {
	{8, QV_REQ_INJECT}, {700, 0},           {2500, 0}, {40, QV_REQ_ACK},
	{6000, 0},          {900, QV_REQ_SENT}, {0, 0},    {20, QV_REQ_DATA},
};

static void count(struct rig_node *node, uint64_t from, const void *buf, size_t len, int rc)
{
	(void)from;
	(void)buf;
	(void)len;
	((struct run *)node->rig->user)->packets += rc == QV_OK;
}

static void begin(struct run *r, unsigned form)
{
	struct rig_settings set = rig_defaults(2);

	*r = (struct run){0};
	set.limits.read_max = form & 1 ? 4096 : 0;
	set.limits.inject_max = form & 2 ? 256 : 0;
	r->rig = rig_new(&set);
	r->rig->user = r;
	r->rig->on_packet = count;
	if (form & 4) {
		qv_loop_chaos(r->rig->loop)->capacity = 3;
		qv_loop_chaos(r->rig->loop)->eagain = 20;
	}
}

static void send_all(struct run *r)
{
	struct rig *rig = r->rig;

	for (unsigned i = 0; i < MSGS; i++)
		for (unsigned n = 0; n < 2; n++) {
			if (i & 1)
				r->recv[n][i] =
					rig_recv(rig, n, !n, kinds[i].len, 1, QV_REQ_TAGGED);
			r->send[n][i] = rig_send(rig, n, !n, kinds[i].len, i & 1,
						 QV_REQ_TAGGED | kinds[i].flags);
			rig_step(rig);
		}
}

/* The others came without receives. */
static void receive_rest(struct run *r)
{
	struct rig *rig = r->rig;

	for (unsigned n = 0; n < 2; n++)
		for (unsigned i = 0; i < MSGS; i += 2)
			r->recv[n][i] = rig_recv(rig, n, !n, kinds[i].len, 0, QV_REQ_TAGGED);
}

/* Receives with one tag take the messages in order: rig_check compares each with its own. */
static void check_all(struct run *r)
{
	struct rig *rig = r->rig;

	for (unsigned n = 0; n < 2; n++)
		for (unsigned i = 0; i < MSGS; i++) {
			rig_wait_long(rig, r->recv[n][i], r->send[!n][i]);
			rig_check_status(r->send[!n][i], QV_OK);
			rig_check(r->recv[n][i], r->send[!n][i]);
		}
	*qv_loop_chaos(rig->loop) = (struct qv_loop_chaos){.capacity = 64};
	rig_ticks(rig, 10000);
	for (unsigned n = 0; n < 2; n++) {
		struct qv_match_stats tagged = rig_stats(rig, n).tagged;

		assert_int_equal(tagged.unexpected_now, 0); /* nothing came twice */
		assert_int_equal(qv_proto_peer_received(rig_peer(rig, n, !n)), MSGS);
		assert_int_equal(rig->node[n].warnings, 0);
		assert_int_equal(rig_peer(rig, n, !n)->sent, rig_peer(rig, n, !n)->acked);
		assert_null(rig_peer(rig, n, !n)->window.first);
		rig_check_idle(rig, n);
	}
	rig_free(rig);
}

static unsigned packets_of(unsigned form)
{
	struct run r;
	unsigned packets;

	begin(&r, form);
	send_all(&r);
	rig_settle(r.rig);
	receive_rest(&r);
	rig_ticks(r.rig, 1000);
	packets = r.packets;
	check_all(&r);
	return packets;
}

/* Each packet of both directions in turn is lost, alone or with those behind it. */
static void each_packet_lost(void **state)
{
	for (unsigned form = 0; form < 8; form++) {
		unsigned packets = packets_of(form);

		assert_in_range(packets, 2 * MSGS, 500);
		for (unsigned k = 1; k <= packets + 10; k++)
			for (unsigned more = 0; more < 10; more += 4) {
				struct run r;

				begin(&r, form);
				qv_loop_chaos(r.rig->loop)->lose_nth = k;
				qv_loop_chaos(r.rig->loop)->lose_more = more;
				send_all(&r);
				rig_settle(r.rig);
				receive_rest(&r);
				check_all(&r);
			}
	}
}

/* The connection breaks when k packets have come, silently or not. */
static void cut_anywhere(void **state)
{
	for (unsigned form = 0; form < 16; form++) {
		unsigned packets = packets_of(form);

		for (unsigned k = 0; k <= packets; k++) {
			struct run r;

			begin(&r, form);
			send_all(&r);
			while (r.packets < k && rig_step(r.rig))
				;
			qv_loop_cut(r.rig->loop, 0, 1, form & 8);
			receive_rest(&r);
			rig_settle(r.rig);
			qv_loop_cut(r.rig->loop, 0, 1, form & 8);
			check_all(&r);
		}
	}
}

/* The transport still reads packets when they are sent again, with another acknowledgement: the
 * loopback finds memory that has changed. */
static void still_read(void **state)
{
	for (unsigned n = 0; n < 50; n++) {
		struct rig_settings set = rig_defaults(2);
		struct rig_req *send[2], *recv[2];
		struct rig *rig;

		set.limits.inject_max = 0;
		set.limits.read_max = 0;
		set.limits.send_iov = n & 1 ? 1 : 8;
		rig = rig_new(&set);
		rig_exchange_after_loss(rig, 0, 1, 8);
		rig_exchange_after_loss(rig, 1, 0, 8);
		qv_loop_hold(rig->loop, 0, 1, true);
		for (unsigned i = 0; i < 2; i++)
			send[i] = rig_send(rig, 0, 1, i ? 9000 : 700, i, QV_REQ_TAGGED);
		rig_wait(rig, rig_recv(rig, 0, 1, 8, 2, QV_REQ_TAGGED),
			 rig_send(rig, 1, 0, 8, 2, QV_REQ_TAGGED));
		qv_peer_resend(rig_peer(rig, 0, 1));
		for (unsigned i = 0; i < n; i++)
			rig_step(rig);
		qv_loop_hold(rig->loop, 0, 1, false);
		for (unsigned i = 0; i < 2; i++) {
			recv[i] = rig_recv(rig, 1, 0, 9000, i, QV_REQ_TAGGED);
			rig_wait_long(rig, recv[i], send[i]);
			rig_check(recv[i], send[i]);
		}
		rig_free(rig);
	}
}

/* Some loss all the time, packets that come twice, a direction that is slow. */
static void bad_line(void **state)
{
	for (unsigned n = 0; n < rig_scaled(60); n++) {
		struct run r;

		begin(&r, n % 8);
		qv_loop_chaos(r.rig->loop)->repeat = n % 3 * 20;
		for (unsigned i = 0; i < 40; i++) {
			if (i == 5)
				send_all(&r);
			if (i == 10)
				receive_rest(&r);
			if (i < 35 && qv_random_percent(&r.rig->rng, 40))
				qv_loop_cut(r.rig->loop, 0, 1, qv_random(&r.rig->rng) & 1);
			qv_loop_hold(r.rig->loop, i & 1, !(i & 1), qv_random(&r.rig->rng) & 1);
			if (qv_random(&r.rig->rng) & 1)
				rig_ticks(r.rig, 50 * qv_random_below(&r.rig->rng, 10));
			for (uint64_t k = qv_random_below(&r.rig->rng, 40); k--;)
				rig_step(r.rig);
		}
		for (unsigned i = 0; i < 2; i++)
			qv_loop_hold(r.rig->loop, i, !i, false);
		check_all(&r);
	}
}

/* Losing and no memory at once. */
static void lost_and_no_memory(void **state)
{
	for (unsigned n = 1; n < 60; n++) {
		struct run r;

		begin(&r, n % 8);
		send_all(&r);
		qv_loop_cut(r.rig->loop, 0, 1, n & 1);
		receive_rest(&r);
		for (unsigned i = 0; i < 30; i++) {
			qv_nomem_after(1 + (unsigned)qv_random_below(&r.rig->rng, n), n);
			rig_ticks(r.rig, 100);
		}
		qv_nomem_after(0, 0);
		check_all(&r);
	}
}

/* More than 16 bits of numbers each way, with losses. */
static void numbers_wrap(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);
	unsigned per = 500;

	for (unsigned round = 0; round < 70000 / per; round++) {
		for (unsigned i = 0; i < per; i++)
			for (unsigned n = 0; n < 2; n++) {
				rig_recv(rig, n, !n, 8, i, QV_REQ_TAGGED);
				rig_send(rig, n, !n, 8, i, QV_REQ_TAGGED);
			}
		if (round % 10 == 3)
			qv_loop_cut(rig->loop, 0, 1, true);
		rig_settle(rig);
		rig_ticks(rig, round % 10 == 3 ? 3000 : 100);
		for (struct rig_req *req = rig->reqs; req; req = req->next)
			rig_check_status(req, QV_OK);
		rig_reqs_free(rig);
	}
	for (unsigned n = 0; n < 2; n++) {
		assert_true(rig_peer(rig, n, !n)->sent >= 70000);
		assert_int_equal(rig_peer(rig, n, !n)->sent, rig_peer(rig, !n, n)->got);
		assert_int_equal(rig->node[n].warnings, 0);
	}
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_packet_lost),   cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(still_read),         cmocka_unit_test(bad_line),
		cmocka_unit_test(lost_and_no_memory), cmocka_unit_test(numbers_wrap),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
