/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sizes.c - one message at a time: every size near a limit of the protocol, in every
 * form of send and receive, over transports of every kind; and messages longer than the buffer.
 */
#include "tests/proto/rig/rig.h"

#define PACKET QV_WIRE_MIN_PACKET

/* Sizes where something changes, and their neighbours. */
static const size_t limits[] = {0,           16,
				64,          96,
				104,         QV_PROTO_SHORT,
				256,         1000 - 16,
				PACKET - 48, QV_PROTO_INJECT,
				PACKET - 16, PACKET,
				2 * PACKET,  3 * PACKET,
				4 * PACKET,  9 * PACKET + 5};
#define N_LIMITS (sizeof limits / sizeof *limits)

static const struct transport {
	const char *name;
	struct qv_loop_limits limits;
} transports[] = {
	{"all",
	 {.inject_max = 256,
	  .inject_iov = 2,
	  .send_iov = 8,
	  .packet_max = PACKET,
	  .read_max = 100000}},
	{"no read",
	 {.inject_max = 256,
	  .inject_iov = 1,
	  .send_iov = 5,
	  .packet_max = PACKET,
	  .read_max = 0,
	  .hide_from = true}},
	{"no inject",
	 {.inject_max = 0, .inject_iov = 0, .send_iov = 5, .packet_max = PACKET, .read_max = 4096}},
	{"inject 24",
	 {.inject_max = 24,
	  .inject_iov = 1,
	  .send_iov = 2,
	  .packet_max = PACKET,
	  .read_max = 1000,
	  .hide_from = true}},
	{"inject 16",
	 {.inject_max = 16,
	  .inject_iov = 1,
	  .send_iov = 2,
	  .packet_max = PACKET,
	  .read_max = 1000}},
	{"one piece",
	 {.inject_max = 64,
	  .inject_iov = 1,
	  .send_iov = 1,
	  .packet_max = PACKET,
	  .read_max = 700,
	  .hide_from = true}},
	{"one piece, no read",
	 {.inject_max = 64, .inject_iov = 1, .send_iov = 1, .packet_max = PACKET, .read_max = 0}},
	{"no header",
	 {.inject_max = 600,
	  .inject_iov = 1,
	  .send_iov = 4,
	  .packet_max = PACKET,
	  .read_max = 3000,
	  .headerless = true}},
	{"no header, short inject",
	 {.inject_max = 100,
	  .inject_iov = 4,
	  .send_iov = 1,
	  .packet_max = PACKET,
	  .hide_from = true,
	  .headerless = true}},
	{"long packets",
	 {.inject_max = 4096,
	  .inject_iov = 4,
	  .send_iov = 4,
	  .packet_max = 4 * PACKET,
	  .read_max = 1u << 20}},
};
#define N_TRANSPORTS (sizeof transports / sizeof *transports)

static struct rig *start(const struct transport *t, size_t eager_max)
{
	struct rig_settings set = rig_defaults(2);

	set.limits = t->limits;
	set.eager_max = eager_max;
	set.budget = 1 << 20;
	return rig_new(&set);
}

/* Where the flags of one run come from: all combinations of these. */
enum { F_TAGGED = 1, F_DATA = 2, F_ACK = 4, F_POSTED = 8, F_INJECT = 16, F_ALL = 32 };

static unsigned req_flags(unsigned f)
{
	return (f & F_TAGGED ? QV_REQ_TAGGED : 0) | (f & F_DATA ? QV_REQ_DATA : 0) |
	       (f & F_ACK ? QV_REQ_ACK : 0) | (f & F_INJECT ? QV_REQ_INJECT : 0);
}

static void one(struct rig *rig, size_t len, size_t room, unsigned f, unsigned cut, unsigned into)
{
	struct rig_req *send = rig_req_new(rig, 0, len, cut);
	struct rig_req *recv = rig_req_new(rig, 1, room, into);
	unsigned tagged = f & F_TAGGED ? QV_REQ_TAGGED : 0;
	uint64_t tag = qv_random(&rig->rng);
	int from = f & F_DATA ? RIG_ANY : 0;

	if (f & F_POSTED)
		assert_int_equal(rig_recv_req(recv, from, tag, 0, tagged, 0), QV_OK);
	assert_int_equal(rig_send_req(send, 1, tag, req_flags(f)), QV_OK);
	if (!(f & F_POSTED)) {
		rig_settle(rig);
		assert_int_equal(recv->done, 0);
		if (f & F_ACK)
			assert_int_equal(send->done, 0);
		assert_int_equal(rig_recv_req(recv, from, tag, 0, tagged, 0), QV_OK);
	}
	rig_wait(rig, send, recv);
	rig_check_status(send, QV_OK);
	rig_check(recv, send);
}

