/* SPDX-License-Identifier: BSD-2-Clause */
/* insert.h - structure "auto": entries go into an index, one by one or a queue at once. */
#ifndef QV_AUTO_INSERT_H
#define QV_AUTO_INSERT_H

#include "auto.h"

/* The insertion of e has looked at so many heads. */
QV_INLINE void qv_line_met(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, uint64_t *e,
			   uint32_t seen)
{
	int joined;

	if (qv_likely(!seen))
		return;
	joined = qv_links(ix, q->side, e)[QV_PEER] != (uintptr_t)e;
	ix->beside += seen > (uint32_t)joined && ix->beside < UINT16_MAX;
	q->rejected += seen;
	if (qv_unlikely(seen > QV_BUCKET_MAX))
		qv_line_harden(a, q, ix);
}

/*
 * Where an entry with this key goes, in a bucket of ix that is not empty: behind the one entry that
 * is there, if that has another key. NULL if it takes longer; nothing has changed.
 */
QV_INLINE uint64_t *qv_line_beside(struct qv_line *q, struct qv_index *ix, enum qv_side side,
				   const uint64_t *slot, uint64_t tag, uint32_t src)
{
	uint64_t *head = qv_entry(*slot), *end = &qv_links(ix, side, head)[QV_BUCKET];

	if (*end != 0 || qv_index_same(ix, side, head, tag, src))
		return NULL;
	ix->beside += ix->beside < UINT16_MAX;
	q->rejected++;
	return end;
}

QV_INLINE void qv_line_insert(struct qv_auto *a, struct qv_line *q, struct qv_index *ix,
			      enum qv_side side, uint64_t *e)
{
	uint64_t *slot = qv_index_slot_of(ix, side, e);

	qv_line_met(a, q, ix, e, qv_index_insert_at(ix, side, slot, e));
}

/* Entries that are hashed and prefetched together when a queue is indexed. */
#define QV_BATCH 16

struct qv_batch {
	uint64_t *const *e; /* in the ring, one after the other */
	uint64_t *slot[QV_BATCH];
	uint32_t n;
};

/* The batch of a list that begins with sequence number at, and its entries. */
QV_INLINE void qv_batch_take(struct qv_batch *b, const struct qv_line *q, uint64_t at)
{
	uint32_t place = at & q->ring_mask, run = q->ring_mask + 1 - place;
	uint64_t left = q->tail - at;

	b->e = (uint64_t *const *)q->ring + place;
	b->n = left < QV_BATCH ? (uint32_t)left : QV_BATCH;
	if (b->n > run)
		b->n = run;
}

/* The slots of entries that are far from each other in a table with the keyed hash. */
static QV_COLD void qv_batch_strong_slots(struct qv_batch *b, const struct qv_index *ix,
					  enum qv_side side)
{
	for (uint32_t i = 0; i < b->n; i++)
		b->slot[i] = qv_index_slot_of(ix, side, b->e[i]);
}

/*
 * LIST, about to be indexed: number the entries from sequence number `at` on, find and fetch their
 * slots in ix, and fetch the entries of the batch that follows. Posted: not 0 if one is of another
 * class.
 */
QV_INLINE uint64_t qv_batch_begin(struct qv_batch *b, const struct qv_line *q,
				  const struct qv_index *ix, enum qv_side side, uint64_t at)
{
	const struct qv_index now = *ix; /* no store to an entry can change it */
	const uint64_t ignore = ~now.keep;
	uint64_t others = 0, any = 0;
	struct qv_batch next;

	qv_batch_take(b, q, at);
	qv_batch_take(&next, q, at + b->n);
	if (next.n < QV_BATCH)
		next.e = b->e; /* the last ones are not fetched ahead */
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t *e = b->e[i];

		__builtin_prefetch(next.e[i], 1);
		b->slot[i] = qv_index_weak_slot_of(&now, side, e);
		__builtin_prefetch(b->slot[i], 1);
		if (side == QV_POSTED) {
			others |= qv_recv_of(e)->ignore ^ ignore;
			any += qv_recv_of(e)->src == QV_SRC_ANY;
		}
		e[QV_SEQ] = at + i;
	}
	if (qv_unlikely(now.strong))
		qv_batch_strong_slots(b, ix, side);
	return others | (any ^ (now.src_keep ? 0 : b->n));
}

#endif /* QV_AUTO_INSERT_H */
