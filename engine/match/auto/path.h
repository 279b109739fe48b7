/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h - structure "auto": the short ways of the data path.
 *
 * What most traffic does calls nothing: an empty queue, the head of a list, an append to a list, a
 * key of its own in the only index. The public calls have these inline. Everything else leaves by a
 * tail call, so that the short ways save no registers.
 */
#ifndef QV_AUTO_PATH_H
#define QV_AUTO_PATH_H

#include "only.h"

/* Source and flags of a receive in one word: a plain receive from src has the value src. */
QV_INLINE uint64_t recv_word(const struct qv_recv *r)
{
	return (uint64_t)r->flags << 32 | r->src;
}

QV_INLINE int recv_fits(const uint64_t *e, uint64_t tag, uint32_t src)
{
	const struct qv_recv *r = qv_recv_of(e);

	return qv_accepts(r->tag, r->ignore, r->src, tag, src);
}

/* The same, for receives of which no one knows whether they name a source: no branch asks that. 0
 * for sticky ones, too. */
QV_INLINE int recv_takes(const uint64_t *e, uint64_t tag, uint32_t src)
{
	const struct qv_recv *r = qv_recv_of(e);
	uint32_t any = 0u - (r->src == QV_SRC_ANY);

	return (((r->tag ^ tag) & ~r->ignore) | ((recv_word(r) ^ src) & ~(uint64_t)any)) == 0;
}

QV_INLINE int msg_fits(const uint64_t *e, uint64_t tag, uint64_t ignore, uint32_t src)
{
	const struct qv_msg *msg = qv_msg_of(e);

	return qv_accepts(tag, ignore, src, msg->tag, msg->src);
}

QV_INLINE int msg_takes(const uint64_t *e, uint64_t tag, uint64_t ignore, uint32_t src)
{
	const struct qv_msg *msg = qv_msg_of(e);
	uint32_t named = 0u - (src != QV_SRC_ANY);

	return (((msg->tag ^ tag) & ~ignore) | ((msg->src ^ src) & named)) == 0;
}

/* A message arrives. */

/* What a short way has come to. */
enum qv_short {
	QV_SHORT_HIT,  /* the entry has left the queue */
	QV_SHORT_LAST, /* the same, and the queue, in HASH, is empty: qv_line_emptied */
	QV_SHORT_MISS, /* no entry fits */
	/* In the only index: the key's bucket has more than one entry that is of another key, or
	 * of its own; nothing has changed */
	QV_SHORT_BUCKET,
	QV_SHORT_FAR, /* none of these can be said here; nothing has changed */
};

/* The first entry of the bucket has another key; there may be more. */
QV_INLINE enum qv_short other_key(struct qv_line *q, const uint64_t *links)
{
	if (links[QV_BUCKET])
		return QV_SHORT_BUCKET;
	q->rejected++;
	return QV_SHORT_MISS;
}

