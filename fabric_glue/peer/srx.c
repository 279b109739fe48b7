/* SPDX-License-Identifier: BSD-2-Clause */
/* srx.c - peer mode: what an endpoint needs for it. */
#include "srx.h"
#include "fabric_glue/cores/core.h"

#include <stdlib.h>

#include <quiver/fi_ext.h>

/* Addresses. */

static void forget(struct qv_fi_known *known)
{
	known->user = QV_FI_NOT_ASKED;
	known->begun = false;
}

/* The core is told at once, not at the first message to the address as in layered mode: it could
 * not say who sends. */
static void av_inserted(struct qv_fi_ep *ep, fi_addr_t index)
{
	struct qv_fi_way way;

	if (ep->srx && !qv_fi_av_reach(ep->av, index, &way) && way.addr < ep->srx->nknown)
		forget(&ep->srx->known[way.addr]);
}

static bool av_removed(struct qv_fi_ep *ep, fi_addr_t index)
{
	fi_addr_t core = ep->av->entries[index].way.addr;

	if (ep->srx && core < ep->srx->nknown)
		forget(&ep->srx->known[core]);
	return false; /* what the core has of it we do not know */
}

/* Opening. */

static int open_engines(struct qv_fi_ep *ep, struct qv_fi_srx *srx)
{
	struct qv_match_settings set;
	int rc = QV_OK;

	for (size_t i = 0; i < (srx->own ? QV_FI_SRX_ENGINES : QV_REQ_COLL) && rc == QV_OK; i++) {
		qv_match_settings_default(&set);
		set.isa = qv_fi_params.isa;
		set.collective_mask = qv_fi_params.collective.mask;
		set.collective_op = qv_fi_params.collective.op;
		if (i != QV_REQ_COLL)
			set.structure = qv_fi_params.structure;
		if (i == QV_REQ_TAGGED)
			qv_fi_assertions_apply(ep, &set);
		rc = qv_match_create(&set, &srx->match[i]);
	}
	return -qv_fi_errno(rc);
}

static int new_port(struct fid_domain *core, struct qv_fi_srx_port **out)
{
	struct qv_fi_srx_port *port = calloc(1, sizeof *port);
	struct qv_abi_srx_context import = {.size = sizeof import};
	QV_FI_ROOMY(fi_rx_attr, attr);
	int rc;

	if (!port)
		return -FI_ENOMEM;
	import.srx = &port->abi;
	port->abi.ep_fid.fid.fclass = FI_CLASS_SRX_CTX;
	port->abi.ep_fid.ops = &qv_fi_ep_ops;
	port->abi.owner_ops = &qv_fi_srx_owner_ops;
	attr.a.op_flags = FI_PEER;
	rc = fi_srx_context(core, &attr.a, &port->core, &import);
	if (!rc && !port->abi.peer_ops) { /* it took no notice of FI_PEER */
		fi_close(&port->core->fid);
		rc = -FI_ENOSYS;
	}
	if (rc)
		free(port);
	else
		*out = port;
	return rc;
}

/* A context for this endpoint. shm binds an endpoint to the newest context of the domain, whichever is
 * named: it needs a new one. rxm takes only one for a domain, and gives it back with the domain: the
 * next endpoint has that of one that was closed. */
static int give_context(struct qv_fi_ep *ep, struct qv_fi_srx *srx)
{
	const bool one = qv_fi_rail_quirks(&ep->rail[QV_FI_MAIN])->one_endpoint;
	struct qv_fi_domain *dom = ep->dom;
	struct qv_fi_srx_port *port = dom->port;
	int rc = 0;

	if (!port || port->srx)
		rc = new_port(dom->core[QV_FI_MAIN], &port);
	if (rc && dom->port)
		qv_fi_warn("FI_QUIVER_MODE=peer: the core %s has room for one endpoint in a "
			   "domain",
			   qv_fi_ep_cores(ep));
	if (rc)
		return rc;
	srx->port = port;
	port->srx = srx;
	port->tagged = srx->match[QV_REQ_TAGGED];
	port->own = srx->own;
	if (one)
		dom->port = port;
	return fi_ep_bind(ep->rail[QV_FI_MAIN].core, &port->core->fid, 0);
}

void qv_fi_srx_port_close(struct qv_fi_srx_port *port)
{
	if (!port)
		return;
	fi_close(&port->core->fid);
	free(port);
}

static struct qv_fi_srx *new_srx(struct qv_fi_ep *ep)
{
	struct qv_fi_srx *srx = calloc(1, sizeof *srx);

	if (!srx)
		return NULL;
	srx->ep = ep;
	srx->own = ep->caps & FI_COLLECTIVE ? QV_FI_COLL_TAG : 0;
	srx->writes_desc = qv_fi_rail_quirks(&ep->rail[QV_FI_MAIN])->writes_to_desc;
	srx->long_from = qv_fi_rail_quirks(&ep->rail[QV_FI_MAIN])->packet;
	srx->full = FI_ADDR_NOTAVAIL;
	srx->cq.fid.fclass = FI_CLASS_PEER_CQ;
	srx->cq.owner_ops = &qv_fi_srx_cq_ops;
	qv_fi_rx_set_version(qv_fi_host.version());
	return srx;
}

