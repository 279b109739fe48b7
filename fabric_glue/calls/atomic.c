/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - fi_atomic(3), passed through to the core that reaches the peer, or done by ours. */
#include "fabric_glue/calls.h"

#define ATOMIC_FLAGS                                                             \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_MORE | FI_FENCE)

/* Beside the message: what is compared with, and where the old value goes. */
struct op {
	const struct fi_msg_atomic *msg;
	const struct fi_ioc *compare;
	void **compare_desc;
	size_t compare_count;
	struct fi_ioc *result;
	void **result_desc;
	size_t result_count;
};

static struct qv_fi_ep *ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct qv_fi_ep, fid);
}

/* Bytes of one element; 0: there is no such type. */
static size_t type_size(enum fi_datatype type)
{
	static const unsigned char sizes[] = {
		[FI_INT8] = 1,
		[FI_UINT8] = 1,
		[FI_INT16] = 2,
		[FI_UINT16] = 2,
		[FI_INT32] = 4,
		[FI_UINT32] = 4,
		[FI_INT64] = 8,
		[FI_UINT64] = 8,
		[FI_FLOAT] = 4,
		[FI_DOUBLE] = 8,
		[FI_FLOAT_COMPLEX] = 8,
		[FI_DOUBLE_COMPLEX] = 16,
		[FI_LONG_DOUBLE] = sizeof(long double),
		[FI_LONG_DOUBLE_COMPLEX] = 2 * sizeof(long double),
		[FI_INT128] = 16,
		[FI_UINT128] = 16,
	};

	return (unsigned)type < sizeof sizes ? sizes[type] : 0;
}

/* Elements for a call that the core cannot inject: into the operation's own memory. */
static const struct fi_ioc *copied(struct qv_fi_pass *pass, const struct fi_ioc *from,
				   struct fi_ioc *to, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		to[i].count = from[i].count;
		to[i].addr = qv_fi_pass_copy(pass, from[i].addr, from[i].count * size);
	}
	return to;
}

static ssize_t give(struct qv_fi_rail *rail, fi_addr_t to, struct qv_fi_pass *pass,
		    const struct qv_fi_passing *p)
{
	const struct op *op = p->op;
	struct fi_msg_atomic out = *op->msg;
	uint64_t flags = p->flags | FI_COMPLETION;
	struct fi_ioc operand[QV_FI_IOV_LIMIT], comparand[QV_FI_IOV_LIMIT];
	const struct fi_ioc *compare = op->compare;
	size_t size = type_size(out.datatype);

	out.addr = to;
	out.context = pass;
	if (rail->ep->dom->own_atomics[rail->which])
		return qv_fi_own_update(rail->ep, p->to, &out, compare, op->compare_count,
					op->result, op->result_count);
	if (flags & FI_INJECT) { /* rxm never says that an injected one is done */
		if (out.op != FI_ATOMIC_READ)
			out.msg_iov = copied(pass, out.msg_iov, operand, out.iov_count, size);
		if (compare)
			compare = copied(pass, compare, comparand, op->compare_count, size);
		flags &= ~FI_INJECT;
	}
	if (compare)
		return fi_compare_atomicmsg(rail->core, &out, compare, op->compare_desc,
					    op->compare_count, op->result, op->result_desc,
					    op->result_count, flags);
	if (op->result)
		return fi_fetch_atomicmsg(rail->core, &out, op->result, op->result_desc,
					  op->result_count, flags);
	return fi_atomicmsg(rail->core, &out, flags);
}

static ssize_t atomic(struct fid_ep *fid, const struct op *op, uint64_t flags)
{
	struct qv_fi_ep *ep = ep_of(fid);
	const struct fi_msg_atomic *msg = op->msg;
	struct qv_fi_passing p = {.to = msg->addr,
				  .context = msg->context,
				  .flags = flags,
				  .kind = FI_ATOMIC | (op->result ? FI_READ : FI_WRITE),
				  .give = give,
				  .op = op};

	if (!ep->dom->has_atomic)
		return -FI_ENOSYS;
	if (flags & ~ATOMIC_FLAGS)
		return -FI_EBADFLAGS;
	if (msg->iov_count > QV_FI_IOV_LIMIT || op->compare_count > QV_FI_IOV_LIMIT ||
	    !type_size(msg->datatype))
		return -FI_EINVAL;
	for (size_t i = 0; i < msg->iov_count; i++)
		p.len += msg->msg_iov[i].count * type_size(msg->datatype);
	for (size_t i = 0; i < op->compare_count; i++)
		p.compared += op->compare[i].count * type_size(msg->datatype);
	if (flags & FI_INJECT && (p.len > ep->dom->inject || p.compared > ep->dom->inject))
		return -FI_EINVAL;
	return qv_fi_pass(ep, &p);
}

/* Calls with a message. */

static ssize_t writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return atomic(fid, &(struct op){.msg = msg}, flags);
}

static ssize_t readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    uint64_t flags)
{
	return atomic(fid,
		      &(struct op){.msg = msg,
				   .result = result,
				   .result_desc = result_desc,
				   .result_count = result_count},
		      flags);
}

