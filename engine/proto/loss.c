/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.c - the end of a session, or of the other endpoint, and what is then given up.
 *
 * A peer that cannot be reached or whose process has died is marked as failing first: what it sent
 * before may still be in the transport, the FIN of a message that it has received among it. It has
 * failed when nothing more comes.
 */
#include "internal.h"

#include <stdio.h>

static void fail_queue(struct qv_tx **head)
{
	while (*head) {
		struct qv_tx *tx = *head;

		*head = tx->next;
		tx->queued = false;
		if (tx->kind == QV_TX_BACKLOG) {
			qv_backlog_fail(tx, QV_EPEER);
			continue;
		}
		qv_tx_unqueued(tx);
		if (tx->reported && !tx->inflight) /* it waited only to be taken out */
			qv_tx_fail(tx, QV_EPEER);
	}
}

/* The peer has it, has said so, and has then closed, by another way than that on which the transport
 * has not yet said so. */
static bool has_arrived(const struct qv_tx *tx)
{
	return tx->inflight && !tx->status && !tx->wants_fin && qv_tx_is_acked(tx) &&
	       !tx->peer->failed && !qv_peer_loses_transfers(tx->peer);
}

/* Sends in the queue, in the transport, waiting for FIN, CTS or an acknowledgement. */
static void fail_sends(struct qv_peer *peer)
{
	struct qv_tx *tx;

	fail_queue(&peer->ctl_head);
	fail_queue(&peer->head);
	peer->unsure = 0;
	tx = peer->txs;
	while (tx) {
		struct qv_tx *next = tx->next_peer;

		tx->unsure = false;
		if ((!tx->reported || !tx->inflight) && !has_arrived(tx))
			qv_tx_fail(tx, QV_EPEER);
		tx = next;
	}
}

void qv_peer_forget(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;
	struct qv_unexp *u = peer->open_unexp;
	struct qv_in *in = p->ins_head;

	peer->epoch++;
	peer->consumed = peer->stored = 0;
	qv_peer_fed(peer);
	while (in) {
		struct qv_in *next = in->next;

		if (in->info.peer == peer)
			qv_in_fail(in, QV_EPEER);
		in = next;
	}
	peer->open_unexp = NULL;
	if (!u)
		return;
	qv_unexp_lose(p, u);
	if (u->discard)
		qv_unexp_drop(p, u);
}

void qv_peer_give_up(struct qv_peer *peer)
{
	fail_sends(peer);
	qv_peer_forget(peer);
	qv_calls_fail(peer);
	qv_rx_fail_all(peer);
}

static void warn(struct qv_peer *peer, const char *why)
{
	char text[240];

	snprintf(text, sizeof text,
		 "peer lost (address %lld, process %u): %s; %u requests fail, %u packets were not "
		 "acknowledged",
		 (long long)peer->user, peer->proc.pid, why, peer->outstanding,
		 peer->sent - peer->acked);
	peer->p->ops->warn(peer->p->owner, text);
}

/* Is there a message among what was not acknowledged? */
static bool may_have_lost(const struct qv_peer *peer)
{
	if (peer->x->drops)
		return qv_window_has_messages(&peer->window);
	return peer->mute_end != peer->sent || peer->mute < peer->sent - peer->acked;
}

/* Sends that were complete when their packets had left us are lost without an entry
 * of their own. */
static void note_lost(struct qv_peer *peer)
{
	qv_peer_acked(peer);
	if (peer->sent != peer->acked && may_have_lost(peer))
		peer->untold = true;
}

/* Who has failed may live all the same, and the transport give back what it was asked for. */
void qv_peer_look_for_failed(struct qv_peer *peer)
{
	uint64_t silent;

	if (!peer->x->no_flush || peer->gone)
		return;
	peer->gone = !qv_proc_alive(&peer->p->self, &peer->proc) ||
		     (peer->x->ops->presence &&
		      peer->x->ops->presence(peer->x, peer->addr, &silent) == QV_GONE);
}

void qv_peer_fail(struct qv_peer *peer, const char *why)
{
	if (peer->failed)
		return;
	warn(peer, why);
	note_lost(peer);
	if (peer->hello_sent && !peer->failing) /* it may live, and hear of it */
		qv_peer_send_reset(peer, peer->theirs);
	peer->failed = true;
	peer->failed_at = peer->p->now;
	peer->failing = NULL;
	qv_peer_set_remote(peer);
	qv_peer_look_for_failed(peer);
	qv_peer_give_up(peer);
	qv_window_clear(peer);
	peer->sent = peer->acked;
}

void qv_peer_end_session(struct qv_peer *peer, const char *why)
{
	note_lost(peer);
	if (qv_peer_is_waiting(peer) && !peer->leaving)
		warn(peer, why);
	peer->failing = NULL;
	peer->connected = false; /* nothing more is sent in it */
	qv_peer_give_up(peer);
	qv_peer_begin_session(peer);
}

void qv_peer_mark_failed(struct qv_peer *peer, const char *why)
{
	if (peer->failed || peer->failing)
		return;
	peer->failing = why;
	peer->failing_since = 0;
	qv_peer_set_remote(peer); /* no fast sends any more */
}

/* Who has sent this is not told, or is the peer itself: at the address to which we speak, or at that
 * from which its HELLO came. */
static bool may_be_from(const struct qv_peer *peer, const struct qv_xport *x, uint64_t from)
{
	return from == QV_FROM_UNKNOWN || x->guesses_from || (x == peer->x && from == peer->addr) ||
	       (x == peer->over && from == peer->from);
}

/* Numbers of sessions are easy to guess for who has one: it is the sender that counts. */
void qv_peer_on_reset(struct qv_proto *p, const struct qv_xport *x, const struct qv_wire_pkt *pkt,
		      uint64_t from)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (!peer || peer->session != (uint32_t)pkt->hdr.arg || peer->failed ||
		    !peer->hello_sent)
			continue;
		if (!may_be_from(peer, x, from)) {
			qv_refuse(p, "RESET by another than who may end the session");
			return;
		}
		if (pkt->hdr.arg & QV_RESET_LOST)
			peer->untold = true;
		else if (pkt->hdr.arg & QV_RESET_ACKS)
			peer->ack = pkt->hdr.ack; /* taken when the session ends */
		qv_peer_end_session(peer, "it has closed, or was restarted, or has given us up");
		return;
	}
}
