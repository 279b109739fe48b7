/* SPDX-License-Identifier: BSD-2-Clause */
/* test_wire.c - packets to bytes and back, and packets that are wrong in one place. */
#include "tests/proto/rig/rig.h"

#include <string.h>

#define BODY_MAX 2000u

/* A body that its op accepts. */
static size_t random_body(uint64_t *rng, struct qv_wire_pkt *pkt, char *body)
{
	struct qv_wire_hello hello = {.packet_max = QV_WIRE_MIN_PACKET, .uid = 1};
	size_t len = 0;

	switch (pkt->hdr.op) {
	case QV_PKT_HELLO:
		memcpy(body, &hello, sizeof hello);
		return sizeof hello + qv_random_below(rng, QV_WIRE_MAX_NAME + 1);
	case QV_PKT_EAGER:
		len = qv_random_below(rng, BODY_MAX);
		pkt->total = len + 1 + qv_random_below(rng, 1000);
		return len;
	case QV_PKT_RTS:
		pkt->hdr.flags |= QV_WF_TOTAL | QV_WF_SREQ;
		return sizeof(struct qv_wire_seg) * qv_random_below(rng, QV_WIRE_MAX_SEGS + 1);
	case QV_PKT_DATA: return 1 + qv_random_below(rng, BODY_MAX - 1);
	case QV_PKT_RAIL: return 1 + qv_random_below(rng, QV_WIRE_MAX_NAME);
	case QV_PKT_PIECE:
	case QV_PKT_SEG: return sizeof(uint64_t) + 1 + qv_random_below(rng, BODY_MAX - 9);
	case QV_PKT_CTS: return sizeof(struct qv_wire_cts);
	case QV_PKT_FIN: return sizeof(uint64_t);
	case QV_PKT_ASK:
		return sizeof(struct qv_ask) +
		       qv_random_below(rng, BODY_MAX - sizeof(struct qv_ask));
	case QV_PKT_ANSWER: return sizeof(uint64_t) + qv_random_below(rng, BODY_MAX - 8);
	}
	return 0;
}

static uint8_t allowed_flags(uint64_t *rng, unsigned op)
{
	unsigned all = op == QV_PKT_EAGER || op == QV_PKT_RTS     ? QV_WF_ALL
		       : op == QV_PKT_HELLO || op == QV_PKT_RESET ? 0
								  : QV_WF_UID;

	uint8_t flags = (uint8_t)(qv_random(rng) & all);

	return flags & QV_WF_COLL ? flags & (uint8_t)~QV_WF_TAGGED : flags; /* not both */
}

static void round_trip(void **state)
{
	uint64_t rng = rig_seed();

	for (unsigned i = 0; i < rig_scaled(20000); i++) {
		char buf[QV_WIRE_MAX_HDR + BODY_MAX], *body = buf + QV_WIRE_MAX_HDR;
		unsigned op = 1 + i % QV_PKT_LAST;
		struct qv_wire_pkt in, out = {
					       .hdr = {.magic = QV_WIRE_MAGIC,
						       .version = QV_WIRE_VERSION,
						       .op = (uint8_t)op,
						       .flags = allowed_flags(&rng, op),
						       .src = (uint32_t)qv_random(&rng),
						       .arg = qv_random(&rng)},
					       .uid = qv_random(&rng),
					       .data = qv_random(&rng),
					       .total = qv_random(&rng),
					       .sreq = qv_random(&rng),
				       };
		size_t len, words;

		memset(body, (int)i, BODY_MAX);
		len = random_body(&rng, &out, body);
		words = qv_wire_write(buf, &out);
		assert_true(words <= QV_WIRE_MAX_HDR);
		memmove(buf + words, body, len);
		assert_null(qv_wire_parse(&out.hdr, buf + sizeof out.hdr,
					  words - sizeof out.hdr + len, &in));
		assert_memory_equal(&in.hdr, &out.hdr, sizeof in.hdr);
		assert_memory_equal(buf, &out.hdr, sizeof out.hdr);
		assert_int_equal(in.uid, out.hdr.flags & QV_WF_UID ? out.uid : 0);
		assert_int_equal(in.data, out.hdr.flags & QV_WF_DATA ? out.data : 0);
		assert_int_equal(in.total, out.hdr.flags & QV_WF_TOTAL ? out.total : 0);
		assert_int_equal(in.sreq, out.hdr.flags & QV_WF_SREQ ? out.sreq : 0);
		assert_int_equal(in.len, len);
		assert_ptr_equal(in.body, buf + words);
	}
}

