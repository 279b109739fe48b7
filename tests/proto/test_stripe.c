/* SPDX-License-Identifier: BSD-2-Clause */
/* test_stripe.c - long messages over two transports at once, the second of which loses pieces, stops,
 * or never takes one. */
#include "tests/proto/rig/rig.h"

#include <string.h>

enum { LONG = 200000, TAG = 5 };

/* How often each node was asked to connect anew; is that of any use? */
static unsigned reconnects;
static bool reconnect_works;
static struct qv_loop *second_loop;

static int reach(struct qv_xport *x, const void *name, size_t len, uint64_t *addr)
{
	const char *text = name;

	assert_int_equal(len, 6);
	assert_memory_equal(text, "besid", 5);
	*addr = (uint64_t)(text[5] - '0');
	return QV_OK;
}

static void reconnect(struct qv_xport *x, uint64_t addr, bool others)
{
	const unsigned own = (unsigned)(((const char *)x->name)[5] - '0');

	reconnects++;
	if (reconnect_works)
		qv_loop_cut(second_loop, own, (unsigned)addr, false);
}

static void give_second(struct rig *rig, unsigned at)
{
	static const char names[][7] = {"besid0", "besid1", "besid2"};
	static struct qv_xport_ops ops;
	struct rig_node *node = &rig->node[at];

	ops = *node->other->ops;
	ops.reach = reach;
	ops.reconnect = reconnect;
	node->other->ops = &ops;
	node->other->name = names[at];
	node->other->namelen = 6;
	node->x->second = node->other;
}

/* Two nodes, of which as many have a second transport. */
static struct rig *start(unsigned seconds)
{
	struct rig_settings set = rig_defaults(2);
	struct qv_loop_limits others = set.limits;
	struct rig *rig;

	others.send_iov = 2;
	set.others = &others;
	set.limits.read_max = 0;
	rig = rig_new(&set);
	rig->set.others = NULL;
	second_loop = rig->other;
	reconnects = 0;
	reconnect_works = true;
	while (seconds--)
		give_second(rig, seconds);
	return rig;
}

static void meet(struct rig *rig)
{
	for (unsigned a = 0; a < 2; a++) {
		struct rig_req *recv = rig_recv(rig, !a, (int)a, 8, 0, 0);

		rig_wait(rig, recv, rig_send(rig, a, !a, 8, 0, 0));
		rig_check_status(recv, QV_OK);
	}
	rig_settle(rig);
}

static void end(struct rig *rig)
{
	rig_settle(rig);
	rig_ticks(rig, 3000);
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(rig_peer(rig, n, !n)->stripe.flying, 0);
		assert_int_equal(rig_peer(rig, n, !n)->stripe.waiting, 0);
		rig_check_idle(rig, n);
	}
	rig_free(rig);
}

static struct rig_req *send_cut(struct rig *rig, size_t len, unsigned cut)
{
	struct rig_req *send = rig_req_new(rig, 0, len, cut);

	assert_int_equal(rig_send_req(send, 1, TAG, QV_REQ_TAGGED), QV_OK);
	return send;
}

/* Messages of all lengths from node 0 to node 1, some with a receive that is too short. */
enum { MESSAGES = 40 };

static void stream(struct rig *rig)
{
	static const size_t lens[] = {0, 100, 9000, 65535, 65536, 70001, LONG};
	struct rig_req *send[MESSAGES], *recv[MESSAGES];

	for (unsigned i = 0; i < MESSAGES; i++) {
		const size_t len = lens[qv_random_below(&rig->rng, 7)];
		const unsigned cut = 1 + (unsigned)qv_random_below(&rig->rng, QV_IOV_MAX);

		send[i] = send_cut(rig, len, cut);
		recv[i] = rig_req_new(rig, 1, i % 7 ? LONG : 65600, 5 - cut);
		assert_int_equal(rig_recv_req(recv[i], 0, TAG, 0, QV_REQ_TAGGED, 0), QV_OK);
		for (uint64_t n = qv_random_below(&rig->rng, 400); n--;)
			rig_step(rig);
	}
	for (unsigned i = 0; i < MESSAGES; i++) {
		rig_wait_long(rig, send[i], recv[i]);
		rig_check_status(send[i], QV_OK);
		rig_check(recv[i], send[i]);
	}
}

