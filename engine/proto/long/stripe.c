/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stripe.c - the sender's side of stripe.h. Nobody acknowledges a piece, but FIN says that the whole
 * message is there. Where it does not come soon, or the second transport has failed, the first one
 * goes on beyond the place where both met: up to the end, if the receiver does not stop it before.
 */
#include "engine/proto/internal.h"

#define HELD_MAX    (512u << 10) /* bytes of a peer that a transport holds */
#define LOST_MS     500u         /* a piece has so long to arrive */
#define STUCK_MS    1000u        /* and so long to leave us */
#define REST_MS     1000u        /* after a failure; doubled each time */
#define REST_MAX_MS 30000u

static size_t packet_max(const struct qv_peer *peer)
{
	const size_t most = peer->stripe.x->packet_max;

	return peer->packet_max < most ? peer->packet_max : most;
}

static bool holds_enough(const struct qv_peer *peer, unsigned flying)
{
	const size_t most = HELD_MAX / packet_max(peer);

	return flying >= (most > 2 ? most : 2);
}

/* It is left alone for a while. */
static void rest(struct qv_peer *peer)
{
	struct qv_stripe *s = &peer->stripe;
	const uint64_t now = peer->p->now, twice = 2 * s->rest;

	if (now < s->until)
		return;
	s->rest = !s->rest ? REST_MS : twice < REST_MAX_MS ? twice : REST_MAX_MS;
	s->until = now + s->rest;
}

/* Does it need pieces to arrive? */
static bool depends(const struct qv_tx *tx)
{
	return tx->kind == QV_TX_SEGS && tx->back < tx->want && tx->wants_fin && !tx->status;
}

/* The first transport gets all that it has not had. */
static void take_back(struct qv_tx *tx)
{
	if (!depends(tx) || tx->peer->failed || tx->peer->failing)
		return;
	tx->peer->p->stats.retaken++;
	tx->back = tx->want;
	if (tx->issued)
		qv_tx_enqueue(tx);
}

static void moved(struct qv_tx *tx)
{
	struct qv_stripe *s = &tx->peer->stripe;

	s->full = false;
	s->moved_at = tx->striped.moved_at = tx->p->now;
}

static void piece_done(struct qv_xfer *xfer, int status)
{
	struct qv_flight *f = QV_CONTAINER(xfer, struct qv_flight, xfer);
	struct qv_peer *peer = f->peer;
	struct qv_tx *tx = f->owner;

	qv_pool_put(&f->p->flights, f);
	peer->flying--;
	peer->stripe.flying--;
	tx->inflight--;
	tx->striped.flying--;
	moved(tx);
	if (status) {
		rest(peer);
		take_back(tx);
	}
	qv_tx_check(tx, QV_OK);
}

/* The header into f, the pieces of the payload behind it into iov; both as many as the transport takes.
 * Returns the bytes of payload, and where the packet begins in iov. */
static size_t write_piece(struct qv_tx *tx, struct qv_flight *f, struct iovec *iov, size_t *cnt,
			  struct iovec **first)
{
	const struct qv_peer *peer = tx->peer;
	const struct qv_wire_pkt pkt = qv_packet_to(peer, QV_PKT_PIECE, tx->rreq, 0);
	const size_t hdrlen = qv_wire_write(f->hdr, &pkt), left = tx->back - tx->pos;
	size_t n = packet_max(peer) - hdrlen - sizeof(uint64_t);
	uint64_t offset;

	if (n > left)
		n = left;
	*cnt = 1 + qv_iov_slice(tx->iov, tx->cnt, tx->back - n, n, iov + 1);
	for (; *cnt > peer->stripe.x->send_iov; (*cnt)--)
		n -= (++iov)->iov_len;
	offset = tx->back - n;
	memcpy(f->hdr + hdrlen, &offset, sizeof offset);
	*iov = (struct iovec){f->hdr, hdrlen + sizeof offset};
	*first = iov;
	return n;
}

