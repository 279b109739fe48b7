/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto_arrive.c - structure "auto": a message arrives, is queued, is peeked at. */
#include "match/qv_auto_path.h"

/* Arrivals: search of the posted queue, which is not empty. */

struct qv_recv *qv_auto_arrive_last(struct qv_auto *a, struct qv_recv *r)
{
	qv_line_emptied(&a->posted);
	return r;
}

int qv_auto_deliver_last(struct qv_auto *a)
{
	qv_line_emptied(&a->posted);
	return QV_OK;
}

static QV_COLD struct qv_recv *arrive_sticky(struct qv_auto *a, uint64_t *e)
{
	a->base.stats.matched++;
	return qv_recv_of(e);
}

/* Whatever the indexes. */
static QV_APART struct qv_recv *arrive_any(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_found f;

	qv_posted_find(q, tag, src, &f);
	if (!f.e)
		return arrive_missed(a);
	if (qv_recv_of(f.e)->flags & QV_RECV_STICKY)
		return arrive_sticky(a, f.e);
	qv_posted_remove(q, &f);
	qv_line_leave(q);
	return qv_recv_of(f.e);
}

/* e, which *link points to in ix, is the answer. */
QV_INLINE struct qv_recv *arrive_found(struct qv_auto *a, uint64_t *e, uint64_t *link,
				       struct qv_index *ix)
{
	struct qv_line *q = &a->posted;

	if (qv_unlikely(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return arrive_sticky(a, e);
	qv_index_pop(ix, QV_POSTED, link, e);
	if (!q->only && qv_unlikely(--ix->live == 0))
		qv_line_set_active(q, q->active & ~(1u << (ix - q->ix)));
	qv_line_leave(q);
	return qv_recv_of(e);
}

/* Several classes: the oldest of what each would give. The log takes the longer way. */
QV_INLINE struct qv_recv *arrive_classes(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	uint64_t *best = NULL, *best_link = NULL;
	struct qv_index *best_ix = NULL;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return arrive_any(a, tag, src);
	for (uint32_t rest = q->active; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		uint64_t *link = qv_index_weak_slot(ix, tag, src), *e;

		e = qv_index_follow(ix, QV_POSTED, link, tag, src, &link, &q->rejected);
		if (!e || (best && qv_is_older(best, e)))
			continue;
		best = e;
		best_link = link;
		best_ix = ix;
	}
	return best ? arrive_found(a, best, best_link, best_ix) : arrive_missed(a);
}

/* One class: a bucket of several keys, a key of several receives, a sticky one. */
static struct qv_recv *arrive_indexed(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	uint64_t *link, *e;

	e = qv_index_follow(q->only, QV_POSTED, only_slot(q, tag, src), tag, src, &link,
			    &q->rejected);
	return e ? arrive_found(a, e, link, q->only) : arrive_missed(a);
}

static struct qv_recv *arrive_walk(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	uint32_t n = qv_line_len(q), pos = 0;
	struct qv_recv *r;

	if (qv_unlikely(qv_line_in_debt(q)) && qv_line_to_hash(a, q, 0, 0) == QV_OK)
		return arrive_any(a, tag, src);
	while (pos < n && !recv_fits(qv_line_at(q, pos), tag, src)) {
		if (qv_unlikely(++pos == QV_WALK_MAX) && n > QV_WALK_MAX &&
		    qv_line_to_hash(a, q, 0, 0) == QV_OK)
			return arrive_any(a, tag, src);
	}
	qv_line_walked(q, pos);
	if (pos == n)
		return arrive_missed(a);
	r = qv_recv_of(qv_line_at(q, pos));
	if (qv_unlikely(r->flags & QV_RECV_STICKY))
		return arrive_sticky(a, r->priv);
	qv_ring_remove(q, pos);
	return r;
}

QV_INLINE struct qv_recv *arrive_search(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	switch (a->posted.way) {
	case QV_WAY_LIST: return arrive_walk(a, tag, src);
	case QV_WAY_ONLY: return arrive_indexed(a, tag, src);
	default: return arrive_classes(a, tag, src);
	}
}

struct qv_recv *qv_auto_arrive_search(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	return arrive_search(a, tag, src);
}

/* Unexpected messages: append. */

/* In HASH, whatever the indexes. */
static QV_APART int queue_slow(struct qv_auto *a, struct qv_msg *msg)
{
	msg->priv[QV_SEQ] = a->unexpected.tail;
	qv_unexpected_insert(a, &a->unexpected, msg->priv);
	joined(&a->unexpected);
	return QV_OK;
}

/* Into index i; a constant, so that the place of the links is one, too. */
QV_INLINE void queue_in(struct qv_auto *a, struct qv_line *q, int i, struct qv_msg *msg)
{
	struct qv_index *ix = &q->ix[i];
	uint64_t *slot;

	if (!(q->active >> i & 1))
		return;
	if (ix->word != QV_MSG_LINKS + QV_LINKS * i)
		__builtin_unreachable();
	slot = qv_index_weak_slot(ix, msg->tag, msg->src);
	if (qv_likely(!*slot)) {
		qv_index_fill_slot(ix, QV_UNEXPECTED, slot, msg->priv);
		return;
	}
	ix->crowded++;
	qv_line_met(a, q, ix, qv_index_insert_at(ix, QV_UNEXPECTED, slot, msg->priv));
}

_Static_assert(QV_N_VIEWS == 4, "queue_indexes names each");

/* In HASH, several indexes. */
static int queue_indexes(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return queue_slow(a, msg);
	msg->priv[QV_SEQ] = q->tail;
	queue_in(a, q, 0, msg);
	queue_in(a, q, 1, msg);
	queue_in(a, q, 2, msg);
	queue_in(a, q, 3, msg);
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, msg->priv);
	joined(q);
	return QV_OK;
}

int qv_auto_queue_append(struct qv_auto *a, struct qv_msg *msg)
{
	struct qv_line *q = &a->unexpected;
	uint32_t seen;

	if (qv_unlikely(tick_is_due(q)) && qv_line_tick(a, q))
		return QV_ENOMEM;
	switch (q->way) {
	case QV_WAY_LIST: list_append(q, msg->priv); return QV_OK;
	case QV_WAY_ONLY:
		msg->priv[QV_SEQ] = q->tail;
		seen = qv_index_insert_at(q->only, QV_UNEXPECTED, only_slot(q, msg->tag, msg->src),
					  msg->priv);
		q->only->crowded++;
		qv_line_met(a, q, q->only, seen);
		joined(q);
		return QV_OK;
	default: return queue_indexes(a, msg);
	}
}

/* Both in one. A miss is counted as soon as it is known that the call succeeds. */

int qv_auto_deliver_append(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (qv_auto_queue_append(a, msg))
		return QV_ENOMEM;
	a->base.stats.arrived++;
	*recv = NULL;
	return QV_OK;
}

int qv_auto_deliver_search(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = arrive_search(a, msg->tag, msg->src);

	if (!r) {
		a->base.stats.arrived--;
		return qv_auto_deliver_append(a, msg, recv);
	}
	*recv = r;
	return QV_OK;
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
