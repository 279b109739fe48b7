/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_proto_emit.c - packets of one send to the transport, and the peer's queue when it is full. */
#include "proto/qv_proto_i.h"

#include <stdlib.h>
#include <string.h>

#define PACK_MAX 4096u /* injected packets are put together on the stack up to this size */

/* Has all of it come there? */
static bool is_acked(const struct qv_tx *tx)
{
	return tx->issued && (int32_t)(tx->peer->acked - tx->last) >= 0;
}

static void flight_done(struct qv_xfer *xfer, int status)
{
	struct qv_flight *f = QV_CONTAINER(xfer, struct qv_flight, xfer);
	struct qv_peer *peer = f->peer;
	struct qv_tx *tx = f->owner;
	bool ours = f->session == peer->session && !peer->failed, kept = f->chunk != NULL;

	free(f->bounce);
	if (kept)
		qv_chunk_drop(f->p, f->chunk);
	qv_pool_put(&f->p->flights, f);
	peer->flying--;
	if (status && ours && peer->x->drops)
		peer->cut = true;
	if (tx) {
		tx->inflight--;
		if (status && kept && ours && !tx->unsure && !is_acked(tx)) {
			tx->unsure = true; /* it is sent again */
			peer->unsure++;
		}
		qv_tx_check(tx, kept ? QV_OK : status);
	}
	if (status && ours && !peer->x->drops)
		qv_peer_doom(peer, qv_strerror(status));
}

/* header + pieces into one buffer */
static size_t pack(char *buf, const void *hdr, size_t hdrlen, const struct iovec *iov, size_t cnt)
{
	memcpy(buf, hdr, hdrlen);
	qv_iov_get(iov, cnt, buf + hdrlen);
	return hdrlen + qv_iov_len(iov, cnt);
}

static size_t prepend(struct iovec *out, const void *hdr, size_t hdrlen, const struct iovec *iov,
		      size_t cnt)
{
	out[0].iov_base = (void *)(uintptr_t)hdr;
	out[0].iov_len = hdrlen;
	for (size_t i = 0; i < cnt; i++)
		out[i + 1] = iov[i];
	return cnt + 1;
}

static int emit_inject(struct qv_peer *peer, const void *hdr, size_t hdrlen,
		       const struct iovec *iov, size_t cnt, size_t len)
{
	struct qv_xport *x = peer->x;
	struct iovec out[QV_IOV_MAX + 1];
	char buf[PACK_MAX];

	if (len <= 256 || cnt + 1 > x->inject_iov) {
		out[0].iov_base = buf;
		out[0].iov_len = pack(buf, hdr, hdrlen, iov, cnt);
		return x->ops->inject(x, peer->addr, out, 1);
	}
	return x->ops->inject(x, peer->addr, out, prepend(out, hdr, hdrlen, iov, cnt));
}

static struct qv_flight *flight_new(struct qv_peer *peer, struct qv_tx *tx)
{
	struct qv_flight *f = qv_pool_get(&peer->p->flights);

	if (!f)
		return NULL;
	f->xfer.done = flight_done;
	f->p = peer->p;
	f->peer = peer;
	f->session = peer->session;
	f->owner = tx;
	f->chunk = NULL;
	f->bounce = NULL;
	return f;
}

static int launch(struct qv_peer *peer, struct qv_flight *f, const struct iovec *out, size_t n)
{
	struct qv_tx *tx = f->owner;
	int rc = peer->x->ops->send(peer->x, peer->addr, out, n, &f->xfer);

	if (rc) {
		free(f->bounce);
		qv_pool_put(&peer->p->flights, f);
		return rc;
	}
	peer->flying++;
	if (tx)
		tx->inflight++;
	if (f->chunk)
		qv_chunk_hold(f->chunk);
	return QV_OK;
}

static int emit_send(struct qv_peer *peer, const void *hdr, size_t hdrlen, const struct iovec *iov,
		     size_t cnt, size_t len, struct qv_tx *tx)
{
	struct iovec out[QV_IOV_MAX + 1];
	struct qv_flight *f = flight_new(peer, tx);
	size_t n;

	if (!f)
		return QV_ENOMEM;
	if (hdrlen <= sizeof f->hdr && cnt + 1 <= peer->x->send_iov) {
		memcpy(f->hdr, hdr, hdrlen);
		n = prepend(out, f->hdr, hdrlen, iov, cnt);
	} else {
		f->bounce = malloc(hdrlen + len);
		if (!f->bounce) {
			qv_pool_put(&peer->p->flights, f);
			return QV_ENOMEM;
		}
		out[0].iov_base = f->bounce;
		out[0].iov_len = pack(f->bounce, hdr, hdrlen, iov, cnt);
		n = 1;
	}
	return launch(peer, f, out, n);
}

int qv_emit_loose(struct qv_peer *peer, char *packet, size_t len)
{
	if (len <= peer->x->inject_max)
		return emit_inject(peer, packet, len, NULL, 0, 0);
	return emit_send(peer, packet, len, NULL, 0, 0, NULL);
}

/* A packet of the window to the transport. What the transport cannot deliver is sent again later.
 */
