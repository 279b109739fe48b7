/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op.c - operations under way: a run of a schedule, an exchange or a stream, moved on by the endpoint's
 * progress, and the completion in the end.
 */
#include "coll.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

static const struct qv_port port_calls = {qv_fi_coll_op_send, qv_fi_coll_op_receive};
static const struct qv_exchange_port exchange_calls = {qv_fi_coll_op_send, qv_fi_coll_op_receive};

/* The end. */

void qv_fi_coll_op_free(struct qv_fi_coll_op *op)
{
	struct qv_fi_coll_msg *msg;

	if (op->plan)
		qv_select_put(op->group->select, op->plan);
	qv_schedule_free(op->schedule);
	qv_run_free(op->run);
	if (op->result) /* it has not come to its end */
		op->status = QV_ECANCELED;
	qv_fi_exchange_over(op);
	if (op->stream)
		qv_fi_stream_gone(op->stream);
	while ((msg = op->loose)) { /* only where the endpoint goes */
		op->loose = msg->next;
		free(msg);
	}
	qv_exchange_free(op->exchange);
	qv_expect_close(op->expect);
	free(op->memory);
	free(op);
}

static void report(const struct qv_fi_coll_op *op)
{
	const struct qv_fi_pass done = {
		.context = op->context, .flags = FI_COLLECTIVE, .entry = op->entry};

	qv_fi_pass_complete(op->coll->ep, &done, op->status);
}

/* It is over, and off the list of those under way. */
static void finish(struct qv_fi_coll_op *op)
{
	struct qv_fi_group *group = op->group; /* NULL: left meanwhile */

	if (!op->status && op->bytes)
		memcpy(op->to, op->from, op->bytes);
	switch (op->kind) {
	case QV_FI_COLL_JOIN:
		group->ops--;
		qv_fi_group_joined(group, op->status);
		break;
	case QV_FI_COLL_MEMORY:
		group->ops--;
		qv_fi_memory_next(group, op->status);
		break;
	case QV_FI_COLL_MEASURE:
		group->ops--;
		qv_fi_measure_next(group, op->status);
		break;
	case QV_FI_COLL_EXCHANGE:
		if (group)
			qv_expect_over(group->expect, op->status, qv_clock_ns());
		break;
	case QV_FI_COLL_STREAM:
		group->ops--;
		group->streams--;
		break;
	case QV_FI_COLL_SUMS:
		group->ops--;
		if (op->timed)
			qv_fi_coll_ended(group, op->together);
		qv_fi_stream_summed(op->sums, op->status);
		break;
	default:
		group->ops--;
		op->coll->calls++;
		op->coll->by_arrival += op->plan && op->plan->by_arrival;
		if (op->timed)
			qv_fi_coll_ended(group, op->together);
		qv_fi_exchange_over(op);
		report(op);
	}
	qv_fi_coll_op_free(op);
}

void qv_fi_coll_op_end(struct qv_fi_coll_op *op, int status)
{
	if (op->status)
		return;
	op->status = status;
	qv_fi_coll_take_back(op);
}

void qv_fi_coll_abort(struct qv_fi_coll *coll, struct qv_fi_group *group, int status)
{
	for (struct qv_fi_coll_op *op = coll->ops; op; op = op->next)
		if (op->group == group)
			qv_fi_coll_op_end(op, status);
}

static int step(struct qv_fi_coll_op *op)
{
	if (op->by_memory)
		return qv_fi_memory_step(op);
	if (op->stream)
		return qv_fi_stream_step(op->stream);
	return op->exchange ? qv_exchange_progress(op->exchange) : qv_run_progress(op->run);
}

/* Is it over? */
static bool move_on(struct qv_fi_coll_op *op)
{
	int status;

	if (!op->status) {
		status = step(op);
		if (status == QV_EAGAIN)
			return false;
		if (status == QV_OK)
			return true;
		qv_fi_coll_op_end(op, status);
		qv_fi_group_fail(op->group, status); /* not left: that sets the status */
	}
	return !op->flying && (!op->stream || qv_fi_stream_closes(op->stream));
}

void qv_fi_coll_progress(struct qv_fi_ep *ep)
{
	struct qv_fi_coll *coll = ep->coll;
	struct qv_fi_coll_op **at = &coll->ops, *op;

	for (struct qv_fi_group *g = coll->groups; g; g = g->next)
		if (QV_UNLIKELY(!g->listening || g->failed))
			qv_fi_group_progress(g);
	if (QV_UNLIKELY(coll->lost))
		qv_fi_group_progress_lost(coll);
	while ((op = *at)) {
		if (!move_on(op)) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		if (!*at)
			coll->ops_tail = at;
		finish(op);
	}
}

void qv_fi_coll_leave(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	for (struct qv_fi_coll_op *op = coll->ops; op; op = op->next) {
		if (op->group != group)
			continue;
		qv_fi_coll_op_end(op, QV_ECANCELED);
		op->expect = group->expect; /* a message may be on its way from it */
		group->expect = NULL;
		op->group = NULL;
	}
}

void qv_fi_coll_drop(struct qv_fi_coll *coll)
{
	struct qv_fi_coll_op *op;

	while ((op = coll->ops)) {
		coll->ops = op->next;
		qv_fi_coll_op_free(op);
	}
}

/* The beginning. */

struct qv_fi_coll_op *qv_fi_coll_op_new(struct qv_fi_coll *coll, struct qv_fi_group *group,
					const struct qv_schedule *schedule)
{
	struct qv_fi_coll_op *op;
	size_t n;

	qv_schedule_steps(schedule, &n);
	op = calloc(1, sizeof *op + n * sizeof *op->msgs);
	if (op && qv_run_create(schedule, &port_calls, op, &op->run)) {
		free(op);
		return NULL;
	}
	if (op) {
		op->coll = coll;
		op->group = group;
	}
	return op;
}

int qv_fi_coll_op_new_exchange(struct qv_fi_coll *coll, struct qv_fi_group *group,
			       const struct qv_exchange_spec *spec, struct qv_fi_coll_op **op)
{
	struct qv_fi_coll_op *o = calloc(1, sizeof *o);
	int status;

	if (!o)
		return QV_ENOMEM;
	o->coll = coll;
	o->group = group;
	status = qv_exchange_create(spec, &exchange_calls, o, &o->exchange);
	if (status)
		free(o);
	else
		*op = o;
	return status;
}

struct qv_fi_coll_op *qv_fi_coll_op_new_stream(struct qv_fi_coll *coll, struct qv_fi_group *group,
					       struct qv_fi_stream *stream)
{
	struct qv_fi_coll_op *op = calloc(1, sizeof *op);

	if (!op)
		return NULL;
	op->coll = coll;
	op->group = group;
	op->kind = QV_FI_COLL_STREAM;
	op->stream = stream;
	op->tag = qv_fi_group_tag(group);
	group->seq++;
	return op;
}

void qv_fi_coll_op_start(struct qv_fi_coll_op *op)
{
	if (op->run)
		qv_run_start(op->run, &op->data);
	op->group->ops += op->kind != QV_FI_COLL_EXCHANGE;
	op->group->streams += op->kind == QV_FI_COLL_STREAM;
	*op->coll->ops_tail = op;
	op->coll->ops_tail = &op->next;
}
