/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_srx_recv.c - receives in peer mode: post, look, claim, cancel. */
#include "qv_fi_srx.h"

#include <stdlib.h>
#include <string.h>

static void set_buffer(struct qv_fi_rx *rx, const struct iovec *iov, size_t cnt)
{
	rx->entry.count = cnt;
	rx->iov[0] = cnt ? iov[0] : (struct iovec){NULL, 0};
	rx->room = rx->iov[0].iov_len;
	for (size_t i = 1; i < cnt; i++) {
		rx->iov[i] = iov[i];
		rx->room += iov[i].iov_len;
	}
}

/* The core has the message and now a buffer for it. Its completion may come before this returns. */
static void start(struct qv_fi_rx *rx)
{
	struct qv_abi_srx_peer *peer = rx->entry.srx->peer_ops;
	void *entry = qv_fi_rx_give(rx);
	int rc;

	qv_fi_rx_srx(rx)->bytes_waiting -= rx->full;
	rc = qv_fi_rx_tagged(rx) ? peer->start_tag(entry) : peer->start_msg(entry);
	if (rc)
		QV_FI_WARN(EP_DATA, "the core does not go on with an unexpected message: %s\n",
			   qv_fi_host.strerror(-rc));
}

static void report_no_memory(struct qv_fi_srx *srx, const struct qv_fi_rx *rx, bool multi_end)
{
	struct qv_comp comp = {.context = rx->context,
			       .cookie = rx->cookie,
			       .status = QV_ENOMEM,
			       .recv = true,
			       .tagged = qv_fi_rx_tagged(rx),
			       .multi_end = multi_end,
			       .user = FI_ADDR_NOTAVAIL};

	qv_fi_complete_recv(srx->ep, &comp);
}

/* A waiting message into the buffer of this receive. */
static void take(struct qv_fi_rx *u, const struct qv_fi_recv *r, uint32_t cookie)
{
	set_buffer(u, r->iov, r->cnt);
	u->context = r->context;
	u->cookie = cookie;
	u->discarded = u->multi = u->ended = false;
	if (QV_UNLIKELY(u->full > u->room) && !qv_fi_rx_bounce(u))
		report_no_memory(qv_fi_rx_srx(u), u, false); /* the core keeps the message */
	else
		start(u);
}

/* The core is to put it where nobody looks: discarding is what shm of 2.1 does wrongly. */
static bool may_discard(struct qv_fi_rx *u)
{
	set_buffer(u, NULL, 0);
	return qv_fi_rx_bounce(u);
}

static void discard(struct qv_fi_rx *u)
{
	u->discarded = true;
	start(u);
}

/* ---- posting --------------------------------------------------------------------------------- */
/* FI_MULTI_RECV: what waits goes into the buffer, until that is full or nothing waits. */
static void post_multi(struct qv_fi_srx *srx, struct qv_fi_rx *rx, struct qv_msg *msg)
{
	while (msg) {
		struct qv_fi_rx *u = container_of(msg, struct qv_fi_rx, msg);
		struct iovec iov = qv_fi_rx_cut(rx, u->full);
		const struct qv_fi_recv r = {.iov = &iov, .cnt = 1, .context = rx->context};
		bool ended = rx->ended;

		u->whole = rx; /* which goes with its last part */
		take(u, &r, rx->cookie);
		if (ended)
			return;
		if (QV_LIKELY(!qv_match_post(srx->match[0], &rx->recv, &msg)))
			continue;
		rx->ended = true; /* it cannot be queued: the buffer goes back */
		if (!rx->parts) {
			report_no_memory(srx, rx, true);
			qv_fi_rx_release(rx);
		}
		return;
	}
}

static ssize_t post(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
		    uint32_t cookie, bool multi)
{
	unsigned which = r->req & QV_REQ_TAGGED;
	struct qv_fi_rx *rx = qv_fi_rx_new(srx), *u;
	struct qv_msg *msg;
	int rc;

	if (QV_UNLIKELY(!rx))
		return -FI_ENOMEM;
	rx->recv.tag = r->tag;
	rx->recv.ignore = r->ignore;
	rx->recv.src = src;
	rx->recv.flags = multi ? QV_RECV_STICKY : 0;
	rc = qv_match_post(srx->match[which], &rx->recv, &msg);
	if (QV_UNLIKELY(rc)) {
		qv_fi_rx_release(rx);
		return -qv_fi_errno(rc);
	}
	if (msg && !multi) {
		u = container_of(msg, struct qv_fi_rx, msg);
		qv_fi_rx_release(rx);
		take(u, r, cookie);
		return 0;
	}
	set_buffer(rx, r->iov, r->cnt);
	rx->context = r->context;
	rx->cookie = cookie;
	rx->entry.flags = (which ? FI_TAGGED : FI_MSG) | FI_RECV | FI_COMPLETION;
	rx->discarded = rx->ended = false;
	rx->multi = multi;
	rx->whole = NULL;
	rx->used = rx->parts = 0;
	if (QV_UNLIKELY(msg != NULL))
		post_multi(srx, rx, msg);
	return 0;
}

