/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - what a call asks for: whether it can be had, by which schedule, and where
 * the vectors of its run are.
 */
#include "coll.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* One that no call has asked for: a barrier, or an allgather of items that all members
 * have one of. */
static int start_own(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_fi_coll_kind kind,
		     enum qv_coll what, uint64_t tag, const struct qv_run_data *data)
{
	const struct qv_schedule_spec spec = {
		.coll = what, .algorithm = QV_ALG_DISSEMINATION, .ranks = group->n};
	struct qv_schedule *schedule;
	struct qv_fi_coll_op *op;

	if (qv_schedule_build(&spec, group->rank, &schedule))
		return -FI_ENOMEM;
	op = qv_fi_coll_op_new(coll, group, schedule);
	if (!op) {
		qv_schedule_free(schedule);
		return -FI_ENOMEM;
	}
	op->kind = kind;
	op->schedule = schedule;
	op->tag = tag;
	op->data = *data;
	if (what != QV_COLL_BARRIER) {
		op->data.count = group->n;
		op->data.in = (char *)data->work + group->rank * data->item;
	}
	qv_fi_coll_op_start(op);
	return 0;
}

int qv_fi_coll_start_join(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	return start_own(
		coll, group, QV_FI_COLL_JOIN, QV_COLL_ALLGATHER, qv_fi_join_tag(group->hash),
		&(struct qv_run_data){.item = sizeof(struct qv_fi_member), .work = group->members});
}

/* With a tag of its own, as calls have. */
static int start_numbered(struct qv_fi_coll *coll, struct qv_fi_group *group,
			  enum qv_fi_coll_kind kind, enum qv_coll what,
			  const struct qv_run_data *data)
{
	int ret = start_own(coll, group, kind, what, qv_fi_group_tag(group), data);

	if (!ret)
		group->seq++;
	return ret;
}

int qv_fi_coll_start_measure(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_coll what,
			     void *memory, size_t item)
{
	return start_numbered(coll, group, QV_FI_COLL_MEASURE, what,
			      &(struct qv_run_data){.item = item, .work = memory});
}

int qv_fi_coll_start_telling(struct qv_fi_coll *coll, struct qv_fi_group *group, uint64_t *words)
{
	return start_numbered(coll, group, QV_FI_COLL_MEMORY, QV_COLL_ALLGATHER,
			      &(struct qv_run_data){.item = sizeof *words, .work = words});
}

int qv_fi_coll_start_exchange(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	uint64_t *told = qv_expect_told(group->expect);
	int ret;

	ret = start_numbered(
		coll, group, QV_FI_COLL_EXCHANGE, QV_COLL_ALLGATHER,
		&(struct qv_run_data){.item = QV_EXPECT_WORDS * sizeof(*told), .work = told});
	if (!ret) /* nothing is sent before the operation is moved on */
		qv_expect_begun(group->expect, qv_clock_ns());
	return ret;
}

/* Scratch of so many bytes, after what has been given out already. */
struct scratch {
	size_t used;
	char *memory; /* NULL: only count */
};

static void *take(struct scratch *s, size_t bytes)
{
	void *at = s->memory ? s->memory + s->used : NULL;

	s->used += (bytes + 63) / 64 * 64;
	return at;
}

/* Where the vectors of the run are. Once to count the scratch, once to have it. */
static void lay_out(struct qv_fi_coll_op *op, const struct qv_fi_coll_call *call, uint32_t root,
		    struct scratch *s)
{
	const uint32_t rank = op->group->rank;
	const size_t block = call->count * op->data.item, whole = op->data.count * op->data.item;
	struct qv_run_data *d = &op->data;

	d->in = call->buf;
	d->work = call->result;
	switch (call->coll) {
	case QV_COLL_REDUCE_SCATTER: d->work = take(s, whole); break;
	case QV_COLL_REDUCE:
	case QV_COLL_GATHER:
		if (rank != root)
			d->work = take(s, whole);
		break;
	case QV_COLL_SCATTER:
		/* The root's own is only read. */
		d->work = rank == root ? (void *)(uintptr_t)call->buf : take(s, whole);
		break;
	case QV_COLL_ALLTOALL:
		if (call->buf != call->result)
			break;
		d->in = take(s, whole);
		if (d->in)
			memcpy((void *)(uintptr_t)d->in, call->buf, whole);
		break;
	default: break;
	}
	if (call->coll <= QV_COLL_REDUCE_SCATTER)
		d->temp = take(s, whole);
	else if (qv_schedule_scratch(op->plan->schedule))
		d->temp = take(s, qv_schedule_scratch(op->plan->schedule) * block);
	if (call->coll != QV_COLL_REDUCE_SCATTER && call->coll != QV_COLL_SCATTER)
		return;
	op->bytes = block;
	op->from = (char *)d->work + rank * block;
	op->to = call->result;
	if (op->to == op->from)
		op->bytes = 0;
}

static void combine(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const struct qv_fi_coll_op *op = context;

	/* The call was checked, so that this cannot fail. */
	qv_fi_offload_combine(op->coll->ep, op->coll->combine, op->op, op->type, dst, a, b, count);
}

