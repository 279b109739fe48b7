/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_ops.c - the loopback's calls of the seam. */
#include "loop_internal.h"

#include <string.h>

static struct loop_ep *ep_of(struct qv_xport *x)
{
	return (struct loop_ep *)x;
}

static bool refuses(struct loop_ep *ep)
{
	return ep->closing || qv_random_percent(ep->loop->rng, ep->loop->chaos.eagain);
}

static bool hits(unsigned *countdown)
{
	return *countdown && --*countdown == 0;
}

static struct loop_packet *packet_new(struct loop_ep *ep, uint64_t to, const uint64_t *head,
				      const struct iovec *iov, size_t cnt)
{
	struct loop_packet *pkt = loop_need(sizeof *pkt);

	QV_NEED(to < QV_LOOP_MAX);
	QV_NEED(cnt <= LOOP_IOV);
	pkt->to = ep->loop->at[to];
	for (size_t i = 0; i < cnt; i++) {
		pkt->iov[i] = iov[i];
		pkt->len += iov[i].iov_len;
	}
	pkt->cnt = cnt;
	if (head) {
		memcpy(pkt->head, head, sizeof pkt->head);
		pkt->beside = LOOP_HEAD;
	}
	if (pkt->to)
		QV_NEED(pkt->len <= pkt->to->x.packet_max);
	return pkt;
}

static void enqueue(struct loop_ep *ep, uint64_t to, struct loop_packet *pkt)
{
	struct loop_queue *q = &ep->out[to];

	if (q->head)
		q->tail->next = pkt;
	else
		q->head = pkt;
	q->tail = pkt;
	q->count++;
}

static int inject(struct loop_ep *ep, uint64_t to, const uint64_t *head, const struct iovec *iov,
		  size_t cnt)
{
	struct qv_loop *loop = ep->loop;
	struct loop_packet *pkt;

	if (refuses(ep) || ep->out[to].count >= loop->chaos.capacity)
		return QV_EAGAIN;
	if (loop->chaos.fail_at_once && hits(&loop->chaos.fail_send))
		return loop->chaos.fail_status;
	pkt = packet_new(ep, to, head, iov, cnt);
	QV_NEED(pkt->len <= ep->x.inject_max && cnt <= ep->x.inject_iov);
	loop_gather(pkt);
	enqueue(ep, to, pkt);
	return QV_OK;
}

static int send(struct loop_ep *ep, uint64_t to, const uint64_t *head, const struct iovec *iov,
		size_t cnt, struct qv_xfer *xfer)
{
	struct qv_loop *loop = ep->loop;
	struct loop_packet *pkt;

	QV_NEED(cnt <= ep->x.send_iov);
	if (refuses(ep) || ep->out[to].count >= loop->chaos.capacity)
		return QV_EAGAIN;
	if (hits(&loop->chaos.fail_send)) {
		if (loop->chaos.fail_at_once)
			return loop->chaos.fail_status;
		loop_done(ep, xfer, loop->chaos.fail_status);
		return QV_OK;
	}
	pkt = packet_new(ep, to, head, iov, cnt);
	pkt->xfer = xfer;
	loop_note_given(pkt);
	enqueue(ep, to, pkt);
	return QV_OK;
}

static int read_from(struct loop_ep *ep, uint64_t from, const struct iovec *iov, size_t cnt,
		     uint64_t addr, uint64_t key, struct qv_xfer *xfer)
{
	struct qv_loop *loop = ep->loop;
	struct loop_read *r;

	QV_NEED(from < QV_LOOP_MAX && cnt >= 1 && cnt <= ep->x.send_iov);
	if (refuses(ep) || ep->reading[from] >= loop->chaos.capacity)
		return QV_EAGAIN;
	if (hits(&loop->chaos.fail_read)) {
		if (loop->chaos.fail_at_once)
			return loop->chaos.fail_status;
		loop_done(ep, xfer, loop->chaos.fail_status);
		return QV_OK;
	}
	QV_NEED(loop->nreads < LOOP_READS);
	r = &loop->reads[loop->nreads++];
	*r = (struct loop_read){.ep = ep,
				.from = loop->at[from],
				.cnt = cnt,
				.addr = addr,
				.key = key,
				.xfer = xfer};
	for (size_t i = 0; i < cnt; i++) {
		QV_NEED(iov[i].iov_len > 0);
		r->iov[i] = iov[i];
		r->len += iov[i].iov_len;
	}
	QV_NEED(r->len <= ep->x.read_max);
	r->slot = (unsigned)from;
	ep->reading[from]++;
	return QV_OK;
}

