/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_proto_close.c - the end of an endpoint: what was accepted still goes out, nothing stays
 * exposed. */
#include "proto/qv_proto_i.h"

static void refuse_message(struct qv_info *info)
{
	if (info->sreq && !qv_info_stale(info))
		qv_tx_fin(info->peer, info->sreq, QV_EPEER);
	info->sreq = 0;
}

/* Senders that wait for a receive of ours would wait for ever. */
static void refuse_unexpected(struct qv_match *engine)
{
	struct qv_msg *msg = NULL;

	while ((msg = qv_match_next_msg(engine, msg)))
		refuse_message(&QV_CONTAINER(msg, struct qv_unexp, node)->info);
}

/* Reads under way end first: their sender may not take its memory back before. */
static void refuse_in(struct qv_in *in)
{
	if (!in->status)
		in->status = QV_EPEER;
	if (in->reads == 0)
		refuse_message(&in->info);
}

void qv_proto_shutdown(struct qv_proto *p)
{
	p->closing = true;
	refuse_unexpected(p->match[0]);
	refuse_unexpected(p->match[1]);
	refuse_unexpected(p->match[QV_REQ_COLL]);
	for (struct qv_unexp *u = p->loose; u; u = u->next_loose)
		refuse_message(&u->info);
	for (struct qv_in *in = p->ins_head; in; in = in->next)
		refuse_in(in);
}

/* Who answers by another way than it is spoken to waits for us, too. */
bool qv_proto_peer_must_answer(const struct qv_peer *peer)
{
	return (peer->x->drops || peer->crossed) && !peer->failed && peer->hello_sent &&
	       !peer->leaving;
}

/*
 * A transport over TCP drops what it or the kernel still holds when it is closed, on either side.
 * So every peer is asked for an answer behind all that was sent; one that closes too needs none.
 */
void qv_proto_say_leaving(struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (qv_proto_peer_must_answer(peer) &&
		    !qv_tx_control(peer, QV_PKT_PING, QV_PING_LEAVING, NULL, 0))
			peer->asked = true;
	}
}

bool qv_proto_may_leave(const struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		const struct qv_peer *peer = p->peers[i];

		if (qv_proto_peer_must_answer(peer))
			return false;
	}
	return true;
}

void qv_peer_on_ping(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (pkt->hdr.arg == QV_PING_MEET)
		qv_peer_on_question(peer);
	if (pkt->hdr.arg != QV_PING_LEAVING)
		return; /* that it came is all */
	peer->leaving = true;
	if (!peer->asked) /* else that tells it as much, and it may be gone by now */
		qv_tx_control(peer, QV_PKT_PONG, 0, NULL, 0);
}

void qv_peer_on_pong(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (pkt->hdr.arg != QV_PING_MEET)
		peer->leaving = true;
	else if (peer->asking)
		qv_peer_met(peer, QV_OK);
}

/* Sends that nobody will answer any more: their memory is not to be read from now on. */
void qv_proto_abandon(struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->tx_handles.count; i++) {
		struct qv_tx *tx = p->tx_handles.slots[i].object;

		if (tx)
			qv_tx_conceal(tx);
	}
}
