/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_mutate.c - see fuzz_mutate.h. What changes single bytes hardly ever makes a packet
 * longer and its length right, or puts a whole packet between two others.
 */
#include "fuzz_mutate.h"

#include <string.h>

#include "engine/proto/wire.h"
#include "fuzz.h"
#include "engine/base/random.h"
#include "tests/proto/rig/rig_memory.h"

#define ENTRIES 128u
#define HEAD    3u /* of an entry: control, length */

struct text {
	uint8_t *data;
	size_t size, room;
	size_t at[ENTRIES + 1]; /* where entries begin; behind the last one: the end */
	unsigned n;
	uint64_t *rng;
};

static size_t length_at(const struct text *t, size_t at)
{
	return t->data[at + 1] | (size_t)t->data[at + 2] << 8;
}

static void set_length(struct text *t, size_t at, size_t len)
{
	t->data[at + 1] = (uint8_t)len;
	t->data[at + 2] = (uint8_t)(len >> 8);
}

static void take_apart(struct text *t)
{
	size_t at = 1;

	for (t->n = 0; t->n < ENTRIES && at + HEAD <= t->size; t->n++) {
		size_t left = t->size - at - HEAD;

		t->at[t->n] = at;
		if (length_at(t, at) > left)
			set_length(t, at, left);
		at += HEAD + length_at(t, at);
	}
	t->at[t->n] = at < t->size ? at : t->size;
}

static uint64_t below(struct text *t, uint64_t n)
{
	return qv_random_below(t->rng, n);
}

/* Make room for `more` bytes at `at`, or (take) take as many away. False: too long. */
static bool open_gap(struct text *t, size_t at, size_t more)
{
	if (t->size + more > t->room)
		return false;
	memmove(t->data + at + more, t->data + at, t->size - at);
	t->size += more;
	return true;
}

static void close_gap(struct text *t, size_t at, size_t less)
{
	memmove(t->data + at, t->data + at + less, t->size - at - less);
	t->size -= less;
}

static void insert(struct text *t, const uint8_t *entry, size_t len)
{
	size_t at = t->at[below(t, t->n + 1)];

	if (open_gap(t, at, len))
		memcpy(t->data + at, entry, len);
}

static uint64_t number(struct text *t)
{
	static const uint64_t special[] = {0,       1,          96,         97,
					   1 << 20, UINT32_MAX, 1ull << 63, UINT64_MAX};
	uint64_t sum = 0;

	switch (below(t, 4)) {
	case 0: return special[below(t, sizeof special / sizeof *special)];
	case 1: /* where the next piece of a message may belong */
		for (unsigned i = 0, first = (unsigned)below(t, t->n + 1); i < t->n; i++)
			if (i >= first && length_at(t, t->at[i]) > sizeof(struct qv_wire_hdr))
				sum += length_at(t, t->at[i]) - sizeof(struct qv_wire_hdr) -
				       8 * below(t, 2);
		return sum;
	default: return below(t, 2000);
	}
}

/* A request that may make sense; returns how long it is with its operands. */
static size_t draw_ask(struct text *t, uint64_t *body)
{
	struct qv_ask ask = {.kind = QV_REMOTE_UPDATE,
			     .flags = (uint8_t)(QV_ASK_LAST | (below(t, 2) ? QV_ASK_BEFORE : 0)),
			     .what = below(t, 3) ? RIG_ADD : RIG_FETCH,
			     .len = 8 * (uint32_t)(1 + below(t, 8)),
			     .addr = below(t, 2) ? number(t) : 8 * below(t, 64),
			     .key = RIG_KEY};
	size_t len = sizeof ask + ask.len * below(t, 3);

	if (!below(t, 4))
		ask.kind = (uint8_t)below(t, 6);
	if (!below(t, 4))
		ask.len = (uint32_t)number(t);
	if (!below(t, 8))
		ask.flags = (uint8_t)qv_random(t->rng);
	memcpy(body, &ask, sizeof ask);
	return len;
}