int qv_emit_kept(struct qv_peer *peer, struct qv_kept *kept, struct qv_chunk *chunk)
{
	struct iovec out[QV_IOV_MAX + 1] = {{kept->packet, kept->len}};
	struct qv_xport *x = peer->x;
	struct qv_tx *tx = kept->tx;
	struct qv_flight *f;
	size_t n = 1;

	if (kept->len + kept->n <= x->inject_max && !kept->n)
		return x->ops->inject(x, peer->addr, out, 1);
	f = flight_new(peer, tx);
	if (!f)
		return QV_ENOMEM;
	f->chunk = chunk;
	if (kept->n)
		n += qv_iov_slice(tx->iov, tx->cnt, kept->pos, kept->n, out + 1);
	if (n > x->send_iov) {
		f->bounce = malloc(kept->len + kept->n);
		if (!f->bounce) {
			qv_pool_put(&peer->p->flights, f);
			return QV_ENOMEM;
		}
		out[0].iov_len = pack(f->bounce, kept->packet, kept->len, out + 1, n - 1);
		out[0].iov_base = f->bounce;
		n = 1;
	}
	return launch(peer, f, out, n);
}

/* Keep a packet, and send it from there; the payload of a SEG stays where it is. */
static int emit_new(struct qv_peer *peer, const char *hdr, size_t hdrlen, const struct iovec *iov,
		    size_t cnt, size_t len, struct qv_tx *tx)
{
	bool whole = !tx || tx->kind != QV_TX_SEGS;
	size_t bytes = hdrlen + (whole ? len : 0);
	struct qv_kept *kept = qv_window_room(peer, bytes);
	int rc;

	if (!kept)
		return QV_EAGAIN;
	kept->len = (uint32_t)bytes;
	kept->tx = tx; /* whose transfer it is, now */
	if (whole) {
		pack(kept->packet, hdr, hdrlen, iov, cnt);
	} else {
		memcpy(kept->packet, hdr, hdrlen);
		kept->pos = tx->pos;
		kept->n = (uint32_t)len;
	}
	rc = qv_emit_kept(peer, kept, qv_window_chunk(&peer->window));
	if (rc == QV_EAGAIN || rc == QV_ENOMEM)
		return rc;
	if (rc) {
		peer->cut = true;
		if (tx && !tx->unsure) {
			tx->unsure = true;
			peer->unsure++;
		}
	}
	if (whole)
		kept->tx = NULL;
	qv_window_add(peer, kept, bytes);
	return QV_OK;
}

int qv_emit(struct qv_peer *peer, char *hdr, size_t hdrlen, const struct iovec *iov, size_t cnt,
	    size_t len, struct qv_tx *tx)
{
	size_t total = hdrlen + len;
	int rc;

	if (QV_UNLIKELY(peer->sent - peer->acked >= QV_SEQ_WINDOW) && !qv_peer_acked(peer))
		return QV_EAGAIN;
	qv_wire_number(hdr, peer->sent + 1, peer->got);
	if (peer->x->drops)
		rc = emit_new(peer, hdr, hdrlen, iov, cnt, len, tx);
	else if (total <= peer->x->inject_max && total <= PACK_MAX)
		rc = emit_inject(peer, hdr, hdrlen, iov, cnt, len);
	else
		rc = emit_send(peer, hdr, hdrlen, iov, cnt, len, tx);
	if (rc)
		return rc;
	qv_peer_sent(peer);
	if (tx)
		tx->last = peer->sent;
	return QV_OK;
}

struct qv_wire_pkt qv_packet_to(const struct qv_peer *peer, enum qv_wire_op op, uint64_t arg,
				uint8_t flags)
{
	struct qv_wire_pkt pkt = {
		.hdr = {.magic = QV_WIRE_MAGIC,
			.version = QV_WIRE_VERSION,
			.op = (uint8_t)op,
			.flags = flags,
			.src = peer->remote_id,
			.arg = arg},
		.uid = qv_wire_token(peer->p->uid, peer->session),
	};

	if (peer->remote_id == QV_SRC_UNKNOWN && op != QV_PKT_HELLO && op != QV_PKT_RESET)
		pkt.hdr.flags |= QV_WF_UID;
	return pkt;
}

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
			peer->eager_out += qv_cost(tx->len);
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
		tx->peer->eager_out += qv_cost(0);
	return rc;
}

static int issue_segs(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	char hdr[QV_WIRE_MAX_HDR + sizeof(uint64_t)];
	struct iovec part[QV_IOV_MAX];

	while (tx->pos < tx->want) {
		struct qv_wire_pkt pkt = qv_packet_to(peer, QV_PKT_SEG, tx->rreq, 0);
		uint64_t offset = tx->pos;
		size_t hdrlen = qv_wire_write(hdr, &pkt), n;
		int rc;

		memcpy(hdr + hdrlen, &offset, sizeof offset);
		hdrlen += sizeof offset;
		n = peer->packet_max - hdrlen;
		if (n > tx->want - tx->pos)
			n = tx->want - tx->pos;
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
	rc = qv_emit_loose(peer, tx->packet, tx->pktlen);
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
	case QV_TX_LOG: return qv_log_issue(tx);
	}
	return QV_EINVAL;
}

/* The first of a queue has gone, or has failed for good. */
static void leave_queue(struct qv_tx **head, struct qv_tx *tx, int rc)
{
	*head = tx->next;
	tx->queued = false;
	if (tx->kind == QV_TX_LOG) {
		if (rc)
			qv_log_fail(tx, rc);
		else
			qv_log_free(tx);
		return;
	}
	tx->p->waiting--;
	qv_tx_issued(tx, rc);
}

/* Oldest first. False: the transport is full, or the peer has no room. */
static bool flush(struct qv_peer *peer, struct qv_tx **head)
{
	struct qv_tx *tx;

	while ((tx = *head) && !peer->doom && !peer->failed) {
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
