/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - fi_exchange.h: blocks with lengths of their own, and sparse exchanges, as
 * operations of a group. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/fi_exchange.h>

#define CALL_FLAGS \
	(FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE)

/* From so many bytes of all blocks on, an allgather is a ring, else direct sends. */
#define LONG_GATHER 65536

struct qv_fi_exchange {
	struct qv_exchange *exchange; /* NULL: under way, or failed */
	bool over;
};

/* What calls have in common. */

int qv_fi_coll_endpoint(struct fid *fid, uint64_t flags, struct qv_fi_ep **ep)
{
	if (!fid || fid->fclass != FI_CLASS_EP ||
	    container_of(fid, struct fid_ep, fid)->ops != &qv_fi_ep_ops)
		return -FI_EINVAL;
	if (flags & ~(uint64_t)CALL_FLAGS)
		return -FI_EBADFLAGS;
	*ep = container_of(fid, struct qv_fi_ep, fid.fid);
	return (*ep)->enabled ? 0 : -FI_EOPBADSTATE;
}

int qv_fi_coll_group(struct qv_fi_ep *ep, uint64_t addr, struct qv_fi_group **group)
{
	*group = qv_fi_group_find(ep->coll, addr);
	if (!*group)
		return -FI_EINVAL;
	if ((*group)->failed)
		return -qv_fi_errno((*group)->failed);
	return (*group)->joined ? 0 : -FI_EOPBADSTATE;
}

static void start(struct qv_fi_coll_op *op, uint64_t flags, void *context)
{
	op->tag = qv_fi_group_tag(op->group);
	op->group->seq++;
	op->context = context;
	op->entry = !op->coll->ep->tx_selective || flags & FI_COMPLETION;
	qv_fi_coll_op_start(op);
	qv_fi_coll_progress(op->coll->ep);
}

/* Blocks. */

static size_t sum(const size_t *bytes, uint32_t n)
{
	size_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all += bytes[i];
	return all;
}

/* Our own copy of the arrays, for the caller's are free when its call returns; NULL: no memory. */
static size_t *copy(const struct qv_fi_blocks_call *call, uint32_t in, uint32_t out)
{
	size_t *all = calloc(2 * ((size_t)in + out), sizeof(*all)), *next = all;

	if (!all)
		return NULL;
	memcpy(next, call->result_at, out * sizeof(*all));
	memcpy(next += out, call->result_bytes, out * sizeof(*all));
	memcpy(next += out, call->at, in * sizeof(*all));
	memcpy(next + in, call->bytes, in * sizeof(*all));
	return all;
}

/* Each step of these schedules is of one block, so blocks may be anywhere. */
static int start_blocks(struct qv_fi_ep *ep, struct qv_fi_group *group,
			const struct qv_fi_blocks_call *call, enum qv_coll coll)
{
	const uint32_t out = group->n, in = coll == QV_COLL_ALLTOALL ? out : 1;
	const bool around =
		coll == QV_COLL_ALLGATHER && sum(call->result_bytes, out) >= LONG_GATHER;
	const struct qv_schedule_spec spec = {
		.coll = coll, .algorithm = around ? QV_ALG_RING : QV_ALG_DIRECT, .ranks = group->n};
	struct qv_schedule *schedule;
	struct qv_fi_coll_op *op;
	size_t *arrays;

	if (qv_schedule_build(&spec, group->rank, &schedule))
		return -FI_ENOMEM;
	op = qv_fi_coll_op_new(ep->coll, group, schedule);
	if (!op) {
		qv_schedule_free(schedule);
		return -FI_ENOMEM;
	}
	op->schedule = schedule;
	op->memory = arrays = copy(call, in, out);
	if (!arrays) {
		qv_fi_coll_op_free(op);
		return -FI_ENOMEM;
	}
	op->blocks = (struct qv_run_blocks){arrays, arrays + out, arrays + 2 * out,
					    arrays + 2 * out + in};
	op->data =
		(struct qv_run_data){.in = call->buf, .work = call->result, .blocks = &op->blocks};
	start(op, call->flags, call->context);
	return 0;
}

static int blocks(struct fid *fid, const struct qv_fi_blocks_call *call, enum qv_coll coll)
{
	struct qv_fi_group *group;
	struct qv_fi_ep *ep;
	int rc = qv_fi_coll_endpoint(fid, call->flags, &ep);

	if (rc)
		return rc;
	qv_fi_lock(ep->dom);
	rc = qv_fi_coll_group(ep, call->group, &group);
	if (!rc)
		rc = start_blocks(ep, group, call, coll);
	qv_fi_unlock(ep->dom);
	return rc;
}

static int alltoallv(struct fid *fid, const struct qv_fi_blocks_call *call)
{
	return blocks(fid, call, QV_COLL_ALLTOALL);
}

static int allgatherv(struct fid *fid, const struct qv_fi_blocks_call *call)
{
	return blocks(fid, call, QV_COLL_ALLGATHER);
}

/* Exchanges. */

void qv_fi_exchange_over(struct qv_fi_coll_op *op)
{
	struct qv_fi_exchange *result = op->result;

	if (!result)
		return;
	result->over = true;
	if (!op->status) {
		result->exchange = op->exchange;
		op->exchange = NULL;
	}
	op->result = NULL;
}

static int start_exchange(struct qv_fi_ep *ep, struct qv_fi_group *group,
			  const struct qv_fi_exchange_call *call, struct qv_fi_exchange *result)
{
	const struct qv_exchange_spec spec = {
		.way = call->way, .ranks = group->n, .rank = group->rank, .radix = call->radix};
	struct qv_fi_coll_op *op;
	int rc = qv_fi_coll_op_new_exchange(ep->coll, group, &spec, &op);

	if (!rc) {
		rc = qv_exchange_start(op->exchange, call->items, call->n);
		if (rc)
			qv_fi_coll_op_free(op);
	}
	if (rc)
		return -qv_fi_errno(rc);
	op->result = result;
	start(op, call->flags, call->context);
	return 0;
}

static int exchange(struct fid *fid, const struct qv_fi_exchange_call *call,
		    struct qv_fi_exchange **exchange)
{
	struct qv_fi_exchange *result;
	struct qv_fi_group *group;
	struct qv_fi_ep *ep;
	int rc = qv_fi_coll_endpoint(fid, call->flags, &ep);

	if (rc)
		return rc;
	result = calloc(1, sizeof(*result));
	if (!result)
		return -FI_ENOMEM;
	qv_fi_lock(ep->dom);
	rc = qv_fi_coll_group(ep, call->group, &group);
	if (!rc)
		rc = start_exchange(ep, group, call, result);
	qv_fi_unlock(ep->dom);
	if (rc)
		free(result);
	else
		*exchange = result;
	return rc;
}

static const struct qv_exchange_item *result_of(const struct qv_fi_exchange *exchange, size_t *n)
{
	*n = 0;
	return exchange->exchange ? qv_exchange_result(exchange->exchange, n) : NULL;
}

static int release(struct qv_fi_exchange *exchange)
{
	if (!exchange)
		return 0;
	if (!exchange->over)
		return -FI_EBUSY;
	qv_exchange_free(exchange->exchange);
	free(exchange);
	return 0;
}

struct qv_fi_exchange_ops qv_fi_exchange_ops = {
	.size = sizeof(struct qv_fi_exchange_ops),
	.alltoallv = alltoallv,
	.allgatherv = allgatherv,
	.exchange = exchange,
	.result = result_of,
	.release = release,
};
