/* SPDX-License-Identifier: BSD-2-Clause */
/* search.c - structure "auto": a receive is posted, and searches the unexpected queue. */
#include "path.h"

/* In HASH, whatever the receive and the indexes. */
static QV_NOINLINE int search_any(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	struct qv_found f;

	q->policy.unserved++;
	qv_unexpected_find(a, q, recv->tag, recv->ignore, recv->src, &f);
	if (!f.e)
		return qv_auto_post_append(a, recv, msg);
	*msg = qv_msg_of(f.e);
	qv_unexpected_remove(q, &f);
	qv_queue_leave(q);
	return QV_OK;
}

/* The message at e has left the indexes. */
QV_INLINE int found(struct qv_queue *q, uint64_t *e, struct qv_msg **msg)
{
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_leave(e);
	*msg = qv_msg_of(e);
	return QV_UNLIKELY(++q->head == q->tail) ? qv_auto_last(q) : QV_OK;
}

/*
 * Several indexes. All that the receive accepts has one key in index i, a constant: the place of
 * the links is one, too. The first of the key is the answer if it fits. It does if the index is of
 * the receive's own class.
 */
QV_INLINE int search_by(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg, int i,
			int own)
{
	struct qv_queue *q = &a->unexpected;
	struct qv_index *ix = &q->ix[i];
	uint64_t *link, *e;

	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	ix->used = q->tail;
	ix->searches++;
	e = qv_index_follow(ix, QV_UNEXPECTED, qv_index_quick_slot(ix, recv->tag, recv->src),
			    recv->tag, recv->src, &link, &q->rejected);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	if (!own && QV_UNLIKELY(!msg_takes(e, recv->tag, recv->ignore, recv->src)))
		return search_any(a, recv, msg);
	qv_index_pop(ix, QV_UNEXPECTED, link, e);
#pragma GCC unroll 4
	for (int k = 0; k < QV_N_INDEXES; k++) {
		if (k == i || !(q->active >> k & 1))
			continue;
		if (q->ix[k].word != QV_MSG_LINKS + QV_LINKS * k)
			__builtin_unreachable();
		qv_index_remove(&q->ix[k], QV_UNEXPECTED, 0, e);
	}
	return found(q, e, msg);
}

static QV_NOINLINE int search_by_0(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return search_by(a, recv, msg, 0, 1);
}

static QV_NOINLINE int search_by_1(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return search_by(a, recv, msg, 1, 1);
}

static QV_NOINLINE int search_by_2(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return search_by(a, recv, msg, 2, 1);
}

static QV_NOINLINE int search_by_3(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return search_by(a, recv, msg, 3, 1);
}

/* Several indexes, none of the receive's class: that of a wider class in which the fewest messages
 * share a key. */
static QV_NOINLINE int search_wider(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	struct qv_index *wider = NULL;

	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];

		if (qv_index_covers(ix, recv->ignore, recv->src) &&
		    (!wider || ix->quiet > wider->quiet))
			wider = ix;
	}
	switch (wider ? wider - q->ix : QV_N_INDEXES) {
	case 0: return search_by(a, recv, msg, 0, 0);
	case 1: return search_by(a, recv, msg, 1, 0);
	case 2: return search_by(a, recv, msg, 2, 0);
	case 3: return search_by(a, recv, msg, 3, 0);
	default: return search_any(a, recv, msg);
	}
}

/* Whether index i is in use, and of the receive's class. */
QV_INLINE int has_class(const struct qv_queue *q, int i, const struct qv_recv *recv)
{
	return q->active >> i & 1 && qv_index_is_class(&q->ix[i], recv->ignore, recv->src);
}

static QV_NOINLINE int search_many(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;

	if (QV_UNLIKELY(q->active & QV_UNUSUAL))
		return search_any(a, recv, msg);
	if (has_class(q, 0, recv))
		return search_by_0(a, recv, msg);
	if (has_class(q, 1, recv))
		return search_by_1(a, recv, msg);
	if (has_class(q, 2, recv))
		return search_by_2(a, recv, msg);
	if (has_class(q, 3, recv))
		return search_by_3(a, recv, msg);
	return search_wider(a, recv, msg);
}

_Static_assert(QV_N_INDEXES == 4, "search_many names each");

