/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_xport.c - a core provider's endpoint as the protocol's transport: buffers that are always
 * posted, so that the core never sees an unexpected message, and one poll loop.
 */
#include "qv_fi_data.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_BATCH  16
#define POLL_ROUNDS 4
#define TICK_POLLS  1024u /* look at the clock once in so many polls */
#define TICK_MS     100u

static struct qv_fi_ep *ep_of(struct qv_xport *x)
{
	return container_of(x, struct qv_fi_ep, xport);
}

static int status_of(ssize_t rc)
{
	switch (rc) {
	case 0: return QV_OK;
	case -FI_EAGAIN: return QV_EAGAIN;
	case -FI_ENOMEM: return QV_ENOMEM;
	case -FI_EMSGSIZE: return QV_EMSGSIZE;
	case -FI_ECONNREFUSED:
	case -FI_ECONNRESET:
	case -FI_ECONNABORTED:
	case -FI_EHOSTUNREACH:
	case -FI_ENOTCONN:
	case -FI_ESHUTDOWN: return QV_EPEER;
	default: return QV_EIO;
	}
}

static int xp_inject(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt)
{
	struct qv_fi_ep *ep = ep_of(x);

	if (QV_LIKELY(cnt == 1))
		return status_of(fi_inject(ep->core, iov->iov_base, iov->iov_len, to));

	struct fi_msg msg = {.msg_iov = iov, .iov_count = cnt, .addr = to};

	return status_of(fi_sendmsg(ep->core, &msg, FI_INJECT));
}

static int xp_send(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt,
		   struct qv_xfer *xfer)
{
	struct fi_msg msg = {.msg_iov = iov, .iov_count = cnt, .addr = to, .context = xfer};

	return status_of(fi_sendmsg(ep_of(x)->core, &msg, FI_COMPLETION));
}

static int xp_read(struct qv_xport *x, uint64_t from, const struct iovec *iov, size_t cnt,
		   uint64_t addr, uint64_t key, struct qv_xfer *xfer)
{
	struct fi_rma_iov rma = {.addr = addr, .key = key};
	struct fi_msg_rma msg = {.msg_iov = iov,
				 .iov_count = cnt,
				 .addr = from,
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = xfer};

	for (size_t i = 0; i < cnt; i++)
		rma.len += iov[i].iov_len;
	return status_of(fi_readmsg(ep_of(x)->core, &msg, FI_COMPLETION));
}

#define KEY_TRIES 64

static int xp_expose(struct qv_xport *x, void *buf, size_t len, struct qv_region *region)
{
	struct qv_fi_ep *ep = ep_of(x);
	struct qv_fi_domain *dom = ep->dom;
	uint64_t mode = (uint64_t)dom->core_info->domain_attr->mr_mode;
	struct fid_mr *mr;
	int rc = -FI_ENOKEY;

	for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++) /* the application has keys too */
		rc = fi_mr_reg(dom->core, buf, len, FI_REMOTE_READ, 0, dom->next_key++, 0, &mr,
			       NULL);
	if (rc)
		return status_of(rc);
	if (mode & FI_MR_ENDPOINT && (fi_mr_bind(mr, &ep->core->fid, 0) || fi_mr_enable(mr))) {
		fi_close(&mr->fid);
		return QV_EIO;
	}
	region->handle = mr;
	region->key = fi_mr_key(mr);
	region->addr = mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)buf : 0;
	return QV_OK;
}

static void xp_conceal(struct qv_xport *x, struct qv_region *region)
{
	struct fid_mr *mr = region->handle;

	(void)x;
	fi_close(&mr->fid);
}

static const struct qv_xport_ops xp_ops = {
	.inject = xp_inject,
	.send = xp_send,
	.read = xp_read,
	.expose = xp_expose,
	.conceal = xp_conceal,
};

