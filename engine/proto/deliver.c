/* SPDX-License-Identifier: BSD-2-Clause */
/* deliver.c - matched messages into their receives, and completion of these. */
#include "internal.h"

/* The message is in the buffer, or has failed. A single receive is gone afterwards. */
void qv_rx_complete(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, size_t len,
		    void *buf, int status)
{
	struct qv_comp comp = {
		.context = rx->context,
		.cookie = rx->cookie,
		.status = status             ? status
			  : info->lost       ? QV_EPEER
			  : len < info->full ? QV_ETRUNC
					     : QV_OK,
		.recv = true,
		.tagged = info->engine == QV_REQ_TAGGED,
		.has_data = info->has_data,
		.len = len,
		.full = info->full,
		.buf = buf,
		.tag = info->tag,
		.data = info->data,
		.user = info->peer->user,
	};
	bool last = true;

	if (rx->flags & QV_REQ_MULTI) {
		last = --rx->refs == 0 && rx->ended;
		comp.multi_end = last;
	}
	if (last)
		qv_pool_put(&p->rxs, rx);
	p->ops->complete(p->owner, &comp);
}

bool qv_rx_ends(const struct qv_rx *rx, size_t full)
{
	size_t left = rx->room - rx->used, want = full < left ? full : left;

	return left - want < rx->multi_min || left == want;
}

/* Where `full` bytes go: pieces into iov; returns the bytes that there is room for. */
size_t qv_rx_reserve(struct qv_proto *p, struct qv_rx *rx, size_t full, struct iovec *iov,
		     size_t *cnt)
{
	size_t left = rx->room - rx->used, want = full < left ? full : left;
	bool ends;

	if (!(rx->flags & QV_REQ_MULTI)) {
		*cnt = qv_iov_slice(rx->iov, rx->cnt, 0, want, iov);
		return want;
	}
	iov[0] = (struct iovec){(char *)rx->iov[0].iov_base + rx->used, want};
	*cnt = 1;
	rx->refs++;
	ends = qv_rx_ends(rx, full);
	rx->used += want;
	if (ends) {
		if (rx->queued)
			qv_match_cancel(p->match[rx->flags & QV_REQ_ENGINE], &rx->node);
		rx->queued = false;
		rx->ended = true;
	}
	return want;
}

/* A whole eager message into its receive. */
void qv_rx_deliver_whole(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info,
			 const char *payload)
{
	size_t len = info->full;
	void *buf = rx->iov[0].iov_base;

	if (QV_LIKELY(!(rx->flags & QV_REQ_MULTI))) {
		if (QV_UNLIKELY(len > rx->room))
			len = rx->room;
		qv_iov_put(rx->iov, rx->cnt, 0, payload, len);
	} else {
		struct iovec iov;
		size_t cnt;

		len = qv_rx_reserve(p, rx, len, &iov, &cnt);
		buf = iov.iov_base;
		qv_copy(buf, payload, len);
	}
	p->stats.copied += len;
	if (info->sreq && !qv_info_stale(info) &&
	    qv_tx_fin(info->peer, info->sreq, QV_OK) == QV_ENOMEM)
		qv_in_hold(p, rx, info, buf, len);
	else
		qv_rx_complete(p, rx, info, len, buf, QV_OK);
}

/* A matched message: its payload is all at hand (eager), or with the sender (rts). The endpoint
 * has a struct qv_in in reserve. */
void qv_rx_deliver(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info,
		   const char *payload, const struct qv_wire_seg *segs)
{
	if (QV_LIKELY(!info->rts))
		qv_rx_deliver_whole(p, rx, info, payload);
	else
		qv_in_start(qv_in_new(p, rx, info), segs);
}

/* A matched message whose eager payload is only partly here: the rest goes straight
 * to the buffer. */
static void deliver_part(struct qv_proto *p, struct qv_rx *rx, struct qv_unexp *u)
{
	struct qv_in *in = qv_in_new(p, rx, &u->info);
	size_t len = u->got < in->want ? u->got : in->want;

	qv_iov_put(in->iov, in->cnt, 0, u->payload, len);
	p->stats.copied += len;
	in->pos = u->got;
	u->info.peer->open_in = in;
	u->info.peer->open_unexp = NULL;
}

void qv_rx_deliver_unexp(struct qv_proto *p, struct qv_rx *rx, struct qv_unexp *u)
{
	if (!u->info.rts && u->got < u->info.full) {
		deliver_part(p, rx, u);
	} else {
		if (!qv_info_stale(&u->info))
			qv_peer_consumed(u->info.peer, u->info.rts ? 0 : u->info.full);
		qv_rx_deliver(p, rx, &u->info, u->payload, u->segs);
	}
	qv_unexp_free(p, u);
}
