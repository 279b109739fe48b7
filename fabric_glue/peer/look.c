/* SPDX-License-Identifier: BSD-2-Clause */
/* look.c - receives in peer mode that are not posted: look, claim, discard, cancel. */
#include "srx.h"

/* Discarding. */

/* To the core it is a receive: discarding is what shm of 2.1 does wrongly. */
void qv_fi_rx_discard(struct qv_fi_rx *u, struct qv_fi_bounce *nowhere)
{
	qv_fi_rx_set_buffer(u, NULL, 0);
	u->how = QV_RX_DISCARDED;
	qv_fi_rx_set_bounce(u, nowhere);
	qv_fi_rx_start(u);
}

/* Looking. */

static void tell(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t cookie,
		 const struct qv_fi_rx *u)
{
	struct qv_comp comp = {.context = r->context,
			       .cookie = cookie | QV_CK_PEEK,
			       .status = u ? QV_OK : QV_ENOENT,
			       .recv = true,
			       .tagged = true,
			       .tag = u ? u->entry.tag : r->tag,
			       .user = FI_ADDR_NOTAVAIL};

	if (u) {
		comp.len = comp.full = qv_fi_rx_full(u);
		comp.has_data = u->entry.flags & FI_REMOTE_CQ_DATA;
		comp.data = comp.has_data ? u->entry.cq_data : 0;
		comp.user = qv_fi_srx_user(srx, u->entry.addr);
	}
	qv_fi_complete_any(srx->ep, &comp);
}

ssize_t qv_fi_srx_peek(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
		       uint32_t cookie, uint64_t flags)
{
	struct qv_match *engine = srx->match[QV_REQ_TAGGED];
	struct qv_fi_bounce *nowhere = NULL;
	struct qv_fi_rx *u = NULL;
	struct qv_msg *msg;

	if (flags & FI_CLAIM && (!r->context || flags & FI_DISCARD))
		return -FI_EINVAL;
	qv_fi_ep_progress(srx->ep);
	msg = qv_match_peek(engine, r->tag, r->ignore, src);
	if (msg)
		u = container_of(msg, struct qv_fi_rx, msg);
	if (u && flags & FI_DISCARD) {
		nowhere = qv_fi_bounce_new(u);
		if (!nowhere)
			return -FI_ENOMEM;
	}
	if (u && flags & (FI_CLAIM | FI_DISCARD))
		qv_match_take(engine, msg);
	tell(srx, r, cookie, u);
	if (!u || !(flags & (FI_CLAIM | FI_DISCARD)))
		return 0;
	if (flags & FI_CLAIM)
		qv_fi_claim_store(r->context, u);
	else
		qv_fi_rx_discard(u, nowhere);
	return 0;
}

ssize_t qv_fi_srx_claimed(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t cookie,
			  uint64_t flags)
{
	struct qv_fi_rx *u = r->context ? qv_fi_claim_take(r->context) : NULL, copy;
	struct qv_fi_bounce *nowhere;

	if (!u)
		return -FI_EINVAL;
	if (!(flags & FI_DISCARD)) {
		qv_fi_rx_take(u, r, cookie);
		return 0;
	}
	nowhere = qv_fi_bounce_new(u);
	if (!nowhere) {
		qv_fi_claim_store(r->context, u);
		return -FI_ENOMEM;
	}
	copy = *u;
	copy.entry.msg_size = 0;
	qv_fi_rx_discard(u, nowhere);
	tell(srx, r, cookie, &copy);
	return 0;
}

/* Cancelling. */

static void cancel_one(struct qv_fi_srx *srx, struct qv_match *engine, struct qv_fi_rx *rx,
		       int status)
{
	struct qv_comp comp = {.context = rx->context,
			       .cookie = rx->how,
			       .status = status,
			       .recv = true,
			       .tag = rx->recv.tag,
			       .tagged = qv_fi_rx_tagged(rx),
			       .user = FI_ADDR_NOTAVAIL,
			       .multi_end = rx->how & QV_RX_MULTI && !rx->parts};

	qv_match_cancel(engine, &rx->recv);
	if (rx->how & QV_RX_MULTI && rx->parts)
		rx->ended = true; /* messages are still coming in: the last one ends the buffer */
	else
		qv_fi_rx_release(rx);
	qv_fi_complete_any(srx->ep, &comp);
}

static void *context_of(const struct qv_recv *recv)
{
	return container_of(recv, struct qv_fi_rx, recv)->context;
}

ssize_t qv_fi_rx_cancel(struct qv_fi_srx *srx, unsigned engine, void *context, int status)
{
	struct qv_match *match = srx->match[engine];
	struct qv_recv *recv = qv_cancels_find(&srx->cancels[engine], match, context_of, context);

	if (!recv)
		return -FI_ENOENT;
	cancel_one(srx, match, container_of(recv, struct qv_fi_rx, recv), status);
	return 0;
}

ssize_t qv_fi_srx_cancel(struct qv_fi_ep *ep, void *context)
{
	ssize_t rc = qv_fi_rx_cancel(ep->srx, 0, context, QV_ECANCELED);

	return rc ? qv_fi_rx_cancel(ep->srx, QV_REQ_TAGGED, context, QV_ECANCELED) : 0;
}
