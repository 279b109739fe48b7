/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c - structure "auto": an unexpected message is queued, is peeked at. */
#include "path.h"

/* In HASH, whatever the indexes. */
static QV_APART int queue_slow(struct qv_auto *a, struct qv_msg *msg)
{
	msg->priv[QV_SEQ] = a->unexpected.tail;
	qv_unexpected_insert(a, &a->unexpected, msg->priv);
	joined(&a->unexpected);
	return QV_OK;
}

/* In HASH, several indexes: the message is in those before `from`. */
static QV_APART int queue_rest(struct qv_auto *a, struct qv_msg *msg, int from)
{
	struct qv_line *q = &a->unexpected;

	for (int i = from; i < QV_N_VIEWS; i++) {
		struct qv_index *ix = &q->ix[i];

		if (!(q->active >> i & 1))
			continue;
		ix->crowded += *qv_index_slot(ix, msg->tag, msg->src) != 0;
		qv_line_insert(a, q, ix, QV_UNEXPECTED, msg->priv);
	}
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, msg->priv);
	joined(q);
	return QV_OK;
}

/* Into index i, a constant, so that the place of the links is one, too. 0 if its bucket begins with
 * another key; nothing has changed. */
QV_INLINE int queue_in(struct qv_line *q, int i, struct qv_msg *msg)
{
	struct qv_index *ix = &q->ix[i];
	uint64_t *slot, *head;

	if (!(q->active >> i & 1))
		return 1;
	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	slot = qv_index_weak_slot(ix, msg->tag, msg->src);
	head = qv_entry(*slot);
	if (!head) {
		qv_index_fill_slot(ix, QV_UNEXPECTED, slot, msg->priv);
		return 1;
	}
	if (qv_unlikely(!qv_index_same(ix, QV_UNEXPECTED, head, msg->tag, msg->src)))
		return 0;
	ix->crowded++;
	qv_index_join(ix, QV_UNEXPECTED, head, msg->priv);
	return 1;
}

_Static_assert(QV_N_VIEWS == 4, "queue_indexes names each");

/* In HASH, several indexes. */
static QV_APART int queue_indexes(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return queue_slow(a, msg);
	msg->priv[QV_SEQ] = q->tail;
	if (!queue_in(q, 0, msg))
		return queue_rest(a, msg, 0);
	if (!queue_in(q, 1, msg))
		return queue_rest(a, msg, 1);
	if (!queue_in(q, 2, msg))
		return queue_rest(a, msg, 2);
	if (!queue_in(q, 3, msg))
		return queue_rest(a, msg, 3);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, msg->priv);
	joined(q);
	return QV_OK;
}

/* In HASH, one index, into a bucket with its own key, or with several. */
static QV_APART int queue_crowded(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = q->in_use[0];
	uint64_t *slot = qv_index_weak_slot(ix, msg->tag, msg->src);

	msg->priv[QV_SEQ] = joined(q);
	qv_line_met(a, q, ix, msg->priv, qv_index_insert_at(ix, QV_UNEXPECTED, slot, msg->priv));
	return QV_OK;
}

/* In HASH, one index. */
static QV_APART int queue_wide(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;
	struct qv_index *ix = q->in_use[0];
	uint64_t *slot = qv_index_weak_slot(ix, msg->tag, msg->src);

	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, msg->priv);
	if (*slot) {
		ix->crowded++;
		slot = qv_line_beside(q, ix, QV_UNEXPECTED, slot, msg->tag, msg->src);
	}
	if (qv_unlikely(!slot))
		return queue_crowded(a, msg);
	fill_slot(q, slot, msg->priv, msg->priv + ix->word);
	return QV_OK;
}

/* It cannot fail. */
QV_INLINE int queue_now(struct qv_auto *a, struct qv_msg *msg)
{
	switch (a->unexpected.way) {
	case QV_WAY_LIST: list_append(&a->unexpected, msg->priv); return QV_OK;
	case QV_WAY_ONLY:
	case QV_WAY_WIDE: return queue_wide(a, msg);
	default: return queue_indexes(a, msg);
	}
}

int qv_auto_queue_append(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;

	if (qv_unlikely(tick_is_due(q)) && qv_line_tick(a, q))
		return QV_ENOMEM;
	return queue_now(a, msg);
}

static QV_APART int deliver_tick(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (qv_auto_queue_append(a, msg))
		return QV_ENOMEM;
	a->base.stats.arrived++;
	*recv = NULL;
	return QV_OK;
}

int qv_auto_deliver_append(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (qv_unlikely(tick_is_due(&a->unexpected)))
		return deliver_tick(a, msg, recv);
	a->base.stats.arrived++; /* without a tick nothing fails */
	*recv = NULL;
	return queue_now(a, msg);
}

/* The message that a walk of the list finds, or NULL; in *hashed: the list has become indexes. */
static uint64_t *peek_walk(struct qv_auto *a, struct qv_line *q, uint64_t tag, uint64_t ignore,
			   uint32_t src, int *hashed)
{
	uint32_t n = qv_line_len(q), pos = 0;

	*hashed = qv_line_in_debt(q) && qv_line_to_hash(a, q, ignore, src) == QV_OK;
	if (*hashed)
		return NULL;
	while (pos < n && !msg_fits(qv_line_at(q, pos), tag, ignore, src))
		pos++;
	qv_line_walked(q, pos);
	return pos < n ? qv_line_at(q, pos) : NULL;
}

struct qv_msg *qv_auto_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_auto *a = qv_auto_of(m);
	struct qv_line *q = &a->unexpected;
	struct qv_found f = {.e = NULL};
	int hashed = q->mode == QV_AUTO_HASH;

	if (q->head == q->tail)
		return NULL;
	if (!hashed)
		f.e = peek_walk(a, q, tag, ignore, src, &hashed);
	if (hashed)
		qv_unexpected_find(a, q, tag, ignore, src, &f);
	q->peeked += f.e != NULL;
	return f.e ? qv_msg_of(f.e) : NULL;
}

void qv_auto_prefetch(const struct qv_match *m, uint64_t tag, uint32_t src, int step)
{
	const struct qv_auto *a = (const struct qv_auto *)m;
	const struct qv_line *lines[2] = {&a->posted, &a->unexpected};

	for (int i = 0; i < 2; i++) {
		const struct qv_line *q = lines[i];
		uint64_t *slot;

		if (q->way != QV_WAY_ONLY)
			continue;
		slot = only_slot(q, tag, src);
		__builtin_prefetch(step ? (const void *)qv_entry(*slot) : slot, 1);
	}
}