/* One index and the list in order, for a receive that the index is of no use for. */
static QV_NOINLINE int search_ordered(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	uint64_t *e;

	if (!(q->active & QV_ORDER_ACTIVE) || !qv_order_is_worth_it(q))
		return search_any(a, recv, msg);
	q->policy.unserved++;
	e = qv_order_find(q, recv->tag, recv->ignore, recv->src);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	qv_index_remove(q->in_use[0], QV_UNEXPECTED, 0, e);
	return found(q, e, msg);
}

/* One index. */
static QV_NOINLINE int search_one(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	struct qv_index *ix = q->in_use[0];
	uint64_t *link, *e;

	if (!qv_index_covers(ix, recv->ignore, recv->src))
		return search_ordered(a, recv, msg);
	ix->used = q->tail;
	link = qv_index_quick_slot(ix, recv->tag, recv->src);
	while ((e = qv_entry(*link)) && !msg_takes(e, recv->tag, recv->ignore, recv->src)) {
		if (qv_index_same(ix, QV_UNEXPECTED, e, recv->tag, recv->src))
			return search_any(a, recv, msg);
		q->rejected++;
		link = &e[ix->word + QV_BUCKET];
	}
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	qv_index_pop(ix, QV_UNEXPECTED, link, e);
	return found(q, e, msg);
}

int qv_auto_post_in_bucket(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
			   uint64_t *link)
{
	struct qv_queue *q = &a->unexpected;
	uint64_t *e = qv_entry(*link);

	for (; !table_same(q, QV_UNEXPECTED, e, recv->tag, recv->src); e = qv_entry(*link)) {
		q->rejected++;
		link = &e[QV_MSG_LINKS + QV_BUCKET];
		if (!*link)
			return qv_auto_post_append(a, recv, msg);
	}
	qv_index_pop(q->sole, QV_UNEXPECTED, link, e);
	*msg = qv_msg_of(e);
	return QV_UNLIKELY(++q->head == q->tail) ? qv_auto_last(q) : QV_OK;
}

/*
 * A list of few messages that receives take from here and there: to look at all of them and to move
 * all before the one that fits takes no branch that could be mispredicted. *at is the oldest, and
 * there are n of them. NULL: none fits, nothing has changed.
 */
QV_INLINE uint64_t *remove_of_few(uint64_t **at, uint32_t n, const struct qv_recv *recv)
{
	uint32_t pos = n;
	uint64_t *e;

	for (uint32_t i = n; i-- > 0;)
		pos = msg_takes(at[i], recv->tag, recv->ignore, recv->src) ? i : pos;
	if (pos == n)
		return NULL;
	e = at[pos];
	for (uint32_t i = n; --i > 0;)
		at[i] = at[i - (i <= pos)];
	return e;
}

static QV_NOINLINE int search_few(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	uint32_t n = qv_queue_len(q);
	uint64_t *e = remove_of_few(q->ring + (q->head & q->ring_mask), n, recv);

	q->rejected += n - (e != NULL);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	q->head++;
	*msg = qv_msg_of(e);
	return QV_OK;
}

static QV_NOINLINE int walk_list(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	uint32_t n = qv_queue_len(q), pos = 0;

	if (QV_UNLIKELY(qv_queue_is_costly(q, recv->src == QV_SRC_ANY)) &&
	    qv_queue_to_hash(a, q, recv->ignore, recv->src) == QV_OK)
		return search_any(a, recv, msg);
	while (pos < n && !msg_fits(qv_queue_at(q, pos), recv->tag, recv->ignore, recv->src)) {
		if (QV_UNLIKELY(++pos == QV_WALK_MAX) && n > QV_LONG &&
		    qv_queue_to_hash(a, q, recv->ignore, recv->src) == QV_OK)
			return search_any(a, recv, msg);
	}
	qv_queue_walked(q, pos);
	if (pos == n)
		return qv_auto_post_append(a, recv, msg);
	*msg = qv_msg_of(qv_queue_at(q, pos));
	list_remove(q, pos);
	return QV_OK;
}

QV_INLINE int search_list(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->unexpected;
	uint32_t n = qv_queue_len(q);

	/* Walking few is known to be better than indexing them; the ring does not end there. */
	if (q->policy.cost_shift && n <= QV_FEW &&
	    (q->head & q->ring_mask) + n <= (uint64_t)q->ring_mask + 1)
		return search_few(a, recv, msg);
	return walk_list(a, recv, msg);
}

int qv_auto_post_search(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	switch (a->unexpected.path) {
	case QV_PATH_LIST: return search_list(a, recv, msg);
	case QV_PATH_NAMED:
	case QV_PATH_ONE: return search_one(a, recv, msg);
	default: return search_many(a, recv, msg);
	}
}
