/* SPDX-License-Identifier: BSD-2-Clause */
/* objects.c - fabric, domain and completion queue of the core `node`. */
#include "node.h"

#include <stdlib.h>

static int close_and_free(struct fid *fid)
{
	free(fid); /* the first member of each of them */
	return 0;
}

static struct fi_ops plain_ops = {
	.size = sizeof(struct fi_ops),
	.close = close_and_free,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

/* Completion queue: nothing completes there; a sleeper learns from it what to sleep on. */

static ssize_t cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *from)
{
	return -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	return -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	return -FI_EAGAIN;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct qv_fi_node_cq *cq = container_of(fid, struct qv_fi_node_cq, fid.fid);

	if (command != FI_GETWAIT || !cq->node || qv_node_fd(cq->node) < 0)
		return -FI_ENOSYS;
	*(int *)arg = qv_node_fd(cq->node);
	return 0;
}

static struct fi_ops cq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = close_and_free,
	.bind = qv_fi_no_bind,
	.control = cq_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
};

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		   void *context)
{
	struct qv_fi_node_cq *cq;

	if (attr->wait_obj != FI_WAIT_NONE &&
	    (attr->wait_obj != FI_WAIT_FD || !qv_node_can_sleep()))
		return -FI_ENOSYS;
	cq = calloc(1, sizeof *cq);
	if (!cq)
		return -FI_ENOMEM;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fi_ops;
	cq->fid.ops = &cq_ops;
	*out = &cq->fid;
	return 0;
}

/* Domain. */

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = qv_fi_node_av_open,
	.cq_open = cq_open,
	.endpoint = qv_fi_node_ep_open,
	.cntr_open = qv_fi_node_cntr_open,
	.query_atomic = qv_fi_node_query_atomic,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	struct qv_fi_node_domain *domain = calloc(1, sizeof *domain);

	if (!domain)
		return -FI_ENOMEM;
	domain->virtual_addr = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	qv_fi_memory_init(&domain->memory);
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &plain_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &qv_fi_node_mr_ops;
	*out = &domain->fid;
	return 0;
}

void qv_fi_node_take_keys(struct fid_domain *domain)
{
	container_of(domain, struct qv_fi_node_domain, fid)->memory.same_keys = true;
}

/* Fabric. */

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	for (int i = 0; i < count; i++) {
		struct qv_fi_node_cq *cq = container_of(fids[i], struct qv_fi_node_cq, fid.fid);

		if (!cq->node || !qv_node_may_sleep(cq->node))
			return -FI_EAGAIN;
	}
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = domain_open,
	.trywait = trywait,
};

int qv_fi_node_fabric(struct fid_fabric **out)
{
	struct fid_fabric *fabric = calloc(1, sizeof *fabric);

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.ops = &plain_ops;
	fabric->ops = &fabric_ops;
	fabric->api_version = QV_FI_CORE_API;
	*out = fabric;
	return 0;
}
