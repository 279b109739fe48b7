/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poll.c - receive buffers that are always posted, so that the cores never see an unexpected
 * message, and the loop that moves an endpoint on.
 */
#include "fabric_glue/calls.h"
#include "engine/base/clock.h"
#include "engine/base/machine.h"
#include "fabric_glue/node/node.h"

#include <stdlib.h>

/* Not less than what a core may take from the network in one call (rxm: 128), or it runs out of our
 * buffers and keeps messages of its own. */
#define POLL_BATCH 256

/* Receive buffers. */

static void put_back(struct qv_fi_rail *rail, struct qv_fi_rxbuf *b)
{
	b->next = rail->unposted;
	rail->unposted = b;
	rail->nunposted++;
}

static void rx_post(struct qv_fi_rail *rail, struct qv_fi_rxbuf *b)
{
	ssize_t rc = fi_recv(rail->core, b->data, rail->xport.packet_max, NULL, FI_ADDR_UNSPEC, b);

	if (QV_LIKELY(rc == 0))
		return;
	if (rc != -FI_EAGAIN && !rail->ep->closing)
		QV_FI_WARN(EP_DATA, "the core takes no receive buffer: %s\n",
			   qv_fi_host.strerror((int)-rc));
	put_back(rail, b);
}

int qv_fi_rx_post_all(struct qv_fi_rail *rail)
{
	if (rail->node)
		return 0;
	rail->rx_stride = (sizeof(struct qv_fi_rxbuf) + rail->xport.packet_max + 127) / 64 * 64;
	rail->rx_memory = aligned_alloc(64, rail->rx_count * rail->rx_stride);
	if (!rail->rx_memory)
		return -FI_ENOMEM;
	for (size_t i = 0; i < rail->rx_count; i++) {
		struct qv_fi_rxbuf *b = (void *)(rail->rx_memory + i * rail->rx_stride);

		b->xfer.done = NULL;
		rx_post(rail, b);
	}
	return 0;
}

/* Not before the core has nothing more to report, or half of the buffers are out: posting is then
 * off the way between a message and the application's answer. */
static void repost(struct qv_fi_rail *rail)
{
	struct qv_fi_rxbuf *b = rail->unposted;

	rail->unposted = NULL;
	rail->nunposted = 0;
	while (b) {
		struct qv_fi_rxbuf *next = b->next;

		rx_post(rail, b);
		b = next;
	}
}

static void stall(struct qv_fi_rail *rail, struct qv_fi_rxbuf *b)
{
	b->next = NULL;
	*rail->stalled_tail = b;
	rail->stalled_tail = &b->next;
}

static int hand_over(struct qv_fi_rail *rail, const struct qv_fi_rxbuf *b)
{
	struct qv_proto *proto = rail->ep->proto;
	struct qv_peer *peer;

	if (!b->headerless)
		return qv_proto_packet(proto, &rail->xport, b->data, b->len, b->from);
	peer = qv_fi_peer_by_core(rail, b->from);
	if (QV_LIKELY(peer != NULL))
		return qv_proto_tagged(peer, b->tag, b->data, b->len);
	return qv_proto_packet(proto, &rail->xport, NULL, 0,
			       b->from); /* refused, counted, logged */
}

/* Packets that found no memory, in order; true: all are through. */
static bool unstall(struct qv_fi_rail *rail)
{
	struct qv_fi_rxbuf *b;

	while ((b = rail->stalled)) {
		if (hand_over(rail, b))
			return false;
		rail->stalled = b->next;
		if (!rail->stalled)
			rail->stalled_tail = &rail->stalled;
		rx_post(rail, b);
	}
	return true;
}

static void on_packet(struct qv_fi_rail *rail, const struct fi_cq_data_entry *e, fi_addr_t from)
{
	struct qv_fi_rxbuf *b = e->op_context;

	b->len = e->len;
	b->from = from;
	b->headerless = e->flags & FI_REMOTE_CQ_DATA;
	b->tag = e->data;
	if (QV_LIKELY(!rail->stalled && hand_over(rail, b) == QV_OK))
		put_back(rail, b);
	else
		stall(rail, b);
}

/* Poll loop. */

static void on_error(struct qv_fi_rail *rail)
{
	struct qv_fi_ep *ep = rail->ep;
	QV_FI_ROOMY(fi_cq_err_entry, err);
	struct qv_xfer *xfer;

	if (fi_cq_readerr(rail->cq, &err.a, 0) <= 0)
		return;
	xfer = err.a.op_context;
	if (!ep->closing)
		QV_FI_INFO(EP_DATA, "core error: %s (provider %d)\n",
			   qv_fi_host.strerror(err.a.err), err.a.prov_errno);
	if (!xfer) { /* shm's fast reads lose their context: see whether the peer is alive */
		qv_proto_tick(ep->proto, ep->ticked);
	} else if (!xfer->done) {
		if (ep->closing)
			return;
		rx_post(rail, (struct qv_fi_rxbuf *)xfer);
	} else {
		int status = qv_fi_status(-err.a.err);

		rail->flying--;
		qv_fi_pass_error(xfer, err.a.err);
		xfer->done(xfer, status == QV_EAGAIN ? QV_EIO : status);
	}
}

