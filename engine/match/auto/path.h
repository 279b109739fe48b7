/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h - structure "auto": what the files of the data path share. fast.h has the paths that call
 * nothing; they leave by a tail call to what is declared here.
 */
#ifndef QV_AUTO_PATH_H
#define QV_AUTO_PATH_H

#include "hash.h"

/*
 * arrive.c: a message (tag, src) arrives, and the posted queue is not empty. Both qv_match_arrive
 * (msg is NULL) and qv_match_deliver (msg is queued if nothing takes it) come to this. The protocol
 * calls qv_match_arrive, since it has no node before it knows that one is needed; programs that use
 * the engine alone call qv_match_deliver, as the bench does. It hands msg down so that each path
 * ends in a tail call: most cells of [wprq] were 1.05 to 1.09 times slower with a search that
 * returned to qv_match_deliver.
 */
QV_NOINLINE int qv_auto_search(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
			       struct qv_recv **recv);
/* As qv_auto_search, on PATH_NAMED: the key's bucket begins at *slot and is not empty. */
QV_NOINLINE int qv_auto_search_bucket(struct qv_auto *a, uint64_t tag, uint32_t src,
				      struct qv_msg *msg, struct qv_recv **recv, uint64_t *slot);
/* The last entry of a queue in HASH has been matched. Returns QV_OK. */
QV_COLD int qv_auto_last(struct qv_queue *q);

/* search.c: a receive is posted, and messages wait. post.c: none fits. */
QV_NOINLINE int qv_auto_post_search(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
QV_NOINLINE int qv_auto_post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
/* As the two calls above, on PATH_NAMED: the bucket begins at *slot and is not empty. */
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

/* PATH_NAMED, _DOMINANT: the table that is copied in the queue. */

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
	QV_IN_BUCKET, /* PATH_NAMED: more than one entry is in the key's bucket; nothing has changed */
	QV_FAR,       /* none of these can be said here; nothing has changed */
};

QV_INLINE enum qv_outcome left(struct qv_queue *q)
{
	return QV_UNLIKELY(++q->head == q->tail) ? QV_LAST : QV_HIT;
}

#endif /* QV_AUTO_PATH_H */
