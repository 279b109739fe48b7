/* SPDX-License-Identifier: BSD-2-Clause */
/* ops.c - every form of send and receive, waiting, probing. */
#include "tests/fabric/harness/ft.h"

bool ft_form_is_inject(enum ft_form form)
{
	return form == FT_INJECT || form == FT_INJECTDATA;
}

bool ft_form_has_data(enum ft_form form)
{
	return form == FT_SENDDATA || form == FT_SENDMSG_DATA || form == FT_INJECTDATA;
}

fi_addr_t ft_addr(struct ft_ep *ep, int rank)
{
	return rank < 0 ? FI_ADDR_UNSPEC : ep->peer[rank];
}

struct ft_op *ft_fresh(struct ft_op *op)
{
	if (op) {
		op->done = 0;
		op->on = NULL;
		op->err = 0;
		op->prov_errno = 0;
		op->flags = op->data = op->tag = 0;
		op->len = op->olen = 0;
		op->src = FI_ADDR_NOTAVAIL;
	}
	return op;
}

/* Cut the buffer into m->iovs pieces of unequal length. */
static size_t cut(const struct ft_msg *m, struct iovec *iov)
{
	size_t n = m->iovs ? m->iovs : 1, at = 0;

	for (size_t i = 0; i < n; i++) {
		size_t piece = i + 1 == n ? m->len - at : (m->len - at) / (i + 2);

		iov[i].iov_base = (char *)m->buf + at;
		iov[i].iov_len = piece;
		at += piece;
	}
	return n;
}

static ssize_t sendmsg_as(struct ft_ep *ep, uint64_t flags, const struct ft_msg *m,
			  struct ft_op *op)
{
	struct iovec iov[8];
	size_t n = cut(m, iov);

	if (m->tagged) {
		struct fi_msg_tagged msg = {.msg_iov = iov,
					    .iov_count = n,
					    .addr = m->addr,
					    .tag = m->tag,
					    .context = op,
					    .data = m->data};

		return fi_tsendmsg(ep->ep, &msg, flags | m->flags);
	}
	struct fi_msg msg = {
		.msg_iov = iov, .iov_count = n, .addr = m->addr, .context = op, .data = m->data};

	return fi_sendmsg(ep->ep, &msg, flags | m->flags);
}

ssize_t ft_send_as(struct ft_ep *ep, enum ft_form form, const struct ft_msg *m, struct ft_op *op)
{
	struct fid_ep *e = ep->ep;
	struct iovec iov[8];

	ft_fresh(op);
	switch (form) {
	case FT_SENDV:
		return m->tagged ? fi_tsendv(e, iov, NULL, cut(m, iov), m->addr, m->tag, op)
				 : fi_sendv(e, iov, NULL, cut(m, iov), m->addr, op);
	case FT_SENDMSG: return sendmsg_as(ep, FI_COMPLETION, m, op);
	case FT_SENDMSG_DATA: return sendmsg_as(ep, FI_COMPLETION | FI_REMOTE_CQ_DATA, m, op);
	case FT_SENDMSG_INJECT: return sendmsg_as(ep, FI_COMPLETION | FI_INJECT, m, op);
	case FT_SENDDATA:
		return m->tagged
			       ? fi_tsenddata(e, m->buf, m->len, NULL, m->data, m->addr, m->tag, op)
			       : fi_senddata(e, m->buf, m->len, NULL, m->data, m->addr, op);
	case FT_INJECT:
		return m->tagged ? fi_tinject(e, m->buf, m->len, m->addr, m->tag)
				 : fi_inject(e, m->buf, m->len, m->addr);
	case FT_INJECTDATA:
		return m->tagged ? fi_tinjectdata(e, m->buf, m->len, m->data, m->addr, m->tag)
				 : fi_injectdata(e, m->buf, m->len, m->data, m->addr);
	default:
		return m->tagged ? fi_tsend(e, m->buf, m->len, NULL, m->addr, m->tag, op)
				 : fi_send(e, m->buf, m->len, NULL, m->addr, op);
	}
}

static ssize_t recvmsg_as(struct ft_ep *ep, const struct ft_msg *m, struct ft_op *op)
{
	struct iovec iov[8];
	size_t n = cut(m, iov);

	if (m->tagged) {
		struct fi_msg_tagged msg = {.msg_iov = iov,
					    .iov_count = n,
					    .addr = m->addr,
					    .tag = m->tag,
					    .ignore = m->ignore,
					    .context = op};

		return fi_trecvmsg(ep->ep, &msg, FI_COMPLETION | m->flags);
	}
	struct fi_msg msg = {.msg_iov = iov, .iov_count = n, .addr = m->addr, .context = op};

	return fi_recvmsg(ep->ep, &msg, FI_COMPLETION | m->flags);
}

ssize_t ft_recv_as(struct ft_ep *ep, enum ft_rform form, const struct ft_msg *m, struct ft_op *op)
{
	struct fid_ep *e = ep->ep;
	struct iovec iov[8];

	ft_fresh(op);
	switch (form) {
	case FT_RECVV:
		return m->tagged ? fi_trecvv(e, iov, NULL, cut(m, iov), m->addr, m->tag, m->ignore,
					     op)
				 : fi_recvv(e, iov, NULL, cut(m, iov), m->addr, op);
	case FT_RECVMSG: return recvmsg_as(ep, m, op);
	default:
		return m->tagged ? fi_trecv(e, m->buf, m->len, NULL, m->addr, m->tag, m->ignore, op)
				 : fi_recv(e, m->buf, m->len, NULL, m->addr, op);
	}
}

void ft_await(struct ft_op *op, int error)
{
	while (!atomic_load_explicit(&op->done, memory_order_acquire))
		ft_progress();
	if (op->err != error)
		ft_fail("completion says %d (%s), not %d (%s)", op->err, fi_strerror(op->err),
			error, error ? fi_strerror(error) : "no error");
	CHECK_EQ(op->done, 1);
}

static ssize_t recvmsg_empty(struct ft_ep *ep, bool tagged, int from, uint64_t tag, uint64_t ignore,
			     uint64_t flags, struct ft_op *op)
{
	struct fi_msg_tagged tmsg = {
		.addr = ft_addr(ep, from), .tag = tag, .ignore = ignore, .context = op};
	struct fi_msg msg = {.addr = ft_addr(ep, from), .context = op};

	return tagged ? fi_trecvmsg(ep->ep, &tmsg, flags) : fi_recvmsg(ep->ep, &msg, flags);
}

/* Providers may answer "no message" at once or by an error completion. */
int ft_probe(struct ft_ep *ep, bool tagged, int from, uint64_t tag, uint64_t ignore, uint64_t flags,
	     struct ft_op *op)
{
	ssize_t ret;

	ft_fresh(op);
	while ((ret = recvmsg_empty(ep, tagged, from, tag, ignore, flags | FI_COMPLETION, op)) ==
	       -FI_EAGAIN)
		ft_progress();
	if (ret)
		return (int)-ret;
	while (!op->done)
		ft_progress();
	return op->err;
}
