/* SPDX-License-Identifier: BSD-2-Clause */
/* comp.c - what the protocol reports, as completion entries and counts. */
#include "comp.h"

#include "fabric_glue/calls.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/objects/live.h"

int qv_fi_errno(int status)
{
	switch (status) {
	case QV_OK: return 0;
	case QV_EINVAL: return FI_EINVAL;
	case QV_ENOMEM: return FI_ENOMEM;
	case QV_EAGAIN: return FI_EAGAIN;
	case QV_ENOSYS: return FI_ENOSYS;
	case QV_ENOENT: return FI_ENOMSG;
	case QV_EPROTO: return FI_EOTHER;
	case QV_ETRUNC: return FI_ETRUNC;
	case QV_ECANCELED: return FI_ECANCELED;
	case QV_EPEER: return FI_ECONNABORTED;
	case QV_EMSGSIZE: return FI_EMSGSIZE;
	default: return FI_EIO;
	}
}

void qv_fi_count(struct qv_fi_ep *ep, int which, bool error)
{
	struct qv_fi_cntr *cntr = ep->cntrs[which];

	if (QV_LIKELY(!cntr))
		return;
	if (error)
		cntr->errors++;
	else
		cntr->value++;
	qv_fi_wait_set_wake(&cntr->wait_set);
}

static void report_error(struct qv_fi_cq *cq, const struct qv_comp *c, uint64_t flags)
{
	struct fi_cq_err_entry e = {
		.op_context = c->context,
		.flags = flags,
		.len = c->recv ? c->len : 0,
		.buf = c->buf,
		.data = c->data,
		.tag = c->tag,
		.olen = c->status == QV_ETRUNC ? c->full - c->len : 0,
		.err = qv_fi_errno(c->status),
		.prov_errno = c->status,
	};

	qv_fi_cq_error(cq, &e, c->user);
}

static void received(struct qv_fi_ep *ep, const struct qv_comp *c)
{
	if (!(c->cookie & QV_CK_PEEK) && c->status != QV_ECANCELED)
		qv_fi_count(ep, QV_FI_CNTR_RECV, c->status != QV_OK);
	if (!ep->rx_cq)
		return;
	if (c->status != QV_OK)
		report_error(ep->rx_cq, c, qv_fi_recv_flags(c));
	else if (c->cookie & QV_CK_ENTRY || c->multi_end)
		qv_fi_received(ep->rx_cq, c);
}

static void failed_send(struct qv_fi_ep *ep, const struct qv_comp *c)
{
	qv_fi_count(ep, QV_FI_CNTR_SEND, true);
	if (ep->tx_cq && !(c->cookie & QV_CK_NONE))
		report_error(ep->tx_cq, c, FI_SEND | (c->tagged ? FI_TAGGED : FI_MSG));
}

void qv_fi_complete_any(void *owner, const struct qv_comp *c)
{
	if (c->cookie & QV_CK_COLL)
		qv_fi_coll_comp(c);
	else if (c->recv)
		received(owner, c);
	else
		failed_send(owner, c);
}

static void sent(void *owner, void *context, uint64_t cookie, bool tagged)
{
	struct qv_fi_ep *ep = owner;

	if (QV_UNLIKELY(cookie & QV_CK_COLL)) {
		qv_fi_coll_sent(context);
		return;
	}
	qv_fi_count(ep, QV_FI_CNTR_SEND, false);
	if (cookie & QV_CK_ENTRY)
		qv_fi_sent(ep, context, tagged);
}

static void warn(void *owner, const char *text)
{
	(void)owner;
	QV_FI_WARN(EP_DATA, "%s\n", text);
}

const struct qv_proto_owner_ops qv_fi_owner_ops = {
	.complete = qv_fi_complete_any,
	.sent = sent,
	.identify = qv_fi_identify,
	.warn = warn,
	.ended = qv_fi_peer_ended,
	.keep = qv_fi_live_keep,
};

void qv_fi_pass_complete(struct qv_fi_ep *ep, const struct qv_fi_pass *pass, int status)
{
	uint64_t flags = pass->flags;

	qv_fi_count(ep, flags & FI_READ ? QV_FI_CNTR_READ : QV_FI_CNTR_WRITE, status != QV_OK);
	if (!ep->tx_cq)
		return;
	if (status) {
		struct fi_cq_err_entry e = {
			.op_context = pass->context,
			.flags = flags,
			.err = status == QV_EIO && pass->err ? pass->err : qv_fi_errno(status),
			.prov_errno = status};

		qv_fi_cq_error(ep->tx_cq, &e, FI_ADDR_NOTAVAIL);
	} else if (pass->entry) {
		*qv_fi_cq_push(ep->tx_cq, FI_ADDR_NOTAVAIL) =
			(struct fi_cq_tagged_entry){.op_context = pass->context, .flags = flags};
	}
}

/* A peer wrote to our memory with completion data. */
void qv_fi_remote_event(struct qv_fi_rail *rail, uint64_t flags, size_t len, uint64_t data,
			fi_addr_t src)
{
	const struct qv_fi_way way = {.addr = src, .core = rail->which};
	struct qv_fi_ep *ep = rail->ep;

	if (!ep->rx_cq)
		return;
	if (qv_fi_rail_quirks(rail)->wrong_writer)
		src = FI_ADDR_NOTAVAIL;
	else if (src != FI_ADDR_NOTAVAIL)
		src = qv_fi_av_by_way(ep->av, way);
	*qv_fi_cq_push(ep->rx_cq, src) =
		(struct fi_cq_tagged_entry){.flags = flags, .len = len, .data = data};
}