static int register_mem(struct loop_ep *ep, void *buf, size_t len, struct qv_region *region)
{
	struct loop_region *r;
	size_t i = 0;

	if (qv_random_percent(ep->loop->rng, ep->loop->chaos.fail_register))
		return QV_EIO;
	while (i < ep->nregions && ep->regions[i].key)
		i++;
	if (i == ep->nregions) {
		ep->regions = realloc(ep->regions, ++ep->nregions * sizeof *ep->regions);
		QV_NEED(ep->regions);
	}
	r = &ep->regions[i];
	*r = (struct loop_region){.buf = buf, .len = len, .key = ++ep->loop->keys};
	r->addr = r->key << 32; /* not the address: who mixes them up reads nothing */
	region->addr = r->addr;
	region->key = r->key;
	region->handle = (void *)(uintptr_t)(i + 1);
	return QV_OK;
}

static void deregister_mem(struct loop_ep *ep, struct qv_region *region)
{
	size_t i = (uintptr_t)region->handle - 1;

	QV_NEED(i < ep->nregions && ep->regions[i].key == region->key);
	ep->regions[i].key = 0;
}

/* The calls as the protocol sees them: allocations in here are the transport's and do not fail. */
static int op_inject(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt)
{
	bool was = qv_nomem_pause();
	int rc = inject(ep_of(x), to, NULL, iov, cnt);

	qv_nomem_resume(was);
	return rc;
}

static int op_send(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt,
		   struct qv_xfer *xfer)
{
	bool was = qv_nomem_pause();
	int rc = send(ep_of(x), to, NULL, iov, cnt, xfer);

	qv_nomem_resume(was);
	return rc;
}

static int op_inject_tagged(struct qv_xport *x, uint64_t to, uint64_t tag, const void *buf,
			    size_t len)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	bool was = qv_nomem_pause();
	int rc = inject(ep_of(x), to, (uint64_t[]){QV_LOOP_HEADERLESS, tag}, &iov, 1);

	qv_nomem_resume(was);
	return rc;
}

static int op_read(struct qv_xport *x, uint64_t from, const struct iovec *iov, size_t cnt,
		   uint64_t addr, uint64_t key, struct qv_xfer *xfer)
{
	bool was = qv_nomem_pause();
	int rc = read_from(ep_of(x), from, iov, cnt, addr, key, xfer);

	qv_nomem_resume(was);
	return rc;
}

static int op_register(struct qv_xport *x, void *buf, size_t len, struct qv_region *region)
{
	bool was = qv_nomem_pause();
	int rc = register_mem(ep_of(x), buf, len, region);

	qv_nomem_resume(was);
	return rc;
}

static void op_deregister(struct qv_xport *x, struct qv_region *region)
{
	deregister_mem(ep_of(x), region);
}

const struct qv_xport_ops loop_ops = {
	.inject = op_inject,
	.send = op_send,
	.read = op_read,
	.register_mem = op_register,
	.deregister_mem = op_deregister,
};

const struct qv_xport_ops loop_headerless_ops = {
	.inject = op_inject,
	.send = op_send,
	.inject_tagged = op_inject_tagged,
	.read = op_read,
	.register_mem = op_register,
	.deregister_mem = op_deregister,
};
