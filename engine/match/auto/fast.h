/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast.h - structure "auto": the fast paths of the data path.
 *
 * What most traffic does calls nothing: an empty queue, the head of a list, an append to a list, a
 * key of its own in the table of PATH_NAMED. The public calls have these inline. Everything else
 * leaves by a tail call, so that the fast paths save no registers.
 */
#ifndef QV_AUTO_FAST_H
#define QV_AUTO_FAST_H

#include "path.h"

/* The first entry of the bucket has another key; there may be more. */
QV_INLINE enum qv_outcome other_key(struct qv_queue *q, const uint64_t *links)
{
	if (links[QV_BUCKET])
		return QV_IN_BUCKET;
	q->rejected++;
	return QV_MISS;
}

/* A message arrives. */

/* *at: the slot, if the answer is QV_IN_BUCKET. */
QV_INLINE enum qv_outcome arrive_named(struct qv_queue *q, uint64_t tag, uint32_t src,
				       struct qv_recv **recv, uint64_t **at)
{
	uint64_t *slot = table_slot(q, tag, src), *e = qv_entry(*slot), *links;

	*at = slot;
	if (!e)
		return QV_MISS;
	links = e + QV_RECV_LINKS;
	if (QV_UNLIKELY(!table_same(q, QV_POSTED, e, tag, src)))
		return other_key(q, links);
	if (QV_UNLIKELY((links[QV_NEXT] | qv_recv_of(e)->flags) != 0))
		return QV_IN_BUCKET;
	*slot = links[QV_BUCKET];
	*recv = qv_recv_of(e);
	return left(q);
}

QV_INLINE enum qv_outcome arrive_fast(struct qv_queue *q, uint64_t tag, uint32_t src,
				      struct qv_recv **recv, uint64_t **at)
{
	struct qv_recv *r;

	if (q->head == q->tail)
		return QV_MISS;
	if (q->path == QV_PATH_NAMED)
		return arrive_named(q, tag, src, recv, at);
	if (q->path != QV_PATH_LIST)
		return QV_FAR;
	r = qv_recv_of(qv_queue_at(q, 0));
	if (((r->tag ^ tag) & ~r->ignore) != 0 ||
	    (recv_word(r) != src && recv_word(r) != QV_SRC_ANY))
		return QV_FAR;
	q->head++;
	*recv = r;
	return QV_HIT;
}

QV_INLINE struct qv_recv *qv_auto_arrive_fast(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	uint64_t *slot = NULL;

	switch (arrive_fast(&a->posted, tag, src, &r, &slot)) {
	case QV_HIT: return r;
	case QV_LAST: qv_auto_last(&a->posted); return r;
	case QV_MISS: a->base.stats.arrived++; return NULL;
	case QV_IN_BUCKET: qv_auto_search_bucket(a, tag, src, NULL, &r, slot); return r;
	default: qv_auto_search(a, tag, src, NULL, &r); return r;
	}
}

/* A message is queued. 0: that takes longer; nothing has changed. */
QV_INLINE int queue_fast(struct qv_queue *q, struct qv_msg *msg)
{
	uint64_t *slot;

	if (QV_UNLIKELY(tick_is_due(q)))
		return 0;
	if (q->path == QV_PATH_LIST) {
		list_append(q, msg->priv);
		return 1;
	}
	if (q->path != QV_PATH_NAMED)
		return 0;
	slot = table_slot(q, msg->tag, msg->src);
	if (QV_UNLIKELY(*slot != 0))
		return 0;
	fill_slot(q, slot, msg->priv, msg->priv + QV_MSG_LINKS);
	return 1;
}

QV_INLINE int qv_auto_queue_fast(struct qv_auto *a, struct qv_msg *msg)
{
	if (QV_LIKELY(queue_fast(&a->unexpected, msg)))
		return QV_OK;
	return qv_auto_queue_append(a, msg);
}

