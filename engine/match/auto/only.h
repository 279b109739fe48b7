/* SPDX-License-Identifier: BSD-2-Clause */
/* only.h - structure "auto": an entry joins a queue; the only index, as copied
 * in a line. */
#ifndef QV_AUTO_ONLY_H
#define QV_AUTO_ONLY_H

#include "hash.h"

/* An entry has been put where it belongs, or is about to be. Returns its sequence number. */
QV_INLINE uint64_t joined(struct qv_line *q)
{
	uint64_t seq = q->tail, n = seq + 1 - q->head;

	q->tail = seq + 1;
	if (qv_unlikely(n > q->max))
		q->max = (uint32_t)n;
	return seq;
}

QV_INLINE void list_append(struct qv_line *q, uint64_t *e)
{
	q->ring[q->tail & q->ring_mask] = e;
	joined(q);
}

QV_INLINE int tick_is_due(const struct qv_line *q)
{
	return (q->tail + 1) % QV_TICK == 0;
}

QV_INLINE uint64_t *only_slot(const struct qv_line *q, uint64_t tag, uint32_t src)
{
	uint64_t hash = (tag & q->keep) * QV_MUL_TAG + src * QV_MUL_SRC;

	return q->slots + (hash >> q->shift);
}

QV_INLINE int only_is_class(const struct qv_line *q, uint64_t ignore, uint32_t src)
{
	return ignore == q->ignore && src != QV_SRC_ANY;
}

/* e gets the empty slot of an index. */
QV_INLINE void fill_slot(struct qv_line *q, uint64_t *slot, uint64_t *e, uint64_t *links)
{
	e[QV_SEQ] = joined(q);
	qv_index_fill_links(slot, e, links);
}

/* Whether entry e has this key, in the only index. */
QV_INLINE int only_same(const struct qv_line *q, enum qv_side side, const uint64_t *e, uint64_t tag,
			uint32_t src)
{
	return (((qv_key_tag(side, e) ^ tag) & q->keep) | (qv_key_src(side, e) ^ src)) == 0;
}

#endif /* QV_AUTO_ONLY_H */
