/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.c - one RDM endpoint, opened and used alike over every implementation. */
#include "ucx.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A provider that refuses a receive for so long has no room for it. */
#define QV_FB_FULL_SECONDS 1.0

int qv_fb_fail(struct qv_fb_ep *ep, const char *what, long rc)
{
	if (ep->error[0])
		return -1;
	if (rc)
		snprintf(ep->error, sizeof(ep->error), "%s: %s", what, fi_strerror((int)-rc));
	else
		snprintf(ep->error, sizeof(ep->error), "%s", what);
	return -1;
}

static int get_info(struct qv_fb_ep *ep, const struct qv_fb_setup *setup, const char *name)
{
	const uint32_t version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
	struct fi_info *hints = fi_allocinfo(), *list = NULL, *found;
	bool local = strstr(setup->impl, "shm") || strstr(setup->impl, "node") ||
		     strstr(setup->impl, "sm2");
	int rc = -FI_ENODATA;

	if (!hints)
		return qv_fb_fail(ep, "fi_allocinfo", -FI_ENOMEM);
	hints->caps = FI_TAGGED | FI_MSG | FI_SEND | FI_RECV;
	if (setup->directed)
		hints->caps |= FI_DIRECTED_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->fabric_attr->prov_name = strdup(name);
	/* Where the provider knows addresses of that kind. */
	if (!local && *setup->source)
		rc = fi_getinfo(version, setup->source, NULL, FI_SOURCE, hints, &list);
	if (rc)
		rc = fi_getinfo(version, NULL, NULL, 0, hints, &list);
	fi_freeinfo(hints);
	if (rc)
		return qv_fb_fail(ep, "fi_getinfo", rc);
	/* FI_PROVIDER=tcp allows tcp;ofi_rxm too. */
	found = list;
	while (found && strcmp(found->fabric_attr->prov_name, name))
		found = found->next;
	ep->info = found ? fi_dupinfo(found) : NULL;
	fi_freeinfo(list);
	return ep->info ? 0 : qv_fb_fail(ep, "fi_getinfo gave another provider", 0);
}

/* A killed process with our number may have left the file that shm makes for an endpoint. Libfabric's shm
 * refuses that number, and removes the file. */
static int enable(struct fid_ep *ep)
{
	int rc = fi_enable(ep);

	return rc == -FI_EBUSY && !fi_enable(ep) ? 0 : rc;
}

int qv_fb_ep_open(struct qv_fb_ep *ep, const struct qv_fb_setup *setup)
{
	/* Room for what a newer libfabric's structures have at their ends. */
	union {
		struct fi_cq_attr a;
		char room[256];
	} cq = {.room = {0}};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	char name[2 * QV_BENCH_NAME];
	int rc;

	if (qv_fb_ucx_is(setup->impl))
		return qv_fb_ucx_open(ep, setup);
	cq.a.format = FI_CQ_FORMAT_TAGGED;
	cq.a.wait_obj = FI_WAIT_NONE;
	if (qv_fb_environment(setup, name, sizeof(name)))
		return qv_fb_fail(ep, "needs --other DIR", 0);
	if (get_info(ep, setup, name))
		return -1;
	ep->inject_below = setup->no_inject ? 0 : ep->info->tx_attr->inject_size + 1;
	if ((rc = fi_fabric(ep->info->fabric_attr, &ep->fabric, NULL)))
		return qv_fb_fail(ep, "fi_fabric", rc);
	if ((rc = fi_domain(ep->fabric, ep->info, &ep->domain, NULL)))
		return qv_fb_fail(ep, "fi_domain", rc);
	if ((rc = fi_av_open(ep->domain, &av, &ep->av, NULL)))
		return qv_fb_fail(ep, "fi_av_open", rc);
	if ((rc = fi_cq_open(ep->domain, &cq.a, &ep->cq, NULL)))
		return qv_fb_fail(ep, "fi_cq_open", rc);
	if ((rc = fi_endpoint(ep->domain, ep->info, &ep->ep, NULL)))
		return qv_fb_fail(ep, "fi_endpoint", rc);
	if ((rc = fi_ep_bind(ep->ep, &ep->av->fid, 0)) ||
	    (rc = fi_ep_bind(ep->ep, &ep->cq->fid, FI_TRANSMIT | FI_RECV)))
		return qv_fb_fail(ep, "fi_ep_bind", rc);
	if ((rc = enable(ep->ep)))
		return qv_fb_fail(ep, "fi_enable", rc);
	ep->from = setup->directed ? FI_ADDR_NOTAVAIL : FI_ADDR_UNSPEC;
	return 0;
}

int qv_fb_ep_connect(struct qv_fb_ep *ep, const void *address)
{
	int rc;

	if (ep->ucx)
		return qv_fb_ucx_connect(ep, address);
	rc = fi_av_insert(ep->av, address, 1, &ep->peer, 0, NULL);
	if (rc != 1)
		return qv_fb_fail(ep, "fi_av_insert", rc < 0 ? rc : -FI_EINVAL);
	if (ep->from == FI_ADDR_NOTAVAIL)
		ep->from = ep->peer;
	return 0;
}