/* *at: the slot, if the answer is BUCKET. */
QV_INLINE enum qv_short arrive_only(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv, uint64_t **at)
{
	uint64_t *slot = only_slot(q, tag, src), *e = qv_entry(*slot), *links;

	*at = slot;
	if (!e)
		return QV_SHORT_MISS;
	links = e + QV_RECV_LINKS;
	if (qv_unlikely(!only_same(q, QV_POSTED, e, tag, src)))
		return other_key(q, links);
	if (qv_unlikely((links[QV_NEXT] | qv_recv_of(e)->flags) != 0))
		return QV_SHORT_BUCKET;
	*slot = links[QV_BUCKET];
	*recv = qv_recv_of(e);
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

QV_INLINE enum qv_short arrive_try(struct qv_line *q, uint64_t tag, uint32_t src,
				   struct qv_recv **recv, uint64_t **at)
{
	struct qv_recv *r;

	if (q->head == q->tail)
		return QV_SHORT_MISS;
	if (q->way == QV_WAY_ONLY)
		return arrive_only(q, tag, src, recv, at);
	if (q->way != QV_WAY_LIST)
		return QV_SHORT_FAR;
	r = qv_recv_of(qv_line_at(q, 0));
	if (((r->tag ^ tag) & ~r->ignore) != 0 ||
	    (recv_word(r) != src && recv_word(r) != QV_SRC_ANY))
		return QV_SHORT_FAR;
	q->head++;
	*recv = r;
	return QV_SHORT_HIT;
}

QV_INLINE struct qv_recv *arrive_missed(struct qv_auto *a)
{
	a->base.stats.arrived++;
	return NULL;
}

QV_INLINE struct qv_recv *qv_auto_arrive_short(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	uint64_t *slot = NULL;

	switch (arrive_try(&a->posted, tag, src, &r, &slot)) {
	case QV_SHORT_HIT: return r;
	case QV_SHORT_LAST: return qv_auto_arrive_last(a, r);
	case QV_SHORT_MISS: return arrive_missed(a);
	case QV_SHORT_BUCKET: return qv_auto_arrive_in_bucket(a, tag, src, slot);
	default: return qv_auto_arrive_search(a, tag, src);
	}
}

/* An unexpected message is appended. */

/* 0 if that takes longer; nothing has changed. */
QV_INLINE int queue_try(struct qv_line *q, struct qv_msg *msg)
{
	uint64_t *slot;

	if (qv_unlikely(tick_is_due(q)) || q->way >= QV_WAY_WIDE)
		return 0;
	if (q->way == QV_WAY_LIST) {
		list_append(q, msg->priv);
		return 1;
	}
	slot = only_slot(q, msg->tag, msg->src);
	if (qv_unlikely(*slot != 0))
		return 0;
	fill_slot(q, slot, msg->priv, msg->priv + QV_MSG_LINKS);
	return 1;
}

QV_INLINE int qv_auto_queue_short(struct qv_auto *a, struct qv_msg *msg)
{
	return queue_try(&a->unexpected, msg) ? QV_OK : qv_auto_queue_append(a, msg);
}

/* The message, which may be in no cache, is not looked at when there are no receives. */
QV_INLINE enum qv_short deliver_try(struct qv_line *q, const struct qv_msg *msg,
				    struct qv_recv **recv, uint64_t **at)
{
	if (q->head == q->tail)
		return QV_SHORT_MISS;
	return arrive_try(q, msg->tag, msg->src, recv, at);
}

QV_INLINE int qv_auto_deliver_short(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r;
	uint64_t *slot = NULL;

	switch (deliver_try(&a->posted, msg, &r, &slot)) {
	case QV_SHORT_HIT: *recv = r; return QV_OK;
	case QV_SHORT_LAST: *recv = r; return qv_auto_deliver_last(a, recv);
	case QV_SHORT_MISS: break;
	case QV_SHORT_BUCKET: return qv_auto_deliver_in_bucket(a, msg, recv, slot);
	default: return qv_auto_deliver_search(a, msg, recv);
	}
	if (!queue_try(&a->unexpected, msg))
		return qv_auto_deliver_append(a, msg, recv);
	a->base.stats.arrived++;
	*recv = NULL;
	return QV_OK;
}

/* A receive is posted. */

QV_INLINE int post_append_only(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	uint64_t *slot;

	if (qv_unlikely(!only_is_class(q, recv->ignore, recv->src)))
		return qv_auto_post_classes(a, recv, msg);
	slot = only_slot(q, recv->tag, recv->src);
	if (qv_unlikely(*slot != 0))
		return qv_auto_post_beside(a, recv, msg, slot);
	*msg = NULL;
	fill_slot(q, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	return QV_OK;
}

QV_INLINE int post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	if (qv_unlikely(tick_is_due(q)))
		return qv_auto_post_append(a, recv, msg);
	if (qv_likely(q->way == QV_WAY_ONLY)) /* a list costs next to nothing anyway */
		return post_append_only(a, recv, msg);
	if (q->way != QV_WAY_LIST)
		return qv_auto_post_classes(a, recv, msg);
	list_append(q, recv->priv);
	*msg = NULL;
	return QV_OK;
}

/* *at: as in arrive_only. */
QV_INLINE enum qv_short post_only(struct qv_line *q, const struct qv_recv *recv,
				  struct qv_msg **msg, uint64_t **at)
{
	uint64_t *slot, *e, *links;

	if (qv_unlikely(!only_is_class(q, recv->ignore, recv->src)))
		return QV_SHORT_FAR;
	*at = slot = only_slot(q, recv->tag, recv->src);
	e = qv_entry(*slot);
	if (!e)
		return QV_SHORT_MISS;
	links = e + QV_MSG_LINKS;
	if (qv_unlikely(!only_same(q, QV_UNEXPECTED, e, recv->tag, recv->src)))
		return other_key(q, links);
	if (qv_unlikely(links[QV_NEXT] != 0))
		return QV_SHORT_BUCKET;
	*slot = links[QV_BUCKET];
	*msg = qv_msg_of(e);
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

QV_INLINE enum qv_short post_try(struct qv_line *q, const struct qv_recv *recv, struct qv_msg **msg,
				 uint64_t **at)
{
	struct qv_msg *m;

	if (q->head == q->tail)
		return QV_SHORT_MISS;
	if (q->way == QV_WAY_ONLY)
		return post_only(q, recv, msg, at);
	if (q->way != QV_WAY_LIST)
		return QV_SHORT_FAR;
	m = qv_msg_of(qv_line_at(q, 0));
	if (((m->tag ^ recv->tag) & ~recv->ignore) != 0 ||
	    (m->src != recv->src && recv->src != QV_SRC_ANY))
		return QV_SHORT_FAR;
	q->head++;
	*msg = m;
	return QV_SHORT_HIT;
}

QV_INLINE int qv_auto_post_short(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	uint64_t *slot = NULL;

	switch (post_try(&a->unexpected, recv, msg, &slot)) {
	case QV_SHORT_HIT: return QV_OK;
	case QV_SHORT_LAST: return qv_auto_post_last(a, msg);
	case QV_SHORT_MISS: return post_append(a, recv, msg);
	case QV_SHORT_BUCKET: return qv_auto_post_in_bucket(a, recv, msg, slot);
	default: return qv_auto_post_search(a, recv, msg);
	}
}

#endif /* QV_AUTO_PATH_H */