static void all_forms(struct rig *rig, size_t len)
{
	for (unsigned f = 0; f < F_ALL; f++) {
		if (f & F_INJECT && len > QV_PROTO_SHORT)
			continue;
		one(rig, len, len, f, 1, 1);
		one(rig, len, len + 10, f, 1 + (unsigned)qv_random_below(&rig->rng, QV_IOV_MAX),
		    1 + (unsigned)qv_random_below(&rig->rng, QV_IOV_MAX));
	}
}

static void run_sizes(const struct transport *t, size_t eager_max)
{
	struct rig *rig = start(t, eager_max);

	for (size_t i = 0; i < N_LIMITS; i++)
		for (size_t off = 0; off < 5; off++)
			if (limits[i] + off >= 2)
				all_forms(rig, limits[i] + off - 2);
	rig_settle(rig);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	assert_int_equal(rig->node[0].warnings + rig->node[1].warnings, 0);
	rig_free(rig);
}

static void sizes_near_limits(void **state)
{
	static const size_t eager_max[] = {0, 1000, 3000};

	for (size_t t = 0; t < N_TRANSPORTS; t++)
		for (size_t e = 0; e < 3; e++)
			run_sizes(&transports[t], eager_max[e]);
}

static unsigned asked; /* times that eager_pays was */

static bool now_and_then(struct qv_xport *x, uint64_t to)
{
	(void)x;
	(void)to;
	return ++asked % 3 == 0;
}

/* Of messages of several packets the transport says whether they are to be eager now. */
static void where_eager_does_not_pay(void **state)
{
	enum { MESSAGES = 30 };

	(void)state;
	for (size_t t = 0; t < N_TRANSPORTS; t++) {
		struct rig *rig = start(&transports[t], 8 * PACKET);
		struct qv_xport_ops ops = *rig->node[0].x->ops;
		struct qv_proto_stats stats;

		ops.eager_pays = now_and_then;
		rig->node[0].x->ops = &ops;
		asked = 0;
		one(rig, 8, 8, F_TAGGED, 1, 1); /* they know each other */
		for (unsigned i = 0; i < MESSAGES; i++) {
			one(rig, 6 * PACKET, 6 * PACKET, F_TAGGED | i % F_INJECT, 1, 1);
			one(rig, PACKET / 2, PACKET, F_TAGGED, 1, 1);
		}
		qv_proto_get_stats(rig->node[0].p, &stats);
		assert_int_equal(asked, MESSAGES);
		assert_int_equal(stats.rndv, MESSAGES - MESSAGES / 3);
		rig_settle(rig);
		rig_check_idle(rig, 0);
		rig_free(rig);
	}
}

/* Every size of up to three packets, each in one form that the size picks. */
static void every_size(void **state)
{
	for (size_t t = 0; t < N_TRANSPORTS; t++) {
		struct rig *rig = start(&transports[t], 2 * PACKET);

		for (size_t len = 0; len <= 3 * PACKET + 3; len++)
			one(rig, len, len, (unsigned)qv_random_below(&rig->rng, F_INJECT),
			    1 + (unsigned)(len % QV_IOV_MAX), 1 + (unsigned)(len / 3 % QV_IOV_MAX));
		rig_settle(rig);
		rig_check_idle(rig, 0);
		rig_check_idle(rig, 1);
		rig_free(rig);
	}
}

/* Nothing past the room is written, the sender completes, lengths are right. */
static void truncation(void **state)
{
	static const size_t rooms[] = {0, 1, 100, PACKET, 2 * PACKET, 2 * PACKET + 500};

	for (size_t t = 0; t < N_TRANSPORTS; t++) {
		struct rig *rig = start(&transports[t], 2 * PACKET + 100);

		for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++)
			for (unsigned f = 0; f < F_INJECT; f++)
				for (size_t over = 1; over < 3000; over = over * 7 + 1)
					one(rig, rooms[r] + over, rooms[r], f, 1 + f % QV_IOV_MAX,
					    1 + f / 2 % QV_IOV_MAX);
		rig_settle(rig);
		rig_check_idle(rig, 0);
		rig_check_idle(rig, 1);
		rig_free(rig);
	}
}

