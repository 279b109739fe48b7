/* SPDX-License-Identifier: BSD-2-Clause */
/* transfer.c - sends and receives, tagged and not: flags, addresses, then our protocol. */
#include "layered.h"
#include "short.h"
#include "engine/base/iov.h"

#define SEND_FLAGS                                                            \
	(FI_COMPLETION | FI_INJECT | FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE | FI_FENCE)
#define ACK_FLAGS (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

static ssize_t to_errno(int status)
{
	return QV_LIKELY(status == QV_OK) ? 0 : -(ssize_t)qv_fi_errno(status);
}

static ssize_t start_send(struct qv_fi_ep *ep, const struct qv_fi_send *s,
			  struct qv_send_args *args)
{
	struct qv_peer *peer;
	int status, rc;

	qv_fi_lock(ep->dom);
	rc = qv_fi_peer(ep, s->to, &peer);
	if (QV_UNLIKELY(rc)) {
		qv_fi_unlock(ep->dom);
		return rc;
	}
	status = qv_proto_send(ep->proto, peer, args);
	if (QV_UNLIKELY(status == QV_EAGAIN))
		qv_fi_ep_progress(ep);
	if (QV_UNLIKELY(qv_proto_wants_progress(ep->proto))) /* another thread may sleep */
		qv_fi_ep_wake(ep);
	qv_fi_unlock(ep->dom);
	return QV_LIKELY(status == QV_OK) ? 0 : to_errno(status);
}

static bool pass_fence(struct qv_fi_ep *ep, fi_addr_t to)
{
	bool is_open;

	qv_fi_lock(ep->dom);
	is_open = qv_fi_fence_is_open(ep, to);
	qv_fi_unlock(ep->dom);
	return is_open;
}

/* When a send of these flags is complete. */
static unsigned level(uint64_t flags)
{
	if (flags & ACK_FLAGS)
		return QV_REQ_ACK;
	return flags & FI_TRANSMIT_COMPLETE ? QV_REQ_SENT : 0;
}

ssize_t qv_fi_layered_send(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags)
{
	struct qv_send_args args = {
		.iov = s->iov,
		.cnt = s->cnt,
		.tag = s->tag,
		.data = s->data,
		.flags = s->req,
		.context = s->context,
		.cookie = !ep->tx_selective || flags & FI_COMPLETION ? QV_CK_ENTRY : 0,
	};

	if (QV_UNLIKELY(flags & ~SEND_FLAGS))
		return -FI_EBADFLAGS;
	if (QV_UNLIKELY(s->cnt > QV_FI_IOV_LIMIT))
		return -FI_EINVAL;
	if (QV_UNLIKELY(flags & (ACK_FLAGS | FI_TRANSMIT_COMPLETE | FI_INJECT | FI_FENCE))) {
		if (flags & FI_FENCE && !pass_fence(ep, s->to))
			return -FI_EAGAIN;
		args.flags |= level(flags);
		if (flags & FI_INJECT)
			args.flags |= QV_REQ_INJECT;
		if (flags & FI_INJECT && qv_iov_len(s->iov, s->cnt) > QV_FI_INJECT_SIZE)
			return -FI_EINVAL;
	}
	return start_send(ep, s, &args);
}

bool qv_fi_put_longer(struct qv_fi_ep *ep, fi_addr_t to, enum qv_slot_kind kind, uint64_t tag,
		      uint64_t data, const void *buf, size_t len)
{
	struct qv_peer *peer = qv_fi_free_peer(ep, to, len);
	struct qv_node_peer *there;
	struct qv_node *node;

	if (QV_UNLIKELY(!peer || (len > QV_PROTO_SHORT && !qv_longer_may_go(peer, len))))
		return false;
	node = qv_fi_short_node(peer);
	there = QV_LIKELY(node) ? qv_node_ready(node, peer->addr) : NULL;
	if (QV_UNLIKELY(!there || !qv_node_put(node, there, kind, tag, data, buf, len)))
		return false;
	qv_plain_gone(peer, len);
	return true;
}

