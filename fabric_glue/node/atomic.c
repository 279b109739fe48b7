/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - fi_atomic(3) of the core `node`: the calls that the provider makes. */
#include "node.h"

#include "fabric_glue/data.h"

/* The lists of a call, in bytes. */
struct lists {
	struct iovec operand[QV_NODE_SPANS], compare[QV_NODE_SPANS], result[QV_NODE_SPANS];
	struct qv_node_span there[QV_NODE_SPANS];
};

static void bytes_of(struct iovec *to, const struct fi_ioc *from, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (struct iovec){from[i].addr, from[i].count * size};
}

/* Is there such an update? The bytes of an element. */
static bool is_known(const struct qv_fi_node_domain *domain, enum fi_datatype type, enum fi_op op,
		     size_t operands, bool result, size_t *size)
{
	enum qv_type t;

	if (!domain->combine || (unsigned)op > UINT8_MAX || !qv_fi_type(type, &t) ||
	    !qv_fi_node_can_update(QV_FI_NODE_UPDATE(op, type), operands, result))
		return false;
	*size = qv_type_size(t);
	return true;
}

static ssize_t begin(struct fid_ep *fid, const struct fi_msg_atomic *msg,
		     const struct fi_ioc *compare, size_t ncompare, const struct fi_ioc *result,
		     size_t nresult, uint64_t flags)
{
	struct lists lists;
	const struct qv_node_op op = {
		.kind = QV_NODE_UPDATE,
		.what = QV_FI_NODE_UPDATE(msg->op, msg->datatype),
		.inject = flags & FI_INJECT,
		.there = lists.there,
		.nthere = msg->rma_iov_count,
		.here = lists.operand,
		.nhere = msg->op == FI_ATOMIC_READ ? 0 : msg->iov_count,
		.other = lists.compare,
		.nother = ncompare,
		.before = lists.result,
		.nbefore = nresult,
	};
	struct qv_fi_node_ep *ep = qv_fi_node_ep_of(fid);
	size_t size;

	if (!is_known(ep->domain, msg->datatype, msg->op, (op.nhere != 0) + (ncompare != 0),
		      nresult, &size))
		return -FI_EOPNOTSUPP;
	if (op.nthere > QV_NODE_SPANS || op.nhere > QV_NODE_SPANS || ncompare > QV_NODE_SPANS ||
	    nresult > QV_NODE_SPANS)
		return -FI_EINVAL;
	bytes_of(lists.operand, msg->msg_iov, op.nhere, size);
	bytes_of(lists.compare, compare, ncompare, size);
	bytes_of(lists.result, result, nresult, size);
	for (size_t i = 0; i < op.nthere; i++)
		lists.there[i] = (struct qv_node_span){.addr = msg->rma_iov[i].addr,
						       .key = msg->rma_iov[i].key,
						       .len = msg->rma_iov[i].count * size};
	return -qv_fi_errno(qv_node_begin(ep->node, msg->addr, &op, msg->context));
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

static int valid(const struct qv_fi_node_domain *domain, enum fi_datatype type, enum fi_op op,
		 size_t operands, bool result, struct fi_atomic_attr *attr)
{
	if (!is_known(domain, type, op, operands, result, &attr->size))
		return -FI_EOPNOTSUPP;
	attr->count = QV_NODE_PART / (operands > 1 ? 2 : 1) / attr->size;
	return 0;
}

static int valid_in(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t operands,
		    bool result, size_t *count)
{
	QV_FI_ROOMY(fi_atomic_attr, attr);
	int rc = valid(qv_fi_node_ep_of(fid)->domain, type, op, operands, result, &attr.a);

	if (!rc)
		*count = attr.a.count;
	return rc;
}

static int writevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid_in(fid, type, op, 1, false, count);
}

static int readwritevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid_in(fid, type, op, op != FI_ATOMIC_READ, true, count);
}

static int compwritevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid_in(fid, type, op, 2, true, count);
}

int qv_fi_node_query_atomic(struct fid_domain *fid, enum fi_datatype type, enum fi_op op,
			    struct fi_atomic_attr *attr, uint64_t flags)
{
	const struct qv_fi_node_domain *domain = container_of(fid, struct qv_fi_node_domain, fid);

	if (flags & FI_COMPARE_ATOMIC)
		return valid(domain, type, op, 2, true, attr);
	if (flags & FI_FETCH_ATOMIC)
		return valid(domain, type, op, op != FI_ATOMIC_READ, true, attr);
	return valid(domain, type, op, 1, false, attr);
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
