/* SPDX-License-Identifier: BSD-2-Clause */
/* tx.c - life of a send: queue, FIN and CTS, completion; packets without payload. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static void report(struct qv_tx *tx)
{
	struct qv_proto *p = tx->p;
	struct qv_comp comp = {
		.context = tx->context,
		.cookie = tx->cookie,
		.status = tx->status,
		.tagged = tx->flags & QV_REQ_TAGGED,
		.len = tx->len,
		.full = tx->len,
		.tag = tx->tag,
		.user = QV_USER_UNKNOWN,
	};

	if (tx->status == QV_OK)
		p->ops->sent(p->owner, tx->context, tx->cookie, comp.tagged);
	else
		p->ops->complete(p->owner, &comp);
	if (tx->status && tx->flags & QV_REQ_QUIET)
		qv_peer_untold(tx->peer);
}

void qv_tx_deregister(struct qv_tx *tx)
{
	for (size_t i = 0; i < tx->cnt; i++)
		if (tx->regions[i].handle) {
			tx->peer->x->ops->deregister_mem(tx->peer->x, &tx->regions[i]);
			tx->regions[i].handle = NULL;
		}
}

void qv_tx_put(struct qv_tx *tx)
{
	if (tx->prev_peer)
		tx->prev_peer->next_peer = tx->next_peer;
	else
		tx->peer->txs = tx->next_peer;
	if (tx->next_peer)
		tx->next_peer->prev_peer = tx->prev_peer;
	qv_pool_put(&tx->p->txs, tx);
}

void qv_tx_free(struct qv_tx *tx)
{
	if (tx->packet != tx->small)
		free(tx->packet);
	qv_tx_put(tx);
}

/* The completion, once; the handle and the registered memory go with it. What of it is in the window
 * does not go again. */
static void finish(struct qv_tx *tx)
{
	if (tx->reported)
		return;
	tx->reported = true;
	if (qv_tx_has_copy(tx))
		qv_copies_gone(tx);
	if (tx->in_window)
		qv_window_void(tx->peer, tx);
	qv_stripe_over(tx);
	if (tx->handle) {
		qv_handle_free(&tx->p->tx_handles, tx->handle);
		tx->handle = QV_HANDLE_NONE;
		qv_peer_end_outstanding(tx->peer);
	}
	qv_tx_deregister(tx);
	if (tx->kind != QV_TX_CTL)
		report(tx);
}

bool qv_proto_peer_has_all(const struct qv_peer *peer)
{
	for (const struct qv_tx *tx = peer->txs; tx; tx = tx->next_peer)
		if (tx->kind == QV_TX_BACKLOG || (tx->kind != QV_TX_CTL && !tx->reported))
			return false;
	return true;
}

void qv_tx_check(struct qv_tx *tx, int status)
{
	if (status && !tx->status)
		tx->status = status;
	if (qv_tx_has_copy(tx) && tx->kind == QV_TX_EAGER && tx->issued && !tx->inflight &&
	    !tx->reported)
		qv_tx_drop_copy(tx); /* all of it has gone, though the end may be to come */
	if (!tx->reported &&
	    (!tx->issued || (!tx->status && (tx->wants_fin || tx->unsure)) || tx->inflight))
		return;
	finish(tx);
	if (tx->inflight == 0 && !tx->queued)
		qv_tx_free(tx);
}

void qv_tx_issued(struct qv_tx *tx, int status)
{
	if (status) /* the peer misses a packet: nothing that follows makes sense to it */
		qv_peer_mark_failed(tx->peer, qv_strerror(status));
	tx->issued = true;
	qv_tx_check(tx, status);
}

/* The transport may read the buffer as long as it has not given everything back. */
static bool is_touched(const struct qv_tx *tx)
{
	return tx->inflight && !qv_peer_loses_transfers(tx->peer) &&
	       (tx->kind == QV_TX_SEGS || !tx->peer->x->drops);
}

void qv_tx_fail(struct qv_tx *tx, int status)
{
	tx->status = status;
	tx->issued = true;
	if (is_touched(tx))
		return;
	finish(tx);
	if (tx->inflight == 0 && !tx->queued)
		qv_tx_free(tx);
}

void qv_peer_list(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;

	if (peer->listed)
		return;
	peer->listed = true;
	peer->next_pending = NULL;
	if (p->head.pending)
		p->pending_tail->next_pending = peer;
	else
		p->head.pending = peer;
	p->pending_tail = peer;
}

void qv_peer_unlist(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;
	struct qv_peer **at = &p->head.pending, *prev = NULL;

	while (*at != peer) {
		prev = *at;
		at = &(*at)->next_pending;
	}
	*at = peer->next_pending;
	if (p->pending_tail == peer)
		p->pending_tail = prev;
	peer->listed = false;
}

/* Control packets and SEGs have a queue of their own, which goes before messages: the peer may wait
 * for them. */
static bool in_ctl_queue(const struct qv_tx *tx)
{
	return tx->kind == QV_TX_CTL || tx->kind == QV_TX_SEGS;
}

