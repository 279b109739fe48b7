/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_rma.c - fi_rma(3), passed through to the core with addresses and completions translated. */
#include "qv_fi_data.h"

#include <stdlib.h>

#define RMA_FLAGS                                                             \
	(FI_COMPLETION | FI_INJECT | FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE)

/* One operation that the core has in hand. */
struct qv_fi_pass {
	struct qv_xfer xfer; /* first */
	struct qv_fi_ep *ep;
	struct qv_fi_pass *next, **at; /* in ep->passes; *at is this one */
	void *context;
	uint64_t flags;
	bool entry;
};

static void remember(struct qv_fi_pass *pass)
{
	struct qv_fi_pass **first = &pass->ep->passes;

	pass->next = *first;
	pass->at = first;
	if (pass->next)
		pass->next->at = &pass->next;
	*first = pass;
}

static void forget(struct qv_fi_pass *pass)
{
	*pass->at = pass->next;
	if (pass->next)
		pass->next->at = pass->at;
	free(pass);
}

void qv_fi_rma_end(struct qv_fi_ep *ep)
{
	while (ep->passes)
		forget(ep->passes);
}

static struct qv_fi_ep *ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct qv_fi_ep, fid);
}

static void pass_done(struct qv_xfer *xfer, int status)
{
	struct qv_fi_pass *pass = container_of(xfer, struct qv_fi_pass, xfer);

	qv_fi_rma_complete(pass->ep, pass->context, pass->flags, pass->entry, qv_fi_errno(status));
	forget(pass);
}

/* The way to an application address, lock held. */
static int find_way(struct qv_fi_ep *ep, fi_addr_t addr, struct qv_fi_rail **rail, fi_addr_t *core)
{
	struct qv_fi_way way;
	int ret = ep->proto ? qv_fi_av_reach(ep->av, addr, &way) : -FI_EOPBADSTATE;

	if (ret)
		return ret;
	*rail = &ep->rail[way.core];
	*core = way.addr;
	return 0;
}

static ssize_t give(struct qv_fi_rail *rail, const struct fi_msg_rma *msg, uint64_t flags,
		    uint64_t kind)
{
	ssize_t rc = kind == FI_READ ? fi_readmsg(rail->core, msg, flags | FI_COMPLETION)
				     : fi_writemsg(rail->core, msg, flags | FI_COMPLETION);

	rail->used = true;
	rail->flying += !rc;
	return rc;
}

static ssize_t rma_msg(struct qv_fi_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		       uint64_t kind)
{
	struct fi_msg_rma out = *msg;
	struct qv_fi_rail *rail;
	struct qv_fi_pass *pass;
	ssize_t rc;

	if (!ep->dom->has_rma)
		return -FI_ENOSYS;
	if (flags & ~RMA_FLAGS)
		return -FI_EBADFLAGS;
	pass = malloc(sizeof *pass);
	if (!pass)
		return -FI_ENOMEM;
	pass->xfer.done = pass_done;
	pass->ep = ep;
	pass->context = msg->context;
	pass->flags = FI_RMA | kind;
	pass->entry = !ep->tx_selective || flags & FI_COMPLETION;
	out.context = pass;
	qv_fi_lock(ep->dom);
	rc = find_way(ep, msg->addr, &rail, &out.addr);
	if (!rc)
		rc = give(rail, &out, flags, kind);
	if (rc)
		free(pass);
	else
		remember(pass);
	if (rc == -FI_EAGAIN)
		qv_fi_ep_progress(ep);
	qv_fi_unlock(ep->dom);
	return rc;
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
	struct fi_rma_iov rma = {.addr = addr, .key = key};
	struct fi_msg_rma msg = {.msg_iov = iov,
				 .desc = desc,
				 .iov_count = count,
				 .addr = at,
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = context,
				 .data = data};

	for (size_t i = 0; i < count; i++)
		rma.len += iov[i].iov_len;
	return rma_msg(ep_of(fid), &msg, ep_of(fid)->tx_op_flags | more, kind);
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

static ssize_t inject(struct qv_fi_ep *ep, const void *buf, size_t len, const uint64_t *data,
		      fi_addr_t to, uint64_t addr, uint64_t key)
{
	struct qv_fi_rail *rail;
	fi_addr_t core;
	ssize_t rc;

	if (!ep->dom->has_rma)
		return -FI_ENOSYS;
	qv_fi_lock(ep->dom);
	rc = find_way(ep, to, &rail, &core);
	if (!rc) {
		rail->used = true;
		rc = data ? fi_inject_writedata(rail->core, buf, len, *data, core, addr, key)
			  : fi_inject_write(rail->core, buf, len, core, addr, key);
	}
	if (!rc)
		qv_fi_rma_complete(ep, NULL, FI_RMA | FI_WRITE, false, 0);
	else if (rc == -FI_EAGAIN)
		qv_fi_ep_progress(ep);
	qv_fi_unlock(ep->dom);
	return rc;
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
