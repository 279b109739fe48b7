/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seq.c - numbers of packets: what has come, what is missing, what is sent again.
 *
 * Packets of one session are numbered from 1. The receiver takes the next one only; it tells with
 * each packet of its own how far it has come, by itself within a tick, and asks for what is
 * missing. The sender keeps what was not acknowledged (window.c), if its transport may lose
 * packets, and sends all of it again, in order. A transport that never should lose one ends the
 * peer instead.
 */
#include "internal.h"

#define AGAIN_MS 1000u /* what was sent again has so long to arrive */

/* Sends of which the transport had failed to deliver something: it has arrived all the same. */
static void settle_unsure(struct qv_peer *peer)
{
	struct qv_tx *tx = peer->txs;

	while (tx && peer->unsure) {
		struct qv_tx *next = tx->next_peer;

		if (tx->unsure && qv_tx_is_acked(tx)) {
			tx->unsure = false;
			peer->unsure--;
			qv_tx_check(tx, QV_OK);
		}
		tx = next;
	}
}

bool qv_peer_acked(struct qv_peer *peer)
{
	uint32_t more = (uint16_t)(peer->ack - (uint16_t)peer->acked);

	if (!more || more > peer->sent - peer->acked) /* nothing new, or nonsense */
		return false;
	peer->acked += more;
	qv_window_release(peer, peer->acked);
	if (peer->resend && (int32_t)(peer->acked - peer->resend) >= 0) {
		peer->resend = peer->acked == peer->sent ? 0 : peer->acked + 1;
		qv_peer_set_remote(peer);
	}
	if (peer->unsure)
		settle_unsure(peer);
	return true;
}

int qv_peer_send_now(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const void *body,
		     size_t len)
{
	struct qv_wire_pkt pkt = qv_packet_to(peer, op, arg, 0);
	char packet[QV_WIRE_MAX_CTL];
	size_t hdrlen = qv_wire_write(packet, &pkt);
	int rc;

	if (len)
		memcpy(packet + hdrlen, body, len);
	qv_wire_number(packet, peer->sent, peer->got);
	rc = qv_emit_unnumbered(peer, packet, hdrlen + len);
	if (rc && rc != QV_EAGAIN && rc != QV_ENOMEM && !peer->x->drops)
		qv_peer_mark_failed(peer, qv_strerror(rc));
	if (rc)
		return rc;
	peer->told = peer->got;
	peer->unacked = 0;
	return QV_OK;
}

/* At the next tick again, if the transport is full. */
void qv_peer_send_ack(struct qv_peer *peer)
{
	if (!peer->hello_sent || peer->failing || peer->failed)
		return;
	peer->ack_due = qv_peer_send_now(peer, QV_PKT_ACK, 0, NULL, 0) != QV_OK;
}

void qv_peer_out_of_order(struct qv_peer *peer, uint16_t seq)
{
	int16_t ahead = (int16_t)(seq - (uint16_t)peer->got);

	if (ahead <= 0) {
		peer->ack_due = true;
		return;
	}
	if (peer->asked || !peer->hello_sent || peer->failing || peer->failed)
		return;
	peer->asked = true;
	peer->p->stats.gaps++;
	qv_peer_send_now(peer, QV_PKT_ACK, QV_ACK_AGAIN, NULL, 0);
}

void qv_peer_on_ping(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (pkt->hdr.seq != (uint16_t)peer->got)
		qv_peer_out_of_order(peer, pkt->hdr.seq);
	else
		qv_peer_send_ack(peer);
}

void qv_peer_on_ack(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (pkt->hdr.seq != (uint16_t)peer->got)
		qv_peer_out_of_order(peer, pkt->hdr.seq);
	if (pkt->hdr.arg != QV_ACK_AGAIN || peer->sent == peer->acked)
		return;
	if (!peer->x->drops)
		qv_peer_fail(peer, "its transport has lost packets");
	else if (peer->p->now >= peer->resend_at)
		qv_peer_resend(peer);
}

void qv_peer_resend(struct qv_peer *peer)
{
	peer->cut = false;
	if (!peer->x->drops || peer->sent == peer->acked)
		return;
	peer->resend = peer->acked + 1;
	peer->resend_at = peer->p->now + AGAIN_MS;
	qv_peer_set_remote(peer);
	qv_peer_list(peer);
}

/* Not inline: each poll would have its registers to save. */
QV_NOINLINE int qv_peer_resend_some(struct qv_peer *peer)
{
	struct qv_chunk *chunk = NULL;
	struct qv_kept *kept = NULL;

	if (peer->resend)
		kept = qv_window_seek(&peer->window, peer->resend, &chunk);
	for (; kept; kept = qv_window_next(&chunk, kept)) {
		int rc = qv_emit_again(peer, kept, chunk);

		if (rc == QV_EAGAIN || rc == QV_ENOMEM)
			return rc;
		peer->p->stats.resent++;
		peer->resend++;
		if (rc) { /* the transport has failed again: at a later tick */
			peer->cut = true;
			break;
		}
	}
	peer->resend = 0;
	qv_peer_set_remote(peer);
	return QV_OK;
}
