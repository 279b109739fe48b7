/* SPDX-License-Identifier: BSD-2-Clause */
/* recv.c - receives in peer mode: post them, give them to messages that wait. */
#include "srx.h"

#include <stdlib.h>
#include <string.h>

void qv_fi_rx_set_buffer(struct qv_fi_rx *rx, const struct iovec *iov, size_t cnt)
{
	rx->entry.count = cnt;
	rx->iov[0] = cnt ? iov[0] : (struct iovec){NULL, 0};
	for (size_t i = 1; i < cnt; i++)
		rx->iov[i] = iov[i];
}

void qv_fi_rx_start(struct qv_fi_rx *rx)
{
	struct qv_abi_srx_peer *peer = rx->entry.srx->peer_ops;
	void *entry = qv_fi_rx_give(rx);
	int rc;

	qv_fi_rx_srx(rx)->bytes_waiting -= qv_fi_rx_full(rx);
	qv_fi_rx_note_long(rx);
	rc = qv_fi_rx_tagged(rx) ? peer->start_tag(entry) : peer->start_msg(entry);
	if (rc)
		QV_FI_WARN(EP_DATA, "the core does not go on with an unexpected message: %s\n",
			   qv_fi_host.strerror(-rc));
}

/* Those that have met their receives, and wait for memory, in order. */
static void wait_for_memory(struct qv_fi_srx *srx, struct qv_fi_rx *u)
{
	struct qv_fi_rx **end = &srx->short_of_memory;

	while (*end)
		end = &(*end)->next;
	u->next = NULL;
	*end = u;
}

void qv_fi_rx_retry(struct qv_fi_srx *srx)
{
	struct qv_fi_rx *u;

	while ((u = srx->short_of_memory) && qv_fi_rx_bounce(u)) {
		srx->short_of_memory = u->next;
		qv_fi_rx_start(u);
	}
}

static void report_no_memory(struct qv_fi_srx *srx, const struct qv_fi_rx *rx)
{
	struct qv_comp comp = {.context = rx->context,
			       .cookie = rx->how,
			       .status = QV_ENOMEM,
			       .recv = true,
			       .tagged = qv_fi_rx_tagged(rx),
			       .multi_end = true,
			       .user = FI_ADDR_NOTAVAIL};

	qv_fi_complete_any(srx->ep, &comp);
}

void qv_fi_rx_take(struct qv_fi_rx *u, const struct qv_fi_recv *r, uint64_t how)
{
	struct qv_fi_srx *srx = qv_fi_rx_srx(u);

	qv_fi_rx_set_buffer(u, r->iov, r->cnt);
	u->context = r->context;
	u->how = how;
	if (qv_fi_rx_short(u) && (srx->short_of_memory || !qv_fi_rx_bounce(u)))
		wait_for_memory(srx, u); /* the core keeps the message */
	else
		qv_fi_rx_start(u);
}

/* Posting. */

/* FI_MULTI_RECV: what waits goes into the buffer, until that is full or nothing waits. */
static void post_multi(struct qv_fi_srx *srx, struct qv_fi_rx *rx, struct qv_msg *msg)
{
	while (msg) {
		struct qv_fi_rx *u = container_of(msg, struct qv_fi_rx, msg);
		struct iovec iov = qv_fi_rx_cut(rx, qv_fi_rx_full(u));
		const struct qv_fi_recv r = {.iov = &iov, .cnt = 1, .context = rx->context};
		bool ended = rx->ended;

		u->whole = rx; /* which goes with its last part */
		qv_fi_rx_take(u, &r, (rx->how & ~(uint64_t)QV_RX_MULTI) | QV_RX_PART);
		if (ended)
			return;
		if (QV_LIKELY(!qv_match_post(srx->match[0], &rx->recv, &msg)))
			continue;
		rx->ended = true; /* it cannot be queued: the buffer goes back */
		if (!rx->parts) {
			report_no_memory(srx, rx);
			qv_fi_rx_release(rx);
		}
		return;
	}
}

ssize_t qv_fi_rx_post(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
		      uint32_t cookie, bool multi)
{
	unsigned which = r->req & QV_REQ_ENGINE;
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
		qv_fi_rx_take(u, r, cookie);
		return 0;
	}
	qv_fi_rx_set_buffer(rx, r->iov, r->cnt);
	rx->context = r->context;
	rx->how = cookie | (multi ? QV_RX_MULTI : 0);
	rx->entry.flags = (which ? FI_TAGGED : FI_MSG) | FI_RECV | FI_COMPLETION;
	if (multi) {
		rx->used = rx->parts = 0;
		rx->ended = false;
	}
	if (QV_UNLIKELY(msg != NULL))
		post_multi(srx, rx, msg);
	return 0;
}

static ssize_t receive_special(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
			       uint32_t cookie, uint64_t flags)
{
	if (flags & FI_PEEK)
		return qv_fi_srx_peek(srx, r, src, cookie, flags);
	if (flags & FI_CLAIM)
		return qv_fi_srx_claimed(srx, r, cookie, flags);
	if (flags & FI_DISCARD)
		return -FI_EBADFLAGS;
	return r->cnt == 1 ? qv_fi_rx_post(srx, r, src, cookie, true) : -FI_EINVAL;
}

