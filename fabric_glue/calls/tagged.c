/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged.c - the fi_t* calls (fi_tagged(3)). */
#include "fabric_glue/layered/short.h"

static struct qv_fi_ep *ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct qv_fi_ep, fid);
}

/* FI_MULTI_RECV as a default is for untagged receives only. */
static uint64_t recv_flags(const struct qv_fi_ep *ep)
{
	return ep->rx_op_flags & ~(uint64_t)FI_MULTI_RECV;
}

static ssize_t trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct qv_fi_recv r = {.iov = iov,
			       .cnt = count,
			       .from = src,
			       .tag = tag,
			       .ignore = ignore,
			       .req = QV_REQ_TAGGED,
			       .context = context};

	(void)desc;
	return qv_fi_recv(ep_of(fid), &r, recv_flags(ep_of(fid)));
}

static QV_NOINLINE ssize_t trecv_any(struct fid_ep *fid, void *buf, size_t len, fi_addr_t src,
				     uint64_t tag, uint64_t ignore, void *context)
{
	struct iovec iov = {buf, len};

	return trecvv(fid, &iov, NULL, 1, src, tag, ignore, context);
}

static ssize_t trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
		     uint64_t tag, uint64_t ignore, void *context)
{
	(void)desc;
	if (qv_fi_short_recv(ep_of(fid), src, buf, len, tag, ignore, context))
		return 0;
	return trecv_any(fid, buf, len, src, tag, ignore, context);
}

static ssize_t trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct qv_fi_recv r = {.iov = msg->msg_iov,
			       .cnt = msg->iov_count,
			       .from = msg->addr,
			       .tag = msg->tag,
			       .ignore = msg->ignore,
			       .req = QV_REQ_TAGGED,
			       .context = msg->context};

	/* As in fi_recvmsg: whatever the sender waits for. */
	return qv_fi_recv(ep_of(fid), &r, flags & ~(uint64_t)FI_TRANSMIT_COMPLETE);
}

static ssize_t tsendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t to, uint64_t tag, void *context)
{
	struct qv_fi_send s = {.iov = iov,
			       .cnt = count,
			       .to = to,
			       .tag = tag,
			       .req = QV_REQ_TAGGED,
			       .context = context};

	(void)desc;
	return qv_fi_send(ep_of(fid), &s, ep_of(fid)->tx_op_flags);
}

/* A send of more than a word or two, to the ring of a process of this node, with its entry. False:
 * nothing has happened. */
static bool sends_longer(struct qv_fi_ep *ep, fi_addr_t to, enum qv_slot_kind kind, uint64_t tag,
			 uint64_t data, const void *buf, size_t len, void *context)
{
	if (QV_UNLIKELY(len <= QV_WORDS_MAX || ep->tx_op_flags & ~QV_FI_SEND_FLAGS ||
			(ep->tx_op_flags & FI_INJECT && len > QV_FI_INJECT_SIZE) ||
			!qv_fi_put_longer(ep, to, kind, tag, data, buf, len)))
		return false;
	qv_fi_short_sent(ep, context);
	return true;
}

static QV_NOINLINE ssize_t tsend_any(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to,
				     uint64_t tag, void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	if (sends_longer(ep_of(fid), to, QV_SLOT_TAGGED, tag, 0, buf, len, context))
		return 0;
	return tsendv(fid, &iov, NULL, 1, to, tag, context);
}

static ssize_t tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
		     uint64_t tag, void *context)
{
	(void)desc;
	if (qv_fi_short_send(ep_of(fid), to, QV_SLOT_TAGGED, tag, 0, buf, len, context))
		return 0;
	return tsend_any(fid, buf, len, to, tag, context);
}

static ssize_t tsendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct qv_fi_send s = {.iov = msg->msg_iov,
			       .cnt = msg->iov_count,
			       .to = msg->addr,
			       .tag = msg->tag,
			       .data = msg->data,
			       .context = msg->context,
			       .req = QV_REQ_TAGGED |
				      (flags & FI_REMOTE_CQ_DATA ? QV_REQ_DATA : 0)};

	return qv_fi_send(ep_of(fid), &s, flags);
}

static QV_NOINLINE ssize_t tsenddata_any(struct fid_ep *fid, const void *buf, size_t len,
					 uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_fi_send s = {.iov = &iov,
			       .cnt = 1,
			       .to = to,
			       .tag = tag,
			       .data = data,
			       .req = QV_REQ_TAGGED | QV_REQ_DATA,
			       .context = context};

	if (sends_longer(ep_of(fid), to, QV_SLOT_TAGGED_DATA, tag, data, buf, len, context))
		return 0;
	return qv_fi_send(ep_of(fid), &s, ep_of(fid)->tx_op_flags);
}