/*
 * What suits each core; found by measuring (docs/design.md). A packet must be short enough that the
 * core completes packets in the order in which they were sent: above its own eager limit rxm and
 * shm let later messages overtake, and so does rxd above one datagram (0: its inject size).
 * The first entry whose name the core's name ends with counts.
 */
static const struct tuning {
	const char *name;
	size_t packet; /* bytes of one packet */
	size_t eager;  /* longest eager message */
	size_t count;  /* receive buffers */
} tunings[] = {
	{"shm", 4096, 8192, 256},   {"ofi_rxm", 8192, 8000, 256}, {"ofi_rxd", 0, 8000, 512},
	{"net", 16384, 16000, 128}, {"tcp", 16384, 16000, 128},   {"sockets", 16384, 16000, 128},
	{"", 4096, 8192, 256},
};

static const struct tuning *tuning_of(const char *core)
{
	const struct tuning *t = tunings;
	size_t len = strlen(core);

	for (; *t->name; t++) {
		size_t n = strlen(t->name);

		if (len >= n && !strcmp(core + len - n, t->name))
			break;
	}
	return t;
}

void qv_fi_xport_init(struct qv_fi_ep *ep)
{
	const struct fi_info *info = ep->dom->core_info;
	const struct tuning *t = tuning_of(ep->dom->fabric->core_name);
	size_t core_max = info->ep_attr->max_msg_size;

	ep->packet_max = t->packet ? t->packet : info->tx_attr->inject_size;
	if (ep->packet_max > core_max)
		ep->packet_max = core_max;
	ep->rx_count = t->count < info->rx_attr->size ? t->count : info->rx_attr->size;
	ep->xport = (struct qv_xport){
		.ops = &xp_ops,
		.inject_max = info->tx_attr->inject_size,
		.inject_iov = info->tx_attr->iov_limit,
		.send_iov = info->tx_attr->iov_limit,
		.packet_max = ep->packet_max,
		.read_max = ep->dom->has_rma ? core_max : 0,
	};
	ep->core_tells_source = info->caps & FI_SOURCE;
	ep->eager_max = qv_fi_params.eager != SIZE_MAX ? qv_fi_params.eager : t->eager;
}

/* ---- receive buffers ---------------------------------------------------------------------------
 */

static void rx_post(struct qv_fi_ep *ep, struct qv_fi_rxbuf *b)
{
	ssize_t rc = fi_recv(ep->core, b->data, ep->packet_max, NULL, FI_ADDR_UNSPEC, b);

	if (QV_LIKELY(rc == 0))
		return;
	if (rc != -FI_EAGAIN && !ep->closing)
		QV_FI_WARN(EP_DATA, "the core takes no receive buffer: %s\n",
			   fi_strerror((int)-rc));
	b->next = ep->unposted;
	ep->unposted = b;
}

int qv_fi_rx_post_all(struct qv_fi_ep *ep)
{
	ep->rx_stride = (sizeof(struct qv_fi_rxbuf) + ep->packet_max + 127) / 64 * 64;
	ep->rx_memory = aligned_alloc(64, ep->rx_count * ep->rx_stride);
	if (!ep->rx_memory)
		return -FI_ENOMEM;
	for (size_t i = 0; i < ep->rx_count; i++) {
		struct qv_fi_rxbuf *b = (void *)(ep->rx_memory + i * ep->rx_stride);

		b->xfer.done = NULL;
		rx_post(ep, b);
	}
	return 0;
}

static void repost(struct qv_fi_ep *ep)
{
	struct qv_fi_rxbuf *b = ep->unposted;

	ep->unposted = NULL;
	while (b) {
		struct qv_fi_rxbuf *next = b->next;

		rx_post(ep, b);
		b = next;
	}
}

static void stall(struct qv_fi_ep *ep, struct qv_fi_rxbuf *b)
{
	b->next = NULL;
	*ep->stalled_tail = b;
	ep->stalled_tail = &b->next;
}

