/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - messages of an operation, which go as the endpoint's mode has it. */
#include "coll.h"

#include <stdlib.h>

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

void qv_fi_coll_take_back(struct qv_fi_coll_op *op)
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