int qv_fi_srx_enable(struct qv_fi_ep *ep)
{
	struct qv_fi_rail *rail = &ep->rail[QV_FI_MAIN];
	struct qv_fi_srx *srx = new_srx(ep);
	int rc;

	if (!srx)
		return -FI_ENOMEM;
	qv_fi_xport_init(rail);
	rc = open_engines(ep, srx);
	ep->srx = srx; /* the core may call from now on; freed when the endpoint closes */
	if (!rc)
		rc = qv_fi_srx_open_queue(ep);
	if (!rc)
		rc = qv_fi_presence_prepare(rail);
	/* Last: shm ends the program where an endpoint closes that has the context and is not enabled. */
	if (!rc)
		rc = give_context(ep, srx);
	if (!rc)
		rc = fi_enable(rail->core);
	if (!rc)
		qv_fi_presence_begin(rail);
	for (size_t i = 0; i < ep->av->used && !rc; i++)
		if (qv_fi_av_entry(ep->av, i))
			av_inserted(ep, i);
	if (rc)
		return rc;
	if (!srx->own) { /* these know of no bits that they must refuse */
		srx->calls = qv_fi_tagged_ops;
		srx->calls.recv = qv_fi_srx_trecv;
		srx->calls.inject = qv_fi_srx_tinject;
		ep->fid.tagged = &srx->calls;
	}
	return 0;
}

void qv_fi_srx_close(struct qv_fi_ep *ep)
{
	struct qv_fi_srx *srx = ep->srx;

	if (!srx)
		return;
	ep->fid.tagged = &qv_fi_tagged_ops;
	if (srx->port && srx->port == ep->dom->port)
		srx->port->srx = NULL; /* for the next one */
	else
		qv_fi_srx_port_close(srx->port);
	for (size_t i = 0; i < QV_FI_SRX_ENGINES; i++) {
		qv_match_destroy(srx->match[i]);
		qv_cancels_free(&srx->cancels[i]);
	}
	qv_fi_srx_coll_free(srx);
	qv_fi_srx_free_slabs(srx);
	free(srx->known);
	free(srx);
	ep->srx = NULL;
}

static struct qv_match *engine(const struct qv_fi_ep *ep, unsigned which)
{
	return ep->srx->match[which];
}

static void count(const struct qv_fi_ep *ep, struct qv_fi_stats *s)
{
	const struct qv_fi_srx *srx = ep->srx;

	*s = (struct qv_fi_stats){
		.eager = srx->sends,
		.unexpected_bytes = srx->bytes_waiting,
		.unexpected_bytes_max = srx->bytes_waiting_max,
	};
	qv_match_get_stats(srx->match[0], &s->untagged);
	qv_match_get_stats(srx->match[1], &s->tagged);
	qv_fi_coll_collect(ep, s);
}

static fi_addr_t source(const struct qv_fi_ep *ep, uint32_t src)
{
	return src == QV_FI_SRC_NOBODY ? FI_ADDR_NOTAVAIL : qv_fi_srx_user(ep->srx, src);
}

static void collect(const struct qv_fi_ep *ep, struct qv_fi_stats *s)
{
	const struct qv_match *tagged = ep->srx->match[1];

	count(ep, s);
	s->core = qv_fi_ep_cores(ep);
	s->structure = qv_match_structure(tagged);
	s->isa = qv_isa_name(qv_match_isa(tagged));
}

/* Reading the core's queue moves it; the entries come by themselves. */
static void progress(struct qv_fi_ep *ep)
{
	if (!ep->enabled || !ep->srx)
		return;
	qv_fi_ep_polled(ep);
	if (QV_UNLIKELY(ep->srx->short_of_memory != NULL))
		qv_fi_rx_retry(ep->srx);
	fi_cq_read(ep->rail[QV_FI_MAIN].cq, NULL, 0);
	if (QV_UNLIKELY(ep->srx->notices != NULL))
		qv_fi_srx_coll_retry(ep->srx);
	if (QV_UNLIKELY(ep->coll != NULL))
		qv_fi_coll_progress(ep);
}

const struct qv_fi_mode qv_fi_peer_mode = {
	.title = " (peer)",
	.send = qv_fi_srx_send,
	.inject = qv_fi_srx_inject,
	.recv = qv_fi_srx_recv,
	.cancel = qv_fi_srx_cancel,
	.progress = progress,
	.may_sleep = qv_fi_srx_may_sleep,
	.waits = qv_fi_srx_waits,
	.finds_nobody = qv_fi_srx_finds_nobody,
	.av_inserted = av_inserted,
	.av_removed = av_removed,
	.coll_send = qv_fi_srx_coll_send,
	.coll_recv = qv_fi_srx_coll_recv,
	.coll_cancel = qv_fi_srx_coll_cancel,
	.coll_discard = qv_fi_srx_coll_discard,
	.engine = engine,
	.collect = collect,
	.source = source,
	.count = count,
};