static int prepare(struct qv_fi_coll_op *op, const struct qv_fi_coll_call *call, uint32_t root)
{
	struct scratch s = {0, NULL};

	lay_out(op, call, root, &s);
	if (s.used) {
		op->memory = aligned_alloc(64, s.used);
		if (!op->memory)
			return -FI_ENOMEM;
		s = (struct scratch){0, op->memory};
		lay_out(op, call, root, &s);
	}
	op->data.reduce = combine;
	op->data.context = op;
	return 0;
}

static uint32_t rank_of(const struct qv_fi_group *group, fi_addr_t addr)
{
	uint32_t r = 0;

	while (r < group->n && group->addrs[r] != addr)
		r++;
	return r;
}

/* Elements of the whole vector, and the type; -FI_E*. */
static int judge(struct qv_fi_coll_op *op, const struct qv_fi_coll_call *call)
{
	static const unsigned int blocks = 1u << QV_COLL_REDUCE_SCATTER | 1u << QV_COLL_GATHER |
					   1u << QV_COLL_ALLGATHER | 1u << QV_COLL_SCATTER |
					   1u << QV_COLL_ALLTOALL;
	const size_t times = blocks >> call->coll & 1 ? op->group->n : 1;

	if (call->coll == QV_COLL_BARRIER) {
		op->data.item = 1;
		return 0;
	}
	if (!qv_fi_type(call->type, &op->type))
		return -FI_EOPNOTSUPP;
	if (call->coll <= QV_COLL_REDUCE_SCATTER &&
	    (!qv_fi_op(call->op, &op->op) || !qv_combine_defined(op->op, op->type)))
		return -FI_EOPNOTSUPP;
	op->data.item = qv_type_size(op->type);
	if (call->count > SIZE_MAX / 4 / op->data.item / times)
		return -FI_EMSGSIZE;
	op->data.count = call->count * times;
	return 0;
}

/* A run of a schedule; NULL: no memory. */
static struct qv_fi_coll_op *scheduled(const struct qv_fi_coll_op *ask,
				       const struct qv_fi_coll_call *call, uint32_t root,
				       const uint64_t *arrive)
{
	struct qv_fi_group *group = ask->group;
	const struct qv_select_call select = {.group = group->id,
					      .coll = call->coll,
					      .ranks = group->n,
					      .rank = group->rank,
					      .root = root,
					      .bytes = ask->data.count * ask->data.item,
					      .arrive = arrive,
					      .load = group->load};
	const uint64_t began = arrive ? qv_clock_ns() : 0;
	const struct qv_plan *plan;
	struct qv_fi_coll_op *op;

	if (qv_select_get(group->select, &select, &plan))
		return NULL;
	if (arrive)
		qv_expect_spent(group->expect, qv_clock_ns() - began);
	op = qv_fi_coll_op_new(ask->coll, group, plan->schedule);
	if (!op) {
		qv_select_put(group->select, plan);
		return NULL;
	}
	op->plan = plan;
	op->op = ask->op;
	op->type = ask->type;
	op->data = ask->data;
	if (prepare(op, call, root)) {
		qv_fi_coll_op_free(op);
		return NULL;
	}
	op->tag = qv_fi_group_tag(group);
	group->seq++;
	return op;
}

static int start_call(struct qv_fi_coll *coll, const struct qv_fi_coll_call *call,
		      struct qv_fi_stream *sums)
{
	struct qv_fi_group *group = qv_fi_group_find(coll, call->group);
	struct qv_fi_coll_op ask = {.coll = coll, .group = group}, *op;
	const uint64_t *arrive = NULL;
	bool by_memory = false;
	uint32_t root = 0;
	int ret;

	if (!group)
		return -FI_EINVAL;
	if (group->failed)
		return -qv_fi_errno(group->failed);
	if (!group->joined || !coll->ep->enabled)
		return -FI_EOPBADSTATE;
	if (call->root != FI_ADDR_NOTAVAIL && (root = rank_of(group, call->root)) == group->n)
		return -FI_EINVAL;
	ret = judge(&ask, call);
	if (!ret) {
		by_memory = qv_fi_memory_takes(group, call->coll, ask.data.count * ask.data.item);
		if (!by_memory)
			ret = qv_fi_coll_expect(coll, group, call->coll, &arrive);
	}
	if (ret)
		return ret;
	op = by_memory ? qv_fi_memory_op(&ask, call, root) : scheduled(&ask, call, root, arrive);
	if (!op)
		return -FI_ENOMEM;
	op->timed = !by_memory && qv_fi_coll_expected(group, call->coll);
	op->together = call->coll != QV_COLL_REDUCE; /* from a reduce the root comes last */
	op->context = call->context;
	op->sums = sums;
	if (sums)
		op->kind = QV_FI_COLL_SUMS;
	op->entry = !coll->ep->tx_selective || call->flags & FI_COMPLETION;
	qv_fi_coll_op_start(op);
	return 0;
}

int qv_fi_coll_start(struct qv_fi_coll *coll, const struct qv_fi_coll_call *call)
{
	return start_call(coll, call, NULL);
}

int qv_fi_coll_start_sums(struct qv_fi_coll *coll, const struct qv_fi_coll_call *call,
			  struct qv_fi_stream *stream)
{
	return start_call(coll, call, stream);
}
