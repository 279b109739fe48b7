/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short.h - short ways of common calls, with no structure of a request between call and engine: an
 * injected message of a word or two to a process of this node goes into the ring, a tagged receive
 * into matching. Each asks one question; the general way (transfer.c) does all that they do not, and
 * the same with what they do.
 */
#ifndef QV_FI_SHORT_H
#define QV_FI_SHORT_H

#include "engine/node/put.h"
#include "engine/proto/plain.h"
#include "fabric_glue/calls.h"

/* Has this thread the domain for itself, so that no lock is to be taken? */
QV_INLINE bool qv_fi_is_owner(const struct qv_fi_ep *ep)
{
	return QV_LIKELY(qv_fi_owner(ep->dom) == qv_thread());
}

/* An injected message, if nothing that goes to its peer waits, and nobody counts it. A peer is here
 * only when the endpoint is enabled. False: nothing has happened. */
QV_INLINE bool qv_fi_short_inject(struct qv_fi_ep *ep, fi_addr_t to, enum qv_slot_kind kind,
				  uint64_t tag, uint64_t data, const void *buf, size_t len)
{
	struct qv_node_peer *there;
	struct qv_peer *peer;
	struct qv_node *node;

	if (QV_UNLIKELY(len > QV_WORDS_MAX || !qv_fi_is_owner(ep) || to >= ep->npeers ||
			ep->cntrs[QV_FI_CNTR_SEND]))
		return false;
	peer = ep->peers[to];
	if (QV_UNLIKELY(!peer || !qv_plain_may_go(peer, len)))
		return false;
	node = container_of(peer->x, struct qv_fi_rail, xport)->node;
	there = node ? qv_node_ready(node, peer->addr) : NULL;
	if (QV_UNLIKELY(!there))
		return false;
	qv_plain_gone(peer, len);
	qv_node_put_words(node, there, kind, tag, data, buf, len);
	return true;
}

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
