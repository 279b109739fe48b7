/* SPDX-License-Identifier: BSD-2-Clause */
/* put.h - how every packet gets into a ring: room for it, its bytes, its word. */
#ifndef QV_NODE_PUT_H
#define QV_NODE_PUT_H

#include "engine/base/machine.h"
#include "engine/base/words.h"
#include "internal.h"

/* Lines that are about to be written, all at once. 1 KiB, 64 in flight over Open MPI: 1.03 to 1.09 times as many
 * go. Not for copies by `rep movsb`, which asks for lines itself. 4 KiB, the same: 0.71 times as many. */
QV_INLINE void qv_node_ask_for_lines(const char *body, size_t len)
{
	for (size_t i = 0; i < len; i += QV_RING_LINE)
		qv_prefetch_store(body + i);
}

/* Where a packet of len bytes goes: into its slot, or behind the slots. False: there is no room. */
QV_INLINE bool qv_node_place(struct qv_node *n, struct qv_ring_tx *tx, size_t len,
			     struct qv_node_room *room)
{
	uint32_t at;

	room->slot = qv_ring_slot(tx);
	if (QV_UNLIKELY(!room->slot))
		goto full;
	room->low = (uint32_t)len;
	room->body = room->slot->payload;
	if (QV_LIKELY(len <= QV_RING_INLINE))
		return true;
	at = qv_node_stage(n, tx, (uint32_t)len);
	if (QV_UNLIKELY(at == UINT32_MAX))
		goto full;
	memcpy(room->slot->payload, &at, sizeof at);
	room->low |= QV_SLOT_STAGED;
	room->body = tx->ring->stage + at;
	if (len < QV_COPY_LONG || !qv_moves_bytes_fast())
		qv_node_ask_for_lines(room->body, len);
	return true;
full:
	n->stats.full++;
	return false;
}

/* Of several packets in a row the lines of slots to come are asked for before they are written: where
 * processors are far apart, twice as many messages go. Not of a packet that answers one: the receiver
 * already looks at the next slot, and would have to get its line back. */
QV_INLINE void qv_node_look_ahead(struct qv_node_peer *peer, const struct qv_slot *slot)
{
	if (peer->tx.heard == peer->rx.got)
		qv_prefetch_store((const char *)(slot + QV_RING_AHEAD));
	else
		peer->tx.heard = peer->rx.got;
}

/* Its bytes are there: the receiver may see it, and is woken if it sleeps. */
QV_INLINE void qv_node_publish(struct qv_node *n, struct qv_node_peer *peer,
			       const struct qv_node_room *room, enum qv_slot_kind kind)
{
	qv_ring_publish(&peer->tx, room->slot, room->low | (uint32_t)kind << 16);
	qv_node_look_ahead(peer, room->slot);
	if (QV_UNLIKELY(!n->barrier))
		__sync_synchronize(); /* ThreadSanitizer refuses the other name of it */
	if (QV_UNLIKELY(qv_ring_must_wake(&peer->tx)))
		qv_node_wake(n, peer);
}

/* The short way of a plain tagged message. */

/* Who is at that address, if we have a ring to it that has a free slot, as far as we know. */
QV_INLINE struct qv_node_peer *qv_node_ready(const struct qv_node *n, uint64_t to)
{
	struct qv_node_peer *peer = QV_LIKELY(to < n->npeers) ? n->peers[to] : NULL;

	return QV_LIKELY(peer && peer->tx.ring && peer->tx.sent != peer->tx.end) ? peer : NULL;
}

/* To that peer. False: there is no room. */
QV_INLINE bool qv_node_put(struct qv_node *n, struct qv_node_peer *peer, enum qv_slot_kind kind,
			   uint64_t tag, uint64_t data, const void *buf, size_t len)
{
	struct qv_node_room room;

	if (QV_UNLIKELY(!qv_node_place(n, &peer->tx, len, &room)))
		return false;
	room.slot->tag = tag;
	room.slot->data = data;
	qv_ring_copy(room.body, buf, len);
	qv_node_publish(n, peer, &room, kind);
	return true;
}

/* The same of a word or two, into the slot that is free. */
QV_INLINE void qv_node_put_words(struct qv_node *n, struct qv_node_peer *peer,
				 enum qv_slot_kind kind, uint64_t tag, uint64_t data,
				 const void *buf, size_t len)
{
	const struct qv_node_room room = {.slot = &peer->tx.ring->slots[peer->tx.at],
					  .low = (uint32_t)len};

	room.slot->tag = tag;
	room.slot->data = data;
	qv_copy_words(room.slot->payload, buf, len);
	qv_node_publish(n, peer, &room, kind);
}

#endif /* QV_NODE_PUT_H */
