/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner.c - what the core calls in peer mode: which receive does a message take, it
 * waits, it is done. The lock is held: all of it happens inside our calls to the core.
 */
#include "srx.h"
#include "engine/match/structure.h"

#include <stdlib.h>
#include <string.h>

static struct qv_fi_srx *srx_of(struct qv_abi_srx *abi)
{
	return container_of(abi, struct qv_fi_srx_port, abi)->srx;
}

static uint32_t source(fi_addr_t addr)
{
	return addr < QV_FI_SRC_NOBODY ? (uint32_t)addr : QV_FI_SRC_NOBODY;
}

/* Matching. */

struct iovec qv_fi_rx_cut(struct qv_fi_rx *whole, size_t size)
{
	size_t left = whole->iov[0].iov_len - whole->used, want = size < left ? size : left;
	struct iovec part = {(char *)whole->iov[0].iov_base + whole->used, want};

	whole->parts++;
	whole->used += want;
	whole->ended = left - want < qv_fi_rx_srx(whole)->ep->multi_min || left == want;
	return part;
}

/* The receive of one message into a buffer for many. */
static struct qv_fi_rx *part_of(struct qv_fi_rx *whole, size_t size)
{
	struct qv_fi_rx *rx = qv_fi_rx_new(qv_fi_rx_srx(whole));

	if (!rx)
		return NULL;
	rx->iov[0] = qv_fi_rx_cut(whole, size);
	rx->entry.count = 1;
	rx->entry.flags = FI_MSG | FI_RECV | FI_COMPLETION;
	rx->context = whole->context;
	rx->how = (whole->how & ~(uint64_t)QV_RX_MULTI) | QV_RX_PART;
	rx->whole = whole;
	return rx;
}

/* A message for which there is no receive yet. */
static int unexpected(struct qv_fi_srx *srx, const struct qv_abi_match *m, uint64_t tag,
		      uint64_t flags, void **entry)
{
	struct qv_fi_rx *rx = qv_fi_rx_new(srx);

	if (!rx) {
		qv_match_unarrived(srx->match[flags & FI_TAGGED ? 1 : 0]);
		return -FI_ENOMEM;
	}
	rx->msg.tag = tag;
	rx->msg.src = source(m->addr);
	rx->msg.flags = 0;
	rx->entry.addr = m->addr;
	rx->entry.tag = tag;
	rx->entry.msg_size = m->msg_size;
	rx->entry.flags = flags;
	rx->how = 0;
	*entry = qv_fi_rx_give(rx);
	return -FI_ENOENT;
}

/* This receive it is. */
static int expected(struct qv_fi_rx *rx, const struct qv_abi_match *m, void **entry)
{
	rx->entry.addr = m->addr;
	rx->entry.tag = m->tag;
	rx->entry.msg_size = m->msg_size;
	if (qv_fi_rx_short(rx))
		qv_fi_rx_bounce(rx); /* without memory the core does what it can */
	qv_fi_rx_note_long(rx);
	*entry = qv_fi_rx_give(rx);
	return 0;
}

static int get_tag(struct qv_abi_srx *abi, struct qv_abi_match *m, void **entry)
{
	struct qv_fi_srx_port *port = container_of(abi, struct qv_fi_srx_port, abi);
	struct qv_recv *recv = qv_match_arrive(port->tagged, m->tag, source(m->addr));

	if (QV_UNLIKELY(!recv))
		return unexpected(port->srx, m, m->tag, FI_TAGGED | FI_RECV | FI_COMPLETION, entry);
	return expected(container_of(recv, struct qv_fi_rx, recv), m, entry);
}

static int get_msg(struct qv_abi_srx *abi, struct qv_abi_match *m, void **entry)
{
	struct qv_fi_srx *srx = srx_of(abi);
	struct qv_recv *recv = qv_match_arrive(srx->match[0], 0, source(m->addr));
	struct qv_fi_rx *rx, *part;

	if (!recv)
		return unexpected(srx, m, 0, FI_MSG | FI_RECV | FI_COMPLETION, entry);
	rx = container_of(recv, struct qv_fi_rx, recv);
	if (!(rx->how & QV_RX_MULTI))
		return expected(rx, m, entry);
	part = part_of(rx, m->msg_size);
	if (!part)
		return -FI_ENOMEM;
	if (rx->ended)
		qv_match_cancel(srx->match[0], recv);
	return expected(part, m, entry);
}