ssize_t qv_fi_srx_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags)
{
	const uint32_t cookie = !ep->rx_selective || flags & FI_COMPLETION ? QV_CK_ENTRY : 0;
	const uint64_t special = flags & ~(uint64_t)(FI_COMPLETION | FI_MORE);
	struct qv_fi_srx *srx = ep->srx;
	struct qv_fi_way way = {.addr = FI_ADDR_NOTAVAIL};
	uint32_t src = QV_SRC_ANY;
	ssize_t rc = 0;

	if (QV_UNLIKELY(r->cnt > QV_FI_IOV_LIMIT || r->tag & ~r->ignore & srx->own))
		return -FI_EINVAL;
	if (QV_UNLIKELY(special) && special & ~qv_fi_special_flags(r->req))
		return -FI_EBADFLAGS;
	qv_fi_lock(ep->dom);
	if (ep->directed && r->from != FI_ADDR_UNSPEC) {
		rc = qv_fi_av_reach(ep->av, r->from, &way);
		src = (uint32_t)way.addr;
		rc = rc == -FI_ENOMEM ? rc : rc ? -FI_EINVAL : 0;
	}
	if (QV_UNLIKELY(qv_fi_params.hints) && !rc &&
	    qv_fi_breaks_assertion(ep, r->req, r->ignore, src, flags))
		rc = -FI_EINVAL;
	if (QV_LIKELY(!rc))
		rc = QV_LIKELY(!special) ? qv_fi_rx_post(srx, r, src, cookie, false)
					 : receive_special(srx, r, src, cookie, special);
	qv_fi_unlock(ep->dom);
	return rc;
}

/* The short way. */

/* One buffer, a source known, nothing special: nearly all receives. False: take the long way. */
static inline bool is_plain(const struct qv_fi_ep *ep, fi_addr_t from, uint32_t *src)
{
	const struct qv_fi_av_entry *entry;

	*src = QV_SRC_ANY;
	if (QV_UNLIKELY(ep->rx_op_flags & ~(uint64_t)(FI_COMPLETION | FI_MORE | FI_MULTI_RECV)) ||
	    QV_UNLIKELY(qv_fi_params.hints))
		return false;
	if (!ep->directed || from == FI_ADDR_UNSPEC)
		return true;
	entry = qv_fi_av_entry(ep->av, from);
	if (QV_UNLIKELY(!entry) || entry->way.addr == FI_ADDR_NOTAVAIL)
		return false;
	*src = (uint32_t)entry->way.addr;
	return true;
}

/* It was not queued. */
static QV_NOINLINE ssize_t meet(struct qv_fi_rx *rx, struct qv_msg *msg, int rc, void *buf,
				size_t len, void *context, uint32_t cookie)
{
	const struct iovec iov = {buf, len};
	const struct qv_fi_recv r = {.iov = &iov, .cnt = 1, .context = context};

	qv_fi_rx_release(rx);
	if (rc)
		return -qv_fi_errno(rc);
	qv_fi_rx_take(container_of(msg, struct qv_fi_rx, msg), &r, cookie);
	return 0;
}

static inline ssize_t post_plain(struct qv_fi_ep *ep, uint32_t src, uint64_t tag, uint64_t ignore,
				 void *buf, size_t len, void *context)
{
	const uint32_t cookie =
		!ep->rx_selective || ep->rx_op_flags & FI_COMPLETION ? QV_CK_ENTRY : 0;
	struct qv_fi_srx *srx = ep->srx;
	struct qv_fi_rx *rx = qv_fi_rx_new(srx);
	struct qv_msg *msg;
	int rc;

	if (QV_UNLIKELY(!rx))
		return -FI_ENOMEM;
	rx->recv.tag = tag;
	rx->recv.ignore = ignore;
	rx->recv.src = src;
	rx->recv.flags = 0;
	rc = qv_match_post(srx->match[1], &rx->recv, &msg);
	if (QV_UNLIKELY(rc) || QV_UNLIKELY(msg != NULL))
		return meet(rx, msg, rc, buf, len, context, cookie);
	rx->context = context;
	rx->how = cookie;
	rx->entry.flags = FI_TAGGED | FI_RECV | FI_COMPLETION;
	rx->entry.count = 1;
	rx->iov[0] = (struct iovec){buf, len};
	return 0;
}

ssize_t qv_fi_srx_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t tag, uint64_t ignore, void *context)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid);
	uint32_t src;
	ssize_t rc;

	qv_fi_lock(ep->dom);
	if (QV_UNLIKELY(!is_plain(ep, from, &src))) {
		qv_fi_unlock(ep->dom);
		return qv_fi_tagged_ops.recv(fid, buf, len, desc, from, tag, ignore, context);
	}
	rc = post_plain(ep, src, tag, ignore, buf, len, context);
	qv_fi_unlock(ep->dom);
	return rc;
}
