/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_hello.c - packets of a hostile endpoint: HELLOs with the names of others, odd limits,
 * stale and guessed names of requests. Honest traffic goes on.
 */
#include "tests/proto/rig/rig.h"

#include <stdlib.h>
#include <string.h>

struct forged {
	struct qv_wire_hdr hdr;
	struct qv_wire_hello hello;
	char name[8];
	size_t namelen; /* not sent */
} __attribute__((packed, aligned(4)));

static struct forged forge(uint64_t uid, const char *name)
{
	struct forged f = {
		.hdr = {.magic = QV_WIRE_MAGIC,
			.version = QV_WIRE_VERSION,
			.op = QV_PKT_HELLO,
			.src = QV_SRC_UNKNOWN},
		.hello = {.uid = uid,
			  .budget = 1 << 20,
			  .id = 5,
			  .packet_max = QV_WIRE_MIN_PACKET,
			  .session = 1},
		.namelen = strlen(name),
	};

	memcpy(f.name, name, strlen(name));
	return f;
}

static void say(struct rig *rig, unsigned to, uint64_t from, const struct forged *f)
{
	size_t len = sizeof f->hdr + sizeof f->hello + f->namelen;

	assert_int_equal(qv_loop_forge(rig->loop, from, to, f, len), QV_OK);
}

/* A packet of node4 to node 1, with the number that is due. */
static void send_forged(struct rig *rig, struct qv_wire_hdr *hdr, size_t len)
{
	const struct qv_peer *peer = rig_peer(rig, 1, 4);

	hdr->src = peer->id;
	hdr->seq = (uint16_t)(peer->got + 1);
	assert_int_equal(qv_loop_forge(rig->loop, 4, 1, hdr, len), QV_OK);
	assert_int_equal(hdr->seq, (uint16_t)peer->got);
}

/* No packet was lost, so no time has to pass. */
static void exchange(struct rig *rig, unsigned a, unsigned b, size_t len)
{
	struct rig_req *recv = rig_recv(rig, b, RIG_ANY, len, 1, QV_REQ_TAGGED);
	struct rig_req *send = rig_send(rig, a, b, len, 1, QV_REQ_TAGGED | QV_REQ_ACK);

	rig_wait(rig, send, recv);
	rig_check(recv, send);
}

static struct rig *start(void)
{
	struct rig_settings set = rig_defaults(3);
	struct rig *rig;

	set.limits.read_max = 0; /* so that receives have names, too */
	rig = rig_new(&set);

	for (unsigned i = 0; i < 9; i++)
		exchange(rig, i / 3, i % 3, 600);
	rig_settle(rig);
	return rig;
}

static void finish(struct rig *rig)
{
	for (unsigned i = 0; i < 18; i++)
		exchange(rig, i / 3 % 3, i % 3, 100 + 700 * i);
	rig_free(rig);
}

/* Another's uid, from an address that is not his; our own; none; a name that is no address. */
static void names_of_others(void **state)
{
	struct rig *rig = start();
	struct qv_proto *p = rig->node[1].p;
	struct forged f = forge(rig->node[0].p->uid, "node4");

	say(rig, 1, 4, &f);
	assert_int_equal(rig_stats(rig, 1).refused, 1);
	f = forge(p->uid, "node4");
	say(rig, 1, 4, &f);
	assert_int_equal(rig_stats(rig, 1).refused, 2);
	f = forge(0, "node4");
	say(rig, 1, 4, &f);
	f = forge(12345, "nonsense");
	say(rig, 1, 4, &f);
	f = forge(12345, "node4");
	say(rig, 1, 0, &f); /* the transport knows better who it is */
	f.hello.id = QV_SRC_UNKNOWN;
	say(rig, 1, 4, &f);
	assert_int_equal(rig_stats(rig, 1).refused, 6);
	assert_int_equal(rig->node[1].warnings, 3); /* the 1st, 2nd, 4th */
	assert_int_equal(p->npeers, 4);             /* node4 was made up, but is nobody */
	finish(rig);
}

