/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_memory.c - see fuzz_memory.h. */
#include "fuzz_memory.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/types.h>

#include "tests/node/rig/guest.h"
#include "tests/proto/rig/need.h"

#define ROOM (100u << 10)

static char memory[ROOM];
static unsigned begun, ended;

static int find(void *owner, const struct qv_span *span, unsigned access, struct iovec *iov,
		size_t *cnt)
{
	(void)owner;
	QV_NEED(access && !(access & ~3u));
	if (span->key || span->addr > ROOM || span->len > ROOM - span->addr)
		return QV_EINVAL;
	/* Two pieces, where there are two. */
	iov[0] = (struct iovec){memory + span->addr, span->len / 2};
	iov[1] = (struct iovec){memory + span->addr + span->len / 2, span->len - span->len / 2};
	*cnt = 2;
	return QV_OK;
}

static bool can_update(void *owner, uint16_t what, size_t len, size_t operands, bool before)
{
	(void)owner;
	return len && operands <= 2 && (what & 1) == before;
}

static void update(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		   const void *operands, size_t len, void *before)
{
	char *at = iov->iov_base;

	(void)owner;
	(void)what;
	QV_NEED(cnt == 2 && len <= QV_NODE_PART);
	if (before)
		memcpy(before, at, len);
	for (size_t i = 0; i < len; i++)
		at[i] = ((const char *)operands)[i];
}

static bool counts_reads(void *owner)
{
	(void)owner;
	return memory[0] & 1;
}

static void touched(void *owner, const struct qv_touch *touch)
{
	const uint64_t data = touch->data ? *touch->data : touch->len;

	(void)owner;
	memory[1] ^= (char)(touch->access + data);
}

static void written(void *owner, uint64_t key)
{
	(void)owner;
	memory[2] ^= (char)key;
}

static const struct qv_memory_ops ops = {
	.find = find,
	.can_update = can_update,
	.update = update,
	.counts_reads = counts_reads,
	.touched = touched,
	.written = written,
};

void fuzz_memory_open(struct qv_node *n)
{
	qv_node_open_memory(n, &ops);
}

/* A body, in the slot or, if it is long, where some of the staging area is. */
static void put(struct qv_ring *ring, uint32_t number, enum qv_slot_kind kind, uint64_t tag,
		uint64_t data, const void *body, size_t len)
{
	uint32_t low = (uint32_t)kind << 16 | (uint32_t)len, at = number % 7 * QV_RING_PACKET;

	if (len <= QV_RING_INLINE) {
		guest_put(ring, number, low, tag, data, body, len);
		return;
	}
	memcpy(ring->stage + at, body, len);
	guest_put(ring, number, low | QV_SLOT_STAGED, tag, data, &at, sizeof at);
}

/* Lengths that fit each other more often than not. */
static size_t some_length(uint64_t word)
{
	static const size_t lens[] = {
		0, 1, 8, 16, 100, QV_NODE_PART / 2, QV_NODE_PART, QV_NODE_DIRECT};

	return lens[word & 7] + (word >> 3 & 15 ? 0 : word >> 7 & 1);
}

void fuzz_memory_ask(struct qv_ring *ring, uint32_t number, uint64_t a, uint64_t b)
{
	static char body[QV_RING_PACKET];
	const struct qv_ask ask = {
		.kind = a % (QV_REMOTE_OVER + 2),
		.flags = a >> 3 & 15,
		.what = a >> 7 & 3,
		.len = (uint32_t)some_length(a >> 9),
		.addr = a >> 17 & 15 ? a >> 21 & 0xffff : a,
		.key = (a >> 37 & 15) == 15,
	};
	const struct qv_node_place place = {a >> 41 & 1 ? b : (uintptr_t)memory, ask.len};
	size_t len = ask.flags & QV_ASK_DIRECT ? sizeof place : some_length(b);

	if (len > QV_NODE_PART)
		len = QV_NODE_PART;
	memcpy(body, &ask, sizeof ask);
	memcpy(body + sizeof ask, &place, sizeof place);
	put(ring, number, QV_SLOT_REQUEST, a >> 42, b, body, sizeof ask + len);
}

static void on_done(struct qv_xfer *xfer, int status)
{
	QV_NEED(status <= 0 && ended < begun);
	ended++;
	free(xfer);
}

void fuzz_memory_begin(struct qv_node *n, uint64_t addr, uint64_t a)
{
	static char here[2 * QV_NODE_DIRECT], before[2 * QV_NODE_DIRECT];
	const size_t len = some_length(a) + some_length(a >> 8);
	const struct qv_span there[2] = {{a >> 16 & 0xffff, 0, some_length(a)},
					 {a >> 32 & 0xffff, 0, some_length(a >> 8)}};
	const struct iovec iov = {here, len}, old = {before, len};
	const struct qv_remote_op op = {
		.kind = a >> 48 & 1   ? QV_REMOTE_GET
			: a >> 49 & 1 ? QV_REMOTE_PUT
				      : QV_REMOTE_UPDATE,
		.inject = a >> 50 & 1,
		.there = there,
		.nthere = 2,
		.here = &iov,
		.nhere = 1,
		.before = &old,
		.nbefore = !(a >> 48 & 3) && a >> 51 & 1,
	};
	struct qv_xfer *xfer = malloc(sizeof *xfer);

	QV_NEED(xfer);
	xfer->done = on_done;
	begun++;
	if (!qv_node_begin(n, addr, &op, xfer))
		return;
	begun--;
	free(xfer);
}

void fuzz_memory_answer(const struct qv_node *n, struct qv_ring *ring, uint32_t number, uint64_t a,
			uint64_t b)
{
	static char body[QV_RING_PACKET];
	const struct qv_node_onesided *o = &n->onesided;
	uint64_t tag = a >> 16 & 31 ? 0 : b;
	struct qv_node_place place = {(uintptr_t)memory, some_length(a)};

	if (!tag && o->ncalls)
		tag = qv_node_call_id(o->calls[(a >> 21) % o->ncalls]);
	if (place.len > ROOM)
		place.addr = b;
	memcpy(body, &place, sizeof place);
	put(ring, number, QV_SLOT_REPLY, tag, (a >> 40 & 7 ? 0 : b & 15) | (b & QV_ANSWER_TELL),
	    body, a >> 43 & 1 ? sizeof place : some_length(a) % (QV_NODE_PART + 2));
}

void fuzz_memory_over(void)
{
	QV_NEED(begun == ended);
}
