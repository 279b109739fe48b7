/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_meet.c - handshakes: senders that the receiver has not named, endpoints that are
 * there too late, first packets that are lost.
 */
#include "tests/proto/rig/rig.h"

/* Packets may have to be sent again; nothing may be told to have failed. */
static void exchange(struct rig *rig, unsigned a, unsigned b, size_t len)
{
	struct rig_req *recv = rig_recv(rig, b, RIG_ANY, len, 1, QV_REQ_TAGGED);
	struct rig_req *send = rig_send(rig, a, b, len, 1, QV_REQ_TAGGED | QV_REQ_ACK);

	rig_wait_long(rig, send, recv);
	rig_check(recv, send);
}

static void unnamed_sender(void **state)
{
	for (unsigned hide = 0; hide < 2; hide++) {
		struct rig *rig = rig_start(2, hide);
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
	struct rig *rig = rig_start(2, true);
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

/* Who is refused is not heard, and disturbs nobody. */
static void refused_sender(void **state)
{
	struct rig *rig = rig_start(3, false);
	struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, 10, 1, QV_REQ_TAGGED);

	rig->node[1].refused[0] = true;
	rig_send(rig, 0, 1, 10, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	assert_int_equal(recv->done, 0);
	assert_int_equal(rig_stats(rig, 1).refused, 1); /* its HELLO */
	assert_string_equal(
		rig->node[1].warning,
		"packet refused: HELLO from an address that cannot be used (1 refused so far)");
	assert_int_equal(rig_stats(rig, 1).unknown, 1); /* its message */
	rig_ticks(rig, 3000);
	assert_int_equal(recv->done, 0);
	rig_wait(rig, recv, rig_send(rig, 2, 1, 10, 1, QV_REQ_TAGGED));
	rig_free(rig);
}

/* Until it is heard: when it is not refused any more, what it has sent arrives. */
static void refused_for_a_while(void **state)
{
	struct rig *rig = rig_start(2, false);
	struct rig_req *recv = rig_recv(rig, 1, RIG_ANY, 9000, 1, QV_REQ_TAGGED), *send;

	rig->node[1].refused[0] = true;
	send = rig_send(rig, 0, 1, 9000, 1, QV_REQ_TAGGED);
	rig_ticks(rig, 3000);
	assert_int_equal(recv->done + send->done, 0);
	rig->node[1].refused[0] = false;
	rig_ticks(rig, 5000);
	rig_check_status(send, QV_OK);
	rig_check(recv, send);
	rig_free(rig);
}

/* The other side was there too late for our first packets: they are sent again. */
static void come_late(size_t len, bool ticks, bool it_speaks)
{
	struct rig *rig = rig_start(1, true);
	struct rig_req *early, *recv;

	early = rig_send(rig, 0, 1, len, 1, QV_REQ_TAGGED);
	if (ticks)
		rig_ticks(rig, 2000);
	else
		rig_settle(rig);
	rig_open(rig, 1, &rig->set);
	recv = rig_recv(rig, 1, 0, len, 1, QV_REQ_TAGGED);
	if (it_speaks)
		exchange(rig, 1, 0, 100);
	rig_ticks(rig, 5000);
	rig_check_status(early, QV_OK);
	rig_check(recv, early);
	exchange(rig, 0, 1, 3000);
	exchange(rig, 1, 0, 3000);
	rig_check_idle(rig, 0);
	assert_int_equal(rig->node[0].warnings + rig->node[1].warnings, 0);
	rig_free(rig);
}

static void before_it_is_there(void **state)
{
	static const size_t lens[] = {0, 100, 3000, 40000};

	for (unsigned form = 0; form < 16; form++)
		come_late(lens[form / 4], form & 1, form & 2);
}

/* Both begin at once, and the transport loses what they have sent first without a word. */
static void lose_first(unsigned lost0, unsigned lost1, bool both)
{
	struct rig *rig = rig_start(2, true);
	struct qv_loop_chaos *chaos = qv_loop_chaos(rig->loop);
	struct rig_req *send[2][10], *recv;

	chaos->lose[0] = lost0;
	chaos->lose[1] = lost1;
	for (unsigned i = 0; i < 10; i++)
		for (unsigned n = 0; n < 1u + both; n++)
			send[n][i] = rig_send(rig, n, !n, 400 * i, i, QV_REQ_TAGGED);
	rig_ticks(rig, 8000);
	assert_int_equal(chaos->lose[0] + chaos->lose[1], 0);
	for (unsigned i = 0; i < 10; i++)
		for (unsigned n = 0; n < 1u + both; n++) {
			recv = rig_recv(rig, !n, n, 400 * i, i, QV_REQ_TAGGED);
			rig_wait(rig, recv, send[n][i]);
			rig_check(recv, send[n][i]);
		}
	assert_int_equal(rig->node[0].warnings + rig->node[1].warnings, 0);
	exchange(rig, 0, 1, 3000);
	exchange(rig, 1, 0, 3000);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void first_packets_lost(void **state)
{
	for (unsigned lost = 0; lost < 6; lost++) {
		lose_first(lost, 0, true);
		lose_first(lost, lost, true);
		lose_first(lost, 0, false);
	}
}

/* Who does not look at its endpoint for long is spoken to all the same, and waited for. */
static void busy(void **state)
{
	struct rig *rig = rig_start(2, true);
	struct rig_req *send;

	qv_loop_chaos(rig->loop)->lose[1] = 1000; /* as if it said nothing */
	send = rig_send(rig, 0, 1, 100, 1, QV_REQ_TAGGED | QV_REQ_ACK);
	rig_ticks(rig, 60000);
	assert_int_equal(send->done, 0);
	assert_int_equal(rig_stats(rig, 1).tagged.unexpected, 1); /* the once */
	qv_loop_chaos(rig->loop)->lose[1] = 0;
	rig_wait(rig, rig_recv(rig, 1, 0, 100, 1, QV_REQ_TAGGED), NULL);
	rig_ticks(rig, 5000);
	rig_check_status(send, QV_OK);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unnamed_sender),
		cmocka_unit_test(crossing),
		cmocka_unit_test(refused_sender),
		cmocka_unit_test(refused_for_a_while),
		cmocka_unit_test(before_it_is_there),
		cmocka_unit_test(first_packets_lost),
		cmocka_unit_test(busy),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
