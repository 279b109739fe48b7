/* SPDX-License-Identifier: BSD-2-Clause */
/* packet.c - what comes from the transport: find the sender, see that it is the next, act. */
#include "plain.h"

#include <stdio.h>
#include <string.h>

/* Count it, and write the first, second, fourth ... to the log. */
void qv_refuse(struct qv_proto *p, const char *why)
{
	uint64_t n = ++p->stats.refused;
	char text[160];

	if (n & (n - 1))
		return;
	snprintf(text, sizeof text, "packet refused: %s (%llu refused so far)", why,
		 (unsigned long long)n);
	p->ops->warn(p->owner, text);
}

static struct qv_peer *sender_of(struct qv_proto *p, const struct qv_wire_pkt *pkt)
{
	uint32_t index = pkt->hdr.src & QV_ID_INDEX;

	if (QV_LIKELY(index < p->npeers && p->peers[index] && p->peers[index]->id == pkt->hdr.src))
		return p->peers[index];
	if (pkt->hdr.src == QV_SRC_UNKNOWN && pkt->hdr.flags & QV_WF_UID)
		return qv_peer_by_token(p, pkt->uid);
	return NULL;
}

/* A sender that does not use our id may not have heard of our session yet. Then it may acknowledge
 * packets of the last one. */
static void take_ack(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (!peer->confirmed && pkt->hdr.flags & QV_WF_UID)
		return;
	peer->ack = pkt->hdr.ack;
	qv_peer_acked(peer);
}

/* ACK, PING and PIECE. That pieces come does not show that the first transport works. */
static void on_unnumbered(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (pkt->hdr.op == QV_PKT_PIECE) {
		qv_in_on_piece(peer, pkt);
		return;
	}
	peer->heard = true;
	take_ack(peer, pkt);
	if (pkt->hdr.op == QV_PKT_PING)
		qv_peer_on_ping(peer, pkt);
	else
		qv_peer_on_ack(peer, pkt);
}

static int on_numbered(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	switch (pkt->hdr.op) {
	case QV_PKT_EAGER:
	case QV_PKT_RTS: return qv_message_on_packet(peer, pkt);
	case QV_PKT_DATA: qv_message_on_data(peer, pkt); break;
	case QV_PKT_CTS: qv_tx_on_cts(peer, pkt); break;
	case QV_PKT_SEG: qv_in_on_seg(peer, pkt); break;
	case QV_PKT_FIN: qv_tx_on_fin(peer, pkt); break;
	case QV_PKT_CREDIT: qv_peer_on_credit(peer, pkt->hdr.arg); break;
	case QV_PKT_STARVED: qv_peer_on_starving(peer); break;
	case QV_PKT_LEAVE: qv_peer_on_leave(peer); break;
	case QV_PKT_ASK: return qv_peer_on_ask(peer, pkt);
	case QV_PKT_ANSWER: qv_peer_on_answer(peer, pkt); break;
	case QV_PKT_RAIL: qv_stripe_on_rail(peer, pkt); break;
	}
	return QV_OK;
}

static int general_packet(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_hdr *hdr,
			  const char *body, size_t len, uint64_t from)
{
	struct qv_wire_pkt pkt;
	const char *wrong = qv_wire_parse(hdr, body, len, &pkt);
	struct qv_peer *peer;
	uint32_t epoch;
	int rc;

	if (QV_UNLIKELY(!wrong && x->name && pkt.hdr.op != QV_PKT_PIECE))
		wrong = "not a piece, over a second transport";
	if (QV_UNLIKELY(wrong != NULL)) {
		qv_refuse(p, wrong);
		return QV_OK;
	}
	if (QV_UNLIKELY(pkt.hdr.op == QV_PKT_HELLO))
		return qv_peer_on_hello(p, x, &pkt, from);
	if (QV_UNLIKELY(pkt.hdr.op == QV_PKT_RESET)) {
		qv_peer_on_reset(p, x, &pkt, from);
		return QV_OK;
	}
	peer = sender_of(p, &pkt);
	if (QV_UNLIKELY(!peer || !peer->connected || peer->failed)) {
		p->stats.unknown++; /* its HELLO was lost and comes again, or it has one to come */
		return QV_OK;
	}
	if (!qv_wire_numbered(pkt.hdr.op)) {
		on_unnumbered(peer, &pkt);
		return QV_OK;
	}
	if (QV_UNLIKELY((uint16_t)(pkt.hdr.seq - peer->got) != 1)) {
		qv_peer_out_of_order(peer, pkt.hdr.seq);
		return QV_OK;
	}
	take_ack(peer, &pkt);
	epoch = peer->epoch;
	rc = on_numbered(peer, &pkt);
	if (rc || epoch != peer->epoch) /* it is over by now */
		return rc;
	qv_peer_got(peer, pkt.hdr.op == QV_PKT_SEG ? 0 : pkt.len);
	if (pkt.hdr.op == QV_PKT_LEAVE) /* it waits for that */
		qv_peer_send_ack(peer);
	return QV_OK;
}

