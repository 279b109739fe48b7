/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_auto_path.c - structure "auto": the calls of the data path.
 *
 * What most traffic does is short and calls nothing: an empty queue, the head of a list, an append
 * to a list. Everything else leaves by a tail call, so that the short way saves no registers.
 */
#include "match/qv_auto.h"

QV_INLINE int recv_fits(const uint64_t *e, uint64_t tag, uint32_t src)
{
	const struct qv_recv *r = qv_recv_of(e);

	return qv_accepts(r->tag, r->ignore, r->src, tag, src);
}

QV_INLINE int msg_fits(const uint64_t *e, uint64_t tag, uint64_t ignore, uint32_t src)
{
	const struct qv_msg *msg = qv_msg_of(e);

	return qv_accepts(tag, ignore, src, msg->tag, msg->src);
}

/* An entry has been put where it belongs. */
QV_INLINE void joined(struct qv_line *q)
{
	uint32_t n = ++q->tail - q->head;

	q->seq++;
	if (qv_unlikely(n > q->max))
		q->max = n;
}

QV_INLINE void list_append(struct qv_line *q, uint64_t *e)
{
	e[QV_SEQ] = q->seq;
	q->ring[q->tail & q->ring_mask] = e;
}

QV_INLINE int tick_is_due(const struct qv_line *q)
{
	return q->seq % QV_TICK == QV_TICK - 1;
}

/*
 * Walk a list from behind the head on, which did not fit. Returns the position, or the length if
 * nothing fits. `ignore` is used for messages only.
 */
QV_INLINE uint32_t walk(struct qv_line *q, enum qv_side side, uint64_t tag, uint64_t ignore,
			uint32_t src)
{
	uint32_t n = qv_line_len(q), i;

	for (i = 1; i < n; i++) {
		const uint64_t *e = qv_line_at(q, i);

		if (side == QV_POSTED ? recv_fits(e, tag, src) : msg_fits(e, tag, ignore, src))
			break;
	}
	q->rejected += i;
	q->debt += i + (i != q->last) * 8;
	q->last = i;
	return i;
}

/* Receives that found no message: append. *msg is written on success only. */

QV_INLINE int post_joined(struct qv_line *q, struct qv_msg **msg)
{
	joined(q);
	*msg = NULL;
	return QV_OK;
}

/* In HASH, a class that is new or shares a bucket. */
static QV_APART int post_slow(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	recv->priv[QV_SEQ] = a->posted.seq;
	if (qv_posted_insert(a, &a->posted, recv->priv))
		return QV_ENOMEM;
	return post_joined(&a->posted, msg);
}

/* In HASH, several classes. */
static QV_APART int post_classes(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	if (qv_unlikely(q->active & QV_UNUSUAL || q->only))
		return post_slow(a, recv, msg);
	for (uint32_t rest = q->active; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		uint32_t seen;

		if (!qv_index_is_class(ix, recv->ignore, recv->src))
			continue;
		recv->priv[QV_SEQ] = q->seq;
		recv->priv[QV_HOME] = (uintptr_t)ix;
		ix->live++;
		seen = qv_index_insert_at(ix, QV_POSTED,
					  qv_index_weak_slot_of(ix, QV_POSTED, recv->priv),
					  recv->priv);
		post_joined(q, msg);
		if (qv_unlikely(seen))
			qv_line_met(a, q, ix, seen);
		return QV_OK;
	}
	return post_slow(a, recv, msg);
}

static QV_APART int post_indexed(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	struct qv_index *ix = q->only;
	uint64_t *slot;

	if (!ix || qv_unlikely(!qv_index_is_class(ix, recv->ignore, recv->src)))
		return post_classes(a, recv, msg);
	slot = qv_index_weak_slot(ix, recv->tag, recv->src);
	if (qv_unlikely(*slot != 0))
		return post_slow(a, recv, msg);
	recv->priv[QV_SEQ] = q->seq;
	recv->priv[QV_HOME] = (uintptr_t)ix;
	qv_index_fill_slot(ix, QV_POSTED, slot, recv->priv);
	return post_joined(q, msg);
}

QV_INLINE int post_listed(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	list_append(&a->posted, recv->priv);
	return post_joined(&a->posted, msg);
}

static QV_COLD int post_tick(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	if (qv_line_tick(a, &a->posted))
		return QV_ENOMEM;
	if (a->posted.mode == QV_AUTO_HASH)
		return post_indexed(a, recv, msg);
	return post_listed(a, recv, msg);
}

QV_INLINE int post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	if (qv_unlikely(tick_is_due(&a->posted)))
		return post_tick(a, recv, msg);
	if (a->posted.mode == QV_AUTO_HASH)
		return post_indexed(a, recv, msg);
	return post_listed(a, recv, msg);
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

/* Posted receives: search of the unexpected queue, which is not empty. */

