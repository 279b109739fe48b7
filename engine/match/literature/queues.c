/* SPDX-License-Identifier: BSD-2-Clause */
/* queues.c - iteration in order, and scans, over structures that keep no list of all entries. */
#include <assert.h>
#include <stdlib.h>

#include "queues.h"

void qv_queues_init(struct qv_queues *q)
{
	q->seq[QV_POSTED] = q->seq[QV_UNEXPECTED] = q->base.tuning.first_seq;
}

static void drop_order(struct qv_queues *q, enum qv_side side)
{
	struct qv_order *o = &q->order[side];

	qv_mem_put(&q->base.mem, o->v, o->room * sizeof(*o->v));
	o->v = NULL;
}

void qv_queues_fini(struct qv_queues *q)
{
	drop_order(q, QV_POSTED);
	drop_order(q, QV_UNEXPECTED);
}

void qv_order_changed(struct qv_queues *q, enum qv_side side, const uint64_t *e)
{
	struct qv_order *o = &q->order[side];

	/* Whoever drains a queue asks for the first entry and removes it, again and again. */
	if (e && o->n - o->first > 1 && o->v[o->first].e == e)
		o->first++;
	else
		drop_order(q, side);
}

static int compare(const void *a, const void *b)
{
	int64_t d = (int64_t)(((const struct qv_in_order *)a)->seq -
			      ((const struct qv_in_order *)b)->seq);

	return d < 0 ? -1 : d > 0;
}

static void gather(void *ctx, uint64_t *e)
{
	struct qv_order *o = ctx;

	o->v[o->n++] = (struct qv_in_order){e[QV_E_SEQ], e};
}

static int learn_order(struct qv_queues *q, const struct qv_queue_ops *ops, enum qv_side side)
{
	struct qv_order *o = &q->order[side];

	o->room = (uint32_t)qv_queues_len(q, side);
	o->v = qv_mem_get(&q->base.mem, o->room * sizeof(*o->v));
	if (!o->v)
		return QV_ENOMEM;
	o->first = o->n = 0;
	ops->each(q, side, gather, o);
	assert(o->n == o->room);
	qsort(o->v, o->n, sizeof(*o->v), compare);
	return QV_OK;
}

struct successor {
	const uint64_t *after; /* NULL: the oldest of all is wanted */
	uint64_t *best;
};

static void consider(void *ctx, uint64_t *e)
{
	struct successor *s = ctx;

	if (!s->after || qv_older(s->after, e))
		s->best = qv_oldest(s->best, e);
}

/* The position after the entry with this sequence number. */
static uint32_t position_after(const struct qv_order *o, uint64_t seq)
{
	uint32_t low = o->first, high = o->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if ((int64_t)(o->v[mid].seq - seq) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t *qv_queues_next(struct qv_queues *q, const struct qv_queue_ops *ops, enum qv_side side,
			 const uint64_t *prev)
{
	struct qv_order *o = &q->order[side];
	struct successor s = {prev, NULL};
	uint32_t i;

	if (!qv_queues_len(q, side))
		return NULL;
	if (!o->v && learn_order(q, ops, side)) {
		ops->each(q, side, consider, &s);
		return s.best;
	}
	i = prev ? position_after(o, prev[QV_E_SEQ]) : o->first;
	return i < o->n ? o->v[i].e : NULL;
}

struct scan {
	uint64_t tag, ignore;
	uint32_t src;
	uint64_t *best, *seen;
};

static void scan_entry(void *ctx, uint64_t *e)
{
	struct scan *s = ctx;
	const struct qv_msg *msg = qv_msg_of(e);

	++*s->seen;
	if (qv_accepts(s->tag, s->ignore, s->src, msg->tag, msg->src))
		s->best = qv_oldest(s->best, e);
}

uint64_t *qv_queues_scan(const struct qv_queues *q, const struct qv_queue_ops *ops, uint64_t tag,
			 uint64_t ignore, uint32_t src, uint64_t *seen)
{
	struct scan s = {tag, ignore, src, NULL, seen};

	ops->each(q, QV_UNEXPECTED, scan_entry, &s);
	return s.best;
}

int qv_queues_refile(struct qv_queues *q, const struct qv_queue_ops *ops, void (*change)(void *ctx),
		     void *ctx)
{
	struct qv_order *o = &q->order[QV_UNEXPECTED];

	if (qv_queues_len(q, QV_UNEXPECTED)) {
		if (!o->v && learn_order(q, ops, QV_UNEXPECTED))
			return QV_ENOMEM;
		for (uint32_t i = o->first; i < o->n; i++)
			ops->remove(q, QV_UNEXPECTED, o->v[i].e);
		change(ctx);
		for (uint32_t i = o->first; i < o->n; i++) {
			int err = ops->append(q, QV_UNEXPECTED, o->v[i].e);

			assert(!err);
			(void)err;
		}
		drop_order(q, QV_UNEXPECTED);
	} else {
		change(ctx);
	}
	return QV_OK;
}
