/* SPDX-License-Identifier: BSD-2-Clause */
/* mode.c - layered mode as a table. */
#include "layered.h"

#include <quiver/fi_ext.h>

#include "engine/node/node.h"

static ssize_t cancel(struct qv_fi_ep *ep, void *context)
{
	return qv_proto_cancel(ep->proto, context) == QV_OK ? 0 : -FI_ENOENT;
}

static bool may_sleep(const struct qv_fi_ep *ep)
{
	return !qv_proto_wants_progress(ep->proto);
}

static bool waits(const struct qv_fi_ep *ep)
{
	return !qv_proto_is_settled(ep->proto);
}

static bool finds_nobody(struct qv_fi_ep *ep, const struct qv_fi_rail *rail, fi_addr_t index)
{
	struct qv_peer *peer;

	return !rail->node && !qv_fi_peer(ep, index, &peer) && qv_proto_peer_want(peer) == QV_EPEER;
}

static struct qv_match *engine(const struct qv_fi_ep *ep, unsigned which)
{
	return qv_proto_engine(ep->proto, which);
}

static void count(const struct qv_fi_ep *ep, struct qv_fi_stats *s)
{
	struct qv_proto_stats p;

	qv_proto_get_stats(ep->proto, &p);
	*s = (struct qv_fi_stats){
		.eager = p.eager,
		.rendezvous = p.rndv,
		.over_budget = p.over_budget,
		.queued = p.queued,
		.refused = p.refused,
		.pieces = p.pieces,
		.retaken = p.retaken,
		.unexpected_bytes = p.unexpected_bytes,
		.unexpected_bytes_max = p.unexpected_bytes_max,
		.tagged = p.tagged,
		.untagged = p.untagged,
		.copied = p.copied,
	};
	qv_fi_coll_collect(ep, s);
	for (unsigned c = 0; c < QV_FI_RAILS; c++)
		s->packets += ep->rail[c].packets;
}

static void collect(const struct qv_fi_ep *ep, struct qv_fi_stats *s)
{
	const struct qv_match *tagged = engine(ep, QV_REQ_TAGGED);
	struct qv_peer *peer = NULL;

	count(ep, s);
	s->core = qv_fi_ep_cores(ep);
	s->structure = qv_match_structure(tagged);
	s->isa = qv_isa_name(qv_match_isa(tagged));
	while ((peer = qv_proto_next_peer(ep->proto, peer)))
		s->peers++;
	for (unsigned c = 0; c < QV_FI_RAILS; c++) {
		struct qv_node_stats node;

		if (!ep->rail[c].node)
			continue;
		qv_node_get_stats(ep->rail[c].node, &node);
		s->node_mapped = node.bytes;
		s->node_touched = node.touched;
	}
}

/* Of a peer that has ended, nothing is known. */
static fi_addr_t source(const struct qv_fi_ep *ep, uint32_t src)
{
	struct qv_peer *peer = NULL;

	while ((peer = qv_proto_next_peer(ep->proto, peer)))
		if (qv_proto_peer_source(peer) == src)
			return qv_proto_peer_first_user(peer);
	return FI_ADDR_NOTAVAIL;
}

static uint64_t received(const struct qv_fi_ep *ep, fi_addr_t index)
{
	return index < ep->npeers && ep->peers[index] ? qv_proto_peer_received(ep->peers[index])
						      : 0;
}

const struct qv_fi_mode qv_fi_layered_mode = {
	.title = "",
	.send = qv_fi_layered_send,
	.inject = qv_fi_layered_inject,
	.recv = qv_fi_layered_recv,
	.cancel = cancel,
	.progress = qv_fi_layered_progress,
	.may_sleep = may_sleep,
	.waits = waits,
	.finds_nobody = finds_nobody,
	.av_inserted = qv_fi_layered_av_inserted,
	.av_removed = qv_fi_layered_av_removed,
	.coll_send = qv_fi_layered_coll_send,
	.coll_recv = qv_fi_layered_coll_recv,
	.coll_cancel = qv_fi_layered_coll_cancel,
	.coll_discard = qv_fi_layered_coll_discard,
	.engine = engine,
	.collect = collect,
	.source = source,
	.count = count,
	.received = received,
};
