/* SPDX-License-Identifier: BSD-2-Clause */
/* close.c - the end of an endpoint: what was accepted still goes out, nothing stays
 * registered. */
#include "internal.h"

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
	if (in->whole) /* all of it is here, and only its sender does not know */
		return;
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
	for (struct qv_unexp *u = p->detached; u; u = u->next_detached)
		refuse_message(&u->info);
	for (struct qv_in *in = p->ins_head; in; in = in->next)
		refuse_in(in);
}

/* What a transport holds when it is closed may be lost, so the peer is to confirm all of it first.
 * Who closes too does not care. */
bool qv_proto_peer_must_answer(const struct qv_peer *peer)
{
	return (peer->x->drops || qv_peer_is_asymmetric(peer)) && !peer->failed &&
	       peer->hello_sent && !peer->leaving &&
	       (peer->sent != peer->acked || peer->head || peer->ctl_head || peer->stripe.waiting);
}

void qv_proto_send_leave(struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peers[i] && p->peers[i]->hello_sent && p->peers[i]->x->drops)
			qv_tx_control(p->peers[i], QV_PKT_LEAVE, 0, NULL, 0);
}

bool qv_proto_may_leave(const struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (!peer)
			continue;
		qv_peer_acked(peer);
		if (qv_proto_peer_must_answer(peer))
			return false;
	}
	return true;
}

/* It waits for this answer, and may be gone right behind it. */
void qv_peer_on_leave(struct qv_peer *peer)
{
	peer->leaving = true;
	peer->ack_due = true;
}

/* Some transports reach into memory of endpoints that were closed in their own process. */
static bool may_tell(const struct qv_peer *peer)
{
	return peer->x->drops || !qv_peer_is_own(peer);
}

void qv_proto_leave(struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (peer && peer->connected && !peer->failed && !peer->failing && may_tell(peer) &&
		    (!peer->leaving || peer->turned_away))
			qv_peer_send_reset(peer, peer->theirs);
	}
}

void qv_proto_gone(struct qv_proto *p, const struct qv_proto *closed)
{
	struct qv_peer *peer = qv_peer_by_uid(p, closed->uid);

	if (peer && !peer->failed && !may_tell(peer))
		qv_peer_end_session(peer, "it has closed, in this process");
}

/* Sends that nobody will answer any more: their memory is not to be read from now on. */
void qv_proto_abandon(struct qv_proto *p)
{
	for (uint32_t i = 0; i < p->tx_handles.count; i++) {
		struct qv_tx *tx = p->tx_handles.slots[i].object;

		if (tx)
			qv_tx_deregister(tx);
	}
}
