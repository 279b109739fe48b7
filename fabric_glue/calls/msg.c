/* SPDX-License-Identifier: BSD-2-Clause */
/* msg.c - the untagged calls (fi_msg(3)). */
#include "fabric_glue/calls.h"

static struct qv_fi_ep *ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct qv_fi_ep, fid);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, void *context)
{
	struct qv_fi_recv r = {.iov = iov, .cnt = count, .from = src, .context = context};

	(void)desc;
	return qv_fi_recv(ep_of(fid), &r, ep_of(fid)->rx_op_flags);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			void *context)
{
	struct iovec iov = {buf, len};

	return msg_recvv(fid, &iov, &desc, 1, src, context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct qv_fi_recv r = {.iov = msg->msg_iov,
			       .cnt = msg->iov_count,
			       .from = msg->addr,
			       .context = msg->context};

	/* A receive is complete when its message is here, whatever the sender waits for. */
	return qv_fi_recv(ep_of(fid), &r, flags & ~(uint64_t)FI_TRANSMIT_COMPLETE);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t to, void *context)
{
	struct qv_fi_send s = {.iov = iov, .cnt = count, .to = to, .context = context};

	(void)desc;
	return qv_fi_send(ep_of(fid), &s, ep_of(fid)->tx_op_flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
			void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return msg_sendv(fid, &iov, &desc, 1, to, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct qv_fi_send s = {.iov = msg->msg_iov,
			       .cnt = msg->iov_count,
			       .to = msg->addr,
			       .data = msg->data,
			       .context = msg->context,
			       .req = flags & FI_REMOTE_CQ_DATA ? QV_REQ_DATA : 0};

	return qv_fi_send(ep_of(fid), &s, flags);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t to, void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_fi_send s = {.iov = &iov,
			       .cnt = 1,
			       .to = to,
			       .data = data,
			       .req = QV_REQ_DATA,
			       .context = context};

	(void)desc;
	return qv_fi_send(ep_of(fid), &s, ep_of(fid)->tx_op_flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_fi_send s = {.iov = &iov, .cnt = 1, .to = to};

	return qv_fi_inject(ep_of(fid), &s);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct qv_fi_send s = {.iov = &iov, .cnt = 1, .to = to, .data = data, .req = QV_REQ_DATA};

	return qv_fi_inject(ep_of(fid), &s);
}

struct fi_ops_msg qv_fi_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
