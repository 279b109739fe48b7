/* SPDX-License-Identifier: BSD-2-Clause */
/* rail.c - the cores under an endpoint: opening and closing, what they are called, addresses. */
#include "core.h"
#include "fabric_glue/data.h"
#include "fabric_glue/node/node.h"
#include "pair.h"

#include <stdlib.h>
#include <string.h>

static unsigned core_of(const struct qv_fi_rail *rail)
{
	return rail->which == QV_FI_SECOND ? QV_FI_MAIN : rail->which;
}

const char *qv_fi_rail_name(const struct qv_fi_rail *rail)
{
	return rail->ep->dom->fabric->cores->name[core_of(rail)];
}

const struct qv_fi_quirks *qv_fi_rail_quirks(const struct qv_fi_rail *rail)
{
	return &rail->ep->dom->fabric->cores->quirks[core_of(rail)];
}

const char *qv_fi_ep_cores(const struct qv_fi_ep *ep)
{
	const struct qv_fi_cores *cores = ep->dom->fabric->cores;

	return qv_fi_ep_has(ep, QV_FI_LOCAL) ? cores->text : cores->name[QV_FI_MAIN];
}

int qv_fi_ep_name(struct qv_fi_ep *ep, void *addr, size_t *len)
{
	char main[UINT8_MAX], local[256] = "", name[QV_FI_PAIR_MAX];
	size_t main_len = sizeof main, local_len = sizeof local, room = *len, namelen;
	int rc;

	if (!ep->dom->pair) {
		rc = fi_getname(&ep->rail[QV_FI_MAIN].core->fid, addr, len);
		if (!rc && *len > room)
			return -FI_ETOOSMALL; /* verbs says that it fits */
		if (!rc)
			qv_fi_leave_wildcard(qv_fi_ep_cores(ep), addr, *len);
		return rc;
	}
	rc = fi_getname(&ep->rail[QV_FI_MAIN].core->fid, main, &main_len);
	if (!rc && qv_fi_ep_has(ep, QV_FI_LOCAL))
		rc = fi_getname(&ep->rail[QV_FI_LOCAL].core->fid, local, &local_len);
	if (rc)
		return rc;
	local[sizeof local - 1] = 0;
	namelen = qv_fi_pair_make(name, ep->dom->node, local, main, main_len);
	if (*len)
		memcpy(addr, name, *len < namelen ? *len : namelen);
	rc = *len < namelen ? -FI_ETOOSMALL : 0;
	*len = namelen;
	return rc;
}

/* Opening, enabling, closing. */

static int copy_addr(void **dst, size_t *dstlen, const void *src, size_t len)
{
	void *copy;

	if (!src || !len)
		return 0;
	copy = malloc(len);
	if (!copy)
		return -FI_ENOMEM;
	memcpy(copy, src, len);
	free(*dst);
	*dst = copy;
	*dstlen = len;
	return 0;
}

/* The main core's endpoint is at the address that the application's info names. */
static int place(struct fi_info *ci, const struct fi_info *info)
{
	uint32_t format = ci->addr_format;
	int rc = copy_addr(&ci->src_addr, &ci->src_addrlen, info->src_addr, info->src_addrlen);

	if (!rc)
		rc = copy_addr(&ci->dest_addr, &ci->dest_addrlen, info->dest_addr,
			       info->dest_addrlen);
	if (!rc && qv_fi_is_pair(info))
		rc = qv_fi_pair_unwrap(ci);
	ci->addr_format = format;
	return rc;
}

/*
 * An endpoint of two cores has one address in the network: by that a peer on this node knows whose
 * messages come over the other core. One that listens on every interface is refused a port that
 * somebody has on one of them: there is still the first interface.
 */
static int open_core(struct qv_fi_rail *rail, struct fi_info *ci)
{
	struct qv_fi_domain *dom = rail->ep->dom;
	int rc;

	if (dom->pair && rail->which == QV_FI_MAIN)
		qv_fi_leave_wildcard(qv_fi_rail_name(rail), ci->src_addr, ci->src_addrlen);
	rc = fi_endpoint(dom->core[rail->which], ci, &rail->core, rail);
	if (rc != -FI_EADDRINUSE || !qv_fi_is_wildcard(ci->src_addr, ci->src_addrlen))
		return rc;
	qv_fi_leave_wildcard(qv_fi_rail_name(rail), ci->src_addr, ci->src_addrlen);
	return fi_endpoint(dom->core[rail->which], ci, &rail->core, rail);
}

