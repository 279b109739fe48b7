/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * post.c - packets of one-sided operations. An answer never waits for room in a ring: who waited
 * there would not read what the other side waits to send.
 */
#include "put.h"

#include <stdlib.h>

int qv_node_room(struct qv_node *n, struct qv_node_peer *peer, size_t len,
		 struct qv_node_room *room)
{
	int rc = peer->tx.ring ? QV_OK : qv_node_connect(n, peer);

	if (!rc && !qv_node_place(n, &peer->tx, len, room))
		rc = QV_EAGAIN;
	return rc;
}

bool qv_node_room_for(struct qv_node *n, struct qv_node_peer *peer, unsigned packets, size_t bytes)
{
	const uint32_t heads = packets * (uint32_t)(sizeof(struct qv_ask) + QV_RING_LINE);
	const uint32_t need = (uint32_t)bytes + heads;
	struct qv_ring_tx *tx = &peer->tx;

	if (!tx->ring && qv_node_connect(n, peer))
		return false;
	qv_ring_refresh(tx);
	/* As much again may be skipped at the end of the staging area, and something where it grows. That
	 * and what a receiver may have read and not told (QV_RING_TELL_BYTES and a packet skipped) fit. */
	return tx->end - tx->sent >= packets &&
	       tx->put - tx->freed + 2 * need + QV_RING_STAGE_FIRST <=
		       (tx->stage == QV_RING_STAGE_FIRST ? QV_RING_STAGE : tx->stage);
}

void qv_node_post(struct qv_node *n, struct qv_node_peer *peer, const struct qv_node_room *room,
		  enum qv_slot_kind kind, uint64_t tag, uint64_t data)
{
	room->slot->tag = tag;
	room->slot->data = data;
	qv_node_publish(n, peer, room, kind);
}

/* Answers that wait. */

struct qv_node_answer {
	struct qv_node_answer *next;
	enum qv_slot_kind kind;
	uint64_t tag, data;
	size_t len;
	char body[];
};

int qv_node_get_room(struct qv_node *n, struct qv_node_peer *peer, size_t len,
		     struct qv_node_answer_room *room)
{
	struct qv_node_answer *a;

	room->later = NULL;
	if (!peer->answers.first && !qv_node_room(n, peer, len, &room->packet)) {
		room->body = room->packet.body;
		return QV_OK;
	}
	if (peer->answers.count >= 2 * QV_NODE_ASKED)
		return QV_EPROTO;
	a = malloc(sizeof *a + len);
	if (!a)
		return QV_ENOMEM;
	a->len = len;
	room->later = a;
	room->body = a->body;
	return QV_OK;
}

void qv_node_answer(struct qv_node *n, struct qv_node_peer *peer,
		    const struct qv_node_answer_room *room, enum qv_slot_kind kind, uint64_t tag,
		    uint64_t data)
{
	struct qv_node_answers *answers = &peer->answers;
	struct qv_node_answer *a = room->later;

	if (!a) {
		qv_node_post(n, peer, &room->packet, kind, tag, data);
		return;
	}
	a->next = NULL;
	a->kind = kind;
	a->tag = tag;
	a->data = data;
	if (!answers->first) {
		answers->last = &answers->first;
		answers->next = n->onesided.waiting;
		n->onesided.waiting = peer;
	}
	*answers->last = a;
	answers->last = &a->next;
	answers->count++;
}

static void drop_first(struct qv_node_answers *answers)
{
	struct qv_node_answer *a = answers->first;

	answers->first = a->next;
	answers->count--;
	free(a);
}

/* True: it has got all, or will never. */
static bool pay(struct qv_node *n, struct qv_node_peer *peer)
{
	struct qv_node_room room;

	while (peer->answers.first) {
		const struct qv_node_answer *a = peer->answers.first;
		int rc = qv_node_room(n, peer, a->len, &room);

		if (rc == QV_EAGAIN || rc == QV_ENOMEM)
			return false;
		if (!rc) {
			if (a->len)
				memcpy(room.body, a->body, a->len);
			qv_node_post(n, peer, &room, a->kind, a->tag, a->data);
		}
		drop_first(&peer->answers);
	}
	return true;
}

void qv_node_pay(struct qv_node *n)
{
	struct qv_node_peer **at = &n->onesided.waiting;

	while (*at) {
		struct qv_node_peer *peer = *at;

		if (pay(n, peer))
			*at = peer->answers.next;
		else
			at = &peer->answers.next;
	}
}

void qv_node_unblock(struct qv_node *n)
{
	qv_node_pay(n);
	qv_node_calls_go_on(n);
}

void qv_node_answers_free(struct qv_node *n, struct qv_node_peer *peer)
{
	struct qv_node_peer **at = &n->onesided.waiting;

	if (!peer->answers.first)
		return;
	while (*at != peer)
		at = &(*at)->answers.next;
	*at = peer->answers.next;
	while (peer->answers.first)
		drop_first(&peer->answers);
}
