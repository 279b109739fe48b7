/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.c - endpoint: open, bind, enable, options. */
#include "fabric_glue/calls.h"
#include "live.h"

#include <stdlib.h>

/* Binding. */

static int bind_cq(struct qv_fi_ep *ep, struct qv_fi_cq *cq, uint64_t flags)
{
	bool selective = flags & FI_SELECTIVE_COMPLETION;
	int rc;

	if (!(flags & (FI_TRANSMIT | FI_RECV)) ||
	    flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return -FI_EBADFLAGS;
	if (cq->wait_set.dom != ep->dom || ((flags & FI_TRANSMIT) && ep->tx_cq) ||
	    ((flags & FI_RECV) && ep->rx_cq))
		return -FI_EINVAL;
	rc = qv_fi_wait_set_add(&cq->wait_set, ep);
	if (rc)
		return rc;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
	}
	return 0;
}

static int bind_av(struct qv_fi_ep *ep, struct qv_fi_av *av)
{
	int rc;

	if (ep->av || av->dom != ep->dom)
		return -FI_EINVAL;
	for (unsigned c = 0; c < QV_FI_RAILS; c++) {
		if (!qv_fi_ep_has(ep, c))
			continue;
		rc = fi_ep_bind(ep->rail[c].core, &av->core[c]->fid, 0);
		if (rc)
			return rc;
	}
	ep->av = av;
	ep->next_av = av->eps;
	av->eps = ep;
	av->refs++;
	return 0;
}

static int bind_eq(struct qv_fi_ep *ep, struct fid_eq *eq)
{
	if (ep->eq)
		return -FI_EINVAL;
	qv_fi_eq_hold(eq);
	ep->eq = eq;
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);
	int rc;

	/* Counters may come later: some programs know only then what they count. */
	if (bfid->fclass != FI_CLASS_CNTR && (ep->proto || ep->srx))
		return -FI_EOPBADSTATE;
	qv_fi_lock(ep->dom);
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		rc = bind_cq(ep, container_of(bfid, struct qv_fi_cq, fid.fid), flags);
		break;
	case FI_CLASS_AV: rc = bind_av(ep, container_of(bfid, struct qv_fi_av, fid.fid)); break;
	case FI_CLASS_CNTR:
		rc = qv_fi_cntr_bind(container_of(bfid, struct qv_fi_cntr, fid.fid), ep, flags);
		break;
	case FI_CLASS_EQ: rc = bind_eq(ep, container_of(bfid, struct fid_eq, fid)); break;
	default: rc = -FI_EINVAL;
	}
	qv_fi_unlock(ep->dom);
	return rc;
}

/* Enabling. */

static int open_proto(struct qv_fi_ep *ep)
{
	char name[QV_WIRE_MAX_NAME];
	size_t namelen = sizeof name;
	struct qv_proto_settings set = {
		.match = {.structure = qv_fi_params.structure,
			  .isa = qv_fi_params.isa,
			  .profile = qv_fi_params.profile,
			  .collective_mask = qv_fi_params.collective.mask,
			  .collective_op = qv_fi_params.collective.op},
		.named_sources = qv_fi_params.named,
		.budget = qv_fi_params.memory < UINT32_MAX ? qv_fi_params.memory : UINT32_MAX,
		.patience = qv_fi_params.patience,
		.death = qv_fi_params.death,
		.queue_max = qv_fi_params.queue,
		.name = name,
	};
	int rc = qv_fi_ep_name(ep, name, &namelen);

	if (rc)
		return rc;
	set.namelen = namelen;
	qv_fi_assertions_apply(ep, &set.match);
	rc = -qv_fi_errno(qv_proto_create(&set, &qv_fi_owner_ops, ep, &ep->proto));
	if (rc)
		return rc;
	if (ep->dom->memory)
		qv_proto_open_memory(ep->proto, &qv_fi_own_memory_ops);
	return 0;
}

static int enable_cores(struct qv_fi_ep *ep)
{
	int rc = 0;

	if (ep->dom->peer)
		return qv_fi_srx_enable(ep);
	for (unsigned r = 0; r < QV_FI_RAILS && !rc; r++)
		rc = qv_fi_ep_has(ep, r) ? qv_fi_rail_enable(&ep->rail[r]) : 0;
	if (!rc)
		rc = open_proto(ep);
	for (unsigned r = 0; r < QV_FI_RAILS && !rc; r++)
		rc = qv_fi_ep_has(ep, r) ? qv_fi_rx_post_all(&ep->rail[r]) : 0;
	return rc;
}

void qv_fi_ep_each_wait_set(struct qv_fi_ep *ep,
			    void (*each)(struct qv_fi_wait_set *wait_set, void *arg), void *arg)
{
	if (ep->tx_cq)
		each(&ep->tx_cq->wait_set, arg);
	if (ep->rx_cq)
		each(&ep->rx_cq->wait_set, arg);
	for (int i = 0; i < QV_FI_CNTRS; i++)
		if (ep->cntrs[i])
			each(&ep->cntrs[i]->wait_set, arg);
	if (ep->dom->automatic)
		each(ep->dom->wait_set, arg);
}