static bool give_piece(struct qv_tx *tx)
{
	struct qv_peer *peer = tx->peer;
	struct qv_stripe *s = &peer->stripe;
	struct qv_flight *f = qv_pool_get(&tx->p->flights);
	struct iovec iov[QV_IOV_MAX + 1], *first;
	size_t cnt, n;
	int rc;

	if (!f)
		return false;
	n = write_piece(tx, f, iov, &cnt, &first);
	f->xfer.done = piece_done;
	f->p = tx->p;
	f->peer = peer;
	f->owner = tx;
	rc = s->x->ops->send(s->x, s->addr, first, cnt, &f->xfer);
	if (rc) {
		qv_pool_put(&tx->p->flights, f);
		if (rc != QV_EAGAIN && rc != QV_ENOMEM) {
			rest(peer);
		} else if (!s->flying && !s->full) {
			s->full = true;
			s->moved_at = tx->p->now;
		}
		return false;
	}
	if (tx->striped.low == tx->want)
		s->waiting++;
	tx->back -= n;
	tx->striped.low = tx->back;
	tx->inflight++;
	tx->striped.flying++;
	peer->flying++;
	s->flying++;
	tx->p->stats.pieces++;
	moved(tx);
	return true;
}

/* In turn with the first one, as long as that has room. Not any more, once that has taken all back. */
static bool may_give(const struct qv_tx *tx, bool first_is_full)
{
	const struct qv_stripe *s = &tx->peer->stripe;

	return tx->pos < tx->back && tx->back == tx->striped.low && tx->p->now >= s->until &&
	       (first_is_full || tx->want - tx->back <= tx->pos) &&
	       !holds_enough(tx->peer, s->flying);
}

bool qv_stripe_give(struct qv_tx *tx)
{
	const struct qv_peer *peer = tx->peer;
	const bool first_is_full = holds_enough(peer, peer->flying - peer->stripe.flying);

	while (may_give(tx, first_is_full) && give_piece(tx))
		;
	return first_is_full;
}

void qv_stripe_fin(struct qv_tx *tx)
{
	if (depends(tx))
		tx->peer->stripe.rest = 0;
	tx->back = tx->pos;
	tx->issued = true;
}

void qv_stripe_over(struct qv_tx *tx)
{
	if (tx->kind == QV_TX_SEGS && tx->striped.low < tx->want)
		tx->peer->stripe.waiting--;
}

void qv_stripe_on_rail(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_stripe *s = &peer->stripe;
	struct qv_xport *x = peer->x->second;

	if (!x || s->open || x->send_iov < 2 || qv_peer_is_asymmetric(peer) ||
	    x->ops->reach(x, pkt->body, pkt->len, &s->addr))
		return;
	s->x = x;
	s->open = true;
}

/* Has nothing moved for so long? Time in which nobody looked does not count, nor does that before the
 * first tick. */
static bool is_over(uint64_t *moved_at, const struct qv_proto *p, uint64_t ms)
{
	*moved_at = *moved_at ? *moved_at + p->away : p->now;
	return p->now - *moved_at >= ms;
}

void qv_stripe_tick(struct qv_peer *peer, uint64_t now)
{
	struct qv_stripe *s = &peer->stripe;
	struct qv_tx *next;

	if ((s->flying || s->full) && is_over(&s->moved_at, peer->p, STUCK_MS)) {
		if (s->x->ops->reconnect)
			s->x->ops->reconnect(s->x, s->addr, s->flying);
		rest(peer);
		s->moved_at = now;
		s->full = false;
	}
	for (struct qv_tx *tx = s->waiting ? peer->txs : NULL; tx; tx = next) {
		next = tx->next_peer;
		if (!qv_tx_is_acked(tx)) { /* the receiver has not looked */
			tx->striped.moved_at = now;
		} else if (depends(tx) && is_over(&tx->striped.moved_at, peer->p, LOST_MS)) {
			rest(peer);
			take_back(tx);
		}
	}
}
