/* SPDX-License-Identifier: BSD-2-Clause */
/* key.c - what a packet is going to match, for who matches many of them ahead. */
#include "internal.h"

#include <string.h>

/* As qv_proto_packet finds it. */
static const struct qv_peer *sender(struct qv_proto *p, const struct qv_wire_pkt *pkt)
{
	const uint32_t index = pkt->hdr.src & QV_ID_INDEX;

	if (index < p->npeers && p->peers[index] && p->peers[index]->id == pkt->hdr.src)
		return p->peers[index];
	if (pkt->hdr.src == QV_SRC_UNKNOWN && pkt->hdr.flags & QV_WF_UID)
		return qv_peer_by_token(p, pkt->uid);
	return NULL;
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
	peer = sender(p, &pkt);
	if (!peer)
		return false;
	*tag = hdr.arg;
	*src = peer->src;
	return true;
}

uint32_t qv_proto_peer_source(const struct qv_peer *peer)
{
	return peer->src;
}
