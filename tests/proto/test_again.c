/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_again.c - endpoints that come again at the same address, and peers that were taken for
 * lost though they live.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

/* Node 1 dies and comes again: what belonged to the first one fails, the second one works. */
static void comes_again(void **state)
{
	for (unsigned form = 0; form < 8; form++) {
		struct rig *rig = rig_start(3, form & 1);
		struct rig_req *old[3], *other, *recv;

		rig_exchange_after_loss(rig, 0, 1, 100);
		rig_exchange_after_loss(rig, 1, 0, 100);
		old[0] = rig_send(rig, 0, 1, 9000, 5, QV_REQ_TAGGED);
		old[1] = rig_send(rig, 0, 1, 90, 5, QV_REQ_TAGGED | QV_REQ_ACK);
		rig_send(rig, 1, 0, 9000, 6, QV_REQ_TAGGED);
		rig_send(rig, 1, 0, 500, 6, QV_REQ_TAGGED | QV_REQ_ACK);
		old[2] = rig_recv(rig, 0, 1, 90, 7, QV_REQ_TAGGED);
		rig_settle(rig);
		rig_kill(rig, 1, QV_LOOP_ERRORS, form & 2);
		other = rig_send(rig, 0, 2, 5000, 8, QV_REQ_TAGGED);
		rig_open(rig, 1, &rig->set);
		rig_exchange_after_loss(rig, 1, 0, 3000); /* its HELLO tells */
		rig_check_status(old[0], QV_EPEER);
		rig_check_status(old[1], QV_EPEER);
		assert_int_equal(rig->node[0].warnings, 1);
		for (unsigned i = 0; i < 12; i++)
			rig_exchange_after_loss(rig, i & 1, !(i & 1), 100 + 500 * i);
		/* messages of the first one: the whole one is good, the other has
		 * lost its sender */
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
		rig_check_status(other, QV_OK);
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
	rig_exchange_after_loss(rig, 0, 1, 100);
	rig_exchange_after_loss(rig, 1, 0, 100);
	rig_ticks(rig, 100); /* all that is acknowledged */
	for (unsigned i = 0; i < 20; i++)
		rig_send(rig, 0, 1, 600, i, QV_REQ_TAGGED);
	rig_kill(rig, 1, QV_LOOP_ERRORS, false);
	rig_open(rig, 1, &rig->set);
	rig_exchange_after_loss(rig, 1, 0, 100);
	rig_exchange_after_loss(rig, 0, 1, 100);
	rig_ticks(rig, 2000);
	assert_int_equal(rig->node[0].warnings, 1);
	rig_exchange_after_loss(rig, 0, 1, 100);
	rig_exchange_after_loss(rig, 1, 0, 10000);
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
	struct rig *rig = rig_start(2, true);
	uint64_t unknown;

	rig_exchange_after_loss(rig, 0, 1, 100);
	qv_loop_set_tap(rig->loop, keep, NULL);
	rig_wait(rig, rig_recv(rig, 0, 1, 100, 3, QV_REQ_TAGGED),
		 rig_send(rig, 1, 0, 100, 3, QV_REQ_TAGGED));
	qv_loop_set_tap(rig->loop, NULL, NULL);
	assert_int_equal(late[offsetof(struct qv_wire_hdr, op)], QV_PKT_EAGER);
	rig_kill(rig, 1, QV_LOOP_ERRORS, false);
	rig_open(rig, 1, &rig->set);
	rig_exchange_after_loss(rig, 1, 0, 100);
	rig_settle(rig);
	unknown = rig_stats(rig, 0).unknown;
	qv_loop_forge(rig->loop, UINT64_MAX, 0, late, late_len);
	assert_int_equal(rig_stats(rig, 0).unknown, unknown + 1);
	assert_int_equal(rig_stats(rig, 0).tagged.unexpected_now, 0);
	rig_free(rig);
}

/* Node 0 takes 1 for lost though it lives, before 1's HELLO is there. False: that was quicker. */
static bool lose_half(void)
{
	struct rig *rig = rig_start(2, false);
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
	rig_give_up(rig->node[0].p, rig->node[0].x, 1);
	rig_check_status(half, QV_EPEER);
	rig_settle(rig); /* the HELLO of 1 revives it at 0, whose second HELLO tells 1 */
	rig_check_status(recv, QV_EPEER);
	for (unsigned i = 0; i < 6; i++)
		rig_exchange_after_loss(rig, i & 1, !(i & 1), 2500);
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
		cmocka_unit_test(comes_again),
		cmocka_unit_test(late_errors),
		cmocka_unit_test(late_packets),
		cmocka_unit_test(half_lost),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
