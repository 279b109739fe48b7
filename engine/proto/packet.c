/* SPDX-License-Identifier: BSD-2-Clause */
/* packet.c - what comes from the transport: find the sender, check, act. */
#include "internal.h"

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

static struct qv_peer *sender(struct qv_proto *p, const struct qv_wire_pkt *pkt)
{
	uint32_t index = pkt->hdr.src & QV_ID_INDEX;

	if (QV_LIKELY(index < p->npeers && p->peers[index] && p->peers[index]->id == pkt->hdr.src))
		return p->peers[index];
	if (pkt->hdr.src == QV_SRC_UNKNOWN && pkt->hdr.flags & QV_WF_UID)
		return qv_peer_by_token(p, pkt->uid);
	return NULL;
}

/* A struct qv_in and a struct qv_unexp must be at hand before a message is matched. */
static bool reserve(struct qv_proto *p)
{
	return (p->ins.free || qv_pool_grow(&p->ins) == QV_OK) &&
	       (p->unexps.free || qv_pool_grow(&p->unexps) == QV_OK);
}

static const char *check_rts(const struct qv_wire_pkt *pkt)
{
	struct qv_wire_seg segs[QV_WIRE_MAX_SEGS];
	uint64_t sum = 0;

	if (pkt->len == 0)
		return NULL;
	memcpy(segs, pkt->body, pkt->len);
	for (size_t i = 0; i < pkt->len / sizeof *segs; i++)
		if (__builtin_add_overflow(sum, segs[i].len, &sum))
			return "segments too long";
	return sum == pkt->total ? NULL : "segments do not make up the message";
}

static const char *check_message(const struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (pkt->hdr.op == QV_PKT_RTS)
		return check_rts(pkt);
	if (peer->open_in || peer->open_unexp)
		return "a message inside another";
	if (pkt->total > QV_EAGER_LIMIT)
		return "eager message too long";
	return NULL;
}

/* First packet of a message whose receive is posted, and whose payload is not all in it. */
static void open_in(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info,
		    const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = qv_in_new(p, rx, info);

	qv_iov_put(in->iov, in->cnt, 0, pkt->body, pkt->len < in->want ? pkt->len : in->want);
	in->pos = pkt->len;
	info->peer->open_in = in;
}

static uint8_t engine_of(uint8_t flags)
{
	return flags & QV_WF_TAGGED ? QV_REQ_TAGGED : flags & QV_WF_COLL ? QV_REQ_COLL : 0;
}

static QV_NOINLINE int unexpected(struct qv_proto *p, const struct qv_info *info, const char *body,
				  size_t len)
{
	if (qv_unexp_allowed(info))
		return qv_unexp_new(p, info, body, len);
	qv_peer_fail(info->peer, "it has sent more than we have room for, and knows that");
	return QV_OK;
}