static void new_packet(struct text *t)
{
	uint8_t entry[HEAD + QV_WIRE_MAX_HDR + 200] = {0};
	struct qv_wire_pkt pkt = {
		.hdr = {.magic = QV_WIRE_MAGIC,
			.version = QV_WIRE_VERSION,
			.op = (uint8_t)(1 + below(t, QV_PKT_LAST)),
			.arg = number(t)},
		.data = number(t),
		.total = number(t),
		.sreq = number(t),
	};
	uint64_t body[] = {number(t), number(t), number(t)};
	size_t len = below(t, 3) ? 8 * below(t, 8) : below(t, 200), head;

	if (pkt.hdr.op == QV_PKT_EAGER)
		pkt.hdr.flags = (uint8_t)(qv_random(t->rng) & QV_WF_ALL & ~QV_WF_UID);
	if (pkt.hdr.op == QV_PKT_RTS)
		pkt.hdr.flags = (uint8_t)(QV_WF_TOTAL | QV_WF_SREQ |
					  (qv_random(t->rng) & (QV_WF_TAGGED | QV_WF_COLL)));
	if (pkt.hdr.op >= QV_PKT_CREDIT && pkt.hdr.op < QV_PKT_ASK)
		len = 0;
	if (pkt.hdr.op == QV_PKT_ASK)
		len = draw_ask(t, body);
	if (pkt.hdr.op == QV_PKT_CTS || pkt.hdr.op == QV_PKT_FIN)
		len = pkt.hdr.op == QV_PKT_CTS ? 16 : 8;
	entry[0] = (uint8_t)(below(t, 2) ? 0 : qv_random(t->rng) & ~2u);
	head = qv_wire_write(entry + HEAD, &pkt);
	len += head;
	memcpy(entry + HEAD + QV_WIRE_MAX_HDR, body, sizeof body);
	if (len >= sizeof body && pkt.hdr.op != QV_PKT_ASK)
		memcpy(entry + HEAD + len - sizeof body, body, sizeof body);
	if (pkt.hdr.op == QV_PKT_ASK)
		memcpy(entry + HEAD + head, body, sizeof body);
	entry[1] = (uint8_t)len;
	entry[2] = (uint8_t)(len >> 8);
	insert(t, entry, HEAD + len);
}

static void new_action(struct text *t)
{
	uint8_t entry[HEAD] = {(uint8_t)(2 | below(t, FUZZ_ACTIONS) << 2), 0, 0};

	insert(t, entry, sizeof entry);
}

/* At its end, where payload is. */
static void longer_or_shorter(struct text *t, unsigned i)
{
	size_t at = t->at[i], len = length_at(t, at), by = 1 + below(t, below(t, 4) ? 9 : 200);

	if (below(t, 2)) {
		if (open_gap(t, at + HEAD + len, by)) {
			memset(t->data + at + HEAD + len, 'x', by);
			set_length(t, at, len + by);
		}
	} else if (by < len) {
		close_gap(t, at + HEAD + len - by, by);
		set_length(t, at, len - by);
	}
}

static void change_field(struct text *t, unsigned i)
{
	uint8_t *head = t->data + t->at[i], *pkt = head + HEAD;
	size_t len = length_at(t, t->at[i]), word = 1 + below(t, 6);
	uint64_t value = number(t);

	switch (below(t, 5)) {
	case 0: head[0] = (uint8_t)qv_random(t->rng); break;
	case 1:
		if (len > 2)
			pkt[2] = (uint8_t)(1 + below(t, QV_PKT_LAST));
		break;
	case 2:
		if (len > 3)
			pkt[3] ^= (uint8_t)(1u << below(t, 6));
		break;
	default:
		if (len >= fuzz_word_at(word - 1) + sizeof value)
			memcpy(pkt + fuzz_word_at(word - 1), &value, sizeof value);
	}
}

static void again(struct text *t, unsigned i)
{
	uint8_t entry[FUZZ_MAX];
	size_t len = HEAD + length_at(t, t->at[i]);

	if (len > sizeof entry)
		return;
	memcpy(entry, t->data + t->at[i], len);
	insert(t, entry, len);
}

static void change(struct text *t)
{
	unsigned i = t->n ? (unsigned)below(t, t->n) : 0;

	switch (below(t, t->n ? 10 : 2)) {
	case 0: new_packet(t); break;
	case 1: new_action(t); break;
	case 2: close_gap(t, t->at[i], t->at[i + 1] - t->at[i]); break;
	case 3:
	case 4: again(t, i); break;
	case 5:
	case 6: longer_or_shorter(t, i); break;
	default: change_field(t, i);
	}
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *rng)
{
	struct text t = {.data = data, .size = size, .room = room, .rng = rng};

	if (t.size == 0 && room)
		t.data[t.size++] = 0;
	if (below(&t, 16) == 0)
		t.data[0] = (uint8_t)below(&t, FUZZ_KINDS);
	for (uint64_t n = 1 + below(&t, 4); n--;) {
		take_apart(&t);
		change(&t);
	}
	return t.size;
}