/* One wrong thing each; good: the same packet without it. */
static const struct wrong {
	const char *why;
	uint8_t magic, version, op, flags;
	size_t len;     /* behind the header */
	uint64_t first; /* word behind the header, or bytes 40.. of a HELLO */
} wrongs[] = {
	{"not a quiver packet (wrong magic number)", 0x52, QV_WIRE_VERSION, QV_PKT_EAGER, 0, 0, 0},
	{"another version of the wire protocol", 0x51, QV_WIRE_VERSION - 1, QV_PKT_EAGER, 0, 0, 0},
	{"another version of the wire protocol", 0x51, QV_WIRE_VERSION + 1, QV_PKT_EAGER, 0, 0, 0},
	{"unknown packet type", 0x51, QV_WIRE_VERSION, 0, 0, 0, 0},
	{"unknown packet type", 0x51, QV_WIRE_VERSION, QV_PKT_LAST + 1, 0, 0, 0},
	{"unknown packet type", 0x51, QV_WIRE_VERSION, 0xff, 0, 0, 0},
	{"unknown flags", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER, 0x40, 0, 0},
	{"two kinds of message at once", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER,
	 QV_WF_TAGGED | QV_WF_COLL, 0, 0},
	{"unknown flags", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER, 0x80, 0, 0},
	{"unknown flags", 0x51, QV_WIRE_VERSION, QV_PKT_DATA, QV_WF_TAGGED, 10, 0},
	{"unknown flags", 0x51, QV_WIRE_VERSION, QV_PKT_CTS, QV_WF_TOTAL, 24, 0},
	{"unknown flags", 0x51, QV_WIRE_VERSION, QV_PKT_HELLO, QV_WF_UID, 56, 0},
	{"unknown flags", 0x51, QV_WIRE_VERSION, QV_PKT_CREDIT, QV_WF_SREQ, 8, 0},
	{"truncated header", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER, QV_WF_DATA, 7, 0},
	{"truncated header", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER, QV_WF_ALL & ~QV_WF_COLL, 31, 0},
	{"truncated header", 0x51, QV_WIRE_VERSION, QV_PKT_RTS, QV_WF_TOTAL | QV_WF_SREQ, 15, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER, QV_WF_TOTAL,
	 18, 10},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_EAGER, QV_WF_TOTAL,
	 18, 9},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_DATA, 0, 0, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RTS, 0, 0, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RTS, QV_WF_TOTAL, 8,
	 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RTS, QV_WF_SREQ, 8,
	 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RTS,
	 QV_WF_TOTAL | QV_WF_SREQ, 17, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RTS,
	 QV_WF_TOTAL | QV_WF_SREQ, 16 + 5 * 24, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_CTS, 0, 15, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_CTS, 0, 17, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_SEG, 0, 8, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_FIN, 0, 7, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_FIN, 0, 9, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_CREDIT, 0, 1, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_PING, 0, 1, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_ACK, 0, 1, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_LEAVE, 0, 1, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RESET, 0, 1, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_ASK, 0, 23, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_ANSWER, 0, 7, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_RAIL, 0, 0, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_PIECE, 0, 8, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_HELLO, 0, 47, 0},
	{"length does not fit the packet type", 0x51, QV_WIRE_VERSION, QV_PKT_HELLO, 0, 48, 0},
};