static ssize_t compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			    const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    uint64_t flags)
{
	return atomic(fid,
		      &(struct op){.msg = msg,
				   .compare = compare,
				   .compare_desc = compare_desc,
				   .compare_count = compare_count,
				   .result = result,
				   .result_desc = result_desc,
				   .result_count = result_count},
		      flags);
}

/* Calls without: the flags are those of the endpoint. */

#define MESSAGE(iov_, desc_, count_, to_)                        \
	struct fi_rma_ioc rma = {.addr = addr, .key = key};      \
	const struct fi_msg_atomic msg = {.msg_iov = (iov_),     \
					  .desc = (desc_),       \
					  .iov_count = (count_), \
					  .addr = (to_),         \
					  .rma_iov = &rma,       \
					  .rma_iov_count = 1,    \
					  .datatype = type,      \
					  .op = op,              \
					  .context = context};   \
                                                                 \
	for (size_t i = 0; i < msg.iov_count; i++)               \
	rma.count += msg.msg_iov[i].count

static ssize_t writev_(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
		       fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
		       enum fi_op op, void *context)
{
	MESSAGE(iov, desc, count, to);
	return writemsg(fid, &msg, qv_fi_memory_flags(ep_of(fid)));
}

static ssize_t write_(struct fid_ep *fid, const void *buf, size_t count, void *desc, fi_addr_t to,
		      uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op,
		      void *context)
{
	const struct fi_ioc ioc = {(void *)(uintptr_t)buf, count};

	return writev_(fid, &ioc, &desc, 1, to, addr, key, type, op, context);
}

static ssize_t readwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			  struct fi_ioc *result, void **result_desc, size_t result_count,
			  fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			  enum fi_op op, void *context)
{
	MESSAGE(iov, desc, count, to);
	if (op == FI_ATOMIC_READ) /* there need not be operands: the results tell how many */
		for (size_t i = rma.count = 0; i < result_count; i++)
			rma.count += result[i].count;
	return readwritemsg(fid, &msg, result, result_desc, result_count,
			    qv_fi_memory_flags(ep_of(fid)));
}

static ssize_t readwrite(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			 void *result, void *result_desc, fi_addr_t to, uint64_t addr, uint64_t key,
			 enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = {(void *)(uintptr_t)buf, count};
	struct fi_ioc old = {result, count};

	return readwritev(fid, &ioc, &desc, 1, &old, &result_desc, 1, to, addr, key, type, op,
			  context);
}

static ssize_t compwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			  const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
			  struct fi_ioc *result, void **result_desc, size_t result_count,
			  fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			  enum fi_op op, void *context)
{
	MESSAGE(iov, desc, count, to);
	return compwritemsg(fid, &msg, compare, compare_desc, compare_count, result, result_desc,
			    result_count, qv_fi_memory_flags(ep_of(fid)));
}

static ssize_t compwrite(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			 const void *compare, void *compare_desc, void *result, void *result_desc,
			 fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
			 enum fi_op op, void *context)
{
	const struct fi_ioc ioc = {(void *)(uintptr_t)buf, count};
	const struct fi_ioc with = {(void *)(uintptr_t)compare, count};
	struct fi_ioc old = {result, count};

	return compwritev(fid, &ioc, &desc, 1, &with, &compare_desc, 1, &old, &result_desc, 1, to,
			  addr, key, type, op, context);
}

static ssize_t give_inject(struct qv_fi_rail *rail, fi_addr_t to, const void *op)
{
	const struct fi_msg_atomic *msg = ((const struct op *)op)->msg;

	return fi_inject_atomic(rail->core, msg->msg_iov->addr, msg->msg_iov->count, to,
				msg->rma_iov->addr, msg->rma_iov->key, msg->datatype, msg->op);
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t to,
		      uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op)
{
	const struct fi_ioc ioc = {(void *)(uintptr_t)buf, count};
	void *context = NULL;

	MESSAGE(&ioc, NULL, 1, to);
	const struct op whole = {.msg = &msg};
	const struct qv_fi_passing p = {.to = to,
					.flags = FI_INJECT,
					.kind = FI_ATOMIC | FI_WRITE,
					.len = count * type_size(type),
					.quiet = true,
					.give = give,
					.op = &whole};

	if (!ep_of(fid)->dom->has_atomic)
		return -FI_ENOSYS;
	return type_size(type) ? qv_fi_pass_inject(ep_of(fid), &p, give_inject) : -FI_EINVAL;
}

struct fi_ops_atomic qv_fi_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = write_,
	.writev = writev_,
	.writemsg = writemsg,
	.inject = inject,
	.readwrite = readwrite,
	.readwritev = readwritev,
	.readwritemsg = readwritemsg,
	.compwrite = compwrite,
	.compwritev = compwritev,
	.compwritemsg = compwritemsg,
	.writevalid = qv_fi_atomic_valid,
	.readwritevalid = qv_fi_fetch_atomic_valid,
	.compwritevalid = qv_fi_compare_atomic_valid,
};
