/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - fi_atomic(3) of the core `node`: the calls that the provider makes. */
#include "node.h"

#include "fabric_glue/data.h"

static ssize_t begin(struct fid_ep *fid, const struct fi_msg_atomic *msg,
		     const struct fi_ioc *compare, size_t ncompare, const struct fi_ioc *result,
		     size_t nresult, uint64_t flags)
{
	struct qv_fi_node_ep *ep = qv_fi_node_ep_of(fid);
	struct qv_fi_update update;
	int rc = qv_fi_update_init(&update, &ep->domain->memory, msg, compare, ncompare, result,
				   nresult, flags);

	return rc ? rc : -qv_fi_errno(qv_node_begin(ep->node, msg->addr, &update.op, msg->context));
}

static ssize_t writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return begin(fid, msg, NULL, 0, NULL, 0, flags);
}

static ssize_t readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    uint64_t flags)
{
	return begin(fid, msg, NULL, 0, result, result_count, flags);
}

static ssize_t compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			    const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    uint64_t flags)
{
	return begin(fid, msg, compare, compare_count, result, result_count, flags);
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t to,
		      uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op)
{
	const struct fi_ioc ioc = {.addr = (void *)(uintptr_t)buf, .count = count};
	const struct fi_rma_ioc there = {.addr = addr, .count = count, .key = key};
	const struct fi_msg_atomic msg = {.msg_iov = &ioc,
					  .iov_count = 1,
					  .addr = to,
					  .rma_iov = &there,
					  .rma_iov_count = 1,
					  .datatype = type,
					  .op = op};

	return writemsg(fid, &msg, FI_INJECT);
}

/* What there is. */

static int valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, uint64_t flags,
		 size_t *count)
{
	QV_FI_ROOMY(fi_atomic_attr, attr);
	int rc = qv_fi_update_query(&qv_fi_node_ep_of(fid)->domain->memory, type, op, &attr.a,
				    flags);

	if (!rc)
		*count = attr.a.count;
	return rc;
}

static int writevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(fid, type, op, 0, count);
}

static int readwritevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(fid, type, op, FI_FETCH_ATOMIC, count);
}

static int compwritevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(fid, type, op, FI_COMPARE_ATOMIC, count);
}

int qv_fi_node_query_atomic(struct fid_domain *fid, enum fi_datatype type, enum fi_op op,
			    struct fi_atomic_attr *attr, uint64_t flags)
{
	const struct qv_fi_node_domain *domain = container_of(fid, struct qv_fi_node_domain, fid);

	return qv_fi_update_query(&domain->memory, type, op, attr, flags);
}

struct fi_ops_atomic qv_fi_node_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.writemsg = writemsg,
	.readwritemsg = readwritemsg,
	.compwritemsg = compwritemsg,
	.inject = inject,
	.writevalid = writevalid,
	.readwritevalid = readwritevalid,
	.compwritevalid = compwritevalid,
};
