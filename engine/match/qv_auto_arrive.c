/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto_arrive.c - structure "auto": a message arrives. */
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

/* LIST: what a walk finds. What costs more is far. */
QV_INLINE enum qv_short arrive_list(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv)
{
	uint32_t n = qv_line_len(q), pos = 0;
	struct qv_recv *r;

	if (qv_unlikely(qv_line_in_debt(q)))
		return QV_SHORT_FAR;
	for (; pos < n; pos++) {
		if (recv_fits(qv_line_at(q, pos), tag, src))
			break;
		if (qv_unlikely(pos == QV_WALK_MAX))
			return QV_SHORT_FAR;
	}
	if (pos == n) {
		qv_line_walked(q, pos);
		return QV_SHORT_MISS;
	}
	r = qv_recv_of(qv_line_at(q, pos));
	if (qv_unlikely(r->flags & QV_RECV_STICKY))
		return QV_SHORT_FAR;
	qv_line_walked(q, pos);
	qv_ring_take(q, pos);
	*recv = r;
	return QV_SHORT_HIT;
}

/* The receive at e, the head that *link points to in ix, is the answer. */
QV_INLINE enum qv_short arrive_head(struct qv_line *q, struct qv_index *ix, uint64_t *link,
				    uint64_t *e, struct qv_recv **recv)
{
	qv_index_pop(ix, QV_POSTED, link, e);
	ix->live--; /* of no meaning if it is the only one */
	*recv = qv_recv_of(e);
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

/* Several classes. Mostly no more than one has anything in the key's bucket: no branch asks which.
 */
QV_INLINE enum qv_short arrive_classes(struct qv_line *q, uint64_t tag, uint32_t src,
				       struct qv_recv **recv)
{
	uint64_t src_hash = src * QV_MUL_SRC;
	uintptr_t word = 0, link = 0, owner = 0;
	uint32_t buckets = 0;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return QV_SHORT_FAR;
	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];
		uint64_t keep = (uint64_t)(int32_t)ix->src_keep;
		uint64_t hash = (tag & ix->keep) * QV_MUL_TAG + (src_hash & keep);
		uint64_t *slot = ix->slots + (hash >> ix->shift);
		uintptr_t used = 0 - (uintptr_t)(*slot != 0);

		word |= *slot;
		link |= (uintptr_t)slot & used;
		owner |= (uintptr_t)ix & used;
		buckets -= (uint32_t)used;
	}
	if (!buckets)
		return QV_SHORT_MISS;
	if (qv_unlikely(buckets > 1 || !recv_takes(qv_entry(word), tag, src)))
		return QV_SHORT_FAR;
	return arrive_head(q, (struct qv_index *)owner, qv_entry(link), qv_entry(word), recv);
}

/* The same for two. */
QV_INLINE enum qv_short arrive_pair(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv)
{
	struct qv_index *first = q->in_use[0], *second = q->in_use[1];
	uint64_t *slot1 = qv_index_weak_slot(first, tag, src);
	uint64_t *slot2 = qv_index_weak_slot(second, tag, src);
	uintptr_t is_second = 0 - (uintptr_t)(*slot1 == 0);
	uintptr_t ix = (uintptr_t)first ^ (((uintptr_t)first ^ (uintptr_t)second) & is_second);
	uintptr_t link = (uintptr_t)slot1 ^ (((uintptr_t)slot1 ^ (uintptr_t)slot2) & is_second);
	uint64_t word = *slot1 | *slot2;

	if (!word)
		return QV_SHORT_MISS;
	if (qv_unlikely(*slot2 & ~is_second) || /* both */
	    qv_unlikely(!recv_takes(qv_entry(word), tag, src)))
		return QV_SHORT_FAR;
	return arrive_head(q, (struct qv_index *)ix, qv_entry(link), qv_entry(word), recv);
}

/* One index. */
QV_INLINE enum qv_short arrive_wide(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv)
{
	struct qv_index *ix = q->only;
	uint64_t *link = qv_index_weak_slot(ix, tag, src), *e;

	for (; (e = qv_entry(*link)); link = &e[QV_RECV_LINKS + QV_BUCKET]) {
		if (qv_likely(recv_takes(e, tag, src)))
			return arrive_head(q, ix, link, e, recv);
		if (q->wide || qv_index_same(ix, QV_POSTED, e, tag, src))
			return QV_SHORT_FAR;
		q->rejected++;
	}
	return QV_SHORT_MISS;
}

/* Apart from each other, so that each saves the registers only that it needs. */
QV_INLINE struct qv_recv *arrive_end(struct qv_auto *a, uint64_t tag, uint32_t src,
				     enum qv_short end, struct qv_recv *r)
{
	switch (end) {
	case QV_SHORT_HIT: return r;
	case QV_SHORT_LAST: return qv_auto_arrive_last(a, r);
	case QV_SHORT_MISS: return arrive_missed(a);
	default: return qv_auto_arrive_other(a, tag, src);
	}
}

static QV_APART struct qv_recv *arrive_in_list(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_list(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_wide(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_wide(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_classes(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_classes(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_pair(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_pair(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

struct qv_recv *qv_auto_arrive_search(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	switch (a->posted.way) {
	case QV_WAY_LIST: return arrive_in_list(a, tag, src);
	case QV_WAY_PAIR: return arrive_in_pair(a, tag, src);
	case QV_WAY_MANY: return arrive_in_classes(a, tag, src);
	default: return arrive_in_wide(a, tag, src);
	}
}

/* And is queued if none takes it. A miss is counted as soon as it is known that the call succeeds.
 */

static QV_APART int deliver_other(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = qv_auto_arrive_other(a, msg->tag, msg->src);

	if (!r) {
		a->base.stats.arrived--;
		return qv_auto_deliver_append(a, msg, recv);
	}
	*recv = r;
	return QV_OK;
}

QV_INLINE int deliver_end(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv,
			  enum qv_short end, struct qv_recv *r)
{
	switch (end) {
	case QV_SHORT_HIT: *recv = r; return QV_OK;
	case QV_SHORT_LAST: *recv = r; return qv_auto_deliver_last(a);
	case QV_SHORT_MISS: return qv_auto_deliver_append(a, msg, recv);
	default: return deliver_other(a, msg, recv);
	}
}

static QV_APART int deliver_in_list(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_list(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_wide(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_wide(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_classes(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_classes(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_pair(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_pair(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

int qv_auto_deliver_search(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	switch (a->posted.way) {
	case QV_WAY_LIST: return deliver_in_list(a, msg, recv);
	case QV_WAY_PAIR: return deliver_in_pair(a, msg, recv);
	case QV_WAY_MANY: return deliver_in_classes(a, msg, recv);
	default: return deliver_in_wide(a, msg, recv);
	}
}