/* Limits that make no sense or overflow what they are added to. */
static void odd_limits(void **state)
{
	static const uint64_t budgets[] = {0, 1, UINT64_MAX};
	static const uint32_t packets[] = {QV_WIRE_MIN_PACKET, 5000, UINT32_MAX};

	for (unsigned b = 0; b < 3; b++)
		for (unsigned k = 0; k < 3; k++) {
			struct rig *rig = start();
			struct forged f = forge(777 + b, "node4");

			f.hello.budget = budgets[b];
			f.hello.packet_max = packets[k];
			f.hello.id = 0; /* somebody else's id at his side, for all we know */
			say(rig, 1, 4, &f);
			for (unsigned i = 0; i < 20; i++) /* go nowhere, but go */
				rig_send(rig, 1, 4, 500 * i, i, QV_REQ_TAGGED);
			rig_settle(rig);
			assert_true(rig_peer(rig, 1, 4)->packet_max <= QV_WIRE_MIN_PACKET);
			finish(rig);
		}
}

/* One that says ever new HELLOs takes over nobody but itself. */
static void many_hellos(void **state)
{
	struct rig *rig = start();

	for (uint64_t i = 0; i < 2000; i++) {
		struct forged f = forge(1000 + i, "node4");

		say(rig, 1, 4, &f);
		say(rig, 1, 4, &f);
	}
	assert_int_equal(rig->node[1].p->npeers, 4);
	finish(rig);
}

/* Strangers with ever new names get so many places, and no more; who has a name finds one. */
static void strangers(void **state)
{
	struct rig *rig = start();
	struct qv_proto *p = rig->node[1].p;
	struct qv_xport *x = rig_peer(rig, 1, 0)->x;
	struct forged f = forge(777, "node4");
	uint64_t refused = rig_stats(rig, 1).refused;

	while (qv_proto_peer_new(p, x, 3, QV_USER_UNKNOWN))
		assert_in_range(p->npeers, 0, QV_UNNAMED_MAX + 16);
	assert_int_equal(p->nunnamed, QV_UNNAMED_MAX);
	say(rig, 1, 4, &f);
	assert_int_equal(rig_stats(rig, 1).refused, refused + 1);
	qv_proto_peer_free(p->peers[p->npeers - 1]);
	say(rig, 1, 4, &f);
	assert_int_equal(rig_stats(rig, 1).refused, refused + 1);
	assert_non_null(qv_proto_peer_new(p, x, 3, 7));
	finish(rig);
}

/* A table that is full is no want of memory, for which packets would wait. */
static void full_table(void **state)
{
	struct rig *rig = start();
	struct qv_proto *p = rig->node[1].p;
	uint32_t n = p->npeers, most = (QV_ID_INDEX + 1) / 2;
	struct forged f = forge(777, "node4");

	p->peers = realloc(p->peers, most * sizeof(struct qv_peer *));
	assert_non_null(p->peers);
	memset(p->peers + n, 0, (most - n) * sizeof(struct qv_peer *));
	p->npeers = p->peers_cap = most;
	say(rig, 1, 4, &f); /* is handed over, and refused */
	p->npeers = n;
	finish(rig);
}

