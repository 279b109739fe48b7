/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * take.h - how what lies in a ring gets to its owner. Inline, so that an owner that says here what a
 * plain message comes to has all of its way in one piece, from the ring to the completion.
 */
#ifndef QV_NODE_TAKE_H
#define QV_NODE_TAKE_H

#include "internal.h"

/* Packets of one sender in a poll. Few for a reader who waits for entries: who waits for the first of
 * many is not to wait until the last has come, and a poll that follows the sender closely is at each
 * slot as soon as it is written. The message rate over Open MPI, 64 in flight, far processors: with 4
 * 1.37 times vader's, with 16 1.21, with 64 0.99. */
#define QV_NODE_FEW   4u
#define QV_NODE_BATCH 64u

_Static_assert(QV_NODE_POLLS *QV_NODE_BATCH >= QV_RING_SLOTS, "so many polls take all of a ring");

/* As qv_node_ops.tagged_data. */
typedef int qv_node_plain_fn(void *owner, uint64_t from, uint64_t tag, uint64_t data,
			     const void *buf, size_t len);

/* poll.c: a packet of any kind. */
int qv_node_deliver(struct qv_node *n, struct qv_node_peer *peer, uint32_t low);
/* poll.c: the rings that are not hot, and connections, if it is their turn. True: there was something. */
bool qv_node_poll_rest(struct qv_node *n);
/* poll.c: what is done before that, if not qv_node_is_quiet. True: there was something. */
bool qv_node_poll_first(struct qv_node *n);

/* Is there nothing to do but to look at rings? */
QV_INLINE bool qv_node_is_quiet(const struct qv_node *n)
{
	return QV_LIKELY(!n->asleep && !n->done && !n->onesided.waiting && !n->onesided.stuck);
}

/* What most are is asked in one question: a plain tagged message with completion data, in its slot.
 * 0, or it stays where it is. */
QV_INLINE int qv_node_take(struct qv_node *n, struct qv_node_peer *peer, uint32_t low,
			   qv_node_plain_fn *plain)
{
	const struct qv_slot *slot = &peer->rx.ring->slots[peer->rx.at];
	const uint32_t len = low - (QV_SLOT_TAGGED_DATA << 16);
	int rc;

	if (QV_UNLIKELY(len > QV_RING_INLINE)) {
		rc = qv_node_deliver(n, peer, low);
		if (QV_LIKELY(!rc))
			qv_ring_advance(&peer->rx, low);
		return rc;
	}
	rc = plain(n->owner, peer->addr, qv_ring_word(&slot->tag), qv_ring_word(&slot->data),
		   slot->payload, len);
	if (QV_LIKELY(!rc))
		qv_ring_advance_slot(&peer->rx);
	return rc;
}

/* True: there was something. */
QV_INLINE bool qv_node_drain(struct qv_node *n, struct qv_node_peer *peer, unsigned batch,
			     qv_node_plain_fn *plain)
{
	uint32_t low;

	if (QV_LIKELY(!qv_ring_next(&peer->rx, &low)) || QV_UNLIKELY(peer->broken))
		return false;
	for (unsigned i = 0; i < batch; i++)
		if (QV_UNLIKELY(qv_node_take(n, peer, low, plain)) ||
		    !qv_ring_next(&peer->rx, &low))
			break;
	return !peer->broken;
}

/* As qv_node_poll, of at most so many packets of each sender. */
QV_INLINE bool qv_node_poll_as(struct qv_node *n, unsigned batch, qv_node_plain_fn *plain)
{
	bool some = qv_node_is_quiet(n) ? false : qv_node_poll_first(n);

	n->polls++;
	for (uint32_t i = 0; i < n->nhot; i++)
		some |= qv_node_drain(n, n->seats[i], batch, plain);
	/* One poll in some looks at the others even if something was found. */
	if (!some || QV_UNLIKELY(qv_seldom_due(&n->serve.clock, n->polls)))
		some |= qv_node_poll_rest(n);
	return some;
}

#endif /* QV_NODE_TAKE_H */
