/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c - peer mode: the core's completion queue, which is ours, and who sleeps on it. */
#include "srx.h"

/* The core's queue has no entries: they come to ours. util_cq of libfabric says that it has some
 * whenever it is read, so that fi_trywait of the core would let nobody sleep. */
static ssize_t read_nothing(struct fid_cq *cq, void *buf, size_t count)
{
	const struct qv_fi_srx *srx = container_of(cq->ops, struct qv_fi_srx, sleepy);
	ssize_t rc = srx->queue_ops->read(cq, buf, count);

	return rc ? rc : -FI_EAGAIN;
}

/* Who sleeps has the core asked by fi_trywait. */
static void let_sleep(struct qv_fi_srx *srx, struct fid_cq *cq)
{
	srx->queue_ops = cq->ops;
	srx->sleepy = *cq->ops;
	srx->sleepy.size = sizeof srx->sleepy;
	srx->sleepy.read = read_nothing;
	cq->ops = &srx->sleepy;
}

int qv_fi_srx_open_queue(struct qv_fi_ep *ep)
{
	struct qv_fi_srx *srx = ep->srx;
	struct qv_fi_rail *rail = &ep->rail[QV_FI_MAIN];
	struct qv_abi_cq_context import = {.size = sizeof import, .cq = &srx->cq};
	uint64_t selective = ep->tx_selective || !ep->tx_cq ? FI_SELECTIVE_COMPLETION : 0;
	const bool fd = qv_fi_rail_wants_fd(rail);
	QV_FI_ROOMY(fi_cq_attr, attr);
	int rc;

	attr.a.flags = FI_PEER;
	attr.a.format = FI_CQ_FORMAT_TAGGED;
	attr.a.wait_obj = fd ? FI_WAIT_FD : FI_WAIT_NONE;
	rc = fi_cq_open(ep->dom->core[QV_FI_MAIN], &attr.a, &rail->cq, &import);
	if (rc)
		return rc;
	if (fd)
		let_sleep(srx, rail->cq);
	rc = fi_ep_bind(rail->core, &rail->cq->fid, FI_TRANSMIT | selective);
	return rc ? rc : fi_ep_bind(rail->core, &rail->cq->fid, FI_RECV);
}

bool qv_fi_srx_may_sleep(const struct qv_fi_ep *ep)
{
	return !ep->srx->short_of_memory && !ep->srx->notices;
}

bool qv_fi_srx_waits(const struct qv_fi_ep *ep)
{
	return ep->srx->flying || ep->srx->nlong || ep->srx->ngone || ep->coll ||
	       ep->srx->full != FI_ADDR_NOTAVAIL;
}