static int queue(void *entry)
{
	struct qv_fi_rx *rx = qv_fi_rx_of(entry);
	struct qv_fi_srx *srx = qv_fi_rx_srx(rx);

	if (qv_match_queue(srx->match[qv_fi_rx_tagged(rx)], &rx->msg))
		return -FI_ENOMEM;
	srx->bytes_waiting += qv_fi_rx_full(rx);
	if (srx->bytes_waiting > srx->bytes_waiting_max)
		srx->bytes_waiting_max = srx->bytes_waiting;
	return 0;
}

static void free_entry(void *entry)
{
	struct qv_fi_rx *rx = qv_fi_rx_of(entry);

	if (QV_UNLIKELY(rx->how & QV_RX_PART) && --rx->whole->parts == 0 && rx->whole->ended)
		qv_fi_rx_release(rx->whole);
	qv_fi_rx_release(rx);
}

/* Messages of one engine that came from nobody known, oldest first. */
static size_t from_unknown(struct qv_match *engine, struct qv_fi_rx **rxs, size_t max)
{
	struct qv_msg *msg = NULL;
	size_t n = 0;

	while ((msg = qv_match_next_msg(engine, msg)))
		if (msg->src == QV_FI_SRC_NOBODY && n++ < max)
			rxs[n - 1] = container_of(msg, struct qv_fi_rx, msg);
	return n;
}

static void rehome(struct qv_match *engine, fi_addr_t (*get_addr)(void *entry))
{
	size_t n = from_unknown(engine, NULL, 0);
	struct qv_fi_rx **rxs = n ? malloc(n * sizeof *rxs) : NULL;

	if (!rxs)
		return; /* receives from any source find them */
	from_unknown(engine, rxs, n);
	for (size_t i = 0; i < n; i++) {
		struct qv_fi_rx *rx = rxs[i];
		fi_addr_t addr = get_addr(qv_fi_rx_give(rx));

		if (source(addr) == QV_FI_SRC_NOBODY)
			continue;
		qv_match_take(engine, &rx->msg);
		rx->entry.addr = addr;
		rx->msg.src = source(addr);
		if (qv_match_queue(engine, &rx->msg))
			QV_FI_WARN(EP_DATA, "out of memory: an unexpected message is lost\n");
	}
	free(rxs);
}

static void foreach_unspec_addr(struct qv_abi_srx *abi, fi_addr_t (*get_addr)(void *entry))
{
	struct qv_fi_srx *srx = srx_of(abi);

	for (size_t i = 0; i < 2; i++)
		rehome(srx->match[i], get_addr);
}

struct qv_abi_srx_owner qv_fi_srx_owner_ops = {
	.size = sizeof(struct qv_abi_srx_owner),
	.get_msg = get_msg,
	.get_tag = get_tag,
	.queue_msg = queue,
	.queue_tag = queue,
	.foreach_unspec_addr = foreach_unspec_addr,
	.free_entry = free_entry,
};

/* Completions. */

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
	comp->buf = rx->iov[0].iov_base;
	comp->multi_end = rx->how & QV_RX_PART && rx->whole->ended && rx->whole->parts == 1;
	qv_fi_complete_recv(srx->ep, comp);
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
	struct fi_cq_tagged_entry *out = qv_fi_cq_direct(cq);

	if (!out)
		out = qv_fi_cq_append(cq, qv_fi_srx_user(srx, src));
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
	int status = err == FI_ETRUNC      ? QV_ETRUNC
		     : err == FI_ECANCELED ? QV_ECANCELED
					   : qv_fi_status(-err);

	return status == QV_EAGAIN || status == QV_OK ? QV_EIO : status;
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
		qv_fi_rx_done(rx, &(struct qv_comp){.status = status_of(err->err),
						    .tag = rx->entry.tag,
						    .user = qv_fi_srx_user(srx, rx->entry.addr)});
	} else if (send) {
		qv_fi_tx_done(srx, err->op_context, err->err);
	} else if (one_sided && xfer) {
		srx->ep->rail[QV_FI_MAIN].flying--;
		xfer->done(xfer, status_of(err->err));
	}
	return 0;
}

struct qv_abi_cq_owner qv_fi_srx_cq_ops = {
	.size = sizeof(struct qv_abi_cq_owner),
	.write = cq_write,
	.writeerr = cq_writeerr,
};
