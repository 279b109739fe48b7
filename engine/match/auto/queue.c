/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c - structure "auto": an unexpected message is queued, is peeked at. */
#include "path.h"

/* Into index i, a constant, so that the place of the links is one, too. 0 if its bucket begins with
 * another key; nothing has changed. */
QV_INLINE int join_index(struct qv_queue *q, int i, struct qv_msg *msg)
{
	struct qv_index *ix = &q->ix[i];
	uint64_t *slot, *head;

	if (!(q->active >> i & 1))
		return 1;
	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	slot = qv_index_quick_slot(ix, msg->tag, msg->src);
	head = qv_entry(*slot);
	if (!head) {
		qv_index_fill_links(slot, msg->priv, qv_links(ix, QV_UNEXPECTED, msg->priv));
		return 1;
	}
	if (QV_UNLIKELY(!qv_index_same(ix, QV_UNEXPECTED, head, msg->tag, msg->src)))
		return 0;
	ix->collisions++;
	qv_index_join(ix, QV_UNEXPECTED, head, msg->priv);
	return 1;
}

/* Whatever the indexes: the message is in those before `from`. */
static QV_NOINLINE int queue_any(struct qv_auto *a, struct qv_msg *msg, int from)
{
	struct qv_queue *q = &a->unexpected;

	msg->priv[QV_SEQ] = q->tail;
	qv_unexpected_insert(a, q, msg->priv, from);
	qv_queue_joined(q);
	return QV_OK;
}

/* Several indexes. */
static QV_NOINLINE int queue_many(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_queue *q = &a->unexpected;

	if (QV_UNLIKELY(q->active & QV_UNUSUAL))
		return queue_any(a, msg, 0);
#pragma GCC unroll 4
	for (int i = 0; i < QV_N_INDEXES; i++)
		if (!join_index(q, i, msg))
			return queue_any(a, msg, i);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, msg->priv);
	msg->priv[QV_SEQ] = qv_queue_joined(q);
	return QV_OK;
}

/* One index. */
static QV_NOINLINE int queue_one(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_queue *q = &a->unexpected;
	struct qv_index *ix = q->in_use[0];
	uint64_t *slot = qv_index_quick_slot(ix, msg->tag, msg->src), *head = qv_entry(*slot);

	int same = head && qv_index_same(ix, QV_UNEXPECTED, head, msg->tag, msg->src);

	if (QV_UNLIKELY(head && !same && head[ix->word + QV_BUCKET]))
		return queue_any(a, msg, 0);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, msg->priv);
	if (head) {
		ix->collisions++;
		q->rejected++;
		slot = &head[ix->word + QV_BUCKET];
	}
	if (same) {
		msg->priv[QV_SEQ] = qv_queue_joined(q);
		qv_index_join(ix, QV_UNEXPECTED, head, msg->priv);
		return QV_OK;
	}
	fill_slot(q, slot, msg->priv, msg->priv + ix->word);
	return QV_OK;
}

QV_INLINE int queue_now(struct qv_auto *a, struct qv_msg *msg)
{
	switch (a->unexpected.path) {
	case QV_PATH_LIST: list_append(&a->unexpected, msg->priv); return QV_OK;
	case QV_PATH_NAMED:
	case QV_PATH_ONE: return queue_one(a, msg);
	default: return queue_many(a, msg);
	}
}

int qv_auto_queue_append(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_queue *q = &a->unexpected;

	if (QV_UNLIKELY(tick_is_due(q)) && qv_queue_tick(a, q))
		return QV_ENOMEM;
	return queue_now(a, msg);
}

static QV_NOINLINE int deliver_tick(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (qv_auto_queue_append(a, msg))
		return QV_ENOMEM;
	a->base.stats.arrived++;
	*recv = NULL;
	return QV_OK;
}

int qv_auto_deliver_append(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (QV_UNLIKELY(tick_is_due(&a->unexpected)))
		return deliver_tick(a, msg, recv);
	a->base.stats.arrived++; /* without a tick nothing fails */
	*recv = NULL;
	return queue_now(a, msg);
}

/* The message that a walk of the list finds, or NULL. */
static uint64_t *peek_list(struct qv_queue *q, uint64_t tag, uint64_t ignore, uint32_t src)
{
	uint32_t n = qv_queue_len(q), pos = 0;

	while (pos < n && !msg_fits(qv_queue_at(q, pos), tag, ignore, src))
		pos++;
	qv_queue_walked(q, pos);
	return pos < n ? qv_queue_at(q, pos) : NULL;
}

struct qv_msg *qv_auto_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_auto *a = qv_auto_of(m);
	struct qv_queue *q = &a->unexpected;
	struct qv_found f;

	if (q->head == q->tail)
		return NULL;
	/* What is probed for is mostly the oldest. The pattern quicksilver was 1.1 times slower without. */
	if (q->mode == QV_AUTO_LIST && msg_fits(qv_queue_at(q, 0), tag, ignore, src)) {
		q->peeked++;
		return qv_msg_of(qv_queue_at(q, 0));
	}
	if (q->mode == QV_AUTO_LIST && qv_queue_is_costly(q, src == QV_SRC_ANY))
		(void)qv_queue_to_hash(a, q, ignore, src);
	if (q->mode == QV_AUTO_LIST)
		f.e = peek_list(q, tag, ignore, src);
	else
		qv_unexpected_find(a, q, tag, ignore, src, &f);
	q->peeked += f.e != NULL;
	return f.e ? qv_msg_of(f.e) : NULL;
}

void qv_auto_prefetch(const struct qv_match *m, uint64_t tag, uint32_t src, int step)
{
	const struct qv_auto *a = (const struct qv_auto *)m;
	const struct qv_queue *queues[2] = {&a->posted, &a->unexpected};

	for (int i = 0; i < 2; i++) {
		const struct qv_queue *q = queues[i];
		uint64_t *slot;

		if (q->path != QV_PATH_NAMED)
			continue;
		slot = table_slot(q, tag, src);
		__builtin_prefetch(step ? (const void *)qv_entry(*slot) : slot, 1);
	}
}
