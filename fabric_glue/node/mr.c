/* SPDX-License-Identifier: BSD-2-Clause */
/* mr.c - memory of the core `node` that others reach: by key in its domain, in up to four pieces
 * that are one behind the other for them. What they do there is counted. */
#include "node.h"

#include "engine/base/iov.h"
#include "fabric_glue/data.h"

#include <search.h>
#include <stdlib.h>

struct mr {
	struct fid_mr fid; /* with the key */
	struct qv_fi_node_domain *domain;
	uint64_t access, base;          /* base: what the first byte is called */
	struct qv_fi_node_cntr *writes; /* of others; NULL: nobody counts */
	size_t len, count;
	struct iovec iov[QV_NODE_SPANS];
};

static int by_key(const void *a, const void *b)
{
	const uint64_t x = ((const struct mr *)a)->fid.key, y = ((const struct mr *)b)->fid.key;

	return x < y ? -1 : x > y;
}

static int mr_close(struct fid *fid)
{
	struct mr *mr = container_of(fid, struct mr, fid.fid);

	tdelete(mr, &mr->domain->mrs, by_key);
	free(mr);
	return 0;
}

/* The provider binds counters only. */
static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	container_of(fid, struct mr, fid.fid)->writes =
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
	struct mr *mr, **found;

	if (!attr->iov_count || attr->iov_count > QV_NODE_SPANS)
		return -FI_EINVAL;
	mr = calloc(1, sizeof *mr);
	if (!mr)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fi_ops;
	mr->fid.key = attr->requested_key;
	mr->domain = domain;
	mr->access = attr->access;
	mr->base = domain->virtual_addr ? (uintptr_t)attr->mr_iov->iov_base : 0;
	mr->count = attr->iov_count;
	memcpy(mr->iov, attr->mr_iov, mr->count * sizeof *mr->iov);
	mr->len = qv_iov_len(mr->iov, mr->count);
	found = tsearch(mr, &domain->mrs, by_key);
	if (!found || *found != mr) {
		free(mr);
		return found ? -FI_ENOKEY : -FI_ENOMEM;
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

static struct mr *mr_at(void *owner, uint64_t number)
{
	const struct mr key = {.fid.key = number};
	struct mr **found = tfind(&key, &ep_of(owner)->domain->mrs, by_key);

	return found ? *found : NULL;
}

static int find(void *owner, const struct qv_node_span *span, unsigned access, struct iovec *iov,
		size_t *cnt)
{
	const struct mr *mr = mr_at(owner, span->key);
	const uint64_t need = (access & QV_NODE_READ ? FI_REMOTE_READ : 0) |
			      (access & QV_NODE_WRITE ? FI_REMOTE_WRITE : 0);
	uint64_t at = mr ? span->addr - mr->base : 0;

	if (!mr || need & ~mr->access || at > mr->len || span->len > mr->len - at)
		return QV_EINVAL;
	*cnt = qv_iov_slice(mr->iov, mr->count, at, span->len, iov);
	return QV_OK;
}

static bool can_update(void *owner, uint16_t what, size_t len, size_t operands, bool before)
{
	enum qv_type type;

	return ep_of(owner)->domain->combine && qv_fi_node_can_update(what, operands, before) &&
	       qv_fi_type(what >> 8, &type) && len % qv_type_size(type) == 0;
}

static void update(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		   const void *operands, size_t len, void *before)
{
	const struct qv_combine *combine = ep_of(owner)->domain->combine;
	_Alignas(64) char copy[QV_NODE_PART];
	char *memory = cnt == 1 ? iov->iov_base : copy;

	if (cnt != 1) /* an element may be in two pieces */
		qv_iov_get(iov, cnt, copy);
	if (before)
		memcpy(before, memory, len);
	qv_fi_node_update(combine, what, memory, operands, len);
	if (cnt != 1)
		qv_iov_put(iov, cnt, 0, copy, len);
}

static bool counts_reads(void *owner)
{
	return ep_of(owner)->reads;
}

static void written(void *owner, uint64_t key)
{
	const struct mr *mr = mr_at(owner, key);

	if (mr && mr->writes)
		mr->writes->value++;
}

static void touched(void *owner, const struct qv_node_touch *touch)
{
	struct qv_fi_node_ep *ep = ep_of(owner);
	struct qv_fi_node_cntr *cntr = touch->access & QV_NODE_READ ? ep->reads : ep->writes;

	if (cntr)
		cntr->value++;
	if (touch->data)
		qv_fi_remote_event(owner, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, touch->len,
				   *touch->data, touch->from);
}

const struct qv_node_memory_ops qv_fi_node_memory_ops = {
	.find = find,
	.can_update = can_update,
	.update = update,
	.counts_reads = counts_reads,
	.written = written,
	.touched = touched,
};
