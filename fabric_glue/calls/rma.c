/* SPDX-License-Identifier: BSD-2-Clause */
/* rma.c - fi_rma(3), passed through to the core with addresses and completions translated. */
#include "fabric_glue/calls.h"
#include "engine/base/iov.h"

#define RMA_FLAGS                                                             \
	(FI_COMPLETION | FI_INJECT | FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE | FI_FENCE)

static struct qv_fi_ep *ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct qv_fi_ep, fid);
}

static bool loses_data(struct qv_fi_ep *ep, uint64_t flags)
{
	if (QV_LIKELY(!(flags & FI_REMOTE_CQ_DATA) || !ep->dom->no_write_data))
		return false;
	QV_FI_WARN(EP_DATA, "core %s loses the data of fi_writedata under FI_OFI_RXM_USE_SRX=1\n",
		   qv_fi_rail_name(&ep->rail[QV_FI_MAIN]));
	return true;
}

static ssize_t give(struct qv_fi_rail *rail, fi_addr_t to, struct qv_fi_pass *pass,
		    const struct qv_fi_passing *p)
{
	struct fi_msg_rma out = *(const struct fi_msg_rma *)p->op;
	uint64_t flags = p->flags | FI_COMPLETION;
	struct iovec copy[QV_FI_IOV_LIMIT];

	out.addr = to;
	out.context = pass;
	if (!(p->kind & FI_WRITE))
		return fi_readmsg(rail->core, &out, flags & ~FI_INJECT);
	if (flags & FI_INJECT && pass->copy_all) { /* more than the core injects */
		for (size_t i = 0; i < out.iov_count; i++) {
			copy[i].iov_len = out.msg_iov[i].iov_len;
			copy[i].iov_base =
				qv_fi_pass_copy(pass, out.msg_iov[i].iov_base, copy[i].iov_len);
		}
		out.msg_iov = copy;
		flags &= ~FI_INJECT;
	}
	return fi_writemsg(rail->core, &out, flags);
}

static ssize_t rma_msg(struct qv_fi_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		       uint64_t kind)
{
	struct qv_fi_passing p = {.to = msg->addr,
				  .context = msg->context,
				  .flags = flags,
				  .kind = FI_RMA | kind,
				  .give = give,
				  .op = msg};

	if (!ep->dom->has_rma)
		return -FI_ENOSYS;
	if (flags & ~RMA_FLAGS)
		return -FI_EBADFLAGS;
	if (loses_data(ep, flags))
		return -FI_EOPNOTSUPP;
	if (msg->iov_count > QV_FI_IOV_LIMIT)
		return -FI_EINVAL;
	p.len = qv_iov_len(msg->msg_iov, msg->iov_count);
	if (flags & FI_INJECT && kind == FI_WRITE && p.len > ep->dom->inject)
		return -FI_EINVAL;
	return qv_fi_pass(ep, &p);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(ep_of(fid), msg, flags, FI_READ);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(ep_of(fid), msg, flags, FI_WRITE);
}

/* The calls without flags use those of the endpoint. */
static ssize_t rma_v(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		     fi_addr_t at, uint64_t addr, uint64_t key, uint64_t data, void *context,
		     uint64_t kind, uint64_t more)
{
	struct fi_rma_iov rma = {.addr = addr, .len = qv_iov_len(iov, count), .key = key};
	struct fi_msg_rma msg = {.msg_iov = iov,
				 .desc = desc,
				 .iov_count = count,
				 .addr = at,
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = context,
				 .data = data};

	return rma_msg(ep_of(fid), &msg, qv_fi_memory_flags(ep_of(fid)) | more, kind);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	return rma_v(fid, iov, desc, count, src, addr, key, 0, context, FI_READ, 0);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = {buf, len};

	return rma_v(fid, &iov, &desc, 1, src, addr, key, 0, context, FI_READ, 0);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t to, uint64_t addr, uint64_t key, void *context)
{
	return rma_v(fid, iov, desc, count, to, addr, key, 0, context, FI_WRITE, 0);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
			 uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return rma_v(fid, &iov, &desc, 1, to, addr, key, 0, context, FI_WRITE, 0);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t to, uint64_t addr, uint64_t key,
			     void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return rma_v(fid, &iov, &desc, 1, to, addr, key, data, context, FI_WRITE,
		     FI_REMOTE_CQ_DATA);
}

static ssize_t give_inject(struct qv_fi_rail *rail, fi_addr_t to, const void *op)
{
	const struct fi_msg_rma *msg = op;
	const void *buf = msg->msg_iov->iov_base;
	size_t len = msg->msg_iov->iov_len;
	uint64_t addr = msg->rma_iov->addr, key = msg->rma_iov->key;

	return msg->context ? fi_inject_writedata(rail->core, buf, len, msg->data, to, addr, key)
			    : fi_inject_write(rail->core, buf, len, to, addr, key);
}

/* data: NULL if there is none. The message's context says so. */
static ssize_t inject(struct qv_fi_ep *ep, const void *buf, size_t len, uint64_t *data,
		      fi_addr_t to, uint64_t addr, uint64_t key)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, len};
	const struct fi_rma_iov rma = {.addr = addr, .len = len, .key = key};
	const struct fi_msg_rma msg = {.msg_iov = &iov,
				       .iov_count = 1,
				       .rma_iov = &rma,
				       .rma_iov_count = 1,
				       .context = data,
				       .data = data ? *data : 0};
	const struct qv_fi_passing p = {.to = to,
					.flags = FI_INJECT | (data ? FI_REMOTE_CQ_DATA : 0),
					.kind = FI_RMA | FI_WRITE,
					.len = len,
					.quiet = true,
					.give = give,
					.op = &msg};

	if (!ep->dom->has_rma)
		return -FI_ENOSYS;
	return loses_data(ep, p.flags) ? -FI_EOPNOTSUPP : qv_fi_pass_inject(ep, &p, give_inject);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to,
			  uint64_t addr, uint64_t key)
{
	return inject(ep_of(fid), buf, len, NULL, to, addr, key);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to, uint64_t addr, uint64_t key)
{
	return inject(ep_of(fid), buf, len, &data, to, addr, key);
}

struct fi_ops_rma qv_fi_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
