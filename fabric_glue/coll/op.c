/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op.c - operations under way: a run of a schedule whose messages go as the endpoint's
 * mode has it, and the completion in the end.
 */
#include "coll.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* The network of a run. */

static uint64_t tag_of(const struct qv_fi_coll_op *op, uint32_t receiver, uint32_t tag)
{
	const struct qv_fi_group *group = op->group;
	uint64_t high = op->tag | (tag & 0xffff);

	/* Messages of one pair come in order, so the number of one may wrap. */
	return op->kind == QV_FI_COLL_JOIN ? high : high | group->members[receiver].id << 32;
}

/* Its messages are not known beforehand. */
static bool is_loose(const struct qv_fi_coll_op *op)
{
	return op->exchange || op->stream;
}

static struct qv_fi_coll_msg *begin(struct qv_fi_coll_op *op, uint32_t step, size_t bytes,
				    bool receives)
{
	struct qv_fi_coll_msg *msg = is_loose(op) ? malloc(sizeof *msg) : &op->msgs[step];

	if (!msg)
		return NULL;
	*msg = (struct qv_fi_coll_msg){.op = op,
				       .step = step,
				       .flying = true,
				       .receives = receives,
				       .bytes = bytes,
				       .next = op->loose};
	if (is_loose(op))
		op->loose = msg;
	op->flying++;
	return msg;
}

/* It is not under way any more. */
static void forget(struct qv_fi_coll_op *op, struct qv_fi_coll_msg *msg)
{
	struct qv_fi_coll_msg **at = &op->loose;

	op->flying--;
	msg->flying = false;
	if (!is_loose(op))
		return;
	while (*at != msg)
		at = &(*at)->next;
	*at = msg->next;
	free(msg);
}

/* The mode's answer to the start of a message. */
static int begun(struct qv_fi_coll_op *op, struct qv_fi_coll_msg *msg, int status)
{
	if (status == QV_OK)
		return QV_OK;
	forget(op, msg);
	return status == QV_ENOMEM ? QV_EAGAIN : status; /* memory may come back */
}

int qv_fi_coll_op_send(void *port, uint32_t step, uint32_t rank, uint32_t tag, const void *buf,
		       size_t bytes)
{
	struct qv_fi_coll_op *op = port;
	struct qv_fi_ep *ep = op->coll->ep;
	const struct qv_fi_coll_io io = {tag_of(op, rank, tag), (void *)(uintptr_t)buf, bytes,
					 begin(op, step, bytes, false)};

	if (!io.context)
		return QV_EAGAIN;
	return begun(op, io.context, ep->mode->coll_send(ep, op->group->addrs[rank], &io));
}

int qv_fi_coll_op_receive(void *port, uint32_t step, uint32_t rank, uint32_t tag, void *buf,
			  size_t bytes)
{
	struct qv_fi_coll_op *op = port;
	struct qv_fi_ep *ep = op->coll->ep;
	const struct qv_fi_coll_io io = {tag_of(op, op->group->rank, tag), buf, bytes,
					 begin(op, step, bytes, true)};

	if (!io.context)
		return QV_EAGAIN;
	return begun(op, io.context, ep->mode->coll_recv(ep, op->group->addrs[rank], &io));
}

static const struct qv_port port_calls = {qv_fi_coll_op_send, qv_fi_coll_op_receive};
static const struct qv_exchange_port exchange_calls = {qv_fi_coll_op_send, qv_fi_coll_op_receive};

/* Of so many bytes; those of a schedule are of the length that its other end has, too. */
static void message_done(struct qv_fi_coll_msg *msg, size_t bytes, int status)
{
	struct qv_fi_coll_op *op = msg->op;
	const uint32_t step = msg->step;
	const bool receives = msg->receives;

	if (!status && !is_loose(op) && bytes != msg->bytes)
		status = QV_EPROTO;
	forget(op, msg);
	if (op->stream)
		qv_fi_stream_done(op->stream, step, receives, bytes, status);
	else if (op->exchange)
		qv_exchange_done(op->exchange, step, bytes, status);
	else
		qv_run_done(op->run, step, status);
}

void qv_fi_coll_sent(void *context)
{
	const struct qv_fi_coll_msg *msg = context;

	if (msg) /* a notice has none */
		message_done(context, msg->bytes, QV_OK);
}

/* A receive, a failed send, or a look for messages to discard. */
void qv_fi_coll_comp(const struct qv_comp *c)
{
	struct qv_fi_coll_msg *msg = c->context;

	if (c->cookie & QV_CK_PEEK) {
		*(bool *)c->context = c->status == QV_OK;
	} else if (!msg) {
		return;
	} else if (!msg->op) {
		msg->group->listening = false;
		msg->group->heard = c->status != QV_ECANCELED;
	} else {
		message_done(msg, c->recv ? c->full : msg->bytes, c->status);
	}
}

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

/* Receives are taken back; sends end when their peers have them, or are gone. */
static void take_back(struct qv_fi_coll_op *op)
{
	struct qv_fi_ep *ep = op->coll->ep;
	struct qv_fi_coll_msg *msg;
	size_t n;

	if (op->by_memory)
		return;
	if (is_loose(op)) { /* cancelling one may free it at once */
		while ((msg = op->loose)) {
			while (msg && !msg->receives)
				msg = msg->next;
			if (!msg)
				return;
			msg->receives = false;
			ep->mode->coll_cancel(ep, msg);
		}
		return;
	}
	qv_schedule_steps(op->plan ? op->plan->schedule : op->schedule, &n);
	for (size_t i = 0; i < n && op->flying; i++)
		if (op->msgs[i].flying && op->msgs[i].receives)
			ep->mode->coll_cancel(ep, &op->msgs[i]);
}

void qv_fi_coll_op_end(struct qv_fi_coll_op *op, int status)
{
	if (op->status)
		return;
	op->status = status;
	take_back(op);
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
		if (QV_UNLIKELY(g->heard || g->failed))
			qv_fi_group_progress(g);
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
