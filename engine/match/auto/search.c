/* SPDX-License-Identifier: BSD-2-Clause */
/* search.c - structure "auto": a receive is posted, and there are unexpected messages. */
#include "path.h"

int qv_auto_post_last(struct qv_auto *a, struct qv_msg *const *msg)
{
	qv_line_emptied(&a->unexpected, (*msg)->priv);
	return QV_OK;
}

/* Whatever the receive and the indexes. */
static QV_APART int post_any(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_found f;

	qv_unexpected_find(a, q, recv->tag, recv->ignore, recv->src, &f);
	if (!f.e)
		return qv_auto_post_append(a, recv, msg);
	*msg = qv_msg_of(f.e);
	qv_unexpected_remove(q, &f);
	qv_line_leave(q, f.e);
	return QV_OK;
}

/* Out of index i, a constant, if that is in use and not `but`. */
QV_INLINE void leave_index(struct qv_line *q, int i, int but, uint64_t *e)
{
	struct qv_index *ix = &q->ix[i];

	if (i == but || !(q->active >> i & 1))
		return;
	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	qv_index_remove(ix, QV_UNEXPECTED, 0, e);
}

_Static_assert(QV_N_VIEWS == 4, "post_by names each");

/* Several indexes. All that the receive accepts has one key in index i, a constant; there the first
 * of the key is the answer, if it fits. It does if the index is of the receive's own class. */
QV_INLINE int post_by(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg, int i, int own)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = &q->ix[i];
	uint64_t *link, *e;

	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	ix->used = q->tail;
	ix->served++;
	e = qv_index_follow(ix, QV_UNEXPECTED, qv_index_weak_slot(ix, recv->tag, recv->src),
			    recv->tag, recv->src, &link, &q->rejected);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	if (!own && qv_unlikely(!msg_takes(e, recv->tag, recv->ignore, recv->src)))
		return post_any(a, recv, msg);
	qv_index_pop(ix, QV_UNEXPECTED, link, e);
	leave_index(q, 0, i, e);
	leave_index(q, 1, i, e);
	leave_index(q, 2, i, e);
	leave_index(q, 3, i, e);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_leave(e);
	*msg = qv_msg_of(e);
	return qv_unlikely(++q->head == q->tail) ? qv_auto_post_last(a, msg) : QV_OK;
}

static QV_APART int post_by_0(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return post_by(a, recv, msg, 0, 1);
}

static QV_APART int post_by_1(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return post_by(a, recv, msg, 1, 1);
}

static QV_APART int post_by_2(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return post_by(a, recv, msg, 2, 1);
}

static QV_APART int post_by_3(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return post_by(a, recv, msg, 3, 1);
}

/* Several indexes, none of the receive's class: that of a wider class in which the fewest messages
 * share a key. */
static QV_APART int post_by_wider(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *wider = NULL;

	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];

		if (qv_index_is_wider(ix, recv->ignore, recv->src) &&
		    (!wider || ix->calm > wider->calm))
			wider = ix;
	}
	if (!wider)
		return post_any(a, recv, msg);
	switch (wider - q->ix) {
	case 0: return post_by(a, recv, msg, 0, 0);
	case 1: return post_by(a, recv, msg, 1, 0);
	case 2: return post_by(a, recv, msg, 2, 0);
	default: return post_by(a, recv, msg, 3, 0);
	}
}

/* Whether index i is in use, and of this class. */
QV_INLINE int has_class(const struct qv_line *q, int i, uint64_t ignore, uint32_t src)
{
	return q->active >> i & 1 && qv_index_is_class(&q->ix[i], ignore, src);
}

/* Several indexes, or a log. */
QV_INLINE int post_indexed(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return post_any(a, recv, msg);
	if (has_class(q, 0, recv->ignore, recv->src))
		return post_by_0(a, recv, msg);
	if (has_class(q, 1, recv->ignore, recv->src))
		return post_by_1(a, recv, msg);
	if (has_class(q, 2, recv->ignore, recv->src))
		return post_by_2(a, recv, msg);
	if (has_class(q, 3, recv->ignore, recv->src))
		return post_by_3(a, recv, msg);
	return post_by_wider(a, recv, msg);
}

/* One index and the list in order, for a receive that the index is of no use for. */
static QV_APART int post_ordered(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	uint64_t *e;

	if (!q->order_pays || qv_line_len(q) > QV_ORDER_LONG)
		return post_any(a, recv, msg);
	q->far++;
	e = qv_order_find(q, recv->tag, recv->ignore, recv->src);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	qv_index_remove(q->in_use[0], QV_UNEXPECTED, 0, e);
	qv_order_leave(e);
	*msg = qv_msg_of(e);
	return qv_unlikely(++q->head == q->tail) ? qv_auto_post_last(a, msg) : QV_OK;
}

