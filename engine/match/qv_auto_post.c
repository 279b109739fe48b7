/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto_post.c - structure "auto": a receive is posted. */
#include "match/qv_auto_path.h"

/* Receives that found no message: append. *msg is written on success only. */

/* In HASH, whatever the class. */
static QV_APART int post_slow(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	recv->priv[QV_SEQ] = q->tail;
	if (qv_posted_insert(a, q, recv->priv))
		return QV_ENOMEM;
	joined(q);
	*msg = NULL;
	return QV_OK;
}

/* In HASH, into a bucket that is not empty. */
static QV_APART int post_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				struct qv_index *ix, uint64_t *slot)
{
	struct qv_line *q = &a->posted;

	recv->priv[QV_SEQ] = q->tail;
	ix->live++; /* of no meaning if it is the only one */
	qv_line_met(a, q, ix, qv_index_insert_at(ix, QV_POSTED, slot, recv->priv));
	joined(q);
	*msg = NULL;
	return QV_OK;
}

/* In HASH. */
int qv_auto_post_classes(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	uint32_t rest = q->active;
	struct qv_index *ix;
	uint64_t *slot;

	if (qv_unlikely(rest & QV_UNUSUAL))
		return post_slow(a, recv, msg);
	for (;; rest &= rest - 1) {
		if (!rest)
			return post_slow(a, recv, msg);
		ix = &q->ix[__builtin_ctz(rest)];
		if (qv_index_is_class(ix, recv->ignore, recv->src))
			break;
	}
	slot = qv_index_weak_slot(ix, recv->tag, recv->src);
	if (qv_unlikely(*slot != 0))
		return post_beside(a, recv, msg, ix, slot);
	ix->live++;
	fill_slot(q, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	*msg = NULL;
	return QV_OK;
}

int qv_auto_post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	if (qv_unlikely(tick_is_due(q)) && qv_line_tick(a, q))
		return QV_ENOMEM;
	if (q->way != QV_WAY_LIST)
		return qv_auto_post_classes(a, recv, msg);
	list_append(q, recv->priv);
	*msg = NULL;
	return QV_OK;
}

/* Posted receives: search of the unexpected queue, which is not empty. */

int qv_auto_post_last(struct qv_auto *a)
{
	qv_line_emptied(&a->unexpected);
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
	qv_line_leave(q);
	return QV_OK;
}

/* The index of this class, else one of a wider class, or NULL. */
QV_INLINE struct qv_index *index_for(struct qv_line *q, uint64_t ignore, uint32_t src)
{
	struct qv_index *wider = NULL;

	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		if (qv_index_is_class(ix, ignore, src))
			return ix;
		if (!wider && qv_index_is_wider(ix, ignore, src))
			wider = ix;
	}
	return wider;
}

/* Out of index i, a constant, if that is in use and not `but`. */
QV_INLINE void leave_index(struct qv_line *q, int i, const struct qv_index *but, uint64_t *e)
{
	struct qv_index *ix = &q->ix[i];

	if (!(q->active >> i & 1) || ix == but)
		return;
	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	qv_index_remove(ix, QV_UNEXPECTED, 0, e);
}

_Static_assert(QV_N_VIEWS == 4, "post_indexed names each");

/* One or several indexes. All that the receive accepts has one key in the one that is chosen; there
 * the first of the key is the answer, if it fits. */
static QV_APART int post_indexed(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = NULL;
	uint64_t *link, *e;

	if (qv_likely(!(q->active & QV_UNUSUAL)))
		ix = index_for(q, recv->ignore, recv->src);
	if (!ix)
		return post_any(a, recv, msg);
	ix->used = q->tail;
	e = qv_index_follow(ix, QV_UNEXPECTED, qv_index_weak_slot(ix, recv->tag, recv->src),
			    recv->tag, recv->src, &link, &q->rejected);
	if (!e)
		return qv_auto_post_append(a, recv, msg);
	if (!msg_fits(e, recv->tag, recv->ignore, recv->src))
		return post_any(a, recv, msg);
	qv_index_pop(ix, QV_UNEXPECTED, link, e);
	leave_index(q, 0, ix, e);
	leave_index(q, 1, ix, e);
	leave_index(q, 2, ix, e);
	leave_index(q, 3, ix, e);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_leave(q, e);
	*msg = qv_msg_of(e);
	qv_line_leave(q);
	return QV_OK;
}

static int post_walk(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
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
	qv_ring_remove(q, pos);
	return QV_OK;
}

int qv_auto_post_search(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return a->unexpected.way == QV_WAY_LIST ? post_walk(a, recv, msg)
						: post_indexed(a, recv, msg);
}
