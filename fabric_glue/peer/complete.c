/* SPDX-License-Identifier: BSD-2-Clause */
/* complete.c - what the core writes to its completion queue, which is ours in peer mode. */
#include "srx.h"

void qv_fi_rx_done(struct qv_fi_rx *rx, struct qv_comp *comp)
{
	struct qv_fi_srx *srx = qv_fi_rx_srx(rx);

	srx->nlong -= (rx->how & QV_RX_LONG) != 0;
	rx->how &= ~(uint64_t)QV_RX_LONG;
	if (QV_UNLIKELY(rx->how & QV_RX_DISCARDED))
		return;
	comp->context = rx->context;
	comp->cookie = rx->how;
	comp->recv = true;
	comp->tagged = qv_fi_rx_tagged(rx);
	comp->full = qv_fi_rx_full(rx);
	if (QV_UNLIKELY(rx->how & QV_RX_BOUNCED) && comp->status == QV_OK) {
		comp->len = qv_fi_rx_unbounce(rx);
		comp->status = QV_ETRUNC;
	}
	comp->buf = qv_fi_rx_buffer(rx);
	comp->multi_end = rx->how & QV_RX_PART && rx->whole->ended && rx->whole->parts == 1;
	qv_fi_complete_any(srx->ep, comp);
}

/* Nothing to do but write the entry. */
static bool is_plain(const struct qv_fi_ep *ep, const struct qv_fi_rx *rx)
{
	return rx->how == QV_CK_ENTRY && !ep->cntrs[QV_FI_CNTR_RECV] && ep->rx_cq;
}

static void write_entry(struct qv_fi_srx *srx, const struct qv_fi_rx *rx, uint64_t flags,
			size_t len, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct qv_fi_cq *cq = srx->ep->rx_cq;
	struct fi_cq_tagged_entry *out =
		cq->room ? qv_fi_cq_direct(cq) : qv_fi_cq_append(cq, qv_fi_srx_user(srx, src));

	flags &= FI_RECV | FI_TAGGED | FI_MSG | FI_REMOTE_CQ_DATA;
	out->op_context = rx->context;
	out->flags = flags;
	out->len = len;
	out->buf = rx->iov[0].iov_base;
	out->data = flags & FI_REMOTE_CQ_DATA ? data : 0;
	out->tag = tag;
}

static QV_NOINLINE ssize_t write_other(struct qv_fi_srx *srx, void *context, uint64_t flags,
				       size_t len, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct qv_fi_rail *rail = &srx->ep->rail[QV_FI_MAIN];
	struct qv_xfer *xfer = context;

	if (flags & FI_RECV) {
		qv_fi_rx_done(context,
			      &(struct qv_comp){.status = QV_OK,
						.has_data = flags & FI_REMOTE_CQ_DATA,
						.len = len,
						.tag = tag,
						.data = flags & FI_REMOTE_CQ_DATA ? data : 0,
						.user = qv_fi_srx_user(srx, src)});
	} else if (flags & FI_SEND) {
		qv_fi_tx_done(srx, context, 0);
	} else if (qv_fi_is_remote(flags)) {
		qv_fi_remote_event(rail, FI_RMA | FI_REMOTE_WRITE | flags, len, data, src);
	} else {
		rail->flying--;
		xfer->done(xfer, QV_OK);
	}
	return 0;
}

static ssize_t cq_write(struct qv_abi_cq *cq, void *context, uint64_t flags, size_t len, void *buf,
			uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct qv_fi_srx *srx = container_of(cq, struct qv_fi_srx, cq);

	(void)buf;
	if (QV_UNLIKELY(!(flags & FI_RECV && is_plain(srx->ep, context))))
		return write_other(srx, context, flags, len, data, tag, src);
	write_entry(srx, context, flags, len, data, tag, src);
	return 0;
}

static int status_of(int err)
{
	int status = err == FI_ETRUNC ? QV_ETRUNC : qv_fi_status(-err);

	return status == QV_EAGAIN || status == QV_OK ? QV_EIO : status;
}

/* We never ask the core to cancel: it says that of what was on a connection that has closed. */
static int error_of(const struct fi_cq_err_entry *e)
{
	return e->err == FI_ECANCELED ? FI_ECONNABORTED : e->err;
}

static ssize_t cq_writeerr(struct qv_abi_cq *cq, const struct fi_cq_err_entry *err)
{
	struct qv_fi_srx *srx = container_of(cq, struct qv_fi_srx, cq);
	struct qv_xfer *xfer = err->op_context;
	struct qv_fi_rx *rx = err->op_context;
	bool one_sided = err->flags & (FI_READ | FI_WRITE | FI_ATOMIC | FI_RMA);
	bool send = err->flags & FI_SEND && xfer; /* an injected one has no context */

	if (!err->flags) { /* rxm does not say of what, and may mean something of its own */
		one_sided = qv_fi_pass_known(srx->ep, xfer);
		send = qv_fi_tx_known(srx, xfer);
	}

	if (!srx->ep->closing)
		QV_FI_INFO(EP_DATA, "core error: %s (provider %d)\n", qv_fi_host.strerror(err->err),
			   err->prov_errno);
	if (err->flags & FI_RECV && rx) {
		qv_fi_rx_done(rx, &(struct qv_comp){.status = status_of(error_of(err)),
						    .tag = rx->entry.tag,
						    .user = qv_fi_srx_user(srx, rx->entry.addr)});
	} else if (send) {
		qv_fi_tx_done(srx, err->op_context, error_of(err));
	} else if (one_sided && xfer) {
		srx->ep->rail[QV_FI_MAIN].flying--;
		qv_fi_pass_error(xfer, err->err);
		xfer->done(xfer, status_of(error_of(err)));
	}
	return 0;
}

struct qv_abi_cq_owner qv_fi_srx_cq_ops = {
	.size = sizeof(struct qv_abi_cq_owner),
	.write = cq_write,
	.writeerr = cq_writeerr,
};