static void malformed(void **state)
{
	struct rig_settings set = rig_defaults(1);
	struct rig *rig = rig_new(&set);
	size_t n = sizeof wrongs / sizeof *wrongs;

	for (size_t i = 0; i < n; i++) {
		const struct wrong *w = &wrongs[i];
		char buf[512] = {0};
		struct qv_wire_hdr hdr = {
			.magic = w->magic, .version = w->version, .op = w->op, .flags = w->flags};
		struct qv_wire_pkt pkt;
		const char *why;

		memcpy(buf, &hdr, sizeof hdr);
		memcpy(buf + sizeof hdr, &w->first, sizeof w->first);
		why = qv_wire_parse(&hdr, buf + sizeof hdr, w->len, &pkt);
		if (!why || strcmp(why, w->why))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, why ? why : "accepted", w->why);
		assert_int_equal(qv_loop_forge(rig->loop, 0, 0, buf, sizeof hdr + w->len), QV_OK);
		assert_int_equal(rig_stats(rig, 0).refused, i + 1);
	}
	for (size_t len = 0; len < sizeof(struct qv_wire_hdr); len++) {
		struct qv_wire_hdr hdr = {
			.magic = QV_WIRE_MAGIC, .version = QV_WIRE_VERSION, .op = QV_PKT_EAGER};

		assert_int_equal(qv_loop_forge(rig->loop, 0, 0, &hdr, len), QV_OK);
	}
	assert_int_equal(rig_stats(rig, 0).refused, n + sizeof(struct qv_wire_hdr));
	assert_int_equal(rig->node[0].warnings, 6); /* 1, 2, 4, 8, 16, 32 */
	rig_free(rig);
}

/* The name in a HELLO is all that is left of it, the limits are checked. */
static void hello_lengths(void **state)
{
	struct qv_wire_hdr hdr = {
		.magic = QV_WIRE_MAGIC, .version = QV_WIRE_VERSION, .op = QV_PKT_HELLO};
	struct qv_wire_pkt pkt;
	char body[sizeof(struct qv_wire_hello) + QV_WIRE_MAX_NAME + 2] = {0};

	for (size_t len = 0; len <= sizeof body; len++) {
		struct qv_wire_hello hello = {.packet_max = QV_WIRE_MIN_PACKET};
		bool good = len >= sizeof hello && len <= sizeof hello + QV_WIRE_MAX_NAME;

		memcpy(body, &hello, sizeof hello);
		assert_int_equal(qv_wire_parse(&hdr, body, len, &pkt) == NULL, good);
		hello.packet_max--;
		memcpy(body, &hello, sizeof hello);
		assert_non_null(qv_wire_parse(&hdr, body, len, &pkt));
	}
}

static void slices(void **state)
{
	uint64_t rng = rig_seed();

	for (unsigned n = 0; n < rig_scaled(20000); n++) {
		char from[64], to[64] = {0}, want[64] = {0}, flat[64];
		struct iovec iov[QV_IOV_MAX], part[QV_IOV_MAX];
		size_t at = 0, cnt = 1 + qv_random_below(&rng, QV_IOV_MAX), len, offset, parts,
		       done;

		for (size_t i = 0; i < sizeof from; i++)
			from[i] = (char)(i + 1);
		for (size_t i = 0; i < cnt; i++) {
			size_t piece = qv_random_below(&rng, 16);

			iov[i] = (struct iovec){piece ? to + at : NULL, piece};
			at += piece;
		}
		assert_int_equal(qv_iov_len(iov, cnt), at);
		offset = qv_random_below(&rng, at + 1);
		len = qv_random_below(&rng, 64);
		done = len < at - offset ? len : at - offset;
		memcpy(want + offset, from, done);
		assert_int_equal(qv_iov_put(iov, cnt, offset, from, len), done);
		assert_memory_equal(to, want, sizeof to);
		memset(flat, 0x11, sizeof flat);
		qv_iov_get(iov, cnt, flat);
		assert_memory_equal(flat, to, at);
		parts = qv_iov_slice(iov, cnt, offset, len, part);
		assert_true(parts <= cnt);
		assert_int_equal(qv_iov_len(part, parts), done);
		for (size_t i = 0; i < parts; i++)
			assert_true(part[i].iov_len > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(malformed),
		cmocka_unit_test(hello_lengths),
		cmocka_unit_test(slices),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
