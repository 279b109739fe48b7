/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged.c - messages with two ends in one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/types.h>

#include "tagged.h"

#define BOXES (QV_TAGGED_GROUPS * QV_TAGGED_RANKS)

struct op {
	uint32_t id, peer, tag;
	bool is_over; /* a send, which has been told so: the bytes are a copy */
	char *buf;
	size_t bytes, spoil;
};

struct list {
	struct op *at;
	size_t n, room;
};

/* Of a rank. */
static struct box {
	struct list sends, receives; /* to it, its own */
} boxes[BOXES];

struct qv_tagged qv_tagged;
static size_t under_way;
static uint64_t rng = 88172645463325252u;

uint64_t qv_tagged_draw(uint64_t n)
{
	rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
	return (rng >> 20) % n;
}

void qv_tagged_seed(uint64_t seed)
{
	rng = seed * 2654435761u + 88172645463325252u;
}

static struct box *box_of(uint32_t group, uint32_t rank)
{
	assert_true(group < QV_TAGGED_GROUPS && rank < QV_TAGGED_RANKS);
	return &boxes[rank * QV_TAGGED_GROUPS + group];
}

static void add(struct list *list, struct op op)
{
	if (list->n == list->room) {
		list->room = 2 * list->room + 16;
		list->at = realloc(list->at, list->room * sizeof(op));
		assert_non_null(list->at);
	}
	list->at[list->n++] = op;
	under_way++;
}

static struct op take(struct list *list, const struct op *op)
{
	const struct op taken = *op;

	list->at[op - list->at] = list->at[--list->n];
	under_way--;
	return taken;
}

static struct op *find(struct list *list, const struct op *other)
{
	for (struct op *op = list->at; op < list->at + list->n; op++)
		if (op->peer == other->peer && op->tag == other->tag)
			return op;
	return NULL;
}

/* A message and its receive. */
static void end(struct box *box, const struct op *send, const struct op *receive)
{
	const uint32_t place = (uint32_t)(box - boxes), group = place % QV_TAGGED_GROUPS;
	const struct op s = take(&box->sends, send), r = take(&box->receives, receive);
	int status[2] = {QV_OK, QV_OK};

	assert_true(qv_tagged.exact ? s.bytes == r.bytes : s.bytes <= r.bytes);
	if (s.bytes)
		memcpy(r.buf, s.buf, s.bytes);
	if (s.spoil)
		r.buf[s.spoil - 1] ^= 0x55;
	if (qv_tagged.fail_after && !--qv_tagged.fail_after)
		status[qv_tagged_draw(2)] = QV_EIO;
	if (s.is_over)
		free(s.buf);
	else
		qv_tagged.over((struct qv_end){group, s.peer}, s.id, s.bytes, status[0]);
	qv_tagged.over((struct qv_end){group, place / QV_TAGGED_GROUPS}, r.id, s.bytes, status[1]);
}

static bool is_busy(size_t bytes)
{
	assert_true(bytes || qv_tagged.empty);
	return qv_tagged.busy && !qv_tagged_draw(qv_tagged.busy);
}

int qv_tagged_send(void *port, uint32_t id, uint32_t peer, uint32_t tag, const void *buf,
		   size_t bytes)
{
	const struct qv_end *from = port;
	struct op op = {id, from->rank, tag, false, (char *)(uintptr_t)buf, bytes, 0};

	if (qv_tagged.refuse) {
		qv_tagged.refuse = false;
		return QV_EIO;
	}
	if (is_busy(bytes))
		return QV_EAGAIN;
	if (qv_tagged.spoil && qv_tagged.spoil <= bytes) {
		op.spoil = qv_tagged.spoil;
		qv_tagged.spoil = 0;
	}
	if (qv_tagged.early && qv_tagged_draw(2)) {
		op.is_over = true;
		op.buf = malloc(bytes + 1);
		memcpy(op.buf, buf, bytes);
		qv_tagged.over(*from, id, bytes, QV_OK);
	}
	add(&box_of(from->group, peer)->sends, op);
	return QV_OK;
}

int qv_tagged_receive(void *port, uint32_t id, uint32_t peer, uint32_t tag, void *buf, size_t bytes)
{
	const struct qv_end *to = port;
	struct box *box = box_of(to->group, to->rank);
	const struct op op = {id, peer, tag, false, buf, bytes, 0};
	const struct op *send;

	if (is_busy(bytes))
		return QV_EAGAIN;
	add(&box->receives, op);
	send = qv_tagged.early && qv_tagged_draw(2) ? find(&box->sends, &op) : NULL;
	if (send)
		end(box, send, &box->receives.at[box->receives.n - 1]);
	return QV_OK;
}

bool qv_tagged_deliver(void)
{
	const uint64_t first = qv_tagged_draw(BOXES);

	for (uint64_t b = 0; b < BOXES && under_way; b++) {
		struct box *box = &boxes[(first + b) % BOXES];
		const size_t n = box->sends.n, skip = n ? (size_t)qv_tagged_draw(n) : 0;

		for (size_t i = 0; i < n; i++) {
			const struct op *send = &box->sends.at[(skip + i) % n];
			const struct op *receive = find(&box->receives, send);

			if (!receive)
				continue;
			end(box, send, receive);
			return true;
		}
	}
	return false;
}

size_t qv_tagged_n(void)
{
	return under_way;
}

static void drop(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].is_over)
			free(list->at[i].buf);
	under_way -= list->n;
	free(list->at);
	*list = (struct list){NULL, 0, 0};
}

void qv_tagged_clear(void)
{
	for (size_t i = 0; i < BOXES; i++) {
		drop(&boxes[i].sends);
		drop(&boxes[i].receives);
	}
}
