/* SPDX-License-Identifier: BSD-2-Clause */
/* coll.c - fi_barrier, fi_allreduce, ...: libfabric's calls in the words of the engine. */
#include "coll.h"

#define CALL_FLAGS \
	(FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE)

/* Calls. */

static ssize_t call(struct fid_ep *fid, const struct qv_fi_coll_call *c)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid);
	int ret;

	if (!qv_fi_is_enabled(ep))
		return -FI_EOPBADSTATE;
	if (c->flags & ~CALL_FLAGS)
		return -FI_EBADFLAGS;
	qv_fi_lock(ep->dom);
	ret = qv_fi_coll_start(ep->coll, c);
	if (!ret)
		qv_fi_coll_progress(ep);
	qv_fi_unlock(ep->dom);
	return ret;
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t group, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){.coll = QV_COLL_BARRIER,
						  .group = group,
						  .root = FI_ADDR_NOTAVAIL,
						  .flags = flags,
						  .context = context});
}

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t group, void *context)
{
	const struct qv_fi_ep *own = container_of(ep, struct qv_fi_ep, fid);

	return coll_barrier2(ep, group, own->tx_op_flags & CALL_FLAGS, context);
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc,
			      fi_addr_t group, fi_addr_t root, enum fi_datatype type,
			      uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_BROADCAST, group, root, buf, buf, count,
						  type, FI_NOOP, flags, context});
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			     void *result, void *result_desc, fi_addr_t group,
			     enum fi_datatype type, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_ALLTOALL, group, FI_ADDR_NOTAVAIL, buf,
						  result, count, type, FI_NOOP, flags, context});
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t group,
			      enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_ALLREDUCE, group, FI_ADDR_NOTAVAIL, buf,
						  result, count, type, op, flags, context});
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t group,
			      enum fi_datatype type, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_ALLGATHER, group, FI_ADDR_NOTAVAIL, buf,
						  result, count, type, FI_NOOP, flags, context});
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t group,
				   enum fi_datatype type, enum fi_op op, uint64_t flags,
				   void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_REDUCE_SCATTER, group, FI_ADDR_NOTAVAIL,
						  buf, result, count, type, op, flags, context});
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
			   enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_REDUCE, group, root, buf, result, count,
						  type, op, flags, context});
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
			    enum fi_datatype type, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_SCATTER, group, root, buf, result, count,
						  type, FI_NOOP, flags, context});
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
			   enum fi_datatype type, uint64_t flags, void *context)
{
	return call(ep, &(struct qv_fi_coll_call){QV_COLL_GATHER, group, root, buf, result, count,
						  type, FI_NOOP, flags, context});
}

static const enum qv_coll colls[] = {
	[FI_BARRIER] = QV_COLL_BARRIER,     [FI_BROADCAST] = QV_COLL_BROADCAST,
	[FI_ALLTOALL] = QV_COLL_ALLTOALL,   [FI_ALLREDUCE] = QV_COLL_ALLREDUCE,
	[FI_ALLGATHER] = QV_COLL_ALLGATHER, [FI_REDUCE_SCATTER] = QV_COLL_REDUCE_SCATTER,
	[FI_REDUCE] = QV_COLL_REDUCE,       [FI_SCATTER] = QV_COLL_SCATTER,
	[FI_GATHER] = QV_COLL_GATHER,
};

#define N_COLLS (sizeof colls / sizeof *colls)

static bool rooted(enum qv_coll coll)
{
	return coll == QV_COLL_REDUCE || coll == QV_COLL_BROADCAST || coll == QV_COLL_GATHER ||
	       coll == QV_COLL_SCATTER;
}

/* At every member; of a reduce or gather the root alone has one. */
static bool needs_result(enum qv_coll coll)
{
	return coll != QV_COLL_BARRIER && coll != QV_COLL_BROADCAST && coll != QV_COLL_REDUCE &&
	       coll != QV_COLL_GATHER;
}

/* One piece on each side, as the other calls have it. */
static ssize_t coll_msg(struct fid_ep *ep, const struct fi_msg_collective *msg,
			struct fi_ioc *resultv, void **result_desc, size_t result_count,
			uint64_t flags)
{
	struct qv_fi_coll_call c = {.flags = flags};

	if (!msg || (unsigned)msg->coll >= N_COLLS)
		return -FI_EINVAL;
	c.coll = colls[msg->coll];
	if (c.coll != QV_COLL_BARRIER && msg->iov_count != 1)
		return -FI_EINVAL;
	if (result_count > 1 || (!result_count && needs_result(c.coll)))
		return -FI_EINVAL;
	c.group = msg->coll_addr;
	c.root = rooted(c.coll) ? msg->root_addr : FI_ADDR_NOTAVAIL;
	if (c.coll != QV_COLL_BARRIER) {
		c.buf = msg->msg_iov->addr;
		c.count = msg->msg_iov->count;
		c.result = result_count ? resultv->addr : NULL;
	}
	if (c.coll == QV_COLL_BROADCAST)
		c.result = (void *)(uintptr_t)c.buf;
	c.type = msg->datatype;
	c.op = msg->op;
	c.context = msg->context;
	return call(ep, &c);
}

struct fi_ops_collective qv_fi_coll_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = coll_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = coll_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.msg = coll_msg,
	.barrier2 = coll_barrier2,
};

/* What there is. */

int qv_fi_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			   struct fi_collective_attr *attr, uint64_t flags)
{
	enum qv_type type;
	enum qv_op op;

	if (!attr || attr->mode || flags & ~(uint64_t)FI_SCATTER)
		return -FI_EINVAL;
	if ((unsigned)coll >= N_COLLS)
		return -FI_EOPNOTSUPP;
	if (colls[coll] == QV_COLL_BARRIER) {
		if (attr->op != FI_NOOP || attr->datatype != FI_VOID)
			return -FI_EOPNOTSUPP;
		attr->datatype_attr.count = 0;
		attr->datatype_attr.size = 0;
	} else {
		if (!qv_fi_type(attr->datatype, &type))
			return -FI_EOPNOTSUPP;
		if (colls[coll] <= QV_COLL_REDUCE_SCATTER &&
		    (!qv_fi_op(attr->op, &op) || !qv_combine_defined(op, type)))
			return -FI_EOPNOTSUPP;
		attr->datatype_attr.size = qv_type_size(type);
		attr->datatype_attr.count = SIZE_MAX / 4 / qv_type_size(type);
	}
	attr->max_members = 1u << 16;
	return 0;
}
