/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll.c - collectives in peer mode: tagged messages of the core, with a bit in their tags that the
 * application then does not have. An engine of their own matches them.
 */
#include "srx.h"

#include <stdlib.h>
#include <unistd.h>

#define LEAVE_MS 2000
#define NAP_US   50

static struct qv_match *engine_of(const struct qv_fi_srx *srx)
{
	return srx->match[QV_REQ_COLL];
}

/* Sending. */

/* The core takes it at the first time that it can, unless the peer is gone. */
static int keep_notice(struct qv_fi_srx *srx, fi_addr_t to, uint64_t tag)
{
	struct qv_fi_notice *n = malloc(sizeof *n);

	if (!n)
		return QV_ENOMEM;
	*n = (struct qv_fi_notice){srx->notices, to, tag};
	srx->notices = n;
	return QV_OK;
}

static int send_to(struct qv_fi_srx *srx, fi_addr_t to, const struct qv_fi_coll_io *io)
{
	const struct iovec iov = {io->buf, io->bytes};
	const struct qv_fi_send s = {.iov = &iov,
				     .cnt = 1,
				     .tag = io->tag | QV_FI_COLL_TAG,
				     .req = QV_REQ_TAGGED,
				     .context = io->context};
	const ssize_t rc = qv_fi_tx_start(srx->ep, &s, to, QV_CK_COLL, 0);

	if (rc == -FI_EAGAIN)
		qv_fi_srx_look(srx, to);
	return qv_fi_status(rc);
}

static int send_or_keep(struct qv_fi_srx *srx, fi_addr_t to, const struct qv_fi_coll_io *io)
{
	struct qv_fi_known *known = qv_fi_srx_known(srx, to);
	int status = send_to(srx, to, io);

	if (status == QV_EAGAIN && !io->context)
		status = keep_notice(srx, to, io->tag);
	if (status == QV_OK && known)
		known->spoken_to = true;
	return status;
}

int qv_fi_srx_coll_send(struct qv_fi_ep *ep, fi_addr_t to, const struct qv_fi_coll_io *io)
{
	struct qv_fi_way way;
	const int status = qv_fi_reach_status(qv_fi_av_reach(ep->av, to, &way));

	return status ? status : send_or_keep(ep->srx, way.addr, io);
}

void qv_fi_srx_coll_retry(struct qv_fi_srx *srx)
{
	struct qv_fi_notice **at = &srx->notices, *n;

	while ((n = *at)) {
		const struct qv_fi_coll_io io = {.tag = n->tag};
		const int status = send_to(srx, n->to, &io);

		if (status == QV_EAGAIN || status == QV_ENOMEM) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		free(n);
	}
}

void qv_fi_srx_leave(struct qv_fi_ep *ep)
{
	const int64_t end = qv_fi_now_ms() + LEAVE_MS;

	while (ep->srx->notices && qv_fi_now_ms() < end) {
		qv_fi_ep_progress(ep);
		qv_fi_unlock(ep->dom);
		usleep(NAP_US);
		qv_fi_lock(ep->dom);
	}
}

/* Receiving. */

/* The death of a process with which there is no connection may not be seen. */
static int meet(struct qv_fi_srx *srx, fi_addr_t from)
{
	const struct qv_fi_coll_io hello = {.tag = QV_FI_HELLO_TAG};
	const struct qv_fi_known *known = qv_fi_srx_known(srx, from);

	return !known || known->spoken_to ? QV_OK : send_or_keep(srx, from, &hello);
}

int qv_fi_srx_coll_recv(struct qv_fi_ep *ep, fi_addr_t from, const struct qv_fi_coll_io *io)
{
	const struct iovec iov = {io->buf, io->bytes};
	const struct qv_fi_recv r = {.iov = &iov,
				     .cnt = 1,
				     .tag = io->tag | QV_FI_COLL_TAG,
				     .req = QV_REQ_COLL,
				     .context = io->context};
	struct qv_fi_srx *srx = ep->srx;
	struct qv_fi_way way;
	uint32_t src = QV_SRC_ANY;
	int status;

	if (from != FI_ADDR_UNSPEC) {
		status = qv_fi_reach_status(qv_fi_av_reach(ep->av, from, &way));
		if (status)
			return status;
		src = (uint32_t)way.addr;
		/* What it sent before it died still counts. */
		if (qv_fi_srx_is_gone(srx, src) && !qv_match_peek(engine_of(srx), r.tag, 0, src))
			return QV_EPEER;
		status = meet(srx, src);
		if (status && status != QV_EPEER) /* it may have sent before it died */
			return status;
	}
	return qv_fi_status(qv_fi_rx_post(srx, &r, src, QV_CK_COLL, false));
}

void qv_fi_srx_coll_cancel(struct qv_fi_ep *ep, void *context)
{
	qv_fi_rx_cancel(ep->srx, QV_REQ_COLL, context, QV_ECANCELED);
}

void qv_fi_srx_coll_discard(struct qv_fi_ep *ep, uint64_t tag, uint64_t ignore)
{
	struct qv_match *engine = engine_of(ep->srx);
	struct qv_msg *msg;

	while ((msg = qv_match_peek(engine, tag | QV_FI_COLL_TAG, ignore, QV_SRC_ANY))) {
		struct qv_fi_rx *u = container_of(msg, struct qv_fi_rx, msg);
		struct qv_fi_bounce *nowhere = qv_fi_bounce_new(u);

		if (!nowhere)
			return; /* a group that is lost asks again */
		qv_match_take(engine, msg);
		qv_fi_rx_discard(u, nowhere);
	}
}

/* Death: who waits for a message of a certain peer has to hear of it. */

static struct qv_fi_rx *of_gone(const struct qv_fi_srx *srx)
{
	struct qv_recv *recv = NULL;

	while ((recv = qv_match_next_recv(engine_of(srx), recv)))
		if (recv->src != QV_SRC_ANY && qv_fi_srx_is_gone(srx, recv->src))
			return container_of(recv, struct qv_fi_rx, recv);
	return NULL;
}

void qv_fi_srx_coll_tick(struct qv_fi_srx *srx)
{
	struct qv_recv *recv = NULL;
	struct qv_fi_rx *rx;

	while ((recv = qv_match_next_recv(engine_of(srx), recv)))
		if (recv->src != QV_SRC_ANY)
			qv_fi_srx_look(srx, recv->src);
	while (srx->ngone && (rx = of_gone(srx)))
		qv_fi_rx_cancel(srx, QV_REQ_COLL, rx->context, QV_EPEER);
}

void qv_fi_srx_coll_free(struct qv_fi_srx *srx)
{
	struct qv_fi_notice *n;

	while ((n = srx->notices)) {
		srx->notices = n->next;
		free(n);
	}
}