void qv_tx_enqueue(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	struct qv_tx **head = in_ctl_queue(tx) ? &peer->ctl_head : &peer->head;
	struct qv_tx **tail = in_ctl_queue(tx) ? &peer->ctl_tail : &peer->tail;

	tx->next = NULL;
	tx->queued = true;
	tx->issued = false;
	peer->p->waiting++;
	peer->answers += tx->answer;
	peer->p->stats.queued++;
	if (*head)
		(*tail)->next = tx;
	else
		*head = tx;
	*tail = tx;
	if (!peer->starved || in_ctl_queue(tx))
		qv_peer_list(peer);
}

void qv_tx_start(struct qv_tx *tx)
{
	int rc;

	if (qv_peer_must_queue(tx->peer, !in_ctl_queue(tx))) {
		qv_tx_enqueue(tx);
		return;
	}
	rc = qv_tx_issue(tx);
	if (rc == QV_EAGAIN || rc == QV_ENOMEM)
		qv_tx_enqueue(tx);
	else
		qv_tx_issued(tx, rc);
}

struct qv_tx *qv_tx_new(struct qv_peer *peer, enum qv_tx_kind kind)
{
	struct qv_tx *tx = qv_pool_get(&peer->p->txs);

	if (!tx)
		return NULL;
	memset(tx, 0, offsetof(struct qv_tx, small));
	tx->p = peer->p;
	tx->peer = peer;
	tx->kind = kind;
	tx->packet = tx->small;
	tx->next_peer = peer->txs;
	if (peer->txs)
		peer->txs->prev_peer = tx;
	peer->txs = tx;
	return tx;
}

struct qv_tx *qv_tx_new_control(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, size_t len,
				char **body)
{
	struct qv_wire_pkt pkt;
	struct qv_tx *tx;
	char hdr[QV_WIRE_MAX_HDR];
	size_t hdrlen;

	if (peer->failed || peer->failing)
		return NULL;
	if (op != QV_PKT_HELLO && !peer->hello_sent && qv_peer_send_hello(peer))
		return NULL;
	pkt = qv_packet_to(peer, op, arg, 0);
	tx = qv_tx_new(peer, QV_TX_CTL);
	if (!tx)
		return NULL;
	hdrlen = qv_wire_write(hdr, &pkt);
	if (hdrlen + len > sizeof tx->small) {
		tx->packet = malloc(hdrlen + len);
		if (!tx->packet) {
			qv_tx_put(tx);
			return NULL;
		}
	}
	memcpy(tx->packet, hdr, hdrlen);
	tx->pktlen = hdrlen + len;
	*body = tx->packet + hdrlen;
	return tx;
}

/* A packet without payload; kept in the queue when the transport is full. */
int qv_tx_control(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const void *body,
		  size_t len)
{
	struct qv_tx *tx;
	char *to;

	if (peer->failed || peer->failing)
		return QV_EPEER;
	tx = qv_tx_new_control(peer, op, arg, len, &to);
	if (!tx)
		return QV_ENOMEM;
	if (len)
		memcpy(to, body, len);
	qv_tx_start(tx);
	return QV_OK;
}

int qv_tx_fin(struct qv_peer *peer, uint64_t sreq, int status)
{
	uint64_t body = (uint64_t)(uint32_t)-status;

	return qv_tx_control(peer, QV_PKT_FIN, sreq, &body, sizeof body);
}

void qv_tx_on_fin(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_tx *tx = qv_handle_get(&peer->p->tx_handles, pkt->hdr.arg);
	uint64_t status;

	if (!tx || tx->p != peer->p || tx->peer != peer || !tx->wants_fin) {
		qv_refuse(peer->p, "FIN for a send that does not exist");
		return;
	}
	memcpy(&status, pkt->body, sizeof status);
	if (tx->kind == QV_TX_SEGS && tx->pos < tx->striped.low && status == 0) {
		qv_refuse(peer->p, "FIN before all of the message was sent");
		status = (uint64_t)-QV_EPROTO;
	}
	if (tx->kind == QV_TX_SEGS && status == 0)
		qv_stripe_fin(tx);
	tx->wants_fin = false;
	if (status) /* no more of it is sent; what the transport holds it gives back first */
		tx->issued = true;
	qv_tx_check(tx, status == 0 ? QV_OK : status < 64 ? -(int)status : QV_EPROTO);
}

void qv_tx_on_cts(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_tx *tx = qv_handle_get(&peer->p->tx_handles, pkt->hdr.arg);
	struct qv_wire_cts cts;

	memcpy(&cts, pkt->body, sizeof cts);
	if (!tx || tx->peer != peer || tx->kind != QV_TX_RTS || !tx->issued || cts.want > tx->len) {
		qv_refuse(peer->p, "CTS for a send that does not exist");
		return;
	}
	tx->kind = QV_TX_SEGS;
	tx->rreq = cts.rreq;
	tx->want = tx->back = tx->striped.low = cts.want;
	tx->pos = 0;
	qv_tx_enqueue(tx);
}
