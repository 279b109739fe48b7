/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h - structure "auto": the fast paths of the data path.
 *
 * What most traffic does calls nothing: an empty queue, the head of a list, an append to a list, a
 * key of its own in the single index. The public calls have these inline. Everything else leaves by
 * a tail call, so that the fast paths save no registers.
 */
#ifndef QV_AUTO_PATH_H
#define QV_AUTO_PATH_H

#include "hash.h"

/*
 * arrive.c: a message (tag, src) arrives, and the posted queue is not empty. Both qv_match_arrive
 * (msg is NULL) and qv_match_deliver (msg is queued if nothing takes it) come to this. The protocol
 * calls qv_match_arrive, since it has no node before it knows that one is needed; programs that use
 * the engine alone call qv_match_deliver, as the bench does. It hands msg down so that each path
 * ends in a tail call: as a search and then qv_match_queue, [wprq/anytag10/1000] was 1.12 and
 * [wprq/mix50/64] 1.05 times slower.
 */
QV_NOINLINE int qv_auto_search(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
			       struct qv_recv **recv);
/* As qv_auto_search, on PATH_SINGLE: the key's bucket begins at *slot and is not empty. */
QV_NOINLINE int qv_auto_search_bucket(struct qv_auto *a, uint64_t tag, uint32_t src,
				      struct qv_msg *msg, struct qv_recv **recv, uint64_t *slot);
/* The last entry of a queue in HASH has been matched. Returns QV_OK. */
QV_COLD int qv_auto_last(struct qv_queue *q);

/* search.c: a receive is posted, and messages wait. post.c: none fits. */
QV_NOINLINE int qv_auto_post_search(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
QV_NOINLINE int qv_auto_post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
/* As the two calls above, on PATH_SINGLE: the bucket begins at *slot and is not empty. */
QV_NOINLINE int qv_auto_post_in_bucket(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				       uint64_t *slot);
QV_NOINLINE int qv_auto_post_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				    uint64_t *slot);

/* queue.c: a message is queued, is delivered and queued. */
QV_NOINLINE int qv_auto_queue_append(struct qv_auto *a, struct qv_msg *msg);
QV_NOINLINE int qv_auto_deliver_append(struct qv_auto *a, struct qv_msg *msg,
				       struct qv_recv **recv);
struct qv_msg *qv_auto_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src);
void qv_auto_prefetch(const struct qv_match *m, uint64_t tag, uint32_t src, int step);

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

/* recv_fits without a branch on whether a source is named. 0 for persistent receives. */
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

/* msg_fits without a branch on whether a source is named. */
QV_INLINE int msg_takes(const uint64_t *e, uint64_t tag, uint64_t ignore, uint32_t src)
{
	const struct qv_msg *msg = qv_msg_of(e);
	uint32_t named = 0u - (src != QV_SRC_ANY);

	return (((msg->tag ^ tag) & ~ignore) | ((msg->src ^ src) & named)) == 0;
}

/* PATH_SINGLE, _DOMINANT: the table that is copied in the queue. */

QV_INLINE uint64_t *table_slot(const struct qv_queue *q, uint64_t tag, uint32_t src)
{
	uint64_t hash = (tag & q->keep) * QV_MUL_TAG + src * QV_MUL_SRC;

	return q->slots + (hash >> q->shift);
}

QV_INLINE int table_is_class(const struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	return ignore == q->ignore && src != QV_SRC_ANY;
}

QV_INLINE int table_same(const struct qv_queue *q, enum qv_side side, const uint64_t *e,
			 uint64_t tag, uint32_t src)
{
	return (((qv_key_tag(side, e) ^ tag) & q->keep) | (qv_key_src(side, e) ^ src)) == 0;
}

/* Appends. */

QV_INLINE int tick_is_due(const struct qv_queue *q)
{
	return (q->tail + 1) % QV_TICK == 0;
}

QV_INLINE void list_append(struct qv_queue *q, uint64_t *e)
{
	q->ring[q->tail & q->ring_mask] = e;
	qv_queue_joined(q);
}

/* e gets the empty slot of an index. */
QV_INLINE void fill_slot(struct qv_queue *q, uint64_t *slot, uint64_t *e, uint64_t *links)
{
	e[QV_SEQ] = qv_queue_joined(q);
	qv_index_fill_links(slot, e, links);
}

/* Remove the entry at distance pos from the head of the list, mostly a small one. */
QV_INLINE void list_remove(struct qv_queue *q, uint32_t pos)
{
	uint64_t at = q->head + pos;

	if (QV_UNLIKELY(pos > 4)) {
		qv_ring_remove(q, pos);
		return;
	}
	for (; at != q->head; at--)
		q->ring[at & q->ring_mask] = q->ring[(at - 1) & q->ring_mask];
	q->head++;
}

/* What a path has come to. */
enum qv_outcome {
	QV_HIT,       /* the entry has left the queue */
	QV_LAST,      /* as QV_HIT, and the queue, in HASH, is empty: qv_queue_emptied */
	QV_MISS,      /* no entry fits */
	QV_IN_BUCKET, /* PATH_SINGLE: more than one entry is in the key's bucket; nothing has changed */
	QV_FAR,       /* none of these can be said here; nothing has changed */
};

QV_INLINE enum qv_outcome left(struct qv_queue *q)
{
	return QV_UNLIKELY(++q->head == q->tail) ? QV_LAST : QV_HIT;
}

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
QV_INLINE enum qv_outcome arrive_single(struct qv_queue *q, uint64_t tag, uint32_t src,
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
	if (q->path == QV_PATH_SINGLE)
		return arrive_single(q, tag, src, recv, at);
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
	if (q->path != QV_PATH_SINGLE)
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
	if (QV_LIKELY(q->path == QV_PATH_SINGLE)) { /* a list costs next to nothing anyway */
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

/* *at: as in arrive_single. */
QV_INLINE enum qv_outcome post_single(struct qv_queue *q, const struct qv_recv *recv,
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
	if (q->path == QV_PATH_SINGLE)
		return post_single(q, recv, msg, at);
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

#endif /* QV_AUTO_PATH_H */
