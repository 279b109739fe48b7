/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short.h - short ways of common calls, with no structure of a request between call and engine. A
 * tagged message goes into the ring of a process of this node; an injected one also to the core; a
 * tagged receive into matching. Each way asks one question. The general way (transfer.c) does all that
 * these do not, and the same with what they do.
 */
#ifndef QV_FI_SHORT_H
#define QV_FI_SHORT_H

#include "engine/node/put.h"
#include "engine/proto/plain.h"
#include "fabric_glue/calls.h"
#include "comp.h"

/* Has this thread the domain for itself, so that no lock is to be taken? */
QV_INLINE bool qv_fi_is_owner(const struct qv_fi_ep *ep)
{
	return QV_LIKELY(qv_fi_owner(ep->dom) == qv_thread());
}

/* Who gets a message, if nothing that goes there waits, and nobody counts it. A peer is here only when
 * the endpoint is enabled. NULL: the general way. */
QV_INLINE struct qv_peer *qv_fi_free_peer(struct qv_fi_ep *ep, fi_addr_t to, size_t len)
{
	struct qv_peer *peer;

	if (QV_UNLIKELY(!qv_fi_is_owner(ep) || to >= ep->npeers || ep->cntrs[QV_FI_CNTR_SEND]))
		return NULL;
	peer = ep->peers[to];
	return QV_LIKELY(peer && qv_plain_may_go(peer, len)) ? peer : NULL;
}

/* The same of a short message. */
QV_INLINE struct qv_peer *qv_fi_short_peer(struct qv_fi_ep *ep, fi_addr_t to, size_t len)
{
	return QV_LIKELY(len <= QV_PROTO_SHORT) ? qv_fi_free_peer(ep, to, len) : NULL;
}

/* What has the slots for messages to this peer. NULL: they are packets. */
QV_INLINE struct qv_node *qv_fi_short_node(const struct qv_peer *peer)
{
	return QV_LIKELY(peer->headerless) ? container_of(peer->x, struct qv_fi_rail, xport)->node
					   : NULL;
}

/* A word or two, to the ring of that process of this node. False: nothing has happened. */
QV_INLINE bool qv_fi_short_put(struct qv_node *node, struct qv_peer *peer, enum qv_slot_kind kind,
			       uint64_t tag, uint64_t data, const void *buf, size_t len)
{
	struct qv_node_peer *there = qv_node_ready(node, peer->addr);

	if (QV_UNLIKELY(!there || len > QV_WORDS_MAX))
		return false;
	qv_plain_gone(peer, len);
	qv_node_put_words(node, there, kind, tag, data, buf, len);
	return true;
}

/* Flags of a send that is over when its payload is in the ring. */
#define QV_FI_SEND_FLAGS (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_MORE)

QV_INLINE void qv_fi_short_sent(struct qv_fi_ep *ep, void *context)
{
	if (!ep->tx_selective || ep->tx_op_flags & FI_COMPLETION)
		qv_fi_sent(ep, context, true);
}

/* A tagged send of a word or two, with its entry. Flags: as the endpoint has them. False: nothing has
 * happened. */
QV_INLINE bool qv_fi_short_send(struct qv_fi_ep *ep, fi_addr_t to, enum qv_slot_kind kind,
				uint64_t tag, uint64_t data, const void *buf, size_t len,
				void *context)
{
	struct qv_peer *peer = qv_fi_short_peer(ep, to, len);
	struct qv_node *node = QV_LIKELY(peer) ? qv_fi_short_node(peer) : NULL;

	if (QV_UNLIKELY(!node || ep->tx_op_flags & ~QV_FI_SEND_FLAGS ||
			!qv_fi_short_put(node, peer, kind, tag, data, buf, len)))
		return false;
	qv_fi_short_sent(ep, context);
	return true;
}

/* transfer.c: more bytes than a word or two. A function apart: those above have few registers to save. */
bool qv_fi_put_longer(struct qv_fi_ep *ep, fi_addr_t to, enum qv_slot_kind kind, uint64_t tag,
		      uint64_t data, const void *buf, size_t len);

/* Flags of a receive that ask for nothing special. */
#define QV_FI_RECV_FLAGS (FI_COMPLETION | FI_MORE)

/* A tagged receive into one piece. Flags: as the endpoint has them. False: nothing has happened. */
QV_INLINE bool qv_fi_short_recv(struct qv_fi_ep *ep, fi_addr_t from, void *buf, size_t len,
				uint64_t tag, uint64_t ignore, void *context)
{
	const uint64_t flags = ep->rx_op_flags & ~(uint64_t)FI_MULTI_RECV;
	const struct iovec iov = {buf, len};
	struct qv_recv_args args = {
		.iov = &iov,
		.cnt = 1,
		.tag = tag,
		.ignore = ignore,
		.flags = QV_REQ_TAGGED,
		.context = context,
		.cookie = !ep->rx_selective || flags & FI_COMPLETION ? QV_CK_ENTRY : 0,
	};

	if (QV_UNLIKELY(!qv_fi_is_owner(ep) || !qv_fi_is_enabled(ep) || !ep->proto ||
			qv_fi_params.hints || flags & ~QV_FI_RECV_FLAGS))
		return false;
	if (ep->directed && from != FI_ADDR_UNSPEC) {
		args.from = from < ep->npeers ? ep->peers[from] : NULL;
		if (QV_UNLIKELY(!args.from))
			return false;
	}
	return QV_LIKELY(!qv_recv_post(ep->proto, &args));
}

#endif /* QV_FI_SHORT_H */