/* One side can read from the other, which cannot read itself. */
static void one_sided_read(void **state)
{
	for (unsigned reader = 0; reader < 2; reader++) {
		struct rig_settings set = rig_defaults(0);
		struct rig *rig = rig_new(&set);

		for (unsigned i = 0; i < 2; i++) {
			set.limits.read_max = i == reader ? 5000 : 0;
			rig_open(rig, i, &set);
		}
		for (unsigned f = 0; f < F_INJECT; f++) {
			one(rig, 20000, 20000, f, 3, 2);
			one(rig, 20000, 7000, f, 2, 3);
		}
		rig_settle(rig);
		rig_check_idle(rig, 0);
		rig_check_idle(rig, 1);
		rig_free(rig);
	}
}

/* A transport that reads from other processes only: nothing is read from this one. */
static void reads_apart(void **state)
{
	for (unsigned same = 0; same < 2; same++) {
		struct rig *rig = start(&transports[0], 1000);
		struct qv_loop_chaos *chaos = qv_loop_chaos(rig->loop);

		for (unsigned i = 0; i < 2; i++)
			rig->node[i].x->apart = true;
		one(rig, 10, 10, F_TAGGED, 1, 1);
		if (!same)
			rig_peer(rig, 1, 0)->proc.start++;
		chaos->fail_read = 1000; /* counts down */
		for (unsigned f = 0; f < F_INJECT; f++)
			one(rig, 20000, 20000, f, 3, 2);
		assert_int_equal(chaos->fail_read == 1000, same);
		rig_settle(rig);
		rig_check_idle(rig, 0);
		rig_check_idle(rig, 1);
		rig_free(rig);
	}
}

/* Pieces that cannot be registered: the message is sent in packets instead. */
static void register_fails(void **state)
{
	struct rig *rig = start(&transports[0], 1000);

	qv_loop_chaos(rig->loop)->fail_register = 40;
	for (unsigned i = 0; i < 200; i++)
		one(rig, 10000 + i, 10000 + i, i % F_INJECT, 1 + i % QV_IOV_MAX, 1);
	rig_settle(rig);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

/* No buffer at all: zero pieces, zero bytes. */
static void no_pieces(void **state)
{
	struct rig *rig = start(&transports[0], 1000);
	struct rig_req *req[4];

	for (int i = 0; i < 4; i++) {
		req[i] = rig_req_new(rig, i < 2, 0, 1);
		req[i]->cnt = i & 1 ? 1 : 0;
		req[i]->iov[0].iov_base = NULL;
	}
	assert_int_equal(rig_recv_req(req[0], 0, 1, 0, QV_REQ_TAGGED, 0), QV_OK);
	assert_int_equal(rig_send_req(req[2], 1, 1, QV_REQ_TAGGED), QV_OK);
	assert_int_equal(rig_send_req(req[3], 1, 1, QV_REQ_TAGGED), QV_OK);
	assert_int_equal(rig_recv_req(req[1], 0, 1, 0, QV_REQ_TAGGED, 0), QV_OK);
	rig_wait(rig, req[2], req[3]);
	rig_wait(rig, req[0], req[1]);
	for (int i = 0; i < 4; i++) {
		rig_check_status(req[i], QV_OK);
		assert_int_equal(req[i]->comp.full, 0);
		req[i]->cnt = 0; /* no guards behind pieces to be looked at */
	}
	rig_free(rig);
}

/* An endpoint may send to itself. */
static void to_itself(void **state)
{
	struct rig *rig = start(&transports[0], 1500);

	for (size_t len = 0; len < 5000; len = len * 2 + 1) {
		struct rig_req *recv = rig_recv(rig, 0, 0, len, len, QV_REQ_TAGGED);
		struct rig_req *send = rig_send(rig, 0, 0, len, len, QV_REQ_TAGGED | QV_REQ_ACK);

		rig_wait(rig, send, recv);
		rig_check(recv, send);
		assert_int_equal(recv->comp.user, RIG_USER(0));
	}
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_near_limits), cmocka_unit_test(where_eager_does_not_pay),
		cmocka_unit_test(every_size),        cmocka_unit_test(truncation),
		cmocka_unit_test(no_pieces),         cmocka_unit_test(to_itself),
		cmocka_unit_test(one_sided_read),    cmocka_unit_test(register_fails),
		cmocka_unit_test(reads_apart),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