/* ---- looking --------------------------------------------------------------------------------- */
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
		comp.len = comp.full = u->full;
		comp.has_data = u->entry.flags & FI_REMOTE_CQ_DATA;
		comp.data = comp.has_data ? u->entry.cq_data : 0;
		comp.user = qv_fi_srx_user(srx, u->entry.addr);
	}
	qv_fi_complete_recv(srx->ep, &comp);
}

static ssize_t peek(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
		    uint32_t cookie, uint64_t flags)
{
	struct qv_match *engine = srx->match[QV_REQ_TAGGED];
	struct qv_fi_rx *u = NULL;
	struct qv_msg *msg;

	if (flags & FI_CLAIM && (!r->context || flags & FI_DISCARD))
		return -FI_EINVAL;
	qv_fi_ep_progress(srx->ep);
	msg = qv_match_peek(engine, r->tag, r->ignore, src);
	if (msg)
		u = container_of(msg, struct qv_fi_rx, msg);
	if (u && flags & (FI_CLAIM | FI_DISCARD))
		qv_match_take(engine, msg);
	if (u && flags & FI_DISCARD && !may_discard(u)) {
		qv_match_queue(engine, msg);
		return -FI_ENOMEM;
	}
	tell(srx, r, cookie, u);
	if (!u || !(flags & (FI_CLAIM | FI_DISCARD)))
		return 0;
	if (flags & FI_CLAIM)
		qv_fi_claim_store(r->context, u);
	else
		discard(u);
	return 0;
}

static ssize_t receive_claimed(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t cookie,
			       uint64_t flags)
{
	struct qv_fi_rx *u = r->context ? qv_fi_claim_take(r->context) : NULL, copy;

	if (!u)
		return -FI_EINVAL;
	if (!(flags & FI_DISCARD)) {
		take(u, r, cookie);
	} else if (may_discard(u)) {
		copy = *u;
		copy.full = 0;
		discard(u);
		tell(srx, r, cookie, &copy);
	} else {
		qv_fi_claim_store(r->context, u);
		return -FI_ENOMEM;
	}
	return 0;
}

static ssize_t receive_special(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
			       uint32_t cookie, uint64_t flags)
{
	if (flags & FI_PEEK)
		return peek(srx, r, src, cookie, flags);
	if (flags & FI_CLAIM)
		return receive_claimed(srx, r, cookie, flags);
	if (flags & FI_DISCARD)
		return -FI_EBADFLAGS;
	return r->cnt == 1 ? post(srx, r, src, cookie, true) : -FI_EINVAL;
}

ssize_t qv_fi_srx_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags)
{
	const uint32_t cookie = !ep->rx_selective || flags & FI_COMPLETION ? QV_CK_ENTRY : 0;
	const uint64_t special = flags & ~(uint64_t)(FI_COMPLETION | FI_MORE);
	struct qv_fi_srx *srx = ep->srx;
	struct qv_fi_way way = {.addr = FI_ADDR_NOTAVAIL};
	uint32_t src = QV_SRC_ANY;
	ssize_t rc = 0;

	if (QV_UNLIKELY(r->cnt > QV_FI_IOV_LIMIT))
		return -FI_EINVAL;
	if (QV_UNLIKELY(special) && special & ~qv_fi_special_flags(r->req))
		return -FI_EBADFLAGS;
	qv_fi_lock(ep->dom);
	if (ep->directed && r->from != FI_ADDR_UNSPEC) {
		rc = qv_fi_av_reach(ep->av, r->from, &way);
		src = (uint32_t)way.addr;
		rc = rc ? -FI_EINVAL : 0;
	}
	if (QV_UNLIKELY(qv_fi_params.hints) && !rc &&
	    qv_fi_breaks_promise(ep, r->req, r->ignore, src, flags))
		rc = -FI_EINVAL;
	if (QV_LIKELY(!rc))
		rc = QV_LIKELY(!special) ? post(srx, r, src, cookie, false)
					 : receive_special(srx, r, src, cookie, special);
	qv_fi_unlock(ep->dom);
	return rc;
}

/* ---- cancelling ------------------------------------------------------------------------------ */
static void cancel_one(struct qv_fi_srx *srx, struct qv_match *engine, struct qv_fi_rx *rx)
{
	struct qv_comp comp = {.context = rx->context,
			       .cookie = rx->cookie,
			       .status = QV_ECANCELED,
			       .recv = true,
			       .tag = rx->recv.tag,
			       .tagged = qv_fi_rx_tagged(rx),
			       .user = FI_ADDR_NOTAVAIL,
			       .multi_end = rx->multi && !rx->parts};

	qv_match_cancel(engine, &rx->recv);
	if (rx->parts)
		rx->ended = true; /* messages are still coming in: the last one ends the buffer */
	else
		qv_fi_rx_release(rx);
	qv_fi_complete_recv(srx->ep, &comp);
}

ssize_t qv_fi_srx_cancel(struct qv_fi_ep *ep, void *context)
{
	struct qv_fi_srx *srx = ep->srx;

	for (size_t i = 0; i < 2; i++) {
		struct qv_recv *recv = NULL;

		while ((recv = qv_match_next_recv(srx->match[i], recv))) {
			struct qv_fi_rx *rx = container_of(recv, struct qv_fi_rx, recv);

			if (rx->context != context)
				continue;
			cancel_one(srx, srx->match[i], rx);
			return 0;
		}
	}
	return -FI_ENOENT;
}
