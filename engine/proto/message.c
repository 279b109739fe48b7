/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - packets of messages: EAGER and RTS find a receive or wait for one, DATA follows. */
#include "internal.h"

#include <string.h>

/* What is matched cannot be given back: a struct qv_in and a struct qv_unexp must be at hand. */
static bool reserve(struct qv_proto *p)
{
	return qv_pool_reserve(&p->ins) && qv_pool_reserve(&p->unexps);
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
	size_t len = pkt->len < in->want ? pkt->len : in->want;

	qv_iov_put(in->iov, in->cnt, 0, pkt->body, len);
	p->stats.copied += len;
	in->pos = pkt->len;
	info->peer->open_in = in;
}

static uint8_t engine_of(uint8_t flags)
{
	return flags & QV_WF_TAGGED ? QV_REQ_TAGGED : flags & QV_WF_COLL ? QV_REQ_COLL : 0;
}

int qv_message_on_packet(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
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

	/* Whatever came before: the rest of a message that was told to fail need not come. */
	if (QV_UNLIKELY(p->closing)) {
		if (info.sreq && qv_tx_fin(peer, info.sreq, QV_EPEER) == QV_ENOMEM)
			return QV_ENOMEM;
		peer->turned_away |= !info.sreq;
		return QV_OK;
	}
	if (QV_UNLIKELY(rts || peer->open_in || peer->open_unexp || pkt->hdr.flags & QV_WF_TOTAL)) {
		wrong = check_message(peer, pkt);
		if (wrong) {
			qv_refuse(p, wrong);
			return QV_OK;
		}
	}
	if (QV_UNLIKELY(!reserve(p)))
		return QV_ENOMEM;
	node = qv_match_arrive(p->match[info.engine], info.tag, peer->src);
	if (!node)
		return qv_unexp_arrived(p, &info, pkt->body, pkt->len);
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
	size_t len = in->pos < in->want ? in->want - in->pos : 0;

	if (len > pkt->len)
		len = pkt->len;
	if (len)
		qv_iov_put(in->iov, in->cnt, in->pos, pkt->body, len);
	peer->p->stats.copied += len;
	in->pos += pkt->len;
	if (in->pos < in->info.full)
		return;
	peer->open_in = NULL;
	qv_peer_consumed(peer, in->info.full);
	qv_in_finish(in);
}

static void data_for_unexp(struct qv_peer *peer, struct qv_unexp *u, const struct qv_wire_pkt *pkt)
{
	qv_copy(u->payload + u->got, pkt->body, pkt->len);
	peer->p->stats.copied += pkt->len;
	u->got += pkt->len;
	if (u->got < u->info.full)
		return;
	peer->open_unexp = NULL;
	if (u->discard)
		qv_unexp_drop(peer->p, u);
}

void qv_message_on_data(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = peer->open_in;
	struct qv_unexp *u = peer->open_unexp;
	size_t pos = in  ? in->pos
		     : u ? u->got
			 : 0,
	       full = in  ? in->info.full
		      : u ? u->info.full
			  : 0;

	if (peer->p->closing && (full == 0 || pkt->hdr.arg != pos))
		return; /* of one that was turned away */
	if (full == 0 || pkt->hdr.arg != pos || pkt->len > full - pos)
		qv_refuse(peer->p, "payload that belongs to no message");
	else if (in)
		data_for_in(peer, in, pkt);
	else
		data_for_unexp(peer, u, pkt);
}
