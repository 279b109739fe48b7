/* SPDX-License-Identifier: BSD-2-Clause */
/* attack.c - packets that no endpoint of ours would send, for tests/fabric/failures/fuzz.c. */
#include "ft.h"

#include "engine/proto/wire.h"

#define UID     UINT64_C(0xfeedface) /* name of the attacker's endpoint */
#define SESSION 1u

static uint64_t seed(void)
{
	const char *given = getenv("QV_SEED");

	return given ? strtoull(given, NULL, 0) : 11;
}

/* A packet that is well formed, apart from what the caller damages. */
static size_t packet(char *buf, uint8_t op, uint8_t flags, uint64_t arg, const void *body,
		     size_t len)
{
	struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
				  .version = QV_WIRE_VERSION,
				  .op = op,
				  .flags = flags,
				  .src = QV_SRC_UNKNOWN,
				  .arg = arg};
	uint64_t word = qv_wire_token(UID, SESSION);
	size_t at = sizeof(hdr);

	memcpy(buf, &hdr, at);
	for (uint8_t f = QV_WF_UID; f <= QV_WF_SREQ; f <<= 1) {
		if (flags & f) {
			memcpy(buf + at, &word, 8);
			at += 8;
		}
	}
	memcpy(buf + at, body, len);
	return at + len;
}

/* Each kind of damage once; returns 0 after the last. */
static size_t damaged(char *buf, int kind)
{
	static const char zero[256];
	struct qv_wire_hello hello = {.uid = 1, .id = 1, .packet_max = 64};
	size_t len;

	switch (kind) {
	case 0: return 1; /* shorter than a header */
	case 1: return packet(buf, QV_PKT_EAGER, QV_WF_UID, 1, zero, 0) - 12;
	case 2: /* not our packet */
		len = packet(buf, QV_PKT_EAGER, QV_WF_UID, 1, zero, 8);
		buf[0] = 0x52;
		return len;
	case 3: /* of a later version */
		len = packet(buf, QV_PKT_EAGER, QV_WF_UID, 1, zero, 8);
		buf[1] = QV_WIRE_VERSION + 1;
		return len;
	case 4: return packet(buf, 0, 0, 1, zero, 8);
	case 5: return packet(buf, QV_PKT_LAST + 1, 0, 1, zero, 8);
	case 6: return packet(buf, QV_PKT_EAGER, 0x80, 1, zero, 8);
	case 7: return packet(buf, QV_PKT_HELLO, 0, 0, zero, 10);
	case 8: return packet(buf, QV_PKT_HELLO, 0, 0, &hello, sizeof(hello));
	case 9: return packet(buf, QV_PKT_RTS, QV_WF_UID | QV_WF_SREQ, 1, zero, 23);
	case 10: return packet(buf, QV_PKT_RTS, QV_WF_UID | QV_WF_SREQ | QV_WF_TOTAL, 1, zero, 240);
	case 11: return packet(buf, QV_PKT_CTS, 0, 77, zero, 16);
	case 12: return packet(buf, QV_PKT_CTS, 0, 0x5555555555555555, zero, 3);
	case 13: return packet(buf, QV_PKT_SEG, 0, 77, zero, 8);
	case 14: return packet(buf, QV_PKT_SEG, 0, UINT64_MAX, zero, 100);
	case 15: return packet(buf, QV_PKT_FIN, 0, UINT64_MAX, zero, 8);
	case 16: return packet(buf, QV_PKT_FIN, 0, 3, zero, 0);
	case 17: return packet(buf, QV_PKT_DATA, 0, 4096, zero, 200);
	case 18: return packet(buf, QV_PKT_CREDIT, 0, UINT64_MAX, zero, 0);
	case 19: return packet(buf, QV_PKT_EAGER, QV_WF_UID | QV_WF_TOTAL, 1, zero, 200);
	case 20: return packet(buf, QV_PKT_PING, 0, 1, zero, 200);
	default: return 0;
	}
}

static void shoot(struct ft_ep *ep, char *buf, size_t len)
{
	struct ft_op op;

	ft_send(ep, FT_TARGET, buf, len, &op);
	FT_HERE();
	while (!op.done)
		ft_progress();
}

size_t ft_attack_damaged(struct ft_ep *ep)
{
	char buf[1024] = {0};
	size_t len;
	int kind = 0;

	for (; (len = damaged(buf, kind)) > 0; kind++)
		shoot(ep, buf, len);
	return (size_t)kind;
}