static ssize_t tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
			 fi_addr_t to, uint64_t tag, void *context)
{
	(void)desc;
	if (qv_fi_short_send(ep_of(fid), to, QV_SLOT_TAGGED_DATA, tag, data, buf, len, context))
		return 0;
	return tsenddata_any(fid, buf, len, data, to, tag, context);
}

static bool injects_longer(struct qv_fi_ep *ep, fi_addr_t to, enum qv_slot_kind kind, uint64_t tag,
			   uint64_t data, const void *buf, size_t len)
{
	return len > QV_WORDS_MAX && len <= QV_FI_INJECT_SIZE &&
	       qv_fi_put_longer(ep, to, kind, tag, data, buf, len);
}

static QV_NOINLINE ssize_t tinject_any(struct fid_ep *fid, const void *buf, size_t len,
				       fi_addr_t to, uint64_t tag)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_fi_send s = {.iov = &iov, .cnt = 1, .to = to, .tag = tag, .req = QV_REQ_TAGGED};

	if (injects_longer(ep_of(fid), to, QV_SLOT_TAGGED, tag, 0, buf, len))
		return 0;
	return qv_fi_inject(ep_of(fid), &s);
}

_Static_assert(QV_FI_INJECT_SIZE <= QV_PROTO_INJECT, "the protocol takes what we promise");

/* A short one, as a packet. */
static QV_NOINLINE ssize_t tinject_packet(struct fid_ep *fid, const void *buf, size_t len,
					  fi_addr_t to, uint64_t tag)
{
	struct qv_peer *peer = ep_of(fid)->peers[to];
	int rc;

	if (peer->headerless) {
		rc = peer->x->ops->inject_tagged(peer->x, peer->addr, tag, buf, len);
		if (QV_LIKELY(!rc))
			qv_plain_gone(peer, len);
	} else {
		struct iovec iov = {(void *)(uintptr_t)buf, len};
		struct qv_send_args args = {
			.iov = &iov, .cnt = 1, .tag = tag, .flags = QV_REQ_TAGGED};

		rc = qv_plain_send_numbered(peer, &args, len);
	}
	return QV_LIKELY(!rc) ? 0 : tinject_any(fid, buf, len, to, tag);
}

static ssize_t tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to, uint64_t tag)
{
	struct qv_peer *peer = qv_fi_short_peer(ep_of(fid), to, len);
	struct qv_node *node;

	if (QV_UNLIKELY(!peer))
		return tinject_any(fid, buf, len, to, tag);
	node = qv_fi_short_node(peer);
	if (!node)
		return tinject_packet(fid, buf, len, to, tag);
	if (QV_LIKELY(qv_fi_short_put(node, peer, QV_SLOT_TAGGED, tag, 0, buf, len)))
		return 0;
	return tinject_any(fid, buf, len, to, tag);
}

static QV_NOINLINE ssize_t tinjectdata_any(struct fid_ep *fid, const void *buf, size_t len,
					   uint64_t data, fi_addr_t to, uint64_t tag)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_fi_send s = {.iov = &iov,
			       .cnt = 1,
			       .to = to,
			       .tag = tag,
			       .data = data,
			       .req = QV_REQ_TAGGED | QV_REQ_DATA};

	if (injects_longer(ep_of(fid), to, QV_SLOT_TAGGED_DATA, tag, data, buf, len))
		return 0;
	return qv_fi_inject(ep_of(fid), &s);
}

static QV_NOINLINE ssize_t tinjectdata_packet(struct fid_ep *fid, const void *buf, size_t len,
					      uint64_t data, fi_addr_t to, uint64_t tag)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_send_args args = {.iov = &iov,
				    .cnt = 1,
				    .tag = tag,
				    .data = data,
				    .flags = QV_REQ_TAGGED | QV_REQ_DATA};

	if (QV_UNLIKELY(qv_plain_send_numbered(ep_of(fid)->peers[to], &args, len)))
		return tinjectdata_any(fid, buf, len, data, to, tag);
	return 0;
}

static ssize_t tinjectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			   fi_addr_t to, uint64_t tag)
{
	struct qv_peer *peer = qv_fi_short_peer(ep_of(fid), to, len);
	struct qv_node *node;

	if (QV_UNLIKELY(!peer))
		return tinjectdata_any(fid, buf, len, data, to, tag);
	node = qv_fi_short_node(peer);
	if (!node)
		return tinjectdata_packet(fid, buf, len, data, to, tag);
	if (QV_LIKELY(qv_fi_short_put(node, peer, QV_SLOT_TAGGED_DATA, tag, data, buf, len)))
		return 0;
	return tinjectdata_any(fid, buf, len, data, to, tag);
}

struct fi_ops_tagged qv_fi_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = trecv,
	.recvv = trecvv,
	.recvmsg = trecvmsg,
	.send = tsend,
	.sendv = tsendv,
	.sendmsg = tsendmsg,
	.inject = tinject,
	.senddata = tsenddata,
	.injectdata = tinjectdata,
};
