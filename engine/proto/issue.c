/* SPDX-License-Identifier: BSD-2-Clause */
/* issue.c - the packets of each kind of send, and the queues of a peer. */
#include "internal.h"

#include <string.h>

static uint8_t wire_flags(const struct qv_tx *tx)
{
	return (uint8_t)((tx->flags & QV_REQ_TAGGED ? QV_WF_TAGGED : 0) |
			 (tx->flags & QV_REQ_COLL ? QV_WF_COLL : 0) |
			 (tx->flags & QV_REQ_DATA ? QV_WF_DATA : 0) |
			 (tx->wants_fin ? QV_WF_SREQ : 0));
}

/* The packets of an eager message from tx->pos on. */
static int issue_eager(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	char hdr[QV_WIRE_MAX_HDR];
	struct iovec part[QV_IOV_MAX];

	if (tx->pos == 0 && !qv_peer_has_credit(peer, qv_cost(tx->len)))
		return QV_EAGAIN;
	do {
		struct qv_wire_pkt pkt;
		size_t hdrlen, n, room;
		int rc;

		if (tx->pos == 0) {
			pkt = qv_packet_to(peer, QV_PKT_EAGER, tx->tag, wire_flags(tx));
			pkt.data = tx->data;
			pkt.sreq = tx->handle;
			pkt.total = tx->len;
		} else {
			pkt = qv_packet_to(peer, QV_PKT_DATA, tx->pos, 0);
		}
		hdrlen = qv_wire_write(hdr, &pkt);
		if (tx->pos == 0 && hdrlen + tx->len > peer->packet_max) {
			pkt.hdr.flags |= QV_WF_TOTAL;
			hdrlen = qv_wire_write(hdr, &pkt);
		}
		room = peer->packet_max - hdrlen;
		n = tx->len - tx->pos < room ? tx->len - tx->pos : room;
		rc = qv_emit(peer, hdr, hdrlen, part,
			     qv_iov_slice(tx->iov, tx->cnt, tx->pos, n, part), n, tx);
		if (rc)
			return rc;
		if (tx->pos == 0)
			peer->budget_used += qv_cost(tx->len);
		tx->pos += n;
	} while (tx->pos < tx->len);
	return QV_OK;
}

static int issue_rts(struct qv_tx *tx)
{
	char buf[QV_WIRE_MAX_HDR + QV_WIRE_MAX_SEGS * sizeof(struct qv_wire_seg)];
	struct qv_wire_pkt pkt = qv_packet_to(tx->peer, QV_PKT_RTS, tx->tag,
					      (uint8_t)(wire_flags(tx) | QV_WF_TOTAL));
	size_t len;
	int rc;

	if (!qv_peer_has_credit(tx->peer, qv_cost(0)))
		return QV_EAGAIN;
	pkt.data = tx->data;
	pkt.total = tx->len;
	pkt.sreq = tx->handle;
	len = qv_wire_write(buf, &pkt);
	for (size_t i = 0; i < tx->cnt && tx->regions[i].handle; i++) {
		struct qv_wire_seg seg = {tx->regions[i].addr, tx->regions[i].key,
					  tx->iov[i].iov_len};

		memcpy(buf + len, &seg, sizeof seg);
		len += sizeof seg;
	}
	rc = qv_emit(tx->peer, buf, len, NULL, 0, 0, tx);
	if (!rc)
		tx->peer->budget_used += qv_cost(0);
	return rc;
}

static int issue_segs(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	char hdr[QV_WIRE_MAX_HDR + sizeof(uint64_t)];
	struct iovec part[QV_IOV_MAX];

	while (tx->pos < tx->back) {
		bool wait = qv_stripe_takes(&peer->stripe, tx->want) && qv_stripe_give(tx);
		struct qv_wire_pkt pkt = qv_packet_to(peer, QV_PKT_SEG, tx->rreq, 0);
		uint64_t offset = tx->pos;
		size_t hdrlen = qv_wire_write(hdr, &pkt), n;
		int rc;

		if (tx->pos == tx->back)
			break;
		if (wait)
			return QV_EAGAIN;
		memcpy(hdr + hdrlen, &offset, sizeof offset);
		hdrlen += sizeof offset;
		n = peer->packet_max - hdrlen;
		if (n > tx->back - tx->pos)
			n = tx->back - tx->pos;
		rc = qv_emit(peer, hdr, hdrlen, part,
			     qv_iov_slice(tx->iov, tx->cnt, tx->pos, n, part), n, tx);
		if (rc)
			return rc;
		tx->pos += n;
	}
	return QV_OK;
}

/* A HELLO has no number. That it was lost is found out like the loss of what follows it. */
static int issue_control(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	struct qv_wire_hdr hdr;
	int rc;

	memcpy(&hdr, tx->packet, sizeof hdr);
	if (hdr.op != QV_PKT_HELLO)
		return qv_emit(peer, tx->packet, tx->pktlen, NULL, 0, 0, NULL);
	qv_wire_number(tx->packet, peer->sent, peer->got);
	rc = qv_emit_unnumbered(peer, tx->packet, tx->pktlen);
	if (rc == QV_EAGAIN || rc == QV_ENOMEM || (rc && !peer->x->drops))
		return rc;
	qv_peer_introduced(peer);
	return QV_OK;
}

/* Give the rest of a send to the transport: QV_OK, QV_EAGAIN (some may have gone), or a status. */
int qv_tx_issue(struct qv_tx *tx)
{
	switch (tx->kind) {
	case QV_TX_CTL: return issue_control(tx);
	case QV_TX_EAGER: return issue_eager(tx);
	case QV_TX_RTS: return issue_rts(tx);
	case QV_TX_SEGS: return issue_segs(tx);
	case QV_TX_BACKLOG: return qv_backlog_issue(tx);
	}
	return QV_EINVAL;
}

/* The first of a queue has gone, or has failed for good. */
static void leave_queue(struct qv_tx **head, struct qv_tx *tx, int rc)
{
	*head = tx->next;
	tx->queued = false;
	if (tx->kind == QV_TX_BACKLOG && rc) {
		qv_peer_mark_failed(tx->peer, qv_strerror(rc)); /* it misses a packet */
		qv_backlog_fail(tx, rc);
		return;
	}
	if (tx->kind == QV_TX_BACKLOG) {
		qv_backlog_free(tx);
		return;
	}
	qv_tx_unqueued(tx);
	qv_tx_issued(tx, rc);
}

/* Oldest first. False: the transport is full, or the peer has no room. */
static bool flush(struct qv_peer *peer, struct qv_tx **head)
{
	struct qv_tx *tx;

	while ((tx = *head) && !peer->failing && !peer->failed) {
		int rc = tx->status ? QV_OK : qv_tx_issue(tx); /* failed while it waited */

		if (rc == QV_EAGAIN || rc == QV_ENOMEM)
			return false;
		leave_queue(head, tx, rc);
	}
	return !*head;
}

/* What was lost goes first, then what the peer may wait for, then messages. */
void qv_peer_flush(struct qv_peer *peer)
{
	if (peer->resend && qv_peer_resend_some(peer))
		return;
	if (flush(peer, &peer->ctl_head) && !peer->starved)
		flush(peer, &peer->head);
}