/* stats.posted counts these; those that are queued are counted by their sequence numbers. */
QV_INLINE void post_matched(struct qv_auto *a, uint64_t *e, struct qv_msg **msg)
{
	*msg = qv_msg_of(e);
	a->base.stats.posted++;
	a->base.stats.matched++;
}

/* Whatever the receive and the indexes. */
static QV_APART int post_any(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_found f;

	qv_unexpected_find(a, q, recv->tag, recv->ignore, recv->src, &f);
	if (!f.e)
		return post_append(a, recv, msg);
	post_matched(a, f.e, msg);
	qv_unexpected_remove(q, &f);
	qv_line_leave(q);
	return QV_OK;
}

/* Several indexes: if one is of the receive's class, a shorter way. */
static QV_APART int post_indexes(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	uint32_t rest = q->active;
	struct qv_index *own, *ix;
	uint64_t *link, *e;

	if (qv_unlikely(rest & QV_UNUSUAL))
		return post_any(a, recv, msg);
	while (rest && !qv_index_is_class(&q->ix[__builtin_ctz(rest)], recv->ignore, recv->src))
		rest &= rest - 1;
	if (!rest)
		return post_any(a, recv, msg);
	own = &q->ix[__builtin_ctz(rest)];
	own->used = q->seq;
	link = qv_index_follow(own, QV_UNEXPECTED, qv_index_weak_slot(own, recv->tag, recv->src),
			       recv->tag, recv->src, &q->rejected);
	if (!link)
		return post_append(a, recv, msg);
	e = qv_entry(*link);
	qv_index_pop(own, QV_UNEXPECTED, link, e);
	for (rest = q->active; rest; rest &= rest - 1) {
		ix = &q->ix[__builtin_ctz(rest)];
		if (ix != own)
			qv_index_remove_at(ix, QV_UNEXPECTED,
					   qv_index_weak_slot_of(ix, QV_UNEXPECTED, e), e);
	}
	post_matched(a, e, msg);
	qv_line_leave(q);
	return QV_OK;
}

static QV_APART int post_walk(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	uint32_t pos;

	if (qv_unlikely(qv_line_in_debt(q)) &&
	    qv_line_to_hash(a, q, recv->ignore, recv->src) == QV_OK)
		return post_any(a, recv, msg);
	pos = walk(q, QV_UNEXPECTED, recv->tag, recv->ignore, recv->src);
	if (pos == qv_line_len(q))
		return post_append(a, recv, msg);
	post_matched(a, qv_line_at(q, pos), msg);
	qv_ring_remove(q, pos);
	return QV_OK;
}

static QV_COLD int emptied(struct qv_line *q)
{
	qv_line_emptied(q);
	return QV_OK;
}

static QV_APART int post_hash(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = q->only;
	uint64_t *link, *e;

	if (!ix || qv_unlikely(!qv_index_is_class(ix, recv->ignore, recv->src)))
		return post_indexes(a, recv, msg);
	ix->used = q->seq;
	link = qv_index_follow(ix, QV_UNEXPECTED, qv_index_weak_slot(ix, recv->tag, recv->src),
			       recv->tag, recv->src, &q->rejected);
	if (!link)
		return post_append(a, recv, msg);
	e = qv_entry(*link);
	qv_index_pop(ix, QV_UNEXPECTED, link, e);
	post_matched(a, e, msg);
	if (qv_unlikely(++q->head == q->tail))
		return emptied(q);
	return QV_OK;
}

static QV_APART int post_list(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	uint64_t *e = qv_line_at(q, 0);

	if (!msg_fits(e, recv->tag, recv->ignore, recv->src))
		return post_walk(a, recv, msg);
	q->head++;
	post_matched(a, e, msg);
	return QV_OK;
}

int qv_auto_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_auto *a = qv_auto_of(m);

	if (a->unexpected.head == a->unexpected.tail)
		return post_append(a, recv, msg);
	if (a->unexpected.mode == QV_AUTO_HASH)
		return post_hash(a, recv, msg);
	return post_list(a, recv, msg);
}

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
		uint64_t *link = qv_index_follow(ix, QV_POSTED, qv_index_weak_slot(ix, tag, src),
						 tag, src, &q->rejected);

		if (!link || (f.e && qv_is_older(f.e, qv_entry(*link))))
			continue;
		f = (struct qv_found){qv_entry(*link), ix, link};
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
	pos = walk(q, QV_POSTED, tag, 0, src);
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
	link = qv_index_follow(ix, QV_POSTED, qv_index_weak_slot(ix, tag, src), tag, src,
			       &q->rejected);
	if (!link)
		return NULL;
	e = qv_entry(*link);
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
			pos = walk(q, QV_UNEXPECTED, tag, ignore, src);
	}
	if (q->mode == QV_AUTO_HASH)
		qv_unexpected_find(a, q, tag, ignore, src, &f);
	else if (pos < qv_line_len(q))
		f.e = qv_line_at(q, pos);
	q->peeked += f.e != NULL;
	return f.e ? qv_msg_of(f.e) : NULL;
}