static int on_message(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_proto *p = peer->p;
	bool rts = pkt->hdr.op == QV_PKT_RTS;
	struct qv_info info = {
		.peer = peer,
		.tag = pkt->hdr.arg,
		.data = pkt->data,
		.sreq = pkt->sreq,
		.full = pkt->hdr.flags & QV_WF_TOTAL ? pkt->total : pkt->len,
		.engine = engine_of(pkt->hdr.flags),
		.has_data = pkt->hdr.flags & QV_WF_DATA,
		.rts = rts,
		.nsegs = rts ? (unsigned)(pkt->len / sizeof(struct qv_wire_seg)) : 0,
		.epoch = peer->epoch,
	};
	struct qv_wire_seg segs[QV_WIRE_MAX_SEGS];
	struct qv_recv *node;
	const char *wrong;

	if (QV_UNLIKELY(rts || peer->open_in || peer->open_unexp || pkt->hdr.flags & QV_WF_TOTAL)) {
		wrong = check_message(peer, pkt);
		if (wrong) {
			qv_refuse(p, wrong);
			return QV_OK;
		}
	}
	if (QV_UNLIKELY(p->closing)) {
		if (info.sreq && qv_tx_fin(peer, info.sreq, QV_EPEER) == QV_ENOMEM)
			return QV_ENOMEM;
		peer->turned_away |= !info.sreq;
		return QV_OK;
	}
	if (QV_UNLIKELY(!reserve(p)))
		return QV_ENOMEM;
	node = qv_match_arrive(p->match[info.engine], info.tag, peer->src);
	if (!node)
		return unexpected(p, &info, pkt->body, pkt->len);
	peer->received++;
	if (info.engine == QV_REQ_COLL)
		qv_rx_awaited(QV_CONTAINER(node, struct qv_rx, node));
	if (rts) {
		memcpy(segs, pkt->body, pkt->len);
		qv_peer_consumed(peer, 0);
		qv_rx_deliver(p, QV_CONTAINER(node, struct qv_rx, node), &info, NULL, segs);
	} else if (QV_UNLIKELY(info.full > pkt->len)) {
		open_in(p, QV_CONTAINER(node, struct qv_rx, node), &info, pkt);
	} else {
		qv_peer_consumed(peer, info.full);
		qv_rx_deliver(p, QV_CONTAINER(node, struct qv_rx, node), &info, pkt->body, NULL);
	}
	return QV_OK;
}

static void data_for_in(struct qv_peer *peer, struct qv_in *in, const struct qv_wire_pkt *pkt)
{
	if (in->pos < in->want)
		qv_iov_put(in->iov, in->cnt, in->pos, pkt->body,
			   pkt->len < in->want - in->pos ? pkt->len : in->want - in->pos);
	in->pos += pkt->len;
	if (in->pos < in->info.full)
		return;
	peer->open_in = NULL;
	qv_peer_consumed(peer, in->info.full);
	qv_in_finish(in);
}

static void data_for_unexp(struct qv_peer *peer, struct qv_unexp *u, const struct qv_wire_pkt *pkt)
{
	memcpy(u->payload + u->got, pkt->body, pkt->len);
	u->got += pkt->len;
	if (u->got < u->info.full)
		return;
	peer->open_unexp = NULL;
	if (u->discard)
		qv_unexp_drop(peer->p, u);
}

static void on_data(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = peer->open_in;
	struct qv_unexp *u = peer->open_unexp;
	size_t pos = in  ? in->pos
		     : u ? u->got
			 : 0,
	       full = in  ? in->info.full
		      : u ? u->info.full
			  : 0;

	if (full == 0 && peer->p->closing)
		return;
	if (full == 0 || pkt->hdr.arg != pos || pkt->len > full - pos)
		qv_refuse(peer->p, "payload that belongs to no message");
	else if (in)
		data_for_in(peer, in, pkt);
	else
		data_for_unexp(peer, u, pkt);
}

/* Who does not use our id may not have heard of our session, and acknowledge packets
 * of the last. */
static void take_ack(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	if (!peer->confirmed && pkt->hdr.flags & QV_WF_UID)
		return;
	peer->ack = pkt->hdr.ack;
	qv_peer_acked(peer);
}

