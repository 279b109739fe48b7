/* SPDX-License-Identifier: BSD-2-Clause */
/* comp.h - a receive is over: inline, for who knows more of it when it is compiled. */
#ifndef QV_FI_COMP_H
#define QV_FI_COMP_H

#include "fabric_glue/data.h"

QV_INLINE uint64_t qv_fi_recv_flags(const struct qv_comp *c)
{
	return FI_RECV | (c->tagged ? FI_TAGGED : FI_MSG) | (c->has_data ? FI_REMOTE_CQ_DATA : 0) |
	       (c->multi_end ? FI_MULTI_RECV : 0);
}

/* The entry of a receive that was well. */
QV_INLINE void qv_fi_received(struct qv_fi_cq *cq, const struct qv_comp *c)
{
	struct fi_cq_tagged_entry *out = qv_fi_cq_push(cq, c->user);

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

/* As qv_fi_complete_any. Inline for most: a receive that was well, which nobody counts, of which
 * nothing then need be in memory but its entry. */
QV_INLINE void qv_fi_complete(void *owner, const struct qv_comp *c)
{
	const struct qv_fi_ep *ep = owner;

	if (QV_UNLIKELY(!c->recv || c->status != QV_OK || c->cookie & QV_CK_COLL ||
			ep->cntrs[QV_FI_CNTR_RECV] || !ep->rx_cq)) {
		const struct qv_comp copy = *c;

		qv_fi_complete_any(owner, &copy);
	} else if (c->cookie & QV_CK_ENTRY || c->multi_end) {
		qv_fi_received(ep->rx_cq, c);
	}
}

#endif /* QV_FI_COMP_H */
