/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto_arrive.c - structure "auto": a message arrives, is queued, is peeked at. */
#include "match/qv_auto_path.h"

/* Arrivals: search of the posted queue, which is not empty. */

/* Whatever the indexes. */
static QV_APART struct qv_recv *arrive_any(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_found f;

	qv_posted_find(q, tag, src, &f);
	if (!f.e)
		return NULL;
	a->base.stats.matched++;
	if (qv_recv_of(f.e)->flags & QV_RECV_STICKY)
		return qv_recv_of(f.e);
	qv_posted_remove(q, &f);
	qv_line_leave(q);
	return qv_recv_of(f.e);
}

/* Several classes: the oldest of what each would give. The log takes the longer way. */
static QV_APART struct qv_recv *arrive_classes(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_found f = {NULL, NULL, NULL};
	uint32_t rest = q->active;

	if (qv_unlikely(rest & QV_UNUSUAL))
		return arrive_any(a, tag, src);
	for (; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		uint64_t *link, *e;

		e = qv_index_follow(ix, QV_POSTED, qv_index_weak_slot(ix, tag, src), tag, src,
				    &link, &q->rejected);
		if (e && (!f.e || qv_is_older(e, f.e)))
			f = (struct qv_found){e, ix, link};
	}
	if (!f.e)
		return NULL;
	a->base.stats.matched++;
	if (qv_recv_of(f.e)->flags & QV_RECV_STICKY)
		return qv_recv_of(f.e);
	qv_index_pop(f.ix, QV_POSTED, f.link, f.e);
	if (qv_unlikely(--f.ix->live == 0))
		qv_line_set_active(q, q->active & ~(1u << (f.ix - q->ix)));
	qv_line_leave(q);
	return qv_recv_of(f.e);
}

static QV_APART struct qv_recv *arrive_walk(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_recv *r;
	uint32_t pos;

	if (qv_unlikely(qv_line_in_debt(q)) && qv_line_to_hash(a, q, 0, 0) == QV_OK)
		return arrive_any(a, tag, src);
	pos = walk_recvs(q, tag, src);
	if (pos == qv_line_len(q))
		return NULL;
	r = qv_recv_of(qv_line_at(q, pos));
	a->base.stats.matched++;
	if (!(r->flags & QV_RECV_STICKY))
		qv_ring_remove(q, pos);
	return r;
}

/* e was the last receive. */
static QV_COLD struct qv_recv *arrive_emptied(struct qv_line *q, uint64_t *e)
{
	qv_line_emptied(q);
	return qv_recv_of(e);
}

static QV_COLD struct qv_recv *arrive_sticky(struct qv_auto *a, uint64_t *e)
{
	a->base.stats.matched++;
	return qv_recv_of(e);
}

static QV_APART struct qv_recv *arrive_hash(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_index *ix = q->only;
	uint64_t *link, *e;

	if (!ix)
		return arrive_classes(a, tag, src);
	e = qv_index_follow(ix, QV_POSTED, qv_index_weak_slot(ix, tag, src), tag, src, &link,
			    &q->rejected);
	if (!e)
		return NULL;
	if (qv_unlikely(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return arrive_sticky(a, e);
	qv_index_pop(ix, QV_POSTED, link, e);
	a->base.stats.matched++;
	if (qv_unlikely(++q->head == q->tail))
		return arrive_emptied(q, e);
	return qv_recv_of(e);
}

struct qv_recv *qv_auto_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_auto *a = qv_auto_of(m);
	struct qv_line *q = &a->posted;
	uint64_t *e;

	m->stats.arrived++;
	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_HASH)
		return arrive_hash(a, tag, src);
	e = qv_line_at(q, 0);
	if (!recv_fits(e, tag, src))
		return arrive_walk(a, tag, src);
	m->stats.matched++;
	q->head += !(qv_recv_of(e)->flags & QV_RECV_STICKY);
	return qv_recv_of(e);
}

/* Unexpected messages: append. */

/* In HASH, whatever the indexes. */
static QV_APART int queue_slow(struct qv_auto *a, struct qv_msg *msg)
{
	msg->priv[QV_SEQ] = a->unexpected.seq;
	qv_unexpected_insert(a, &a->unexpected, msg->priv);
	joined(&a->unexpected);
	return QV_OK;
}

/* In HASH, several indexes. */
static QV_APART int queue_indexes(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return queue_slow(a, msg);
	msg->priv[QV_SEQ] = q->seq;
	joined(q);
	for (uint32_t rest = q->active; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		uint64_t *slot = qv_index_weak_slot(ix, msg->tag, msg->src);

		if (qv_likely(!*slot))
			qv_index_fill_slot(ix, QV_UNEXPECTED, slot, msg->priv);
		else
			qv_line_insert(a, q, ix, QV_UNEXPECTED, msg->priv);
	}
	return QV_OK;
}

static QV_APART int queue_indexed(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = q->only;
	uint64_t *slot;

	if (!ix)
		return queue_indexes(a, msg);
	slot = qv_index_weak_slot(ix, msg->tag, msg->src);
	if (qv_unlikely(*slot != 0))
		return queue_slow(a, msg);
	msg->priv[QV_SEQ] = q->seq;
	qv_index_fill_slot(ix, QV_UNEXPECTED, slot, msg->priv);
	joined(q);
	return QV_OK;
}

QV_INLINE int queue_listed(struct qv_line *q, struct qv_msg *msg)
{
	list_append(q, msg->priv);
	joined(q);
	return QV_OK;
}

static QV_COLD int queue_tick(struct qv_auto *a, struct qv_msg *msg)
{
	if (qv_line_tick(a, &a->unexpected))
		return QV_ENOMEM;
	if (a->unexpected.mode == QV_AUTO_HASH)
		return queue_indexed(a, msg);
	return queue_listed(&a->unexpected, msg);
}

int qv_auto_queue(struct qv_match *m, struct qv_msg *msg)
{
	struct qv_auto *a = qv_auto_of(m);

	if (qv_unlikely(tick_is_due(&a->unexpected)))
		return queue_tick(a, msg);
	if (a->unexpected.mode == QV_AUTO_HASH)
		return queue_indexed(a, msg);
	return queue_listed(&a->unexpected, msg);
}

struct qv_msg *qv_auto_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_auto *a = qv_auto_of(m);
	struct qv_line *q = &a->unexpected;
	struct qv_found f = {NULL, NULL, NULL};
	uint32_t pos = 0;

	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_LIST && !msg_fits(qv_line_at(q, 0), tag, ignore, src)) {
		if (!qv_line_in_debt(q) || qv_line_to_hash(a, q, ignore, src))
			pos = walk_msgs(q, tag, ignore, src);
	}
	if (q->mode == QV_AUTO_HASH)
		qv_unexpected_find(a, q, tag, ignore, src, &f);
	else if (pos < qv_line_len(q))
		f.e = qv_line_at(q, pos);
	q->peeked += f.e != NULL;
	return f.e ? qv_msg_of(f.e) : NULL;
}
