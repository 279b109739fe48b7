/* SPDX-License-Identifier: BSD-2-Clause */
/* post.c - structure "auto": a receive is posted, and no message is there for it. */
#include "path.h"

/* In HASH, whatever the class. */
static QV_NOINLINE int append_any(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->posted;

	recv->priv[QV_SEQ] = q->tail;
	if (qv_posted_insert(a, q, recv->priv))
		return QV_ENOMEM;
	qv_queue_joined(q);
	*msg = NULL;
	return QV_OK;
}

/* Into a bucket of ix that has several keys. */
static QV_NOINLINE int append_far(struct qv_auto *a, struct qv_recv *recv, struct qv_index *ix,
				  uint64_t *slot)
{
	struct qv_queue *q = &a->posted;

	recv->priv[QV_SEQ] = q->tail;
	qv_queue_met(a, q, ix, qv_index_insert_at(ix, QV_POSTED, slot, recv->priv));
	qv_queue_joined(q); /* last: qv_queue_rekey counts the receive as one to come */
	return QV_OK;
}

/* Into the bucket of ix that begins at *slot and is not empty: mostly it has one key. */
static QV_NOINLINE int append_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				     struct qv_index *ix, uint64_t *slot)
{
	struct qv_queue *q = &a->posted;
	uint64_t *head = qv_entry(*slot);

	ix->live++; /* of no meaning in q->sole */
	*msg = NULL;
	if (!qv_index_same(ix, QV_POSTED, head, recv->tag, recv->src))
		return append_far(a, recv, ix, slot);
	q->rejected++;
	recv->priv[QV_SEQ] = qv_queue_joined(q);
	qv_index_join(ix, QV_POSTED, head, recv->priv);
	return QV_OK;
}

int qv_auto_post_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
			uint64_t *slot)
{
	return append_beside(a, recv, msg, a->posted.sole, slot);
}

/* Into ix, which takes it and is not keyed. */
QV_INLINE int append_to(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
			struct qv_index *ix)
{
	uint64_t *slot = qv_index_quick_slot(ix, recv->tag, recv->src);

	if (QV_UNLIKELY(*slot != 0))
		return append_beside(a, recv, msg, ix, slot);
	ix->live++; /* of no meaning in q->sole */
	fill_slot(&a->posted, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	*msg = NULL;
	return QV_OK;
}

/* Where in the class cache receives of this class are. */
QV_INLINE uint8_t *class_place(struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	uint32_t mask = (uint32_t)ignore ^ (uint32_t)(ignore >> 32);

	return &q->class_cache[(mask * 0x9e3779b1u >> 28) ^ (src == QV_SRC_ANY)];
}

_Static_assert(QV_CLASS_CACHE == 16, "class_place has four bits");

/* A class that is not where the class cache says. */
static QV_NOINLINE int append_elsewhere(struct qv_auto *a, struct qv_recv *recv,
					struct qv_msg **msg)
{
	struct qv_queue *q = &a->posted;

	for (uint32_t i = 0; i < q->n_in_use && !(q->active & QV_UNUSUAL); i++) {
		struct qv_index *ix = q->in_use[i];

		if (!qv_posted_takes(ix, recv->ignore, recv->src))
			continue;
		*class_place(q, recv->ignore, recv->src) = (uint8_t)(ix - q->ix);
		return append_to(a, recv, msg, ix);
	}
	return append_any(a, recv, msg);
}

/* One index, which may have receives of several classes: no branch asks which. */
static QV_NOINLINE int append_one(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_index *ix = a->posted.sole;

	if (QV_UNLIKELY(!qv_posted_takes(ix, recv->ignore, recv->src)))
		return append_elsewhere(a, recv, msg);
	return append_to(a, recv, msg, ix);
}

static QV_NOINLINE int append_by_class(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->posted;
	uint32_t c = *class_place(q, recv->ignore, recv->src), bit = 1u << c;
	struct qv_index *ix = &q->ix[c];

	if (QV_UNLIKELY((q->active & (QV_UNUSUAL | bit)) != bit ||
			!qv_index_is_class(ix, recv->ignore, recv->src)))
		return append_elsewhere(a, recv, msg);
	return append_to(a, recv, msg, ix);
}

/* Of the class that most receives are of. */
QV_INLINE int append_dominant(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->posted;
	uint64_t *slot = table_slot(q, recv->tag, recv->src);

	if (QV_UNLIKELY(*slot != 0))
		return append_beside(a, recv, msg, q->in_use[0], slot);
	q->in_use[0]->live++;
	fill_slot(q, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	*msg = NULL;
	return QV_OK;
}

QV_INLINE int append_now(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_queue *q = &a->posted;

	switch (q->path) {
	case QV_PATH_LIST:
		list_append(q, recv->priv);
		*msg = NULL;
		return QV_OK;
	case QV_PATH_ONE:
	case QV_PATH_NAMED: return append_one(a, recv, msg);
	case QV_PATH_DOMINANT:
		if (table_is_class(q, recv->ignore, recv->src))
			return append_dominant(a, recv, msg);
		return append_by_class(a, recv, msg);
	default: return append_by_class(a, recv, msg);
	}
}

static QV_NOINLINE int append_tick(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	return qv_queue_tick(a, &a->posted) ? QV_ENOMEM : append_now(a, recv, msg);
}

int qv_auto_post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	if (QV_UNLIKELY(tick_is_due(&a->posted)))
		return append_tick(a, recv, msg);
	return append_now(a, recv, msg);
}
