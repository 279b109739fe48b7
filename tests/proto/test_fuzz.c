/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fuzz.c - random, forged and mutated packets: each is refused or does what it says,
 * nothing else is disturbed.
 */
#include "tests/proto/fuzz/fuzz.h"

#include <string.h>

#define RECORDED 64u

static struct {
	char buf[RECORDED][FUZZ_MAX];
	size_t len[RECORDED];
	unsigned n;
} recorded;

static void record(void *ctx, unsigned from, unsigned to, const void *buf, size_t len)
{
	unsigned i = recorded.n++ % RECORDED;

	if (len > FUZZ_MAX)
		len = FUZZ_MAX;
	memcpy(recorded.buf[i], buf, len);
	recorded.len[i] = len;
}

static uint64_t interesting(struct fuzz *f)
{
	static const uint64_t words[] = {0,          1,          8,         96,          97,
					 128,        1000,       1 << 20,   1 << 20 | 1, UINT32_MAX,
					 1ull << 32, 1ull << 63, UINT64_MAX};
	uint64_t *rng = &f->rig->rng;

	switch (qv_random_below(rng, 6)) {
	case 0: return words[qv_random_below(rng, sizeof words / sizeof *words)];
	case 1: return qv_random_below(rng, 4000);
	default: return f->words[qv_random_below(rng, FUZZ_WORDS)];
	}
}

/* What the victim still lacks of an open message of the hostile one; *pos: from where. */
static size_t missing(struct fuzz *f, uint64_t *pos)
{
	const struct qv_peer *peer = f->rig->node[FUZZ_VICTIM].peers[FUZZ_HOSTILE];

	if (!peer)
		return 0;
	if (peer->open_in) {
		*pos = peer->open_in->pos;
		return peer->open_in->info.full - peer->open_in->pos;
	}
	if (peer->open_unexp) {
		*pos = peer->open_unexp->got;
		return peer->open_unexp->info.full - peer->open_unexp->got;
	}
	return 0;
}

/* Segments of the registered memory; returns how long they are together. */
static uint64_t segments(struct fuzz *f, char *body, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct qv_wire_seg seg = {.addr = f->registered.addr +
						  qv_random_below(&f->rig->rng, 9000),
					  .key = f->registered.key,
					  .len = qv_random_below(&f->rig->rng, 4000)};

		memcpy(body + i * sizeof seg, &seg, sizeof seg);
		sum += seg.len;
	}
	return sum;
}

/* The body of a packet, right for its op more often than not. */
static size_t body_for(struct fuzz *f, struct qv_wire_pkt *pkt, char *body)
{
	uint64_t *rng = &f->rig->rng, word = interesting(f);
	size_t n = qv_random_below(rng, QV_WIRE_MAX_SEGS + 1);

	switch (pkt->hdr.op) {
	case QV_PKT_EAGER:
		n = qv_random_below(rng, 900);
		pkt->total = qv_random(rng) & 7 ? n + 1 + qv_random_below(rng, 1500) : pkt->total;
		return n;
	case QV_PKT_RTS:
		pkt->total = n ? segments(f, body, n) : pkt->total;
		return n * sizeof(struct qv_wire_seg);
	case QV_PKT_DATA:
		word = pkt->hdr.arg;
		n = missing(f, &word);
		pkt->hdr.arg = word;
		return n && n < 900 ? n : 1 + qv_random_below(rng, 900);
	case QV_PKT_SEG:
		word = qv_random(rng) & 3 ? 0 : word;
		memcpy(body, &word, sizeof word);
		return sizeof word + 1 + qv_random_below(rng, 900);
	case QV_PKT_CTS:
		memcpy(body, &word, sizeof word);
		word = qv_random_below(rng, 10000);
		memcpy(body + sizeof word, &word, sizeof word);
		return 2 * sizeof word;
	case QV_PKT_FIN:
		word = qv_random(rng) & 1 ? 0 : word;
		memcpy(body, &word, sizeof word);
		return sizeof word;
	}
	return 0;
}

