/* SPDX-License-Identifier: BSD-2-Clause */
/* comp.h - a receive is over: inline, for who knows more of it when it is compiled. */
#ifndef QV_FI_COMP_H
#define QV_FI_COMP_H

#include "fabric_glue/data.h"

/* comp.c */
void qv_fi_report_error(struct qv_fi_cq *cq, const struct qv_comp *c, uint64_t flags);

QV_INLINE uint64_t qv_fi_recv_flags(const struct qv_comp *c)
{
	return FI_RECV | (c->tagged ? FI_TAGGED : FI_MSG) | (c->has_data ? FI_REMOTE_CQ_DATA : 0) |
	       (c->multi_end ? FI_MULTI_RECV : 0);
}

/* As qv_fi_complete_recv. */
QV_INLINE void qv_fi_received(struct qv_fi_ep *ep, const struct qv_comp *c)
{
	struct fi_cq_tagged_entry *out;

	if (QV_UNLIKELY(ep->cntrs[QV_FI_CNTR_RECV]) && !(c->cookie & QV_CK_PEEK) &&
	    c->status != QV_ECANCELED)
		qv_fi_count(ep, QV_FI_CNTR_RECV, c->status != QV_OK);
	if (QV_UNLIKELY(!ep->rx_cq))
		return;
	if (QV_UNLIKELY(c->status != QV_OK)) {
		qv_fi_report_error(ep->rx_cq, c, qv_fi_recv_flags(c));
		return;
	}
	if (!(c->cookie & QV_CK_ENTRY) && !c->multi_end)
		return;
	out = qv_fi_cq_push(ep->rx_cq, c->user);
	out->op_context = c->context;
	out->flags = qv_fi_recv_flags(c);
	out->len = c->len;
	out->buf = c->buf;
	out->data = c->data;
	out->tag = c->tag;
}

/* The entry of a send that is over. */
QV_INLINE void qv_fi_sent(struct qv_fi_ep *ep, void *context, bool tagged)
{
	struct fi_cq_tagged_entry *out;

	if (!ep->tx_cq)
		return;
	out = qv_fi_cq_push(ep->tx_cq, FI_ADDR_NOTAVAIL);
	out->op_context = context;
	out->flags = FI_SEND | (tagged ? FI_TAGGED : FI_MSG);
	out->len = 0;
	out->buf = NULL;
	out->data = 0;
	out->tag = 0;
}

/* comp.c: a send has failed. */
void qv_fi_failed_send(struct qv_fi_ep *ep, const struct qv_comp *c);

/* qv_proto_owner_ops.complete */
QV_INLINE void qv_fi_complete(void *owner, const struct qv_comp *c)
{
	if (QV_UNLIKELY(c->cookie & QV_CK_COLL))
		qv_fi_coll_comp(c);
	else if (QV_LIKELY(c->recv))
		qv_fi_received(owner, c);
	else
		qv_fi_failed_send(owner, c);
}

#endif /* QV_FI_COMP_H */