/* The same packet of a peer with words of a request that is not there, or not his. */
static void guessed_requests(void **state)
{
	struct rig *rig = start();
	struct rig_req *send = rig_send(rig, 1, 0, 9000, 4, QV_REQ_TAGGED);
	struct rig_req *recv = rig_recv(rig, 1, 0, 9000, 5, QV_REQ_TAGGED);
	struct rig_req *other = rig_send(rig, 0, 1, 9000, 5, QV_REQ_TAGGED);
	struct forged f = forge(4242, "node4");
	struct {
		struct qv_wire_hdr hdr;
		uint64_t body[2];
	} __attribute__((packed, aligned(4)))
	pkt = {.hdr = {.magic = QV_WIRE_MAGIC, .version = QV_WIRE_VERSION}};
	uint64_t before;

	say(rig, 1, 4, &f);
	while (!rig->node[1].p->in_handles.used) /* 1 has asked 0 for it */
		rig_step(rig);
	before = rig_stats(rig, 1).refused;
	for (uint64_t slot = 0; slot < 100; slot++)
		for (uint64_t gen = 0; gen < 4; gen++) {
			pkt.hdr.arg = gen << 32 | slot;
			pkt.hdr.op = QV_PKT_FIN;
			send_forged(rig, &pkt.hdr, sizeof pkt.hdr + 8);
			pkt.hdr.op = QV_PKT_CTS;
			send_forged(rig, &pkt.hdr, sizeof pkt.hdr + 16);
			pkt.hdr.op = QV_PKT_SEG;
			send_forged(rig, &pkt.hdr, sizeof pkt.hdr + 16);
			pkt.hdr.op = QV_PKT_DATA;
			send_forged(rig, &pkt.hdr, sizeof pkt.hdr + 16);
		}
	assert_int_equal(rig_stats(rig, 1).refused - before, 4 * 400);
	assert_int_equal(send->done, 0);
	rig_wait(rig, recv, other);
	rig_check(recv, other);
	rig_wait(rig, send, rig_recv(rig, 0, 1, 9000, 4, QV_REQ_TAGGED));
	rig_check_status(send, QV_OK);
	finish(rig);
}

/* Credit that nobody owes, and messages inside messages. */
static void credit_and_nesting(void **state)
{
	struct rig *rig = start();
	struct forged f = forge(4242, "node4");
	struct {
		struct qv_wire_hdr hdr;
		uint64_t words[5];
	} __attribute__((packed, aligned(4)))
	pkt = {.hdr = {.magic = QV_WIRE_MAGIC, .version = QV_WIRE_VERSION}};

	say(rig, 1, 4, &f);
	pkt.hdr.op = QV_PKT_CREDIT;
	pkt.hdr.arg = UINT64_MAX;
	for (unsigned i = 0; i < 4; i++) {
		send_forged(rig, &pkt.hdr, sizeof pkt.hdr);
		assert_int_equal(rig_peer(rig, 1, 4)->budget_used, 0);
		assert_true(rig_peer(rig, 1, 4)->budget <= SIZE_MAX / 2);
		pkt.hdr.arg = SIZE_MAX / 4 - 1;
	}
	pkt.hdr.op = QV_PKT_EAGER;
	pkt.hdr.flags = QV_WF_TOTAL;
	pkt.words[0] = QV_EAGER_LIMIT + 1;
	send_forged(rig, &pkt.hdr, sizeof pkt);
	assert_int_equal(rig_stats(rig, 1).refused, 1);
	pkt.words[0] = 1000; /* opens a message ... */
	send_forged(rig, &pkt.hdr, sizeof pkt);
	assert_int_equal(rig_stats(rig, 1).refused, 1);
	send_forged(rig, &pkt.hdr, sizeof pkt); /* ... and another inside */
	pkt.hdr.flags = 0;
	send_forged(rig, &pkt.hdr, sizeof pkt);
	assert_int_equal(rig_stats(rig, 1).refused, 3);
	pkt.hdr.op = QV_PKT_RTS; /* segments that do not make up the message, that overflow */
	pkt.hdr.flags = QV_WF_TOTAL | QV_WF_SREQ;
	send_forged(rig, &pkt.hdr, sizeof pkt);
	assert_int_equal(rig_stats(rig, 1).refused, 4);
	finish(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_others),    cmocka_unit_test(odd_limits),
		cmocka_unit_test(many_hellos),        cmocka_unit_test(strangers),
		cmocka_unit_test(full_table),         cmocka_unit_test(guessed_requests),
		cmocka_unit_test(credit_and_nesting),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
