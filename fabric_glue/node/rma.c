/* SPDX-License-Identifier: BSD-2-Clause */
/* rma.c - fi_rma(3) of the core `node`: the calls that the provider makes. */
#include "node.h"

#include "fabric_glue/data.h"

static ssize_t rma(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags,
		   enum qv_remote_kind kind)
{
	struct qv_span there[QV_SPANS];
	const struct qv_remote_op op = {
		.kind = kind,
		.inject = flags & FI_INJECT,
		.has_data = flags & FI_REMOTE_CQ_DATA,
		.data = flags & FI_REMOTE_CQ_DATA ? msg->data : 0,
		.there = there,
		.nthere = msg->rma_iov_count,
		.here = msg->msg_iov,
		.nhere = msg->iov_count,
	};

	if (op.nthere > QV_SPANS)
		return -FI_EINVAL;
	for (size_t i = 0; i < op.nthere; i++)
		there[i] = (struct qv_span){.addr = msg->rma_iov[i].addr,
					    .key = msg->rma_iov[i].key,
					    .len = msg->rma_iov[i].len};
	return -qv_fi_errno(
		qv_node_begin(qv_fi_node_ep_of(fid)->node, msg->addr, &op, msg->context));
}

static ssize_t readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma(fid, msg, flags, QV_REMOTE_GET);
}

static ssize_t writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma(fid, msg, flags, QV_REMOTE_PUT);
}

/* data: NULL if there is none. */
static ssize_t put_now(struct fid_ep *fid, const void *buf, size_t len, const uint64_t *data,
		       fi_addr_t to, uint64_t addr, uint64_t key)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, len};
	const struct fi_rma_iov there = {.addr = addr, .len = len, .key = key};
	const struct fi_msg_rma msg = {.msg_iov = &iov,
				       .iov_count = 1,
				       .addr = to,
				       .rma_iov = &there,
				       .rma_iov_count = 1,
				       .data = data ? *data : 0};

	return writemsg(fid, &msg, FI_INJECT | (data ? FI_REMOTE_CQ_DATA : 0));
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to, uint64_t addr,
		      uint64_t key)
{
	return put_now(fid, buf, len, NULL, to, addr, key);
}

static ssize_t injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			  fi_addr_t to, uint64_t addr, uint64_t key)
{
	return put_now(fid, buf, len, &data, to, addr, key);
}

struct fi_ops_rma qv_fi_node_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = readmsg,
	.writemsg = writemsg,
	.inject = inject,
	.injectdata = injectdata,
};
