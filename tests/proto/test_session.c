/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_session.c - sessions end and begin: endpoints are restarted or give each other up at
 * any moment, packets are forged or come late. Nobody hangs, a loss is told once, the next session
 * works.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

static unsigned packets;

static void count(struct rig_node *node, uint64_t from, const void *buf, size_t len, int rc)
{
	(void)node;
	(void)from;
	(void)buf;
	(void)len;
	packets += rc == QV_OK;
}

static struct rig *start(void)
{
	struct rig_settings set = rig_defaults(3);
	struct rig *rig = rig_new(&set);

	packets = 0;
	rig->on_packet = count;
	return rig;
}

/* Sends of several kinds, with and without a receive. */
static void some_sends(struct rig *rig, unsigned from, unsigned to)
{
	static const size_t lens[] = {8, 700, 2500, 9000};

	for (unsigned i = 0; i < 8; i++) {
		if (i & 1)
			rig_recv(rig, to, (int)from, lens[i / 2], i, QV_REQ_TAGGED);
		rig_send(rig, from, to, lens[i / 2], i, QV_REQ_TAGGED | (i & 2 ? QV_REQ_ACK : 0));
	}
}

/* All sends of a node have ended: well, or because their receiver is lost. */
static void check_ended(struct rig *rig, unsigned node)
{
	for (struct rig_req *req = rig->reqs; req; req = req->next)
		if (req->is_send && req->node == node) {
			assert_int_equal(req->done, 1);
			assert_true(req->comp.status == QV_OK || req->comp.status == QV_EPEER);
		}
}

/* Node 1 is restarted when k packets have come. Returns false when there are no more. */
static bool restart(unsigned k, bool it_speaks, enum qv_loop_death how)
{
	struct rig *rig = start();
	bool more;

	rig->hostile = true; /* reads meant for the dead one find another */
	some_sends(rig, 0, 1);
	some_sends(rig, 1, 0);
	while (packets < k && rig_step(rig))
		;
	more = packets >= k;
	rig_kill(rig, 1, how, k & 1);
	rig_open(rig, 1, &rig->set);
	if (it_speaks)
		rig_exchange_after_loss(rig, 1, 0, 3000);
	rig_ticks(rig, 6000);
	rig_exchange_after_loss(rig, 0, 1, 3000);
	rig_exchange_after_loss(rig, 1, 0, 10000);
	rig_ticks(rig, 1000);
	/* what was never received of the old messages has gone to the new one, or was told */
	for (unsigned i = 0; i < 8; i++)
		rig_recv(rig, 1, RIG_ANY, 9000, i, QV_REQ_TAGGED);
	rig_ticks(rig, 3000);
	check_ended(rig, 0);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
	return more;
}

static void restarted_anywhere(void **state)
{
	for (unsigned form = 0; form < 4; form++)
		for (unsigned k = 0;
		     restart(k, form & 1, form / 2 ? QV_LOOP_SILENT : QV_LOOP_ERRORS); k++)
			assert_in_range(k, 0, 1000);
}

/* Node 0 gives 1 up when k packets have come, and its RESET may be lost. */
static bool give_up(unsigned k, bool lost)
{
	struct rig *rig = start();
	bool more;

	rig->hostile = true; /* who gives up takes its memory back while it is read */
	some_sends(rig, 0, 1);
	some_sends(rig, 1, 0);
	while (packets < k && rig_step(rig))
		;
	more = packets >= k;
	rig_give_up(rig->node[0].p, rig->node[0].x, 1);
	if (lost)
		qv_loop_cut(rig->loop, 0, 1, true);
	check_ended(rig, 0);
	rig_ticks(rig, 6000);
	rig_exchange_after_loss(rig, 0, 1, 3000);
	rig_exchange_after_loss(rig, 1, 0, 10000);
	for (unsigned n = 0; n < 2; n++)
		for (unsigned i = 0; i < 8; i++)
			rig_recv(rig, n, RIG_ANY, 9000, i, QV_REQ_TAGGED);
	rig_ticks(rig, 6000);
	check_ended(rig, 1);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
	return more;
}

static void one_side_gives_up(void **state)
{
	for (unsigned form = 0; form < 2; form++)
		for (unsigned k = 0; give_up(k, form); k++)
			assert_in_range(k, 0, 1000);
}

struct hello {
	struct qv_wire_hdr hdr;
	struct qv_wire_hello hello;
	char name[5];
} __attribute__((packed, aligned(4)));

static char kept[QV_WIRE_MIN_PACKET];
static size_t kept_len;

static void keep_hello(void *ctx, unsigned from, unsigned to, const void *buf, size_t len)
{
	if (((const struct qv_wire_hdr *)buf)->op == QV_PKT_HELLO && from == 0 && to == 1) {
		memcpy(kept, buf, len);
		kept_len = len;
	}
}