/* Random bytes, random lengths; half of them with a header that is almost right. */
size_t ft_attack_random(struct ft_ep *ep)
{
	uint64_t state = seed(), body[64];
	size_t n = ft_scaled(3000);
	char buf[1024];

	for (size_t i = 0; i < n; i++) {
		uint64_t r = ft_random(&state);
		size_t len = r % 300;

		for (size_t b = 0; b < 64; b++)
			body[b] = ft_random(&state) >> (ft_random(&state) % 64);
		memcpy(buf, body, sizeof(body));
		if (r & 1u << 20)
			len = packet(buf, (uint8_t)(r >> 24) % (QV_PKT_LAST + 2),
				     (uint8_t)(r >> 32) & (QV_WF_ALL | 0x40), body[0], body, len);
		if (r & 1u << 21)
			len = len * (r >> 40 & 0xff) / 256;
		if (r & 1u << 22 && len)
			buf[(r >> 48) % len] ^= (char)(r >> 56);
		shoot(ep, buf, len);
	}
	return n;
}

/* An attacker that introduces itself: its packets are its own, well formed, and senseless. */
static size_t hello_of(char *buf)
{
	const struct ft_rank *me = &ft.sh->rank[FT_ATTACKER];
	struct qv_wire_hello hello = {
		.uid = UID, .budget = 1u << 20, .id = 5, .packet_max = 4096, .session = SESSION};
	char body[sizeof(hello) + FT_MAX_NAME];

	memcpy(body, &hello, sizeof(hello));
	memcpy(body + sizeof(hello), me->name[0], me->namelen[0]);
	return packet(buf, QV_PKT_HELLO, 0, 0, body, sizeof(hello) + me->namelen[0]);
}

/* Will it get as far as to take the next number? */
static bool counts(const char *buf, size_t len, uint16_t *seq)
{
	struct qv_wire_pkt pkt;
	struct qv_wire_hdr hdr;

	memcpy(&hdr, buf, sizeof hdr);
	if (!qv_wire_numbered(hdr.op) ||
	    qv_wire_parse(&hdr, buf + sizeof hdr, len - sizeof hdr, &pkt))
		return false;
	++*seq;
	return true;
}

size_t ft_attack_known(struct ft_ep *ep)
{
	enum { RECVS = 32, ROOM = 32768 };
	static struct ft_op rx[RECVS]; /* in use until the endpoint closes */
	static char in[RECVS * ROOM];
	static const size_t usual[QV_PKT_LAST + 1] = {
		[QV_PKT_CTS] = 16, [QV_PKT_FIN] = 8, [QV_PKT_SEG] = 100, [QV_PKT_DATA] = 50};
	uint64_t state = seed(), body[64];
	size_t n = ft_scaled(3000), len;
	char buf[1024];
	uint16_t seq = 0;

	for (size_t i = 0; i < RECVS; i++)
		ft_recv(ep, FT_ANY, in + i * ROOM, ROOM, &rx[i]);
	shoot(ep, buf, hello_of(buf));
	for (size_t i = 0; i < n; i++) {
		uint64_t r = ft_random(&state);
		uint8_t op = (uint8_t)(QV_PKT_EAGER + r % (QV_PKT_ACK - QV_PKT_EAGER + 1));
		uint8_t flags;

		for (size_t b = 0; b < 64; b++)
			body[b] = ft_random(&state) >> (ft_random(&state) % 64);
		flags = op == QV_PKT_RTS ? QV_WF_SREQ | QV_WF_TOTAL : 0;
		if (op == QV_PKT_RTS || op == QV_PKT_EAGER || (r >> 9) % 8 == 0)
			flags |= r >> 16 & (QV_WF_TAGGED | QV_WF_DATA | QV_WF_SREQ);
		/* a message begun and never ended: all is refused after it */
		if (op == QV_PKT_EAGER && i > n - n / 10)
			flags |= QV_WF_TOTAL;
		len = (r >> 12) % 8 == 0 ? r % 400 : usual[op] ? usual[op] : 24 * (r >> 24) % 120;
		len = packet(buf, op, flags | QV_WF_UID, body[63], body, len);
		/* the words behind the first, which is the name */
		memcpy(buf + sizeof(struct qv_wire_hdr) + 8, body + 32,
		       len > 48 ? 24 : len - sizeof(struct qv_wire_hdr) - 8);
		if (counts(buf, len, &seq))
			memcpy(buf + offsetof(struct qv_wire_hdr, seq), &seq, sizeof seq);
		shoot(ep, buf, len);
		for (size_t k = 0; k < RECVS; k++)
			if (rx[k].done)
				ft_recv(ep, FT_ANY, in + k * ROOM, ROOM, &rx[k]);
	}
	return n;
}