/* One index. */
static QV_APART int post_wide(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = q->in_use[0];
	uint64_t *link, *e;

	if (!qv_index_is_wider(ix, recv->ignore, recv->src))
		return q->active & QV_ORDER_ACTIVE ? post_ordered(a, recv, msg)
						   : post_any(a, recv, msg);
	ix->used = q->tail;
	link = qv_index_weak_slot(ix, recv->tag, recv->src);
	while ((e = qv_entry(*link)) && !msg_takes(e, recv->tag, recv->ignore, recv->src)) {
		if (qv_index_same(ix, QV_UNEXPECTED, e, recv->tag, recv->src))
			return post_any(a, recv, msg);
		q->rejected++;
		link = &e[ix->word + QV_BUCKET];
	}
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	qv_index_pop(ix, QV_UNEXPECTED, link, e);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_leave(e);
	*msg = qv_msg_of(e);
	return qv_unlikely(++q->head == q->tail) ? qv_auto_post_last(a, msg) : QV_OK;
}

int qv_auto_post_in_bucket(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
			   uint64_t *link)
{
	struct qv_line *q = &a->unexpected;
	uint64_t *e = qv_entry(*link);

	for (; !only_same(q, QV_UNEXPECTED, e, recv->tag, recv->src); e = qv_entry(*link)) {
		q->rejected++;
		link = &e[QV_MSG_LINKS + QV_BUCKET];
		if (!*link)
			return qv_auto_post_append(a, recv, msg);
	}
	qv_index_pop(q->only, QV_UNEXPECTED, link, e);
	*msg = qv_msg_of(e);
	return qv_unlikely(++q->head == q->tail) ? qv_auto_post_last(a, msg) : QV_OK;
}

/*
 * A list of few messages that receives take from here and there: to look at all of them and to move
 * all before the one that fits takes no branch that could be guessed wrong. *at is the oldest, and
 * there are n of them. NULL: none fits, nothing has changed.
 */
QV_INLINE uint64_t *take_of_few(uint64_t **at, uint32_t n, uint64_t tag, uint64_t ignore,
				uint32_t src)
{
	uint32_t pos = n;
	uint64_t *e;

	for (uint32_t i = n; i-- > 0;)
		pos = msg_takes(at[i], tag, ignore, src) ? i : pos;
	if (pos == n)
		return NULL;
	e = at[pos];
	for (uint32_t i = n; --i > 0;)
		at[i] = at[i - (i <= pos)];
	return e;
}

static QV_APART int post_scan(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	uint32_t n = qv_line_len(q);
	uint64_t *e = take_of_few(q->ring + (q->head & q->ring_mask), n, recv->tag, recv->ignore,
				  recv->src);

	q->rejected += n - (e != NULL);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	q->head++;
	*msg = qv_msg_of(e);
	return QV_OK;
}

/* Walking them is known to be better than indexing them, and the ring does not end among them. */
QV_INLINE int are_few(const struct qv_line *q)
{
	uint32_t n = qv_line_len(q);

	return q->tolerance && n <= QV_TOLERANT_LEN &&
	       (q->head & q->ring_mask) + n <= (uint64_t)q->ring_mask + 1;
}

static QV_APART int post_walk(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	uint32_t n = qv_line_len(q), pos = 0;

	if (qv_unlikely(qv_line_in_debt(q)) &&
	    qv_line_to_hash(a, q, recv->ignore, recv->src) == QV_OK)
		return post_any(a, recv, msg);
	while (pos < n && !msg_fits(qv_line_at(q, pos), recv->tag, recv->ignore, recv->src)) {
		if (qv_unlikely(++pos == QV_WALK_MAX) && n > QV_WALK_MAX &&
		    qv_line_to_hash(a, q, recv->ignore, recv->src) == QV_OK)
			return post_any(a, recv, msg);
	}
	qv_line_walked(q, pos);
	if (pos == n)
		return qv_auto_post_append(a, recv, msg);
	*msg = qv_msg_of(qv_line_at(q, pos));
	qv_ring_take(q, pos);
	return QV_OK;
}

static QV_APART int post_in_list(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return are_few(&a->unexpected) ? post_scan(a, recv, msg) : post_walk(a, recv, msg);
}

int qv_auto_post_search(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	switch (a->unexpected.way) {
	case QV_WAY_LIST: return post_in_list(a, recv, msg);
	case QV_WAY_ONLY:
	case QV_WAY_WIDE: return post_wide(a, recv, msg);
	default: return post_indexed(a, recv, msg);
	}
}