int qv_fi_rail_open(struct qv_fi_ep *ep, unsigned which, const struct fi_info *info)
{
	struct qv_fi_rail *rail = &ep->rail[which];
	struct fi_info *ci = qv_fi_host.dupinfo(ep->dom->core_info[which]);
	int rc;

	if (!ci)
		return -FI_ENOMEM;
	rail->ep = ep;
	rail->which = which;
	rail->stalled_tail = &rail->stalled;
	rail->mark_fd = -1;
	rc = which == QV_FI_MAIN ? place(ci, info) : 0;
	if (!rc)
		rc = open_core(rail, ci);
	if (!rc) {
		ep->rails |= 1u << which;
		rail->node = qv_fi_node_of(rail->core);
	}
	qv_fi_host.freeinfo(ci);
	return rc;
}

struct want {
	unsigned which;
	bool fd;
};

static void wants_fd(struct qv_fi_wait_set *wait_set, void *arg)
{
	struct want *want = arg;

	want->fd |= wait_set->epoll_fd >= 0 && wait_set->core_fd[want->which];
}

bool qv_fi_rail_wants_fd(struct qv_fi_rail *rail)
{
	struct want want = {.which = rail->which};

	qv_fi_ep_each_wait_set(rail->ep, wants_fd, &want);
	return want.fd;
}

/*
 * A core whose descriptor stays readable once its queue has had an entry lets nobody sleep. But a
 * queue that gets no entries has a descriptor as well, and that tells of the core's sockets.
 */
static int open_core_cq(struct qv_fi_rail *rail)
{
	struct qv_fi_ep *ep = rail->ep;
	struct qv_fi_domain *dom = ep->dom;
	QV_FI_ROOMY(fi_cq_attr, attr);
	const bool fd = qv_fi_rail_wants_fd(rail);
	int rc;

	attr.a.format = FI_CQ_FORMAT_DATA;
	attr.a.wait_obj = fd ? FI_WAIT_FD : FI_WAIT_NONE;
	attr.a.size = rail->rx_count + dom->core_info[rail->which]->tx_attr->size;
	if (fd && qv_fi_rail_quirks(rail)->stale_fd) {
		rc = fi_cq_open(dom->core[rail->which], &attr.a, &rail->bell, NULL);
		if (rc)
			return rc;
		attr.a.wait_obj = FI_WAIT_NONE;
	}
	rc = fi_cq_open(dom->core[rail->which], &attr.a, &rail->cq, NULL);
	if (rc)
		return rc;
	rc = fi_ep_bind(rail->core, &rail->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	return rc ? rc : fi_ep_bind(rail->core, &rail->cq->fid, FI_RECV);
}

/* The protocol may send pieces over it. */
static int be_second(struct qv_fi_rail *rail)
{
	size_t len = sizeof rail->address;
	int rc = fi_getname(&rail->core->fid, rail->address, &len);

	if (rc)
		return rc;
	rail->xport.name = rail->address;
	rail->xport.namelen = len;
	rail->ep->rail[QV_FI_MAIN].xport.second = &rail->xport;
	return 0;
}

int qv_fi_rail_enable(struct qv_fi_rail *rail)
{
	int rc;

	qv_fi_xport_init(rail);
	rc = qv_proto_can_use(&rail->xport) ? open_core_cq(rail) : -FI_EINVAL;
	if (!rc)
		rc = qv_fi_presence_prepare(rail);
	if (!rc)
		rc = fi_enable(rail->core);
	if (!rc && rail->which == QV_FI_SECOND)
		rc = be_second(rail);
	if (!rc)
		qv_fi_presence_begin(rail);
	if (!rc)
		QV_FI_INFO(EP_CTRL, "core %s: layered, eager up to %zu bytes, %s\n",
			   qv_fi_rail_name(rail), rail->xport.eager_max,
			   rail->xport.read_max ? "rendezvous by RMA read" : "rendezvous by send");
	return rc;
}

/* tcp and rxm crash when an endpoint closes that never had an AV: it gets an empty one first. */
void qv_fi_rail_close(struct qv_fi_rail *rail)
{
	struct qv_fi_domain *dom = rail->ep->dom;
	struct fid_av *empty = NULL;
	int rc;

	if (!rail->ep->av && qv_fi_av_open_core(dom->core[rail->which], 1, &empty) == 0)
		fi_ep_bind(rail->core, &empty->fid, 0);
	qv_fi_presence_end(rail);
	rc = fi_close(&rail->core->fid);
	if (rc) {
		QV_FI_WARN(EP_CTRL, "the endpoint of core %s does not close: %s\n",
			   qv_fi_rail_name(rail), qv_fi_host.strerror(-rc));
		rail->rx_memory = NULL; /* left to it: receives are posted there */
	}
	if (empty)
		fi_close(&empty->fid);
	if (rail->cq)
		fi_close(&rail->cq->fid);
	if (rail->bell)
		fi_close(&rail->bell->fid);
}
