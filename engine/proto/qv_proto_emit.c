/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_proto_emit.c - packets of one send to the transport, and the peer's queue when it is full. */
#include "proto/qv_proto_i.h"

#include <stdlib.h>
#include <string.h>

#define PACK_MAX 4096u /* injected packets are put together on the stack up to this size */

/* Our first word went, or was lost because nobody was there yet. If the peer has spoken since, it
 * is there now and knows nothing of us: the same again, ahead of all that waits. True: so it was.
 */
static bool greeted(struct qv_peer *peer, struct qv_tx *tx, int status)
{
	if (!status && peer->x->collides) {
		qv_peer_ask(peer);
		return false;
	}
	qv_peer_met(peer, status);
	if (!status || !peer->uid || peer->doom || peer->failed)
		return false;
	tx->inflight--;
	qv_tx_enqueue_first(tx);
	return true;
}

static void flight_done(struct qv_xfer *xfer, int status)
{
	struct qv_flight *f = QV_CONTAINER(xfer, struct qv_flight, xfer);
	struct qv_peer *peer = f->peer;
	struct qv_tx *tx = f->owner;
	bool ours = f->life == peer->life, greets = f->greets;

	free(f->bounce);
	qv_pool_put(&f->p->flights, f);
	peer->flying--;
	if (greets && ours && greeted(peer, tx, status))
		return;
	if (tx) {
		tx->inflight--;
		qv_tx_check(tx, status);
	}
	if (status && ours)
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

static int emit_send(struct qv_peer *peer, const void *hdr, size_t hdrlen, const struct iovec *iov,
		     size_t cnt, size_t len, struct qv_tx *tx, bool greets)
{
	struct qv_proto *p = peer->p;
	struct iovec out[QV_IOV_MAX + 1];
	struct qv_flight *f = qv_pool_get(&p->flights);
	size_t n;
	int rc;

	if (!f)
		return QV_ENOMEM;
	f->xfer.done = flight_done;
	f->p = p;
	f->peer = peer;
	f->life = peer->life;
	f->owner = tx;
	f->greets = greets;
	f->bounce = NULL;
	if (hdrlen <= sizeof f->hdr && cnt + 1 <= peer->x->send_iov) {
		memcpy(f->hdr, hdr, hdrlen);
		n = prepend(out, f->hdr, hdrlen, iov, cnt);
	} else {
		f->bounce = malloc(hdrlen + len);
		if (!f->bounce) {
			qv_pool_put(&p->flights, f);
			return QV_ENOMEM;
		}
		out[0].iov_base = f->bounce;
		out[0].iov_len = pack(f->bounce, hdr, hdrlen, iov, cnt);
		n = 1;
	}
	rc = peer->x->ops->send(peer->x, peer->addr, out, n, &f->xfer);
	if (rc) {
		free(f->bounce);
		qv_pool_put(&p->flights, f);
		return rc;
	}
	peer->flying++;
	if (tx)
		tx->inflight++;
	return QV_OK;
}

/* One packet: header of hdrlen bytes, then len bytes from the pieces. */
int qv_emit(struct qv_peer *peer, const void *hdr, size_t hdrlen, const struct iovec *iov,
	    size_t cnt, size_t len, struct qv_tx *tx)
{
	size_t total = hdrlen + len;

	if (total <= peer->x->inject_max && total <= PACK_MAX)
		return emit_inject(peer, hdr, hdrlen, iov, cnt, len);
	return emit_send(peer, hdr, hdrlen, iov, cnt, len, tx, false);
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
		.uid = peer->p->uid,
	};

	if (peer->remote_id == QV_SRC_UNKNOWN && op != QV_PKT_HELLO)
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
	return qv_emit(tx->peer, buf, len, NULL, 0, 0, tx);
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

/*
 * Nobody hears of an injected packet that was lost, and without our HELLO the peer would refuse all
 * that follows: it goes as a send, whose failure dooms the peer until it says HELLO itself. What
 * follows waits until the transport has got rid of it, for the transport may try to reach somebody
 * who is not there yet but speaks to us meanwhile. (Memory shared with nobody is found out at
 * once.)
 */
static int issue_hello(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	bool greets = !peer->uid && peer->x->drops;
	int rc = emit_send(peer, tx->packet, tx->pktlen, NULL, 0, 0, tx, greets);

	if (!rc && greets)
		peer->greeting = true;
	return rc;
}

static int issue_control(struct qv_tx *tx)
{
	struct qv_wire_hdr hdr;

	memcpy(&hdr, tx->packet, sizeof hdr);
	return hdr.op == QV_PKT_HELLO ? issue_hello(tx)
				      : qv_emit(tx->peer, tx->packet, tx->pktlen, NULL, 0, 0, tx);
}

/* Give the rest of a send to the transport: QV_OK, QV_EAGAIN (some may have gone), or a status. */
int qv_tx_issue(struct qv_tx *tx)
{
	switch (tx->kind) {
	case QV_TX_CTL: return issue_control(tx);
	case QV_TX_EAGER: return issue_eager(tx);
	case QV_TX_RTS: return issue_rts(tx);
	case QV_TX_SEGS: return issue_segs(tx);
	}
	return QV_EINVAL;
}

/* Send what waits for this peer, oldest first. */
void qv_peer_flush(struct qv_peer *peer)
{
	struct qv_tx *tx;

	while ((tx = peer->head) && !peer->doom && !peer->greeting) {
		int rc = tx->status ? QV_OK : qv_tx_issue(tx); /* failed while it waited */

		if (rc == QV_EAGAIN || rc == QV_ENOMEM)
			return;
		peer->head = tx->next;
		tx->queued = false;
		peer->p->waiting--;
		qv_tx_issued(tx, rc);
	}
}