/* HELLOs of 0 that come again, late or often, and those of others with its address. */
static void hellos_again(void **state)
{
	struct rig *rig = start();
	struct hello forged;
	unsigned warnings = 0;
	char first[sizeof kept];

	qv_loop_set_tap(rig->loop, keep_hello, NULL);
	rig_exchange_after_loss(rig, 0, 1, 8);
	rig_settle(rig);
	assert_in_range(kept_len, 1, sizeof forged);
	memcpy(first, kept, kept_len);
	qv_loop_set_tap(rig->loop, NULL, NULL);
	for (unsigned round = 0; round < 4; round++) {
		some_sends(rig, 0, 1);
		some_sends(rig, 1, 0);
		for (unsigned i = 0; i < 20; i++) {
			memcpy(&forged, first, kept_len);
			if (round & 1) {
				forged.hello.uid = 1000 + i; /* evicts nobody */
				forged.hello.session += i;
			}
			qv_loop_forge(rig->loop, 0, 1, &forged, kept_len);
			rig_step(rig);
		}
		rig_exchange_after_loss(rig, 0, 1, 3000);
		rig_exchange_after_loss(rig, 1, 0, 3000);
		for (unsigned n = 0; n < 2; n++)
			for (unsigned i = 0; i < 8; i++)
				if (!(i & 1))
					rig_recv(rig, n, RIG_ANY, 9000, i, QV_REQ_TAGGED);
		rig_ticks(rig, 3000);
		for (struct rig_req *req = rig->reqs; req; req = req->next)
			rig_check_status(req, QV_OK);
		rig_reqs_free(rig);
		if (round == 1) { /* the HELLO of a session that is over, from now on */
			rig_give_up(rig->node[0].p, rig->node[0].x, 1);
			rig_ticks(rig, 2000);
			rig_exchange_after_loss(rig, 0, 1, 8);
			rig_exchange_after_loss(rig, 1, 0, 8);
			warnings = rig->node[1].warnings;
		}
		assert_int_equal(rig->node[1].warnings, warnings);
	}
	rig_free(rig);
}

/* RESETs of sessions that nobody has, ACKs of what was never sent. */
static void forged_numbers(void **state)
{
	struct rig *rig = start();
	const struct qv_peer *peer;

	rig_exchange_after_loss(rig, 0, 1, 8);
	rig_exchange_after_loss(rig, 1, 0, 8);
	peer = rig_peer(rig, 1, 0);
	some_sends(rig, 1, 0);
	for (unsigned i = 0; i < 2000; i++) {
		struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
					  .version = QV_WIRE_VERSION,
					  .op = i & 1 ? QV_PKT_RESET : QV_PKT_ACK,
					  .src = peer->id,
					  .arg = peer->session + 1 + i,
					  .seq = (uint16_t)peer->got,
					  .ack = (uint16_t)(peer->sent + 1 + i)};
		uint32_t acked = peer->acked;

		if (!(i & 1))
			hdr.arg = i & 2 ? QV_ACK_AGAIN : 0;
		qv_loop_forge(rig->loop, 0, 1, &hdr, sizeof hdr);
		assert_int_equal(peer->acked, acked);
	}
	for (unsigned i = 0; i < 8; i += 2)
		rig_recv(rig, 0, RIG_ANY, 9000, i, QV_REQ_TAGGED);
	rig_ticks(rig, 5000);
	for (struct rig_req *req = rig->reqs; req; req = req->next)
		rig_check_status(req, QV_OK);
	assert_int_equal(rig->node[1].warnings, 0);
	rig_free(rig);
}

/* A RESET with the right session, by another peer that has learned it, then by the peer itself. */
static void reset_of_another(void **state)
{
	struct rig *rig = start();
	struct rig_req *send;

	rig_exchange_after_loss(rig, 0, 1, 8);
	rig_exchange_after_loss(rig, 2, 1, 8);
	rig_settle(rig);
	send = rig_send(rig, 1, 0, 9000, 1, QV_REQ_TAGGED);
	for (unsigned i = 0; i < 2; i++) {
		struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
					  .version = QV_WIRE_VERSION,
					  .op = QV_PKT_RESET,
					  .src = QV_SRC_UNKNOWN,
					  .arg = rig_peer(rig, 1, 0)->session};
		uint64_t refused = rig_stats(rig, 1).refused;

		qv_loop_forge(rig->loop, i ? 0 : 2, 1, &hdr, sizeof hdr);
		assert_int_equal(rig_stats(rig, 1).refused, refused + !i);
		assert_int_equal(send->done, i);
	}
	rig_check_status(send, QV_EPEER);
	rig_exchange_after_loss(rig, 1, 0, 8);
	rig_free(rig);
}

/* Numbers of sessions begin again at 1 behind the last one. */
static void sessions_wrap(void **state)
{
	struct rig *rig = start();

	for (unsigned n = 0; n < 2; n++)
		rig->node[n].p->sessions = UINT32_MAX - 3 * n;
	for (unsigned i = 0; i < 10; i++) {
		rig_exchange_after_loss(rig, i & 1, !(i & 1), 500);
		rig_exchange_after_loss(rig, !(i & 1), i & 1, 5000);
		assert_true(rig_peer(rig, 0, 1)->session && rig_peer(rig, 1, 0)->session);
		rig_give_up(rig->node[i % 3 == 0].p, rig->node[i % 3 == 0].x, i % 3 != 0);
		rig_ticks(rig, 1000);
	}
	assert_in_range(rig->node[0].p->sessions, 1, 20);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarted_anywhere), cmocka_unit_test(one_side_gives_up),
		cmocka_unit_test(hellos_again),       cmocka_unit_test(forged_numbers),
		cmocka_unit_test(reset_of_another),   cmocka_unit_test(sessions_wrap),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
