/* SPDX-License-Identifier: BSD-2-Clause */
/* send.c - sends in peer mode: the core's own, to the addresses that it knows. */
#include "srx.h"
#include "engine/base/iov.h"

#define SEND_FLAGS                                                            \
	(FI_COMPLETION | FI_INJECT | FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE)

/* The context for the core; NULL: no memory. */
static inline struct qv_fi_tx *new_tx(struct qv_fi_srx *srx, const struct qv_fi_send *s,
				      fi_addr_t to, uint8_t how)
{
	struct qv_fi_tx *tx = srx->free_tx;

	if (QV_LIKELY(tx != NULL))
		srx->free_tx = tx->next;
	else if (!(tx = qv_fi_tx_more(srx)))
		return NULL;
	tx->context = s->context;
	tx->to = to;
	tx->how = how;
	tx->tagged = s->req & QV_REQ_TAGGED;
	tx->flying = true;
	tx->told = false;
	srx->flying++;
	return tx;
}

static inline void free_tx(struct qv_fi_srx *srx, struct qv_fi_tx *tx)
{
	tx->flying = false;
	tx->next = srx->free_tx;
	srx->free_tx = tx;
	srx->flying--;
}

void qv_fi_tx_tell(struct qv_fi_srx *srx, const struct qv_fi_tx *tx, int err)
{
	struct qv_fi_ep *ep = srx->ep;
	const uint64_t flags = FI_SEND | (tx->tagged ? FI_TAGGED : FI_MSG);

	if (QV_UNLIKELY(tx->how & QV_CK_COLL)) {
		qv_fi_coll_comp(&(struct qv_comp){.context = tx->context,
						  .status = err ? qv_fi_status(-err) : QV_OK});
		return;
	}
	qv_fi_count(ep, QV_FI_CNTR_SEND, err != 0);
	if (!ep->tx_cq)
		return;
	if (QV_UNLIKELY(err)) {
		const struct fi_cq_err_entry e = {.op_context = tx->context,
						  .flags = flags,
						  .err = err,
						  .prov_errno = qv_fi_status(-err)};

		qv_fi_cq_error(ep->tx_cq, &e, FI_ADDR_NOTAVAIL);
	} else if (tx->how & QV_CK_ENTRY) {
		*qv_fi_cq_push(ep->tx_cq, FI_ADDR_NOTAVAIL) =
			(struct fi_cq_tagged_entry){.op_context = tx->context, .flags = flags};
	}
}

void qv_fi_tx_done(struct qv_fi_srx *srx, struct qv_fi_tx *tx, int err)
{
	if (QV_LIKELY(!tx->told))
		qv_fi_tx_tell(srx, tx, err);
	free_tx(srx, tx);
}

/* The core does not take a message now, or never: its peer may be gone. */
static QV_NOINLINE ssize_t not_taken(struct qv_fi_ep *ep, fi_addr_t to, ssize_t rc)
{
	if (rc != -FI_EAGAIN)
		return rc;
	ep->srx->full = to;
	qv_fi_ep_progress(ep);
	return qv_fi_srx_is_gone(ep->srx, to) ? -FI_ECONNABORTED : rc;
}

static inline bool refuses(const struct qv_fi_srx *srx, fi_addr_t to)
{
	return QV_UNLIKELY(srx->ngone) && qv_fi_srx_is_gone(srx, to);
}

/* What the core calls this address; most have been dealt with before. */
static inline int reach(struct qv_fi_ep *ep, fi_addr_t addr, fi_addr_t *core)
{
	const struct qv_fi_av_entry *entry = qv_fi_av_entry(ep->av, addr);
	struct qv_fi_way way;
	int rc;

	if (QV_LIKELY(entry && entry->way.addr != FI_ADDR_NOTAVAIL)) {
		*core = entry->way.addr;
		return 0;
	}
	rc = qv_fi_av_reach(ep->av, addr, &way);
	if (!rc)
		*core = way.addr;
	return rc;
}

static ssize_t give(struct qv_fi_ep *ep, const struct qv_fi_send *s, fi_addr_t to, void *context,
		    uint64_t flags)
{
	struct fid_ep *core = ep->rail[QV_FI_MAIN].core;

	if (QV_LIKELY(s->req & QV_REQ_TAGGED)) {
		const struct fi_msg_tagged msg = {.msg_iov = s->iov,
						  .iov_count = s->cnt,
						  .addr = to,
						  .tag = s->tag,
						  .data = s->data,
						  .context = context};

		return fi_tsendmsg(core, &msg, flags);
	}
	const struct fi_msg msg = {.msg_iov = s->iov,
				   .iov_count = s->cnt,
				   .addr = to,
				   .data = s->data,
				   .context = context};

	return fi_sendmsg(core, &msg, flags);
}