static void wake(struct qv_fi_wait_set *wait_set, void *arg)
{
	(void)arg;
	qv_fi_wait_set_wake(wait_set);
}

void qv_fi_ep_wake(struct qv_fi_ep *ep)
{
	qv_fi_ep_each_wait_set(ep, wake, NULL);
}

static void wait_set_enable(struct qv_fi_wait_set *wait_set, void *arg)
{
	qv_fi_wait_set_enable(wait_set, arg);
}

static int enable(struct qv_fi_ep *ep)
{
	const struct qv_match *engine;
	int rc;

	if (ep->enabled)
		return 0;
	if (ep->srx || ep->rail[QV_FI_MAIN].cq || ep->leaving) /* it failed once; it closes */
		return -FI_EOPBADSTATE;
	if (!ep->av)
		return -FI_ENOAV;
	if (!ep->tx_cq && !ep->cntrs[QV_FI_CNTR_SEND] && ep->caps & FI_SEND)
		return -FI_ENOCQ;
	if (!ep->rx_cq && !ep->cntrs[QV_FI_CNTR_RECV] && ep->caps & FI_RECV)
		return -FI_ENOCQ;
	rc = ep->dom->automatic ? qv_fi_wait_set_add(ep->dom->wait_set, ep) : 0;
	if (!rc)
		rc = enable_cores(ep);
	if (rc) {
		QV_FI_WARN(EP_CTRL, "endpoint cannot be enabled over core %s: %s\n",
			   qv_fi_ep_cores(ep), qv_fi_host.strerror(-rc));
		return rc;
	}
	/* Who finds it enabled finds what was bound, too: some of that is read before the lock is taken. */
	__atomic_store_n(&ep->enabled, true, __ATOMIC_RELEASE);
	qv_fi_live_join(ep);
	qv_fi_offload_begin(ep);
	qv_fi_stats_begin(ep);
	qv_fi_trace_begin(ep);
	engine = ep->mode->engine(ep, QV_REQ_TAGGED);
	QV_FI_INFO(EP_CTRL, "endpoint over core %s%s: matching %s/%s\n", qv_fi_ep_cores(ep),
		   ep->mode->title, qv_match_structure(engine), qv_isa_name(qv_match_isa(engine)));
	qv_fi_ep_each_wait_set(ep, wait_set_enable, ep);
	return 0;
}

static int ops_flag(struct qv_fi_ep *ep, uint64_t *arg, bool set)
{
	uint64_t which = *arg & (FI_TRANSMIT | FI_RECV);
	uint64_t *flags = which == FI_TRANSMIT ? &ep->tx_op_flags : &ep->rx_op_flags;

	if (which != FI_TRANSMIT && which != FI_RECV)
		return -FI_EINVAL;
	if (set)
		*flags = *arg & ~which;
	else
		*arg = *flags;
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);
	int rc;

	qv_fi_lock(ep->dom);
	switch (command) {
	case FI_ENABLE: rc = enable(ep); break;
	case FI_GETOPSFLAG: rc = ops_flag(ep, arg, false); break;
	case FI_SETOPSFLAG: rc = ops_flag(ep, arg, true); break;
	default: rc = -FI_ENOSYS;
	}
	qv_fi_unlock(ep->dom);
	return rc;
}

static struct fi_ops ep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = qv_fi_ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = qv_fi_ep_ops_open,
};

/* Opening. */

static int open_cores(struct qv_fi_ep *ep, const struct fi_info *info)
{
	int rc = 0;

	for (unsigned c = 0; c < QV_FI_RAILS && !rc; c++)
		rc = ep->dom->core[c] ? qv_fi_rail_open(ep, c, info) : 0;
	for (unsigned r = 0; rc && r < QV_FI_RAILS; r++)
		if (qv_fi_ep_has(ep, r))
			qv_fi_rail_close(&ep->rail[r]);
	return rc;
}

int qv_fi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid,
		  void *context)
{
	struct qv_fi_domain *dom = container_of(domain, struct qv_fi_domain, fid);
	struct qv_fi_ep *ep;
	int rc;

	if (!info || !info->ep_attr || info->ep_attr->type != FI_EP_RDM)
		return -FI_EINVAL;
	ep = calloc(1, sizeof *ep);
	if (!ep)
		return -FI_ENOMEM;
	ep->dom = dom;
	ep->mode = dom->peer ? &qv_fi_peer_mode : &qv_fi_layered_mode;
	ep->caps = info->caps;
	ep->directed = info->caps & FI_DIRECTED_RECV;
	ep->tx_op_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_op_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->multi_min = 64;
	qv_fi_lock(dom);
	rc = open_cores(ep, info);
	if (!rc)
		dom->refs++;
	qv_fi_unlock(dom);
	if (rc) {
		free(ep);
		return rc;
	}
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.ops = &qv_fi_ep_ops;
	ep->fid.cm = &qv_fi_cm_ops;
	ep->fid.msg = &qv_fi_msg_ops;
	ep->fid.rma = &qv_fi_rma_ops;
	ep->fid.atomic = &qv_fi_atomic_ops;
	ep->fid.tagged = &qv_fi_tagged_ops;
	ep->fid.collective = &qv_fi_coll_ops;
	*fid = &ep->fid;
	return 0;
}