static void both(void **state)
{
	for (unsigned n = rig_scaled(10); n--;) {
		struct rig *rig = start(2);

		qv_loop_chaos(rig->loop)->eagain = qv_loop_chaos(rig->other)->eagain = 10;
		meet(rig);
		stream(rig);
		assert_true(rig_stats(rig, 0).pieces > MESSAGES);
		assert_int_equal(rig_stats(rig, 0).retaken, 0);
		assert_int_equal(rig_stats(rig, 0).refused + rig_stats(rig, 1).refused, 0);
		end(rig);
	}
}

/* Who has none, or whose peer has none, sends all over the first. */
static void alone(void **state)
{
	for (unsigned seconds = 0; seconds < 2; seconds++) {
		struct rig *rig = start(seconds);

		meet(rig);
		stream(rig);
		assert_int_equal(rig_stats(rig, 0).pieces, 0);
		end(rig);
	}
}

/* Pieces are lost and repeated, and so are packets of the first. */
static void losses(void **state)
{
	uint64_t retaken = 0;

	for (unsigned n = rig_scaled(20); n--;) {
		struct rig *rig = start(2);

		meet(rig);
		qv_loop_chaos(rig->other)->repeat = 10;
		qv_loop_chaos(rig->other)->lose_nth = 1 + (unsigned)qv_random_below(&rig->rng, 400);
		qv_loop_chaos(rig->other)->lose_more = (unsigned)qv_random_below(&rig->rng, 100);
		if (n % 2)
			qv_loop_chaos(rig->loop)->lose_nth =
				1 + (unsigned)qv_random_below(&rig->rng, 900);
		stream(rig);
		retaken += rig_stats(rig, 0).retaken;
		assert_int_equal(rig_stats(rig, 0).refused + rig_stats(rig, 1).refused, 0);
		end(rig);
	}
	assert_true(retaken > 0);
}

/* The connection of the second breaks, with and without a word. */
static void cut(void **state)
{
	for (unsigned n = rig_scaled(20); n--;) {
		struct rig *rig = start(2);
		struct rig_req *send, *recv;

		meet(rig);
		send = send_cut(rig, LONG, 1 + n % 4);
		recv = rig_recv(rig, 1, 0, LONG, TAG, QV_REQ_TAGGED);
		while (rig_stats(rig, 0).pieces < 10 + n)
			rig_step(rig);
		qv_loop_cut(rig->other, 0, 1, n % 2);
		rig_wait_long(rig, send, recv);
		rig_check_status(send, QV_OK);
		rig_check(recv, send);
		assert_int_equal(rig_stats(rig, 0).retaken, 1);
		end(rig);
	}
}

/* The second keeps what it has got: the message arrives without it, but its sender gets the buffer
 * back when nobody reads it any more. What comes after that is dropped. */
static void stops(void **state)
{
	for (unsigned n = 0; n < 4; n++) {
		struct rig *rig = start(2);
		struct rig_req *send, *recv;

		reconnect_works = n % 2;
		meet(rig);
		qv_loop_hold(rig->other, 0, 1, true);
		send = send_cut(rig, LONG, 1);
		recv = rig_recv(rig, 1, 0, LONG, TAG, QV_REQ_TAGGED);
		rig_wait_long(rig, recv, NULL);
		rig_check(recv, send);
		rig_ticks(rig, 3000);
		assert_true(send->done || !reconnect_works); /* what it has copied is ours again */
		memset(recv->iov[0].iov_base, 0x11, LONG);
		qv_loop_hold(rig->other, 0, 1, false);
		rig_wait_long(rig, send, NULL);
		rig_check_status(send, QV_OK);
		rig_settle(rig);
		for (size_t i = 0; i < LONG; i++)
			assert_int_equal(((char *)recv->iov[0].iov_base)[i], 0x11);
		end(rig);
	}
}

