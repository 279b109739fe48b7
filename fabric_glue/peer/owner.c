/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner.c - what the core calls in peer mode: which receive does a message take, or it
 * waits. The lock is held: all of it happens inside our calls to the core.
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
		      unsigned engine, void **entry)
{
	struct qv_fi_rx *rx = qv_fi_rx_new(srx);

	if (!rx) {
		qv_match_unarrived(srx->match[engine]);
		return -FI_ENOMEM;
	}
	rx->msg.tag = tag;
	rx->msg.src = source(m->addr);
	rx->msg.flags = 0;
	rx->entry.addr = m->addr;
	rx->entry.tag = tag;
	rx->entry.msg_size = m->msg_size;
	rx->entry.flags = (engine ? FI_TAGGED : FI_MSG) | FI_RECV | FI_COMPLETION;
	rx->how = engine == QV_REQ_COLL ? QV_CK_COLL : 0;
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

/* A message that was only to make a connection. */
static int hello(struct qv_fi_srx *srx, const struct qv_abi_match *m, void **entry)
{
	struct qv_fi_rx *rx = qv_fi_rx_new(srx);

	if (!rx)
		return -FI_ENOMEM;
	qv_fi_rx_set_buffer(rx, NULL, 0);
	rx->entry.flags = FI_TAGGED | FI_RECV | FI_COMPLETION;
	rx->how = QV_RX_DISCARDED;
	return expected(rx, m, entry);
}

static int get_tag(struct qv_abi_srx *abi, struct qv_abi_match *m, void **entry)
{
	struct qv_fi_srx_port *port = container_of(abi, struct qv_fi_srx_port, abi);
	const bool coll = QV_UNLIKELY((m->tag & port->own) != 0);
	struct qv_match *engine = coll ? port->srx->match[QV_REQ_COLL] : port->tagged;
	struct qv_recv *recv;

	if (QV_UNLIKELY(coll && m->tag == QV_FI_HELLO_TAG))
		return hello(port->srx, m, entry);
	recv = qv_match_arrive(engine, m->tag, source(m->addr));
	if (QV_UNLIKELY(!recv))
		return unexpected(port->srx, m, m->tag, coll ? QV_REQ_COLL : QV_REQ_TAGGED, entry);
	return expected(container_of(recv, struct qv_fi_rx, recv), m, entry);
}

static int get_msg(struct qv_abi_srx *abi, struct qv_abi_match *m, void **entry)
{
	struct qv_fi_srx *srx = srx_of(abi);
	struct qv_recv *recv = qv_match_arrive(srx->match[0], 0, source(m->addr));
	struct qv_fi_rx *rx, *part;

	if (!recv)
		return unexpected(srx, m, 0, 0, entry);
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

	if (qv_match_queue(srx->match[qv_fi_rx_engine(rx)], &rx->msg))
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

	for (size_t i = 0; i < QV_FI_SRX_ENGINES; i++)
		if (srx->match[i])
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