ssize_t qv_fi_layered_inject(struct qv_fi_ep *ep, const struct qv_fi_send *s)
{
	struct qv_send_args args = {
		.iov = s->iov,
		.cnt = s->cnt,
		.tag = s->tag,
		.data = s->data,
		.flags = s->req | QV_REQ_INJECT | QV_REQ_QUIET,
		.cookie = QV_CK_NONE,
	};

	if (QV_UNLIKELY(s->iov->iov_len > QV_FI_INJECT_SIZE))
		return -FI_EINVAL;
	if (QV_UNLIKELY(ep->cntrs[QV_FI_CNTR_SEND])) /* who else sees when it is complete? */
		args.flags |= level(ep->tx_op_flags);
	return start_send(ep, s, &args);
}

/* Receives. */

static ssize_t peek(struct qv_fi_ep *ep, struct qv_recv_args *args, uint64_t flags)
{
	enum qv_peek how = flags & FI_CLAIM     ? QV_PEEK_CLAIM
			   : flags & FI_DISCARD ? QV_PEEK_DISCARD
						: QV_PEEK_LOOK;
	struct qv_unexp *claimed = NULL;

	if (how == QV_PEEK_CLAIM && (!args->context || flags & FI_DISCARD))
		return -FI_EINVAL;
	args->cookie |= QV_CK_PEEK;
	qv_fi_ep_progress(ep);
	qv_proto_peek(ep->proto, args, how, &claimed);
	if (how == QV_PEEK_CLAIM && claimed)
		qv_fi_claim_store(args->context, claimed);
	return 0;
}

static ssize_t receive_claimed(struct qv_fi_ep *ep, struct qv_recv_args *args, uint64_t flags)
{
	struct qv_unexp *u = args->context ? qv_fi_claim_take(args->context) : NULL;
	int status;

	if (!u)
		return -FI_EINVAL;
	if (flags & FI_DISCARD)
		args->cookie |= QV_CK_PEEK;
	status = qv_proto_recv_claimed(ep->proto, u, args, flags & FI_DISCARD);
	if (status)
		qv_fi_claim_store(args->context, u);
	return to_errno(status);
}

static ssize_t receive_special(struct qv_fi_ep *ep, struct qv_recv_args *args, uint64_t flags)
{
	if (flags & ~(QV_FI_RECV_FLAGS | qv_fi_special_flags(args->flags)))
		return -FI_EBADFLAGS;
	if (flags & FI_PEEK)
		return peek(ep, args, flags);
	if (flags & FI_CLAIM)
		return receive_claimed(ep, args, flags);
	if (flags & FI_DISCARD)
		return -FI_EBADFLAGS;
	if (flags & FI_MULTI_RECV) {
		if (args->cnt != 1)
			return -FI_EINVAL;
		args->flags |= QV_REQ_MULTI;
		args->multi_min = ep->multi_min;
	}
	return to_errno(qv_proto_recv(ep->proto, args));
}

ssize_t qv_fi_layered_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags)
{
	struct qv_recv_args args = {
		.iov = r->iov,
		.cnt = r->cnt,
		.tag = r->tag,
		.ignore = r->ignore,
		.flags = r->req,
		.context = r->context,
		.cookie = !ep->rx_selective || flags & FI_COMPLETION ? QV_CK_ENTRY : 0,
	};
	ssize_t rc;

	if (QV_UNLIKELY(r->cnt > QV_FI_IOV_LIMIT))
		return -FI_EINVAL;
	qv_fi_lock(ep->dom);
	if (ep->directed && r->from != FI_ADDR_UNSPEC) {
		rc = qv_fi_peer(ep, r->from, &args.from);
		if (QV_UNLIKELY(rc))
			goto out;
	}
	if (QV_UNLIKELY(qv_fi_params.hints) &&
	    qv_fi_breaks_assertion(ep, args.flags, args.ignore, args.from ? 0 : QV_SRC_ANY,
				   flags)) {
		rc = -FI_EINVAL;
		goto out;
	}
	if (QV_LIKELY(!(flags & ~QV_FI_RECV_FLAGS)))
		rc = to_errno(qv_proto_recv(ep->proto, &args));
	else
		rc = receive_special(ep, &args, flags);
out:
	qv_fi_unlock(ep->dom);
	return rc;
}
