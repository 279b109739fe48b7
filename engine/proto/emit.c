/* SPDX-License-Identifier: BSD-2-Clause */
/* emit.c - packets to the transport: kept until they are acknowledged, if it may lose them. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define PACK_MAX 4096u /* injected packets are put together on the stack up to this size */

static void flight_done(struct qv_xfer *xfer, int status)
{
	struct qv_flight *f = QV_CONTAINER(xfer, struct qv_flight, xfer);
	struct qv_peer *peer = f->peer;
	struct qv_tx *tx = f->owner;
	bool current = peer && f->session == peer->session && !peer->failed,
	     kept = f->chunk != NULL;

	free(f->bounce);
	if (f->kept)
		f->kept->flying--;
	if (kept)
		qv_chunk_drop(f->p, f->chunk);
	qv_pool_put(&f->p->flights, f);
	if (peer)
		peer->flying--;
	if (status && current && peer->x->drops)
		peer->cut = true;
	if (tx) {
		tx->inflight--;
		if (status && kept && current && !tx->unsure && !qv_tx_is_acked(tx)) {
			tx->unsure = true; /* it is sent again */
			peer->unsure++;
		}
		qv_tx_check(tx, kept ? QV_OK : status);
	}
	if (status && current && !peer->x->drops)
		qv_peer_mark_failed(peer, qv_strerror(status));
}

/* header + pieces into one buffer */
static size_t pack(struct qv_proto *p, char *buf, const void *hdr, size_t hdrlen,
		   const struct iovec *iov, size_t cnt)
{
	size_t len = qv_iov_len(iov, cnt);

	memcpy(buf, hdr, hdrlen);
	qv_iov_get(iov, cnt, buf + hdrlen);
	p->stats.copied += len;
	return hdrlen + len;
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
		out[0].iov_len = pack(peer->p, buf, hdr, hdrlen, iov, cnt);
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
	f->peer = peer->freed ? NULL : peer;
	f->session = peer->session;
	f->owner = tx;
	f->chunk = NULL;
	f->kept = NULL;
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
	if (f->kept)
		f->kept->flying++;
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
		out[0].iov_len = pack(f->p, f->bounce, hdr, hdrlen, iov, cnt);
		n = 1;
	}
	return launch(peer, f, out, n);
}

int qv_emit_unnumbered(struct qv_peer *peer, char *packet, size_t len)
{
	if (len <= peer->x->inject_max)
		return emit_inject(peer, packet, len, NULL, 0, 0);
	return emit_send(peer, packet, len, NULL, 0, 0, NULL);
}

/* What is not in the packet as it was sent before, or not any more. */
static void renew(const struct qv_peer *peer, char *packet)
{
	qv_wire_number(packet, peer->resend, peer->got);
	qv_wire_readdress(packet, peer->told_id);
}

/* The packet and its payload in one piece, which nobody else reads. */
static bool bounce(struct qv_flight *f, const struct qv_kept *kept, struct iovec *out, size_t n)
{
	f->bounce = malloc(kept->len + kept->n);
	if (!f->bounce)
		return false;
	out->iov_len = pack(f->p, f->bounce, kept->packet, kept->len, out + 1, n - 1);
	out->iov_base = f->bounce;
	return true;
}

/* A packet of the window to the transport, perhaps `again`. What the transport cannot deliver is
 * sent again later. It may still read what it was given before: then a copy goes. */
static int emit_kept(struct qv_peer *peer, struct qv_kept *kept, struct qv_chunk *chunk, bool again)
{
	struct iovec out[QV_IOV_MAX + 1] = {{kept->packet, kept->len}};
	struct qv_xport *x = peer->x;
	struct qv_tx *tx = kept->tx;
	struct qv_flight *f;
	size_t n = 1;

	if (again && !kept->flying)
		renew(peer, kept->packet);
	if (kept->len + kept->n <= x->inject_max && !kept->n)
		return x->ops->inject(x, peer->addr, out, 1);
	f = flight_new(peer, tx);
	if (!f)
		return QV_ENOMEM;
	f->chunk = chunk;
	if (kept->n)
		n += qv_iov_slice(tx->iov, tx->cnt, kept->pos, kept->n, out + 1);
	if (!kept->flying && n <= x->send_iov) {
		f->kept = kept;
		return launch(peer, f, out, n);
	}
	if (!bounce(f, kept, out, n)) {
		qv_pool_put(&peer->p->flights, f);
		return QV_ENOMEM;
	}
	if (kept->flying)
		renew(peer, f->bounce);
	return launch(peer, f, out, 1);
}

int qv_emit_again(struct qv_peer *peer, struct qv_kept *kept, struct qv_chunk *chunk)
{
	return emit_kept(peer, kept, chunk, true);
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
		pack(peer->p, kept->packet, hdr, hdrlen, iov, cnt);
	} else {
		memcpy(kept->packet, hdr, hdrlen);
		kept->pos = tx->pos;
		kept->n = (uint32_t)len;
	}
	rc = emit_kept(peer, kept, qv_window_chunk(&peer->window), false);
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

/* What was sent last is no message: should it be lost, nobody need hear of it. */
static void sent_mute(struct qv_peer *peer)
{
	peer->mute = peer->mute_end + 1 == peer->sent ? peer->mute + 1 : 1;
	peer->mute_end = peer->sent;
}

int qv_emit(struct qv_peer *peer, char *hdr, size_t hdrlen, const struct iovec *iov, size_t cnt,
	    size_t len, struct qv_tx *tx)
{
	size_t total = hdrlen + len;
	int rc;

	if (qv_peer_window_is_full(peer))
		return QV_EAGAIN;
	qv_wire_number(hdr, peer->sent + 1, peer->got);
	if (peer->x->drops)
		rc = emit_new(peer, hdr, hdrlen, iov, cnt, len, tx);
	else if (total <= peer->x->inject_max &&
		 (total <= PACK_MAX || cnt + 1 <= peer->x->inject_iov))
		rc = emit_inject(peer, hdr, hdrlen, iov, cnt, len);
	else
		rc = emit_send(peer, hdr, hdrlen, iov, cnt, len, tx);
	if (rc)
		return rc;
	qv_peer_sent(peer);
	if (!qv_packet_is_message(hdr))
		sent_mute(peer);
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