/* A packet that is well-formed nearly always, with words that may mean something. */
static size_t forge(struct fuzz *f, char *buf)
{
	uint64_t *rng = &f->rig->rng, open;
	struct qv_wire_pkt pkt = {
		.hdr = {.magic = QV_WIRE_MAGIC,
			.version = QV_WIRE_VERSION,
			.op = (uint8_t)(2 + qv_random_below(rng, QV_PKT_LAST - 1)),
			.arg = interesting(f)},
		.data = qv_random(rng),
		.total = interesting(f),
		.sreq = interesting(f),
	};
	char body[FUZZ_MAX];
	size_t len, n;

	if (missing(f, &open) && qv_random(rng) & 1)
		pkt.hdr.op = QV_PKT_DATA;
	if (pkt.hdr.op == QV_PKT_EAGER)
		pkt.hdr.flags = (uint8_t)(qv_random(rng) & QV_WF_ALL & ~QV_WF_UID);
	if (pkt.hdr.op == QV_PKT_RTS)
		pkt.hdr.flags =
			(uint8_t)(QV_WF_TOTAL | QV_WF_SREQ | (qv_random(rng) & QV_WF_TAGGED));
	memset(body, (int)pkt.data, sizeof body);
	n = body_for(f, &pkt, body);
	if (qv_random_percent(rng, 3))
		n += qv_random_below(rng, 10);
	len = qv_wire_write(buf, &pkt);
	memcpy(buf + len, body, n);
	return len + n;
}

static size_t mutate(struct fuzz *f, char *buf)
{
	uint64_t *rng = &f->rig->rng;
	unsigned i = (unsigned)qv_random_below(rng, recorded.n < RECORDED ? recorded.n : RECORDED);
	size_t len = recorded.len[i];

	memcpy(buf, recorded.buf[i], len);
	if (len >= sizeof(struct qv_wire_hdr) && qv_random(rng) & 3) /* as if it were due */
		memset(buf + offsetof(struct qv_wire_hdr, seq), 0, sizeof(uint16_t));
	for (uint64_t n = qv_random_below(rng, 4); n-- && len;)
		buf[qv_random_below(rng, len < 72 ? len : 72)] ^=
			(char)(1u << qv_random_below(rng, 8));
	if (qv_random_percent(rng, 20))
		len = qv_random_below(rng, len + 1);
	return len;
}

static size_t noise(struct fuzz *f, char *buf)
{
	size_t len = qv_random_below(&f->rig->rng, 200);

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)qv_random(&f->rig->rng);
	if (len > 4 && qv_random(&f->rig->rng) & 3) {
		buf[0] = QV_WIRE_MAGIC;
		buf[1] = QV_WIRE_VERSION;
		buf[2] = (char)(buf[2] & 15);
	}
	return len;
}

static void batch(struct fuzz *f, unsigned packets)
{
	uint64_t *rng = &f->rig->rng;
	char buf[FUZZ_MAX + 8];

	for (unsigned i = 0; i < packets; i++) {
		unsigned kind = (unsigned)qv_random_below(rng, 16);

		if (kind < 9)
			fuzz_packet(f, buf, forge(f, buf), false);
		else if (kind < 12 && recorded.n)
			fuzz_packet(f, buf, mutate(f, buf), qv_random(rng) & 1 && kind == 9);
		else if (kind == 12)
			fuzz_packet(f, buf, noise(f, buf), qv_random(rng) & 1);
		else
			fuzz_action(f, (unsigned)qv_random_below(rng, FUZZ_CLOSE));
		if (!fuzz_is_connected(f))
			fuzz_hello(f);
	}
}

/* Mutated packets may carry the honest one's id: whatever they break, memory stays sound. */
static void run(bool spoof)
{
	unsigned left = rig_scaled(50000);

	recorded.n = 0;
	while (left) {
		struct fuzz *f = fuzz_new((left & 1 ? FUZZ_READ : 0) | (spoof ? FUZZ_SPOOF : 0));
		unsigned n = left < 999 ? left : 999;

		qv_loop_set_tap(f->rig->loop, record, f);
		fuzz_honest(f, 300);
		fuzz_honest(f, 9000);
		if (spoof)
			fuzz_self(f);
		batch(f, n);
		left -= n;
		fuzz_end(f);
	}
}

static void hostile_peer(void **state)
{
	run(false);
}

static void spoofed_peer(void **state)
{
	run(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_peer),
		cmocka_unit_test(spoofed_peer),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
