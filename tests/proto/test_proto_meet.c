/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_proto_meet.c - acquaintance: senders that the receiver has not named, endpoints that come
 * again at the same address, HELLOs that lie.
 */
#include "qv_rig.h"

#include <string.h>

static struct rig *start(unsigned nodes, bool hide_from)
{
	struct rig_settings set = rig_defaults(nodes);

	set.limits.hide_from = hide_from;
	return rig_new(&set);
}

static void exchange(struct rig *rig, unsigned a, unsigned b, size_t len)
{
	struct rig_req *recv = rig_recv(rig, b, RIG_ANY, len, 1, QV_REQ_TAGGED);
	struct rig_req *send = rig_send(rig, a, b, len, 1, QV_REQ_TAGGED | QV_REQ_ACK);

	rig_wait(rig, send, recv);
	rig_check(recv, send);
}

static void unnamed_sender(void **state)
{
	for (unsigned hide = 0; hide < 2; hide++) {
		struct rig *rig = start(2, hide);
		struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, 10, 1, QV_REQ_TAGGED);
		struct rig_req *send = rig_send(rig, 0, 1, 10, 1, QV_REQ_TAGGED);

		rig_wait(rig, send, recv);
		assert_int_equal(recv->comp.user, QV_USER_UNKNOWN);
		qv_proto_peer_set_user(rig->node[1].peers[0], 77); /* named now */
		recv = rig_recv(rig, 1, 0, 10, 1, QV_REQ_TAGGED);
		rig_wait(rig, recv, rig_send(rig, 0, 1, 10, 1, QV_REQ_TAGGED));
		assert_int_equal(recv->comp.user, 77);
		exchange(rig, 1, 0, 5000);
		rig_free(rig);
	}
}

/* Both speak at the same time, much, before either has heard of the other. */
static void crossing(void **state)
{
	struct rig *rig = start(2, true);
	struct rig_req *send[2][30], *recv[2][30];

	for (unsigned i = 0; i < 30; i++)
		for (unsigned n = 0; n < 2; n++)
			send[n][i] = rig_send(rig, n, !n, 200 * i, i, QV_REQ_TAGGED);
	for (unsigned i = 0; i < 30; i++)
		for (unsigned n = 0; n < 2; n++)
			recv[n][i] = rig_recv(rig, n, !n, 200 * i, i, QV_REQ_TAGGED);
	rig_settle(rig);
	for (unsigned i = 0; i < 30; i++)
		for (unsigned n = 0; n < 2; n++)
			rig_check(recv[n][i], send[!n][i]);
	assert_int_equal(rig_stats(rig, 0).refused + rig_stats(rig, 1).refused, 0);
	rig_free(rig);
}

static void refused_sender(void **state)
{
	struct rig *rig = start(3, false);
	struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, 10, 1, QV_REQ_TAGGED);

	rig->node[1].stranger[0] = true;
	rig_send(rig, 0, 1, 10, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	assert_int_equal(recv->done, 0);
	assert_int_equal(rig_stats(rig, 1).refused, 2); /* HELLO and message */
	assert_string_equal(rig->node[1].complaint,
			    "packet refused: unknown sender (2 refused so far)");
	rig_wait(rig, recv, rig_send(rig, 2, 1, 10, 1, QV_REQ_TAGGED));
	rig_free(rig);
}

static void answers(struct rig_req *send)
{
	rig_check_status(send, QV_OK);
}

/* Node 1 dies and comes again: what belonged to the first one fails, the second one works. */
static void comes_again(void **state)
{
	for (unsigned form = 0; form < 8; form++) {
		struct rig *rig = start(3, form & 1);
		struct rig_req *old[3], *other, *recv;

		exchange(rig, 0, 1, 100);
		exchange(rig, 1, 0, 100);
		old[0] = rig_send(rig, 0, 1, 9000, 5, QV_REQ_TAGGED);
		old[1] = rig_send(rig, 0, 1, 90, 5, QV_REQ_TAGGED | QV_REQ_ACK);
		rig_send(rig, 1, 0, 9000, 6, QV_REQ_TAGGED);
		rig_send(rig, 1, 0, 500, 6, QV_REQ_TAGGED | QV_REQ_ACK);
		old[2] = rig_recv(rig, 0, 1, 90, 7, QV_REQ_TAGGED);
		rig_settle(rig);
		rig_kill(rig, 1, QV_LOOP_ERRORS, form & 2);
		other = rig_send(rig, 0, 2, 5000, 8, QV_REQ_TAGGED);
		rig_open(rig, 1, &rig->set);
		exchange(rig, 1, 0, 3000); /* its HELLO tells */
		rig_check_status(old[0], QV_EPEER);
		rig_check_status(old[1], QV_EPEER);
		assert_int_equal(rig->node[0].complaints, 1);
		for (unsigned i = 0; i < 12; i++)
			exchange(rig, i & 1, !(i & 1), 100 + 500 * i);
		/* messages of the first one: the whole one is good, the other has lost its sender
		 */
		rig_wait(rig, recv = rig_recv(rig, 0, 1, 9000, 6, QV_REQ_TAGGED), NULL);
		rig_check_status(recv, QV_EPEER);
		rig_wait(rig, recv = rig_recv(rig, 0, 1, 500, 6, QV_REQ_TAGGED), NULL);
		rig_check_status(recv, QV_OK);
		rig_settle(rig);
		/* no answer of it disturbs the second one, no credit either */
		assert_int_equal(rig_stats(rig, 1).refused, 0);
		rig_wait(rig, old[2], rig_send(rig, 1, 0, 90, 7, QV_REQ_TAGGED));
		rig_check_status(old[2], QV_OK);
		rig_wait(rig, rig_recv(rig, 2, 0, 5000, 8, QV_REQ_TAGGED), other);
		answers(other);
		rig_free(rig);
	}
}

