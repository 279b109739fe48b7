/* SPDX-License-Identifier: BSD-2-Clause */
/* mr.c - memory of the core `node` that others reach: by key in its domain, in up to four pieces
 * that are one behind the other for them. What they do there is counted. */
#include "node.h"

#include "fabric_glue/data.h"

#include <stdlib.h>

struct mr {
	struct fid_mr fid; /* with the key */
	struct qv_fi_node_domain *domain;
	struct qv_fi_region region; /* its counter: a struct qv_fi_node_cntr */
	bool listed; /* others may reach it; else its key may be that of other memory, too */
};

static int mr_close(struct fid *fid)
{
	struct mr *mr = container_of(fid, struct mr, fid.fid);

	if (mr->listed)
		qv_fi_memory_remove(&mr->domain->memory, &mr->region);
	free(mr);
	return 0;
}

/* The provider binds counters only. */
static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	container_of(fid, struct mr, fid.fid)->region.counter =
		container_of(bfid, struct qv_fi_node_cntr, fid.fid);
	return 0;
}

static struct fi_ops mr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **out)
{
	struct qv_fi_node_domain *domain = container_of(fid, struct qv_fi_node_domain, fid.fid);
	struct mr *mr = calloc(1, sizeof *mr);
	int ret;

	if (!mr)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fi_ops;
	mr->fid.key = attr->requested_key;
	mr->domain = domain;
	mr->listed = attr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE);
	ret = qv_fi_region_init(&mr->region, attr, domain->virtual_addr);
	if (!ret && mr->listed)
		ret = qv_fi_memory_add(&domain->memory, &mr->region);
	if (ret) {
		free(mr);
		return ret;
	}
	*out = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	QV_FI_ROOMY(fi_mr_attr, attr);

	attr.a.mr_iov = iov;
	attr.a.iov_count = count;
	attr.a.access = access;
	attr.a.requested_key = key;
	attr.a.context = context;
	return mr_regattr(fid, &attr.a, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, len};

	return mr_regv(fid, &iov, 1, access, offset, key, flags, mr, context);
}

struct fi_ops_mr qv_fi_node_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};

/* Counters. */

static uint64_t cntr_read(struct fid_cntr *fid)
{
	return container_of(fid, struct qv_fi_node_cntr, fid)->value;
}

/* What is refused to a peer is its error. */
static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return 0;
}

static int cntr_close(struct fid *fid)
{
	free(container_of(fid, struct qv_fi_node_cntr, fid.fid));
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
};

int qv_fi_node_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
			 struct fid_cntr **out, void *context)
{
	struct qv_fi_node_cntr *cntr = calloc(1, sizeof *cntr);

	if (!cntr)
		return -FI_ENOMEM;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fi_ops;
	cntr->fid.ops = &cntr_ops;
	*out = &cntr->fid;
	return 0;
}

/* For engine/node. The owner of an endpoint is its rail. */

static struct qv_fi_node_ep *ep_of(void *owner)
{
	return qv_fi_node_ep_of(((struct qv_fi_rail *)owner)->core);
}

static const struct qv_fi_memory *memory_of(void *owner)
{
	return &ep_of(owner)->domain->memory;
}

static int find(void *owner, const struct qv_span *span, unsigned access, struct iovec *iov,
		size_t *cnt)
{
	return qv_fi_memory_find(memory_of(owner), span, access, iov, cnt);
}

static bool can_update(void *owner, uint16_t what, size_t len, size_t operands, bool before)
{
	return qv_fi_memory_can_update(memory_of(owner), what, len, operands, before);
}

static void update(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		   const void *operands, size_t len, void *before)
{
	qv_fi_memory_update(memory_of(owner), what, iov, cnt, operands, len, before);
}

static bool counts_reads(void *owner)
{
	return ep_of(owner)->reads;
}

static void written(void *owner, uint64_t key)
{
	struct qv_fi_node_cntr *cntr = qv_fi_memory_counter(memory_of(owner), key);

	if (cntr)
		cntr->value++;
}

static void touched(void *owner, const struct qv_touch *touch)
{
	struct qv_fi_node_ep *ep = ep_of(owner);
	struct qv_fi_node_cntr *cntr = touch->access & QV_MEM_READ ? ep->reads : ep->writes;

	if (cntr)
		cntr->value++;
	if (touch->data)
		qv_fi_remote_event(owner, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, touch->len,
				   *touch->data, touch->from);
}

const struct qv_memory_ops qv_fi_node_memory_ops = {
	.find = find,
	.can_update = can_update,
	.update = update,
	.counts_reads = counts_reads,
	.written = written,
	.touched = touched,
};