QV_INLINE int qv_auto_deliver_fast(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	uint64_t *slot = NULL;

	switch (arrive_fast(&a->posted, msg->tag, msg->src, &r, &slot)) {
	case QV_HIT: *recv = r; return QV_OK;
	case QV_LAST: *recv = r; return qv_auto_last(&a->posted);
	case QV_MISS: break;
	case QV_IN_BUCKET: return qv_auto_search_bucket(a, msg->tag, msg->src, msg, recv, slot);
	default: return qv_auto_search(a, msg->tag, msg->src, msg, recv);
	}
	if (!queue_fast(&a->unexpected, msg))
		return qv_auto_deliver_append(a, msg, recv);
	a->base.stats.arrived++;
	*recv = NULL;
	return QV_OK;
}

/* A receive is posted. *msg is written on success only. */

QV_INLINE int append_fast(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->posted;
	uint64_t *slot;

	if (QV_UNLIKELY(tick_is_due(q)))
		return qv_auto_post_append(a, recv, msg);
	if (QV_LIKELY(q->path == QV_PATH_NAMED)) { /* a list costs next to nothing anyway */
		if (QV_UNLIKELY(!table_is_class(q, recv->ignore, recv->src)))
			return qv_auto_post_append(a, recv, msg);
		slot = table_slot(q, recv->tag, recv->src);
		if (QV_UNLIKELY(*slot != 0))
			return qv_auto_post_beside(a, recv, msg, slot);
		fill_slot(q, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	} else {
		if (q->path != QV_PATH_LIST)
			return qv_auto_post_append(a, recv, msg);
		list_append(q, recv->priv);
	}
	*msg = NULL;
	return QV_OK;
}

/* *at: as in arrive_named. */
QV_INLINE enum qv_outcome post_named(struct qv_queue *q, const struct qv_recv *recv,
				     struct qv_msg **msg, uint64_t **at)
{
	uint64_t *slot, *e, *links;

	if (QV_UNLIKELY(!table_is_class(q, recv->ignore, recv->src)))
		return QV_FAR;
	*at = slot = table_slot(q, recv->tag, recv->src);
	e = qv_entry(*slot);
	if (!e)
		return QV_MISS;
	links = e + QV_MSG_LINKS;
	if (QV_UNLIKELY(!table_same(q, QV_UNEXPECTED, e, recv->tag, recv->src)))
		return other_key(q, links);
	if (QV_UNLIKELY(links[QV_NEXT] != 0))
		return QV_IN_BUCKET;
	*slot = links[QV_BUCKET];
	*msg = qv_msg_of(e);
	return left(q);
}

QV_INLINE enum qv_outcome post_fast(struct qv_queue *q, const struct qv_recv *recv,
				    struct qv_msg **msg, uint64_t **at)
{
	struct qv_msg *m;

	if (q->head == q->tail)
		return QV_MISS;
	if (q->path == QV_PATH_NAMED)
		return post_named(q, recv, msg, at);
	if (q->path != QV_PATH_LIST)
		return QV_FAR;
	m = qv_msg_of(qv_queue_at(q, 0));
	if (((m->tag ^ recv->tag) & ~recv->ignore) != 0 ||
	    (m->src != recv->src && recv->src != QV_SRC_ANY))
		return QV_FAR;
	q->head++;
	*msg = m;
	return QV_HIT;
}

QV_INLINE int qv_auto_post_fast(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	uint64_t *slot = NULL;

	switch (post_fast(&a->unexpected, recv, msg, &slot)) {
	case QV_HIT: return QV_OK;
	case QV_LAST: return qv_auto_last(&a->unexpected);
	case QV_MISS: return append_fast(a, recv, msg);
	case QV_IN_BUCKET: return qv_auto_post_in_bucket(a, recv, msg, slot);
	default: return qv_auto_post_search(a, recv, msg);
	}
}

#endif /* QV_AUTO_FAST_H */
