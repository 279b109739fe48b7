/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain.h - the way of plain messages, which most are: eager, in one packet, tagged, with no header
 * or one that says nothing more than tag, sender and completion data. Inline, so that who knows the
 * transport and the owner when it is compiled has all of its way in one piece.
 */
#ifndef QV_PROTO_PLAIN_H
#define QV_PROTO_PLAIN_H

#include "internal.h"

/* May one with no header go now? Not before another that waits, nor beyond what is surely free of
 * the receiver's budget. */
QV_INLINE bool qv_plain_may_go(const struct qv_peer *to, size_t len)
{
	return len < to->fast_end && qv_peer_is_fast(to) && to->headerless &&
	       to->budget_used + qv_cost(len) <= to->fast_limit;
}

/* A numbered message was given to the transport. */
QV_INLINE void qv_eager_gone(struct qv_peer *to, size_t len)
{
	to->budget_used += qv_cost(len);
	to->p->stats.eager++;
}

/* The same of one that bears no number. */
QV_INLINE void qv_plain_gone(struct qv_peer *to, size_t len)
{
	to->sent++;
	qv_eager_gone(to, len);
}

#endif /* QV_PROTO_PLAIN_H */
