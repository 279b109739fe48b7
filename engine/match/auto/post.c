/* SPDX-License-Identifier: BSD-2-Clause */
/* post.c - structure "auto": a receive is posted, and no message is there for it. */
#include "path.h"

/* *msg is written on success only. */

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

/* In HASH, into a bucket of ix that has several keys. */
static QV_APART int post_crowded(struct qv_auto *a, struct qv_recv *recv, struct qv_index *ix,
				 uint64_t *slot)
{
	struct qv_line *q = &a->posted;

	recv->priv[QV_SEQ] = q->tail;
	qv_line_met(a, q, ix, recv->priv, qv_index_insert_at(ix, QV_POSTED, slot, recv->priv));
	joined(q); /* last: qv_line_harden counts the receive as one to come */
	return QV_OK;
}

/* In HASH, into the bucket of ix that begins at *slot, which is not empty: mostly it
 * has one key. */
static QV_APART int post_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				struct qv_index *ix, uint64_t *slot)
{
	struct qv_line *q = &a->posted;
	uint64_t *head = qv_entry(*slot);

	ix->live++; /* of no meaning if it is the only one */
	*msg = NULL;
	if (qv_index_same(ix, QV_POSTED, head, recv->tag, recv->src)) {
		q->rejected++;
		recv->priv[QV_SEQ] = joined(q);
		qv_index_join(ix, QV_POSTED, head, recv->priv);
		return QV_OK;
	}
	if (qv_unlikely(head[QV_RECV_LINKS + QV_BUCKET] != 0))
		return post_crowded(a, recv, ix, slot);
	ix->beside += ix->beside < UINT16_MAX;
	q->rejected++;
	fill_slot(q, &head[QV_RECV_LINKS + QV_BUCKET], recv->priv, recv->priv + QV_RECV_LINKS);
	return QV_OK;
}

int qv_auto_post_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
			uint64_t *slot)
{
	return post_beside(a, recv, msg, a->posted.only, slot);
}

/* In HASH, into ix. */
QV_INLINE int post_into(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
			struct qv_index *ix)
{
	uint64_t *slot = qv_index_weak_slot(ix, recv->tag, recv->src);

	if (qv_unlikely(*slot != 0))
		return post_beside(a, recv, msg, ix, slot);
	ix->live++; /* of no meaning if it is the only one */
	fill_slot(&a->posted, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	*msg = NULL;
	return QV_OK;
}

/* In HASH, a class that is not where it was last. */
static QV_APART int post_elsewhere(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	if (q->active & QV_UNUSUAL)
		return post_slow(a, recv, msg);
	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];

		if (!qv_posted_takes(ix, recv->ignore, recv->src))
			continue;
		q->home[qv_home_of(recv->ignore, recv->src)] = (uint8_t)(ix - q->ix);
		return post_into(a, recv, msg, ix);
	}
	return post_slow(a, recv, msg);
}

/* In HASH, one index, which may have receives of several classes: no branch asks which. */
static QV_APART int post_in_wide(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_index *ix = a->posted.only;

	if (qv_unlikely(!qv_posted_takes(ix, recv->ignore, recv->src)))
		return post_elsewhere(a, recv, msg);
	return post_into(a, recv, msg, ix);
}

/* In HASH, of the class that most are of. */
QV_INLINE int post_in_main(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	uint64_t *slot = only_slot(q, recv->tag, recv->src);

	if (qv_unlikely(*slot != 0))
		return post_beside(a, recv, msg, q->in_use[0], slot);
	q->in_use[0]->live++;
	*msg = NULL;
	fill_slot(q, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	return QV_OK;
}

/* A stream whose receives have all been taken, or a receive of no stream. */
static QV_APART int post_stray(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	struct qv_index *ix = q->only;
	uint64_t *slot;

	if (qv_unlikely(!qv_index_is_class(ix, recv->ignore, recv->src)))
		return post_elsewhere(a, recv, msg);
	slot = qv_index_weak_slot(ix, recv->tag, recv->src);
	if (qv_unlikely(*slot != 0))
		return post_beside(a, recv, msg, ix, slot);
	fill_slot(q, slot, recv->priv, recv->priv + QV_RECV_LINKS);
	if (!q->guess) {
		q->guess = recv->priv;
		q->guess_link = slot;
	}
	*msg = NULL;
	return QV_OK;
}

/* A stream: behind the receives that its messages are taking. */
QV_INLINE int post_in_stream(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	const struct qv_recv *r = qv_recv_of(q->guess);

	if (qv_unlikely(!q->guess || ((r->tag ^ recv->tag) | (r->ignore ^ recv->ignore) |
				      (r->src ^ recv->src)) != 0))
		return post_stray(a, recv, msg);
	*msg = NULL;
	recv->priv[QV_SEQ] = joined(q);
	qv_index_join(q->only, QV_POSTED, q->guess, recv->priv);
	return QV_OK;
}

/* In HASH, several indexes. */
static QV_APART int post_by_class(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	uint32_t c = q->home[qv_home_of(recv->ignore, recv->src)], bit = 1u << c;
	struct qv_index *ix = &q->ix[c];

	if (qv_unlikely((q->active & (QV_UNUSUAL | bit)) != bit ||
			!qv_index_is_class(ix, recv->ignore, recv->src)))
		return post_elsewhere(a, recv, msg);
	return post_into(a, recv, msg, ix);
}

/* In HASH. */
int qv_auto_post_classes(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	if (q->way == QV_WAY_STREAM)
		return post_in_stream(a, recv, msg);
	if (q->way == QV_WAY_MAIN && only_is_class(q, recv->ignore, recv->src))
		return post_in_main(a, recv, msg);
	if (q->way == QV_WAY_WIDE)
		return post_in_wide(a, recv, msg);
	return post_by_class(a, recv, msg);
}

static QV_APART int post_tick(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;
	int err;

	if (qv_line_tick(a, q))
		return QV_ENOMEM;
	if (q->way == QV_WAY_LIST) {
		list_append(q, recv->priv);
		*msg = NULL;
		return QV_OK;
	}
	err = qv_auto_post_classes(a, recv, msg);
	if (!err && q->only && q->only != q->wide)
		qv_line_sample_stream(q, recv->priv);
	return err;
}

int qv_auto_post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_line *q = &a->posted;

	if (qv_unlikely(tick_is_due(q)))
		return post_tick(a, recv, msg);
	if (q->way != QV_WAY_LIST)
		return qv_auto_post_classes(a, recv, msg);
	list_append(q, recv->priv);
	*msg = NULL;
	return QV_OK;
}