int qv_plain_unexpected(const struct qv_info *info, const char *body, size_t len)
{
	struct qv_peer *peer = info->peer;
	int rc = qv_unexp_arrived(peer->p, info, body, len);

	if (!rc)
		qv_peer_got(peer, len);
	return rc;
}

static int on_plain(struct qv_peer *peer, uint64_t tag, unsigned flags, uint64_t data,
		    const char *body, size_t len)
{
	const struct qv_plain msg = {tag, data, body, len, flags};

	return qv_plain_arrived(peer, &msg, peer->p->ops->complete);
}

/* The sender of a packet that on_plain can take; else NULL, and general_packet looks at it. */
static struct qv_peer *plain_sender(struct qv_proto *p, const struct qv_wire_hdr *hdr)
{
	uint32_t index = hdr->src & QV_ID_INDEX;
	struct qv_peer *peer;

	if (QV_UNLIKELY(hdr->magic != QV_WIRE_MAGIC || hdr->version != QV_WIRE_VERSION ||
			hdr->op != QV_PKT_EAGER || hdr->flags & ~(QV_WF_TAGGED | QV_WF_DATA) ||
			index >= p->npeers))
		return NULL;
	peer = p->peers[index];
	return QV_LIKELY(peer && peer->id == hdr->src && peer->connected && !peer->failed &&
			 (uint16_t)(hdr->seq - peer->got) == 1 && !peer->open_in &&
			 !peer->open_unexp && !p->closing)
		       ? peer
		       : NULL;
}

int qv_proto_packet(struct qv_proto *p, struct qv_xport *x, const void *buf, size_t len,
		    uint64_t from)
{
	const char *body = (const char *)buf + sizeof(struct qv_wire_hdr);
	struct qv_wire_hdr hdr;
	struct qv_peer *peer;
	uint64_t data;

	if (QV_UNLIKELY(len < sizeof hdr)) {
		qv_refuse(p, "shorter than a header");
		return QV_OK;
	}
	memcpy(&hdr, buf, sizeof hdr);
	len -= sizeof hdr;
	peer = plain_sender(p, &hdr);
	p->heard = true;
	if (QV_LIKELY(peer != NULL && !(hdr.flags & QV_WF_DATA))) {
		peer->ack = hdr.ack;
		return on_plain(peer, hdr.arg, hdr.flags & QV_WF_TAGGED, 0, body, len);
	}
	if (QV_LIKELY(peer != NULL && len >= sizeof data)) {
		memcpy(&data, body, sizeof data);
		peer->ack = hdr.ack;
		return on_plain(peer, hdr.arg, (hdr.flags & QV_WF_TAGGED) | QV_REQ_DATA, data,
				body + sizeof data, len - sizeof data);
	}
	return general_packet(p, x, &hdr, body, len, from);
}

int qv_plain_refuse(struct qv_peer *from)
{
	if (from->p->closing && from->connected && !from->failed) { /* as in message.c */
		from->turned_away = true;
		qv_peer_got(from, 0);
		return QV_OK;
	}
	qv_refuse(from->p, from->connected ? "a message inside another"
					   : "a message before its sender's HELLO");
	return QV_OK;
}

int qv_proto_tagged(struct qv_peer *from, uint64_t tag, const void *buf, size_t len)
{
	const struct qv_plain msg = {tag, 0, buf, len, QV_REQ_TAGGED};

	return qv_plain_came(from, &msg, from->p->ops->complete);
}

bool qv_proto_key(struct qv_proto *p, const void *buf, size_t len, uint64_t *tag, uint32_t *src)
{
	const struct qv_peer *peer;
	struct qv_wire_pkt pkt;
	struct qv_wire_hdr hdr;

	if (len < sizeof hdr)
		return false;
	memcpy(&hdr, buf, sizeof hdr);
	if ((hdr.op != QV_PKT_EAGER && hdr.op != QV_PKT_RTS) || !(hdr.flags & QV_WF_TAGGED) ||
	    qv_wire_parse(&hdr, (const char *)buf + sizeof hdr, len - sizeof hdr, &pkt))
		return false;
	peer = sender_of(p, &pkt);
	if (!peer)
		return false;
	*tag = hdr.arg;
	*src = peer->src;
	return true;
}