int qv_fb_ep_turn(struct qv_fb_ep *ep, const void *own, bool self)
{
	bool directed = ep->from != FI_ADDR_UNSPEC;
	int rc;

	if (ep->ucx)
		return qv_fb_ucx_turn(ep, own, self);
	if (!ep->knows_self) {
		ep->addr[0] = ep->peer;
		rc = fi_av_insert(ep->av, own, 1, &ep->addr[1], 0, NULL);
		if (rc != 1)
			return qv_fb_fail(ep, "fi_av_insert", rc < 0 ? rc : -FI_EINVAL);
		ep->knows_self = true;
	}
	ep->peer = ep->addr[self];
	if (directed)
		ep->from = ep->peer;
	return 0;
}

void qv_fb_ep_close(struct qv_fb_ep *ep)
{
	struct fid *fids[] = {ep->ep ? &ep->ep->fid : NULL, ep->cq ? &ep->cq->fid : NULL,
			      ep->av ? &ep->av->fid : NULL, ep->domain ? &ep->domain->fid : NULL,
			      ep->fabric ? &ep->fabric->fid : NULL};

	if (ep->ucx)
		qv_fb_ucx_close(ep);
	for (size_t i = 0; i < sizeof(fids) / sizeof(fids[0]); i++)
		if (fids[i])
			fi_close(fids[i]);
	if (ep->info)
		fi_freeinfo(ep->info);
}

static int completion_error(struct qv_fb_ep *ep)
{
	union {
		struct fi_cq_err_entry e;
		char room[256];
	} err = {.room = {0}};
	ssize_t n = fi_cq_readerr(ep->cq, &err.e, 0);

	return qv_fb_fail(ep, "completion in error", n == 1 ? -err.e.err : n);
}

int qv_fb_poll(struct qv_fb_ep *ep)
{
	struct fi_cq_tagged_entry entries[16];
	ssize_t n;

	if (ep->ucx)
		return qv_fb_ucx_poll(ep);
	n = fi_cq_read(ep->cq, entries, 16);
	for (ssize_t i = 0; i < n; i++) {
		struct qv_fb_op *op = entries[i].op_context;

		op->busy = false;
		if (!op->is_recv) {
			ep->sends_out--;
			continue;
		}
		if (entries[i].tag != op->tag || entries[i].len != op->bytes)
			return qv_fb_fail(ep, "wrong tag or length in a completion", 0);
	}
	if (n >= 0) {
		__atomic_store_n(ep->beat, *ep->beat + (uint64_t)n, __ATOMIC_RELAXED);
		return 0;
	}
	if (n == -FI_EAVAIL)
		return completion_error(ep);
	if (n != -FI_EAGAIN)
		return qv_fb_fail(ep, "fi_cq_read", n);
	if (ep->yield)
		sched_yield();
	return 0;
}

int qv_fb_flush(struct qv_fb_ep *ep)
{
	while (ep->sends_out)
		if (qv_fb_poll(ep))
			return -1;
	return 0;
}

int qv_fb_wait_op(struct qv_fb_ep *ep, const struct qv_fb_op *op)
{
	while (op->busy)
		if (qv_fb_poll(ep))
			return -1;
	return 0;
}

int qv_fb_send(struct qv_fb_ep *ep, const void *buf, size_t bytes, uint64_t tag)
{
	struct qv_fb_op *op;
	ssize_t rc;

	if (ep->ucx)
		return qv_fb_ucx_send(ep, buf, bytes, tag);
	if (bytes < ep->inject_below) {
		while ((rc = fi_tinject(ep->ep, buf, bytes, ep->peer, tag)) == -FI_EAGAIN)
			if (qv_fb_poll(ep))
				return -1;
		return rc ? qv_fb_fail(ep, "fi_tinject", rc) : 0;
	}
	op = &ep->send_ops[ep->next_op++ % QV_FB_SEND_OPS];
	if (qv_fb_wait_op(ep, op))
		return -1;
	op->busy = true;
	ep->sends_out++;
	while ((rc = fi_tsend(ep->ep, buf, bytes, NULL, ep->peer, tag, op)) == -FI_EAGAIN)
		if (qv_fb_poll(ep))
			return -1;
	return rc ? qv_fb_fail(ep, "fi_tsend", rc) : 0;
}

int qv_fb_recv(struct qv_fb_ep *ep, void *buf, size_t bytes, uint64_t tag, struct qv_fb_op *op)
{
	double since = 0;
	ssize_t rc;

	if (ep->ucx)
		return qv_fb_ucx_recv(ep, buf, bytes, tag, op);
	op->is_recv = op->busy = true;
	op->tag = tag;
	op->bytes = (uint32_t)bytes;
	while ((rc = fi_trecv(ep->ep, buf, bytes, NULL, ep->from, tag, 0, op)) == -FI_EAGAIN) {
		if (since == 0)
			since = qv_bench_seconds();
		else if (qv_bench_seconds() - since > QV_FB_FULL_SECONDS)
			return qv_fb_fail(ep, "full", 0);
		if (qv_fb_poll(ep))
			return -1;
	}
	return rc ? qv_fb_fail(ep, "fi_trecv", rc) : 0;
}
