/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_auto_path.h - structure "auto": what the calls of the data path share.
 *
 * What most traffic does is short and calls nothing: an empty queue, the head of a list, an append
 * to a list. Everything else leaves by a tail call, so that the short way saves no registers.
 */
#ifndef QV_AUTO_PATH_H
#define QV_AUTO_PATH_H

#include "match/qv_auto.h"

QV_INLINE int recv_fits(const uint64_t *e, uint64_t tag, uint32_t src)
{
	const struct qv_recv *r = qv_recv_of(e);

	return qv_accepts(r->tag, r->ignore, r->src, tag, src);
}

QV_INLINE int msg_fits(const uint64_t *e, uint64_t tag, uint64_t ignore, uint32_t src)
{
	const struct qv_msg *msg = qv_msg_of(e);

	return qv_accepts(tag, ignore, src, msg->tag, msg->src);
}

/* An entry has been put where it belongs. */
QV_INLINE void joined(struct qv_line *q)
{
	uint32_t n = ++q->tail - q->head;

	q->seq++;
	if (qv_unlikely(n > q->max))
		q->max = n;
}

QV_INLINE void list_append(struct qv_line *q, uint64_t *e)
{
	e[QV_SEQ] = q->seq;
	q->ring[q->tail & q->ring_mask] = e;
}

QV_INLINE int tick_is_due(const struct qv_line *q)
{
	return q->seq % QV_TICK == QV_TICK - 1;
}

/* What walking so far has cost. A change of the position is a misprediction. */
QV_INLINE void walked(struct qv_line *q, uint32_t steps)
{
	q->rejected += steps;
	q->debt += steps + (steps != q->last) * 8;
	q->last = steps;
}

/*
 * Walk the list of receives from behind the head on, which did not fit. Returns the position, or
 * the length if none fits.
 */
QV_INLINE uint32_t walk_recvs(struct qv_line *q, uint64_t tag, uint32_t src)
{
	uint32_t n = qv_line_len(q), i = 1;

	while (i < n && !recv_fits(qv_line_at(q, i), tag, src))
		i++;
	walked(q, i);
	return i;
}

/* The same for the list of messages. */
QV_INLINE uint32_t walk_msgs(struct qv_line *q, uint64_t tag, uint64_t ignore, uint32_t src)
{
	uint32_t n = qv_line_len(q), i = 1;

	while (i < n && !msg_fits(qv_line_at(q, i), tag, ignore, src))
		i++;
	walked(q, i);
	return i;
}

#endif /* QV_AUTO_PATH_H */