ssize_t qv_fi_tx_start(struct qv_fi_ep *ep, const struct qv_fi_send *s, fi_addr_t to, uint8_t how,
		       uint64_t flags)
{
	struct qv_fi_srx *srx = ep->srx;
	struct qv_fi_tx *tx;
	ssize_t rc;

	if (refuses(srx, to))
		return -FI_ECONNABORTED;
	if (QV_UNLIKELY(to >= srx->nknown || !srx->known[to].begun))
		qv_fi_srx_meet(srx, to);
	tx = new_tx(srx, s, to, how);
	if (QV_UNLIKELY(!tx))
		return -FI_ENOMEM;
	srx->sends++;
	rc = give(ep, s, to, tx, flags | FI_COMPLETION);
	if (QV_UNLIKELY(rc)) {
		srx->sends--;
		free_tx(srx, tx);
	}
	return rc;
}

ssize_t qv_fi_srx_send(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags)
{
	const uint8_t how = !ep->tx_selective || flags & FI_COMPLETION ? QV_CK_ENTRY : 0;
	fi_addr_t to = FI_ADDR_NOTAVAIL;
	ssize_t rc;

	if (QV_UNLIKELY(flags & ~SEND_FLAGS))
		return -FI_EBADFLAGS;
	if (QV_UNLIKELY(s->cnt > QV_FI_IOV_LIMIT || s->tag & ep->srx->own ||
			(flags & FI_INJECT && qv_iov_len(s->iov, s->cnt) > ep->dom->inject)))
		return -FI_EINVAL;
	/* rxm looks only when it has a connection, and then takes what it may. */
	if (QV_UNLIKELY(qv_iov_len(s->iov, s->cnt) >
			ep->dom->core_info[QV_FI_MAIN]->ep_attr->max_msg_size))
		return -FI_EMSGSIZE;
	if (s->req & QV_REQ_DATA)
		flags |= FI_REMOTE_CQ_DATA;
	qv_fi_lock(ep->dom);
	rc = reach(ep, s->to, &to);
	if (QV_LIKELY(!rc))
		rc = qv_fi_tx_start(ep, s, to, how, flags);
	if (QV_UNLIKELY(rc))
		rc = not_taken(ep, to, rc);
	qv_fi_unlock(ep->dom);
	return rc;
}

static ssize_t give_inject(struct fid_ep *core, const struct qv_fi_send *s, fi_addr_t to)
{
	const void *buf = s->iov->iov_base;
	size_t len = s->iov->iov_len;

	switch (s->req & (QV_REQ_TAGGED | QV_REQ_DATA)) {
	case QV_REQ_TAGGED: return fi_tinject(core, buf, len, to, s->tag);
	case QV_REQ_TAGGED | QV_REQ_DATA:
		return fi_tinjectdata(core, buf, len, s->data, to, s->tag);
	case QV_REQ_DATA: return fi_injectdata(core, buf, len, s->data, to);
	default: return fi_inject(core, buf, len, to);
	}
}

ssize_t qv_fi_srx_inject(struct qv_fi_ep *ep, const struct qv_fi_send *s)
{
	fi_addr_t to = FI_ADDR_NOTAVAIL;
	ssize_t rc;

	if (QV_UNLIKELY(s->iov->iov_len > ep->dom->inject || s->tag & ep->srx->own))
		return -FI_EINVAL;
	qv_fi_lock(ep->dom);
	rc = reach(ep, s->to, &to);
	if (!rc && refuses(ep->srx, to))
		rc = -FI_ECONNABORTED;
	if (QV_LIKELY(!rc))
		rc = give_inject(ep->rail[QV_FI_MAIN].core, s, to);
	if (QV_LIKELY(!rc)) {
		ep->srx->sends++;
		if (QV_UNLIKELY(ep->cntrs[QV_FI_CNTR_SEND] != NULL))
			qv_fi_count(ep, QV_FI_CNTR_SEND, false);
	} else {
		rc = not_taken(ep, to, rc);
	}
	qv_fi_unlock(ep->dom);
	return rc;
}

/* fi_tinject without detours. */
ssize_t qv_fi_srx_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to,
			  uint64_t tag)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid);
	const struct qv_fi_av_entry *entry;
	ssize_t rc = -FI_EAGAIN;

	if (QV_UNLIKELY(len > ep->dom->inject))
		return -FI_EINVAL;
	qv_fi_lock(ep->dom);
	entry = qv_fi_av_entry(ep->av, to);
	if (QV_LIKELY(entry && entry->way.addr != FI_ADDR_NOTAVAIL && !ep->cntrs[QV_FI_CNTR_SEND] &&
		      !ep->srx->ngone))
		rc = fi_tinject(ep->rail[QV_FI_MAIN].core, buf, len, entry->way.addr, tag);
	ep->srx->sends += !rc;
	qv_fi_unlock(ep->dom);
	if (QV_LIKELY(!rc))
		return 0;
	return rc == -FI_EAGAIN ? qv_fi_tagged_ops.inject(fid, buf, len, to, tag) : rc;
}