static void on_entry(struct qv_fi_rail *rail, const struct fi_cq_data_entry *e, fi_addr_t from)
{
	struct qv_xfer *xfer = e->op_context;

	if (QV_UNLIKELY(qv_fi_is_remote(e->flags))) {
		qv_fi_remote_event(rail, FI_RMA | FI_REMOTE_WRITE | e->flags, e->len, e->data,
				   from);
	} else if (xfer->done) {
		rail->flying--;
		xfer->done(xfer, QV_OK);
	} else {
		on_packet(rail, e, from);
	}
}

static QV_NOINLINE void tick(struct qv_fi_ep *ep, uint64_t now)
{
	ep->ticked = now;
	qv_fi_totals_tick(ep);
	qv_fi_presence_tick(&ep->rail[QV_FI_MAIN]);
	if (ep->srx)
		qv_fi_srx_tick(ep->srx);
	else
		qv_proto_tick(ep->proto, now);
	if (ep->proto)
		qv_fi_pass_look_after(ep);
	if (qv_fi_params.stats.interval || qv_fi_params.stats.signal)
		qv_fi_stats_tick(ep, now);
}

void qv_fi_ep_tick(struct qv_fi_ep *ep)
{
	const uint64_t ns = qv_clock_of(CLOCK_MONOTONIC_COARSE), now = ns / 1000000;

	qv_seldom_looked(&ep->clock, ep->polls, ns, QV_FI_TICK_MS * UINT64_C(1000000) / 2);
	if ((ep->proto || ep->srx) && now - ep->ticked >= QV_FI_TICK_MS)
		tick(ep, now);
}

/* A core with one lock for its sender and us: who polls while messages come one by one takes the
 * lock from the sender for each. So the sender has it for some time after a poll that found
 * something, and then there are several. An answer never comes that soon behind a question. */
#define SPARE (qv_ticks_us() / 2)

static bool spared(struct qv_fi_rail *rail)
{
	if (QV_LIKELY(!rail->found) || qv_ticks() - rail->found >= SPARE)
		return false;
	if (rail->unposted)
		repost(rail);
	return true;
}

static QV_NOINLINE bool progress_queue(struct qv_fi_rail *rail)
{
	struct fi_cq_data_entry e[POLL_BATCH];
	fi_addr_t from[POLL_BATCH];
	bool some = false, ahead;

	if (spared(rail) || (QV_UNLIKELY(rail->stalled) && !unstall(rail)))
		return true;
	if (QV_UNLIKELY(rail->nunposted > rail->rx_count / 2))
		repost(rail);
	for (int errors = 0; errors < POLL_BATCH; errors++) {
		ssize_t n = fi_cq_readfrom(rail->cq, e, POLL_BATCH, from);

		if (QV_UNLIKELY(n == -FI_EAVAIL)) {
			on_error(rail);
			some = true;
			continue;
		}
		if (n <= 0 && rail->unposted)
			repost(rail);
		ahead = QV_UNLIKELY(rail->ep->offload) && n > 0 &&
			qv_fi_offload_entries(rail, e, from, (size_t)n);
		for (ssize_t i = 0; i < n; i++)
			on_entry(rail, &e[i], from[i]);
		rail->seen += n > 0 ? (uint64_t)n : 0;
		if (rail->one_lock)
			rail->found = n > 0 ? qv_ticks() : 0;
		if (QV_UNLIKELY(ahead))
			qv_fi_offload_done(rail->ep);
		return some || n > 0;
	}
	return true;
}

/* True: the core had something to report. */
QV_INLINE bool progress_rail(struct qv_fi_rail *rail)
{
	return rail->node ? qv_fi_node_poll(rail) : progress_queue(rail);
}

/*
 * Several. A network core costs ten times as much to look at as shm, so it is left alone for
 * GAP while nothing goes on there, and while shm has something to report. What goes on is seen from
 * what came and was sent in the last BUSY, what the core holds, and what its peers owe.
 */
#define GAP  ((uint64_t)50000)   /* ticks; about 20 us */
#define BUSY ((uint64_t)3000000) /* about 1 ms */

static void progress_network(struct qv_fi_rail *rail, bool some)
{
	uint64_t now = qv_ticks();

	if (rail->used || rail->flying || rail->xport.outstanding) {
		rail->used = false;
		rail->busy_end = now + BUSY;
	}
	if ((some || now >= rail->busy_end) && now - rail->polled < GAP)
		return;
	rail->polled = now;
	if (progress_rail(rail))
		rail->busy_end = now + BUSY;
}

static void progress_several(struct qv_fi_ep *ep)
{
	bool some = false;

	if (qv_fi_ep_has(ep, QV_FI_LOCAL))
		some = progress_rail(&ep->rail[QV_FI_LOCAL]);
	progress_network(&ep->rail[QV_FI_MAIN], some);
	if (qv_fi_ep_has(ep, QV_FI_SECOND))
		progress_network(&ep->rail[QV_FI_SECOND], some);
}

void qv_fi_layered_progress(struct qv_fi_ep *ep)
{
	if (QV_UNLIKELY(!ep->proto))
		return;
	qv_fi_ep_polled(ep);
	if (ep->rails == 1u << QV_FI_MAIN)
		progress_rail(&ep->rail[QV_FI_MAIN]);
	else
		progress_several(ep);
	if (QV_UNLIKELY(qv_proto_wants_progress(ep->proto)))
		qv_proto_progress(ep->proto);
	if (QV_UNLIKELY(ep->coll != NULL))
		qv_fi_coll_progress(ep);
}
