/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segs.c - payload of a rendezvous by packets: SEG from the begin of the message on, PIECE from its
 * end on (stripe.h).
 */
#include "engine/proto/internal.h"

/* The message that is asked for so, as long as any of it is missing. */
static struct qv_in *asked_for(const struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = qv_handle_get(&peer->p->in_handles, pkt->hdr.arg);

	return in && !in->reads && in->info.peer == peer && in->handle == pkt->hdr.arg &&
			       in->pos < in->back
		       ? in
		       : NULL;
}

static uint64_t offset_of(const struct qv_wire_pkt *pkt)
{
	uint64_t offset;

	memcpy(&offset, pkt->body, sizeof offset);
	return offset;
}

static void put(struct qv_in *in, uint64_t offset, const struct qv_wire_pkt *pkt)
{
	const size_t len = pkt->len - sizeof offset;

	qv_iov_put(in->iov, in->cnt, offset, pkt->body + sizeof offset, len);
	in->p->stats.copied += len;
}

void qv_in_on_seg(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = asked_for(peer, pkt);
	const size_t len = pkt->len - sizeof(uint64_t);

	if (!in && peer->x->second) /* sent before it was known that the pieces are here */
		return;
	if (!in || offset_of(pkt) != in->pos || len > in->want - in->pos) {
		qv_refuse(peer->p, "piece of a message that was not asked for");
		return;
	}
	put(in, in->pos, pkt);
	in->pos += len;
	if (in->pos >= in->back)
		qv_in_finish(in);
}

/* One that comes late, or behind one that was lost, is of no use: the sender finds out. */
void qv_in_on_piece(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = asked_for(peer, pkt);
	const uint64_t offset = offset_of(pkt);

	if (!in || offset > in->back || in->back - offset != pkt->len - sizeof offset)
		return;
	put(in, offset, pkt);
	in->back = offset;
	if (in->pos >= in->back)
		qv_in_finish(in);
}
