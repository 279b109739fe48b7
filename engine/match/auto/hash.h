/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h - structure "auto": the two queues in HASH. */
#ifndef QV_AUTO_HASH_H
#define QV_AUTO_HASH_H

#include "auto.h"

/* The insertion of e into ix has looked at so many heads. */
QV_INLINE void qv_queue_met(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix,
			    uint32_t seen)
{
	q->rejected += seen;
	if (QV_UNLIKELY(seen > QV_BUCKET_MAX))
		qv_queue_rekey(a, q, ix);
}

QV_INLINE void qv_queue_insert(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix,
			       enum qv_side side, uint64_t *e)
{
	qv_queue_met(a, q, ix, qv_index_insert_at(ix, side, qv_index_slot_of(ix, side, e), e));
}

/* An entry has been put where it belongs, or is about to be. Returns its sequence number. */
QV_INLINE uint64_t qv_queue_joined(struct qv_queue *q)
{
	uint64_t seq = q->tail, n = seq + 1 - q->head;

	q->tail = seq + 1;
	if (QV_UNLIKELY(n > q->max))
		q->max = (uint32_t)n;
	return seq;
}

/* fill.c, posted.c: the posted queue in HASH. */

/* Index a list: choose the indexes. QV_ENOMEM: they must be dropped. */
int qv_posted_fill(struct qv_auto *a, struct qv_queue *q);
int qv_posted_insert(struct qv_auto *a, struct qv_queue *q, uint64_t *e);
/* Where a receive goes and is: NULL if its class has no index. */
struct qv_index *qv_posted_class(struct qv_queue *q, uint64_t ignore, uint32_t src);
void qv_posted_find(struct qv_queue *q, uint64_t tag, uint32_t src, struct qv_found *f);
/* Take f->e out of its index; the caller counts. */
void qv_posted_remove(struct qv_queue *q, const struct qv_found *f);

/* Whether ix, which is in use, is where such a receive goes. */
QV_INLINE int qv_posted_takes(const struct qv_index *ix, uint64_t ignore, uint32_t src)
{
	uint32_t named = 0u - (src < QV_SRC_ANY);

	return (((ignore ^ ~ix->keep) & (ix->keep | (uint64_t)(int64_t)ix->strict)) |
		((named ^ ix->src_keep) & (ix->src_keep | (uint32_t)ix->strict))) == 0;
}

/* For how many receives the table of one of several classes is made. An arrival looks into all of
 * them: what it has no use for should be in few of the buckets. */
QV_INLINE uint32_t qv_posted_room(uint32_t n)
{
	return (n <= QV_ROOMY_MAX ? 2 * n : n) + QV_TICK;
}

/* unexpected.c: the unexpected queue in HASH. */

/* Index a list, for receives (ignore, src). QV_ENOMEM: nothing has changed. */
int qv_unexpected_fill(struct qv_auto *a, struct qv_queue *q, uint64_t ignore, uint32_t src);
/* Into all indexes from number `from` on, and the list in order. */
void qv_unexpected_insert(struct qv_auto *a, struct qv_queue *q, uint64_t *e, int from);
void qv_unexpected_find(struct qv_auto *a, struct qv_queue *q, uint64_t tag, uint64_t ignore,
			uint32_t src, struct qv_found *f);
/* Take f->e out of all indexes; the caller counts. */
void qv_unexpected_remove(struct qv_queue *q, const struct qv_found *f);
/* Make room in ix for what is queued until the next tick. */
int qv_unexpected_fit(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix);
/* The first in the list in order that fits, or NULL. */
uint64_t *qv_order_find(struct qv_queue *q, uint64_t tag, uint64_t ignore, uint32_t src);

/* The list in order: a ring of the messages' links, closed by q->order. */

/* Whether receives without an index had better walk it, if it is there (order_is_on): that costs less
 * than an index while the queue is short. */
QV_INLINE int qv_order_is_worth_it(const struct qv_queue *q)
{
	uint32_t n = qv_queue_len(q);

	return n <= QV_SHORT || (q->policy.order_pays && n <= QV_ORDER_SELDOM);
}

QV_INLINE void qv_order_join(struct qv_queue *q, uint64_t *e)
{
	uint64_t *links = e + QV_MSG_ORDER, *newest = qv_entry(q->order[QV_OLDER]);

	links[QV_YOUNGER] = (uintptr_t)q->order;
	links[QV_OLDER] = (uintptr_t)newest;
	newest[QV_YOUNGER] = (uintptr_t)links;
	q->order[QV_OLDER] = (uintptr_t)links;
}

QV_INLINE void qv_order_leave(const uint64_t *e)
{
	const uint64_t *links = e + QV_MSG_ORDER;

	qv_entry(links[QV_YOUNGER])[QV_OLDER] = links[QV_OLDER];
	qv_entry(links[QV_OLDER])[QV_YOUNGER] = links[QV_YOUNGER];
}

#endif /* QV_AUTO_HASH_H */