/* It never takes anything; later it does. */
static void busy(void **state)
{
	struct rig *rig = start(2);

	meet(rig);
	qv_loop_chaos(rig->other)->eagain = 100;
	stream(rig);
	assert_int_equal(rig_stats(rig, 0).pieces, 0);
	rig_ticks(rig, 2000);
	assert_true(reconnects > 0 && reconnects < 5);
	qv_loop_chaos(rig->other)->eagain = 0;
	rig_ticks(rig, 40000);
	stream(rig);
	assert_true(rig_stats(rig, 0).pieces > 0);
	end(rig);
}

/* Either side dies in the middle: all ends. */
static void dies(void **state)
{
	for (unsigned n = rig_scaled(20); n--;) {
		struct rig *rig = start(2);
		struct rig_req *send, *recv;

		meet(rig);
		send = send_cut(rig, LONG, 1);
		recv = rig_recv(rig, 1, 0, LONG, TAG, QV_REQ_TAGGED);
		while (rig_stats(rig, 0).pieces < 10 + n)
			rig_step(rig);
		reconnect_works = false;
		rig_kill(rig, n % 2, QV_LOOP_ERRORS, false);
		qv_loop_kill(rig->other, n % 2, QV_LOOP_ERRORS, false);
		rig_give_up(rig->node[!(n % 2)].p, rig->node[!(n % 2)].x, n % 2);
		rig_ticks(rig, 3000);
		rig_check_status(n % 2 ? send : recv, QV_EPEER);
		rig_check_idle(rig, !(n % 2));
		rig_free(rig);
	}
}

static int forge(struct rig *rig, struct qv_peer *from, uint8_t op, uint64_t arg, uint64_t offset,
		 size_t len, bool second)
{
	struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
				  .version = QV_WIRE_VERSION,
				  .op = op,
				  .src = from->id,
				  .arg = arg};
	char packet[QV_WIRE_MIN_PACKET] = {0};

	memcpy(packet, &hdr, sizeof hdr);
	memcpy(packet + sizeof hdr, &offset, sizeof offset);
	return qv_proto_packet(rig->node[1].p, second ? rig->node[1].other : rig->node[1].x, packet,
			       sizeof hdr + sizeof offset + len, 0);
}

/* Whatever a peer writes into a piece, the buffer alone is written to, and only where it is due. */
static void forged(void **state)
{
	static const uint64_t offsets[] = {0,
					   LONG - 1,
					   LONG,
					   LONG + 1,
					   LONG - 100,
					   UINT64_MAX,
					   UINT64_MAX - 99,
					   (uint64_t)1 << 63};
	struct rig *rig = start(2);
	struct rig_req *send, *recv;
	struct qv_peer *peer;
	uint64_t handle;

	meet(rig);
	peer = rig_peer(rig, 1, 0);
	qv_loop_hold(rig->loop, 0, 1, false);
	send = send_cut(rig, LONG, 1);
	recv = rig_recv(rig, 1, 0, LONG, TAG, QV_REQ_TAGGED);
	while (!rig->node[1].p->in_handles.used)
		rig_step(rig);
	handle = rig->node[1].p->ins_head->handle;
	for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++)
		for (size_t len = 1; len < 990; len += 98) {
			forge(rig, peer, QV_PKT_PIECE, handle + 1, offsets[i], len, true);
			if (offsets[i] + len != LONG)
				forge(rig, peer, QV_PKT_PIECE, handle, offsets[i], len, i % 2);
		}
	rig_wait_long(rig, send, recv);
	rig_check(recv, send);
	/* Nothing but pieces, over the second. */
	for (uint8_t op = QV_PKT_HELLO; op <= QV_PKT_LAST; op++) {
		const uint64_t refused = rig_stats(rig, 1).refused;

		if (op == QV_PKT_EAGER || op == QV_PKT_PIECE)
			continue;
		forge(rig, peer, op, 0, 0, 0, true);
		assert_int_equal(rig_stats(rig, 1).refused, refused + 1);
	}
	end(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both), cmocka_unit_test(alone),  cmocka_unit_test(losses),
		cmocka_unit_test(cut),  cmocka_unit_test(stops),  cmocka_unit_test(busy),
		cmocka_unit_test(dies), cmocka_unit_test(forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
