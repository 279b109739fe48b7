/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.c - LIST: a dense ring of entry pointers, oldest first. */
#include "auto.h"

static size_t ring_size(uint32_t mask)
{
	return ((size_t)mask + 1) * sizeof(uint64_t *);
}

int qv_ring_resize(struct qv_auto *a, struct qv_queue *q, uint32_t n)
{
	uint64_t want = (uint64_t)n + n / 2 + 2 * QV_TICK, slots = QV_RING_MIN;
	uint64_t **ring;
	uint32_t len = q->mode == QV_AUTO_LIST ? qv_queue_len(q) : 0;

	while (slots < want)
		slots *= 2;
	if (q->ring && slots == (uint64_t)q->ring_mask + 1)
		return QV_OK;
	ring = qv_mem_get(&a->base.mem, ring_size((uint32_t)(slots - 1)));
	if (!ring)
		return QV_ENOMEM;
	for (uint32_t i = 0, run; i < len; i += run) {
		uint64_t from = (q->head + i) & q->ring_mask, to = (q->head + i) & (slots - 1);

		run = len - i;
		if (run > q->ring_mask + 1 - from)
			run = (uint32_t)(q->ring_mask + 1 - from);
		if (run > slots - to)
			run = (uint32_t)(slots - to);
		memcpy(ring + to, q->ring + from, run * sizeof(*ring));
	}
	qv_ring_free(a, q);
	q->ring = ring;
	q->ring_mask = (uint32_t)(slots - 1);
	return QV_OK;
}

void qv_ring_free(struct qv_auto *a, struct qv_queue *q)
{
	qv_mem_put(&a->base.mem, q->ring, ring_size(q->ring_mask));
	q->ring = NULL;
}

void qv_ring_remove(struct qv_queue *q, uint32_t pos)
{
	uint64_t **ring = q->ring;
	uint64_t mask = q->ring_mask, at = q->head + pos;

	/* tail does not go back across a tick: each tick comes once. */
	if (pos <= qv_queue_len(q) / 2 || q->tail % QV_TICK == 0) {
		for (; at != q->head; at--)
			ring[at & mask] = ring[(at - 1) & mask];
		q->head++;
	} else {
		for (; at != q->tail - 1; at++)
			ring[at & mask] = ring[(at + 1) & mask];
		q->tail--;
		q->slid++;
	}
}

uint32_t qv_ring_position(const struct qv_queue *q, const uint64_t *e)
{
	uint32_t n = qv_queue_len(q), pos = q->iterated;

	if (pos < n && qv_queue_at(q, pos) == e)
		return pos;
	for (pos = 0; pos + 4 < n; pos += 4)
		if (qv_queue_at(q, pos) == e || qv_queue_at(q, pos + 1) == e ||
		    qv_queue_at(q, pos + 2) == e || qv_queue_at(q, pos + 3) == e)
			break;
	while (qv_queue_at(q, pos) != e)
		pos++;
	return pos;
}