/* Packets that found no memory, in order; true: all are through. */
static bool unstall(struct qv_fi_ep *ep)
{
	struct qv_fi_rxbuf *b;

	while ((b = ep->stalled)) {
		if (qv_proto_packet(ep->proto, b->data, b->len, b->from))
			return false;
		ep->stalled = b->next;
		if (!ep->stalled)
			ep->stalled_tail = &ep->stalled;
		rx_post(ep, b);
	}
	return true;
}

static void on_packet(struct qv_fi_ep *ep, struct qv_fi_rxbuf *b, size_t len, fi_addr_t from)
{
	b->len = len;
	b->from = from;
	if (QV_LIKELY(!ep->stalled && qv_proto_packet(ep->proto, b->data, len, from) == QV_OK))
		rx_post(ep, b);
	else
		stall(ep, b);
}

/* ---- poll loop ---------------------------------------------------------------------------------
 */

static uint64_t coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void on_error(struct qv_fi_ep *ep)
{
	QV_FI_ROOMY(fi_cq_err_entry, err);
	struct qv_xfer *xfer;

	if (fi_cq_readerr(ep->core_cq, &err.a, 0) <= 0)
		return;
	xfer = err.a.op_context;
	if (!ep->closing)
		QV_FI_INFO(EP_DATA, "core error: %s (provider %d)\n", fi_strerror(err.a.err),
			   err.a.prov_errno);
	if (!xfer) { /* shm's fast reads lose their context: see whether the peer is alive */
		qv_proto_tick(ep->proto, ep->ticked);
	} else if (!xfer->done) {
		if (ep->closing)
			return;
		rx_post(ep, (struct qv_fi_rxbuf *)xfer);
	} else {
		int status = status_of(-err.a.err);

		xfer->done(xfer, status == QV_EAGAIN ? QV_EIO : status);
	}
}

static void on_entry(struct qv_fi_ep *ep, const struct fi_cq_data_entry *e, fi_addr_t from)
{
	struct qv_xfer *xfer = e->op_context;

	if (QV_UNLIKELY(e->flags & (FI_REMOTE_WRITE | FI_REMOTE_READ)))
		qv_fi_remote_event(ep, e->flags, e->data, from);
	else if (xfer->done)
		xfer->done(xfer, QV_OK);
	else
		on_packet(ep, (struct qv_fi_rxbuf *)xfer, e->len, from);
}

static void tick(struct qv_fi_ep *ep)
{
	uint64_t now = coarse_ms();

	if (now - ep->ticked < TICK_MS)
		return;
	ep->ticked = now;
	qv_proto_tick(ep->proto, now);
}

/* Move everything of this endpoint on. Lock held. */
void qv_fi_ep_progress(struct qv_fi_ep *ep)
{
	struct fi_cq_data_entry e[POLL_BATCH];
	fi_addr_t from[POLL_BATCH];

	if (QV_UNLIKELY(!ep->proto))
		return;
	if (QV_UNLIKELY(++ep->polls % TICK_POLLS == 0))
		tick(ep);
	if (QV_UNLIKELY(ep->stalled) && !unstall(ep))
		return;
	if (QV_UNLIKELY(ep->unposted != NULL))
		repost(ep);
	for (int round = 0; round < POLL_ROUNDS; round++) {
		ssize_t n = ep->core_tells_source ? fi_cq_readfrom(ep->core_cq, e, POLL_BATCH, from)
						  : fi_cq_read(ep->core_cq, e, POLL_BATCH);

		if (QV_UNLIKELY(n == -FI_EAVAIL)) {
			on_error(ep);
			continue;
		}
		for (ssize_t i = 0; i < n; i++)
			on_entry(ep, &e[i], ep->core_tells_source ? from[i] : FI_ADDR_NOTAVAIL);
		if (n < POLL_BATCH)
			break;
	}
	if (QV_UNLIKELY(qv_proto_wants_progress(ep->proto)))
		qv_proto_progress(ep->proto);
}