/* Transfers to the first one fail late: the second one is not blamed. */
static void late_errors(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig;

	set.limits.inject_max = 0;
	rig = rig_new(&set);
	exchange(rig, 0, 1, 100);
	exchange(rig, 1, 0, 100);
	for (unsigned i = 0; i < 20; i++)
		rig_send(rig, 0, 1, 600, i, QV_REQ_TAGGED);
	rig_kill(rig, 1, QV_LOOP_ERRORS, false);
	rig_open(rig, 1, &rig->set);
	exchange(rig, 1, 0, 100);
	exchange(rig, 0, 1, 100);
	rig_ticks(rig, 2000);
	assert_int_equal(rig->node[0].complaints, 1);
	exchange(rig, 0, 1, 100);
	exchange(rig, 1, 0, 10000);
	rig_free(rig);
}

/* The other side was there too late for our first packets: its HELLO makes all good. */
static void come_late(size_t len, bool ticks)
{
	struct rig *rig = start(1, true);
	struct rig_req *early;

	early = rig_send(rig, 0, 1, len, 1, QV_REQ_TAGGED);
	if (ticks)
		rig_ticks(rig, 2000);
	else
		rig_settle(rig);
	rig_open(rig, 1, &rig->set);
	exchange(rig, 1, 0, 100);
	rig_ticks(rig, 2000);
	assert_int_equal(early->done, 1);
	if (len > rig->set.limits.inject_max)
		assert_int_not_equal(early->comp.status, QV_OK);
	exchange(rig, 0, 1, 3000);
	exchange(rig, 1, 0, 3000);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

static void before_it_is_there(void **state)
{
	for (unsigned ticks = 0; ticks < 2; ticks++) {
		come_late(3000, ticks);
		come_late(100, ticks); /* injected: nobody hears that it was lost */
	}
}

/* Node 0 speaks to 1, which is not there yet; then 1 comes, and 0 has its HELLO before it hears
 * that its own was lost. False: it heard that first. */
static bool meet_midway(size_t len, unsigned more)
{
	struct rig *rig = start(1, true);
	struct rig_req *early[4], *recv;
	bool told;

	for (unsigned i = 0; i <= more; i++)
		early[i] = rig_send(rig, 0, 1, len, i, QV_REQ_TAGGED);
	rig_open(rig, 1, &rig->set);
	rig_send(rig, 1, 0, 100, 7, QV_REQ_TAGGED);
	for (unsigned n = 0; !rig->node[0].peers[1]->uid && !rig->node[0].peers[1]->doom; n++) {
		rig_step(rig);
		assert_in_range(n, 0, 10000);
	}
	told = !rig->node[0].peers[1]->doom && rig->node[0].peers[1]->flying;
	rig_ticks(rig, 2000);
	for (unsigned i = 0; told && i <= more; i++) { /* it lives, so nothing is lost */
		recv = rig_recv(rig, 1, 0, len, i, QV_REQ_TAGGED);
		rig_wait(rig, recv, early[i]);
		rig_check(recv, early[i]);
	}
	if (told)
		assert_int_equal(rig->node[0].complaints + rig_stats(rig, 1).refused, 0);
	rig_wait(rig, rig_recv(rig, 0, 1, 100, 7, QV_REQ_TAGGED), NULL);
	exchange(rig, 0, 1, 3000);
	exchange(rig, 1, 0, 3000);
	rig_check_idle(rig, 0);
	rig_free(rig);
	return told;
}

static void hello_lost_midway(void **state)
{
	static const size_t lens[] = {100, 3000, 40000};

	for (unsigned i = 0, tries = 0; i < 9; tries++) {
		i += meet_midway(lens[i % 3], i / 3);
		assert_in_range(tries, 0, 1000);
	}
}

/* Both begin at once, and the transport loses what they have sent first without a word. */
static void collide(unsigned lost0, unsigned lost1, bool both)
{
	struct rig *rig = start(2, true);
	struct qv_loop_chaos *chaos = qv_loop_chaos(rig->loop);
	struct rig_req *send[2][10], *recv;

	for (unsigned n = 0; n < 2; n++)
		rig->node[n].x->collides = true;
	chaos->lose[0] = lost0;
	chaos->lose[1] = lost1;
	for (unsigned i = 0; i < 10; i++)
		for (unsigned n = 0; n < 1u + both; n++)
			send[n][i] = rig_send(rig, n, !n, 400 * i, i, QV_REQ_TAGGED);
	rig_ticks(rig, 950);
	assert_int_equal(chaos->lose[0] + chaos->lose[1], 0);
	for (unsigned i = 0; i < 10; i++)
		for (unsigned n = 0; n < 1u + both; n++) {
			recv = rig_recv(rig, !n, n, 400 * i, i, QV_REQ_TAGGED);
			rig_wait(rig, recv, send[n][i]);
			rig_check(recv, send[n][i]);
		}
	assert_int_equal(rig->node[0].complaints + rig->node[1].complaints, 0);
	exchange(rig, 0, 1, 3000);
	exchange(rig, 1, 0, 3000);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void collisions(void **state)
{
	for (unsigned lost = 0; lost < 4; lost++) {
		collide(lost, 0, true);
		collide(lost, lost, true);
		collide(lost, 0, false);
	}
}

/* Who does not look at its endpoint for long is spoken to all the same. */
static void busy(void **state)
{
	struct rig *rig = start(2, true);
	struct rig_req *send;

	rig->node[0].x->collides = true;
	qv_loop_chaos(rig->loop)->lose[1] = 1000;
	send = rig_send(rig, 0, 1, 100, 1, QV_REQ_TAGGED);
	rig_ticks(rig, 900);
	assert_int_equal(
		rig_stats(rig, 1).untagged.unexpected + rig_stats(rig, 1).tagged.unexpected, 0);
	rig_ticks(rig, 200);
	rig_wait(rig, rig_recv(rig, 1, 0, 100, 1, QV_REQ_TAGGED), send);
	rig_free(rig);
}

/* A packet of the first one that comes late is not taken for one of the second. */
static char late[QV_WIRE_MIN_PACKET];
static size_t late_len;

static void keep(void *ctx, unsigned from, unsigned to, const void *buf, size_t len)
{
	if (from != 1 || len < sizeof(struct qv_wire_hdr))
		return;
	memcpy(late, buf, len);
	late_len = len;
}

static void late_packets(void **state)
{
	struct rig *rig = start(2, true);

	exchange(rig, 0, 1, 100);
	qv_loop_set_tap(rig->loop, keep, NULL);
	rig_wait(rig, rig_recv(rig, 0, 1, 100, 3, QV_REQ_TAGGED),
		 rig_send(rig, 1, 0, 100, 3, QV_REQ_TAGGED));
	qv_loop_set_tap(rig->loop, NULL, NULL);
	assert_int_equal(late[offsetof(struct qv_wire_hdr, op)], QV_PKT_EAGER);
	rig_kill(rig, 1, QV_LOOP_ERRORS, false);
	rig_open(rig, 1, &rig->set);
	exchange(rig, 1, 0, 100);
	qv_loop_forge(rig->loop, UINT64_MAX, 0, late, late_len);
	assert_int_equal(rig_stats(rig, 0).refused, 1);
	assert_int_equal(rig_stats(rig, 0).tagged.unexpected_now, 0);
	rig_free(rig);
}

/* Node 0 takes 1 for lost though it lives, before 1's HELLO is there. False: that was quicker. */
static bool lose_half(void)
{
	struct rig *rig = start(2, false);
	struct rig_req *recv, *half;
	unsigned n = 0;

	qv_loop_chaos(rig->loop)->capacity = 1; /* so that half of it stays with 0 */
	recv = rig_recv(rig, 1, 0, 3000, 3, QV_REQ_TAGGED);
	half = rig_send(rig, 0, 1, 3000, 3, QV_REQ_TAGGED); /* HELLO, then three packets */
	while (!rig->node[1].peers[0] || !rig->node[1].peers[0]->open_in) {
		rig_step(rig);
		assert_in_range(n++, 0, 10000);
	}
	if (rig->node[0].peers[1]->uid) { /* and 1 would not say it again */
		rig_settle(rig);
		rig_free(rig);
		return false;
	}
	qv_proto_peer_lost(rig->node[0].p, rig->node[0].x, 1);
	rig_check_status(half, QV_EPEER);
	rig_settle(rig); /* the HELLO of 1 revives it at 0, whose second HELLO tells 1 */
	rig_check_status(recv, QV_EPEER);
	for (unsigned i = 0; i < 6; i++)
		exchange(rig, i & 1, !(i & 1), 2500);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
	return true;
}

/* Half a message is with the peer when its sender gives it up; then it says HELLO. */
static void half_lost(void **state)
{
	for (unsigned tries = 0; !lose_half(); tries++)
		assert_in_range(tries, 0, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unnamed_sender), cmocka_unit_test(crossing),
		cmocka_unit_test(refused_sender), cmocka_unit_test(comes_again),
		cmocka_unit_test(late_errors),    cmocka_unit_test(before_it_is_there),
		cmocka_unit_test(half_lost),      cmocka_unit_test(hello_lost_midway),
		cmocka_unit_test(late_packets),   cmocka_unit_test(collisions),
		cmocka_unit_test(busy),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