/* Packets of no number. */
static void on_loose(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
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
	case QV_PKT_RTS: return on_message(peer, pkt);
	case QV_PKT_DATA: on_data(peer, pkt); break;
	case QV_PKT_CTS: qv_tx_on_cts(peer, pkt); break;
	case QV_PKT_SEG: qv_in_on_seg(peer, pkt); break;
	case QV_PKT_FIN: qv_tx_on_fin(peer, pkt); break;
	case QV_PKT_CREDIT: qv_peer_on_credit(peer, pkt->hdr.arg); break;
	case QV_PKT_STARVED: qv_peer_on_starving(peer); break;
	case QV_PKT_LEAVE: qv_peer_on_leave(peer); break;
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

	if (QV_UNLIKELY(wrong != NULL)) {
		qv_refuse(p, wrong);
		return QV_OK;
	}
	if (QV_UNLIKELY(pkt.hdr.op == QV_PKT_HELLO))
		return qv_peer_on_hello(p, x, &pkt, from);
	if (QV_UNLIKELY(pkt.hdr.op == QV_PKT_RESET)) {
		qv_peer_on_reset(p, &pkt);
		return QV_OK;
	}
	peer = sender(p, &pkt);
	if (QV_UNLIKELY(!peer || !peer->connected || peer->failed)) {
		p->stats.unknown++; /* its HELLO was lost and comes again, or it has one to come */
		return QV_OK;
	}
	if (!qv_wire_numbered(pkt.hdr.op)) {
		on_loose(peer, &pkt);
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

static QV_NOINLINE int late_plain(const struct qv_info *info, const char *body, size_t len)
{
	struct qv_peer *peer = info->peer;
	int rc = unexpected(peer->p, info, body, len);

	if (!rc)
		qv_peer_got(peer, len);
	return rc;
}

/* A whole eager message without extras, most of all packets: no struct qv_wire_pkt, and a
 * struct qv_info only where it has to wait. */
static int on_plain(struct qv_peer *peer, uint64_t tag, bool tagged, const char *body, size_t len)
{
	struct qv_proto *p = peer->p;
	struct qv_recv *node = qv_match_arrive(p->match[tagged], tag, peer->src);

	if (QV_LIKELY(node != NULL)) {
		peer->received++;
		peer->got++; /* acknowledged with the credit for it */
		qv_rx_deliver_plain(peer, QV_CONTAINER(node, struct qv_rx, node), tag, tagged, body,
				    len);
		return QV_OK;
	}

	struct qv_info info = {.peer = peer,
			       .tag = tag,
			       .full = len,
			       .engine = tagged ? QV_REQ_TAGGED : 0,
			       .epoch = peer->epoch};

	return late_plain(&info, body, len);
}

/* The plain packets' peer, NULL: let the general way look at it. */
static struct qv_peer *plain_sender(struct qv_proto *p, const struct qv_wire_hdr *hdr)
{
	uint32_t index = hdr->src & QV_ID_INDEX;
	struct qv_peer *peer;

	if (QV_UNLIKELY(hdr->magic != QV_WIRE_MAGIC || hdr->version != QV_WIRE_VERSION ||
			hdr->op != QV_PKT_EAGER || hdr->flags & ~QV_WF_TAGGED ||
			index >= p->npeers))
		return NULL;
	peer = p->peers[index];
	return QV_LIKELY(peer && peer->id == hdr->src && peer->connected && !peer->failed &&
			 (uint16_t)(hdr->seq - peer->got) == 1 && !peer->open_in &&
			 !peer->open_unexp)
		       ? peer
		       : NULL;
}

static inline int on_packet(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_hdr *hdr,
			    const char *body, size_t len, uint64_t from)
{
	struct qv_peer *peer = plain_sender(p, hdr);

	p->heard = true;
	if (QV_LIKELY(peer != NULL)) {
		peer->ack = hdr->ack;
		return on_plain(peer, hdr->arg, hdr->flags & QV_WF_TAGGED, body, len);
	}
	return general_packet(p, x, hdr, body, len, from);
}

int qv_proto_packet(struct qv_proto *p, struct qv_xport *x, const void *buf, size_t len,
		    uint64_t from)
{
	struct qv_wire_hdr hdr;

	if (QV_UNLIKELY(len < sizeof hdr)) {
		qv_refuse(p, "shorter than a header");
		return QV_OK;
	}
	memcpy(&hdr, buf, sizeof hdr);
	return on_packet(p, x, &hdr, (const char *)buf + sizeof hdr, len - sizeof hdr, from);
}

int qv_proto_tagged(struct qv_peer *from, uint64_t tag, const void *buf, size_t len)
{
	from->p->heard = true;
	if (QV_UNLIKELY(!from->connected || from->failed || from->open_in || from->open_unexp)) {
		qv_refuse(from->p, from->connected ? "a message inside another" : "unknown sender");
		return QV_OK;
	}
	return on_plain(from, tag, true, buf, len);
}
