/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto_post.c - structure "auto": a receive is posted. */
#include "match/qv_auto_path.h"

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

/* Posted receives: search of the unexpected queue, which is not empty. */

/* stats.posted counts these only; auto_get_stats has the rest. */
QV_INLINE void post_matched(struct qv_auto *a, uint64_t *e, struct qv_msg **msg)
{
	*msg = qv_msg_of(e);
	a->base.stats.posted++;
}

static QV_APART int post_missed(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return post_append(a, recv, msg);
}

/* Whatever the receive and the indexes. */
static QV_APART int post_any(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_found f;

	qv_unexpected_find(a, q, recv->tag, recv->ignore, recv->src, &f);
	if (!f.e)
		return post_missed(a, recv, msg);
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
	e = qv_index_follow(own, QV_UNEXPECTED, qv_index_weak_slot(own, recv->tag, recv->src),
			    recv->tag, recv->src, &link, &q->rejected);
	if (!e)
		return post_missed(a, recv, msg);
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
	pos = walk_msgs(q, recv->tag, recv->ignore, recv->src);
	if (pos == qv_line_len(q))
		return post_missed(a, recv, msg);
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
	e = qv_index_follow(ix, QV_UNEXPECTED, qv_index_weak_slot(ix, recv->tag, recv->src),
			    recv->tag, recv->src, &link, &q->rejected);
	if (!e)
		return post_missed(a, recv, msg);
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
