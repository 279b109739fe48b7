/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_coll_op.c - operations under way: a run of a schedule whose messages go through the
 * endpoint's protocol, and the completion in the end.
 */
#include "qv_fi_coll.h"

#include <stdlib.h>
#include <string.h>

/* ---- the network of a run ----------------------------------------------------------------------
 */
static uint64_t tag_of(const struct qv_fi_coll_op *op, uint32_t receiver, uint32_t tag)
{
	const struct qv_fi_group *group = op->group;
	uint64_t high = op->tag | (tag & 0xffff);

	/* Messages of one pair come in order, so the number of one may wrap. */
	return op->kind == QV_FI_COLL_JOIN ? high : high | group->members[receiver].id << 32;
}

static struct qv_fi_coll_msg *begin(struct qv_fi_coll_op *op, uint32_t step, size_t bytes,
				    bool receives)
{
	struct qv_fi_coll_msg *msg = &op->msgs[step];

	*msg = (struct qv_fi_coll_msg){
		.op = op, .step = step, .flying = true, .receives = receives, .bytes = bytes};
	op->flying++;
	return msg;
}

/* The protocol's answer to the start of a message. */
static int begun(struct qv_fi_coll_op *op, struct qv_fi_coll_msg *msg, int status)
{
	if (status == QV_OK)
		return QV_OK;
	msg->flying = false;
	op->flying--;
	return status == QV_ENOMEM ? QV_EAGAIN : status; /* memory may come back */
}

static int port_send(void *port, uint32_t step, uint32_t rank, uint32_t tag, const void *buf,
		     size_t bytes)
{
	struct qv_fi_coll_op *op = port;
	struct qv_fi_ep *ep = op->coll->ep;
	struct qv_peer *peer = qv_fi_peer(ep, op->group->addrs[rank]);
	const struct iovec iov = {(void *)(uintptr_t)buf, bytes};
	struct qv_send_args args = {.iov = &iov,
				    .cnt = 1,
				    .tag = tag_of(op, rank, tag),
				    .flags = QV_REQ_COLL,
				    .cookie = QV_CK_COLL};

	if (!peer)
		return QV_EPEER;
	args.context = begin(op, step, bytes, false);
	return begun(op, args.context, qv_proto_send(ep->proto, peer, &args));
}

static int port_receive(void *port, uint32_t step, uint32_t rank, uint32_t tag, void *buf,
			size_t bytes)
{
	struct qv_fi_coll_op *op = port;
	struct qv_fi_ep *ep = op->coll->ep;
	const struct iovec iov = {buf, bytes};
	struct qv_recv_args args = {.iov = &iov,
				    .cnt = 1,
				    .from = qv_fi_peer(ep, op->group->addrs[rank]),
				    .tag = tag_of(op, op->group->rank, tag),
				    .flags = QV_REQ_COLL,
				    .cookie = QV_CK_COLL};

	if (!args.from)
		return QV_EPEER;
	args.context = begin(op, step, bytes, true);
	return begun(op, args.context, qv_proto_recv(ep->proto, &args));
}

static const struct qv_port port_calls = {port_send, port_receive};

static void combine(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const struct qv_fi_coll_op *op = context;

	/* The call was checked, so that this cannot fail. */
	qv_fi_offload_combine(op->coll->ep, op->coll->combine, op->op, op->type, dst, a, b, count);
}

static void message_done(struct qv_fi_coll_msg *msg, int status)
{
	struct qv_fi_coll_op *op = msg->op;

	msg->flying = false;
	op->flying--;
	qv_run_done(op->run, msg->step, status);
}

void qv_fi_coll_sent(void *context)
{
	if (context) /* a notice has none */
		message_done(context, QV_OK);
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
		message_done(msg, c->status == QV_OK && c->recv && c->full != msg->bytes
					  ? QV_EPROTO
					  : c->status);
	}
}

/* ---- the end -----------------------------------------------------------------------------------
 */
static void free_op(struct qv_fi_coll_op *op)
{
	if (op->plan)
		qv_select_put(op->coll->select, op->plan);
	qv_schedule_free(op->schedule);
	qv_run_free(op->run);
	free(op->memory);
	free(op);
}

static void report(const struct qv_fi_coll_op *op)
{
	const struct qv_fi_pass done = {
		.context = op->context, .flags = FI_COLLECTIVE, .entry = op->entry};

	qv_fi_pass_complete(op->coll->ep, &done, qv_fi_errno(op->status));
}

/* It is off the list. */
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
	case QV_FI_COLL_EXCHANGE:
		if (group)
			group->exchanging = false;
		break;
	default:
		group->ops--;
		qv_fi_coll_ended(group);
		report(op);
	}
	free_op(op);
}

/* Receives are taken back; sends end when their peers have them, or are gone. */
static void take_back(struct qv_fi_coll_op *op)
{
	size_t n;

	qv_schedule_steps(op->plan ? op->plan->schedule : op->schedule, &n);
	for (size_t i = 0; i < n && op->flying; i++)
		if (op->msgs[i].flying && op->msgs[i].receives)
			qv_proto_cancel_coll(op->coll->ep->proto, &op->msgs[i]);
}

void qv_fi_coll_abort(struct qv_fi_coll *coll, struct qv_fi_group *group, int status)
{
	for (struct qv_fi_coll_op *op = coll->ops; op; op = op->next)
		if (op->group == group && !op->status) {
			op->status = status;
			take_back(op);
		}
}

/* Is it over? */
static bool move_on(struct qv_fi_coll_op *op)
{
	int status;

	if (!op->status) {
		status = qv_run_progress(op->run);
		if (status == QV_EAGAIN)
			return false;
		if (status == QV_OK)
			return true;
		op->status = status;
		take_back(op);
		qv_fi_group_fail(op->group, status); /* who left it has set the status */
	}
	return !op->flying;
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
		if (!op->status) {
			op->status = QV_ECANCELED;
			take_back(op);
		}
		op->memory = group->told; /* a message may be on its way from it */
		group->told = NULL;
		op->group = NULL;
	}
}

void qv_fi_coll_drop(struct qv_fi_coll *coll)
{
	struct qv_fi_coll_op *op;

	while ((op = coll->ops)) {
		coll->ops = op->next;
		free_op(op);
	}
}

/* ---- the beginning -----------------------------------------------------------------------------
 */
static struct qv_fi_coll_op *new_op(struct qv_fi_coll *coll, struct qv_fi_group *group,
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

static void start(struct qv_fi_coll_op *op)
{
	qv_run_start(op->run, &op->data);
	op->group->ops += op->kind != QV_FI_COLL_EXCHANGE;
	*op->coll->ops_tail = op;
	op->coll->ops_tail = &op->next;
}

/* Of items that all members have one of, and that all get. */
static int start_allgather(struct qv_fi_coll *coll, struct qv_fi_group *group,
			   enum qv_fi_coll_kind kind, uint64_t tag, const struct qv_run_data *data)
{
	const struct qv_schedule_spec spec = {
		.coll = QV_COLL_ALLGATHER, .algorithm = QV_ALG_DISSEMINATION, .ranks = group->n};
	struct qv_schedule *schedule;
	struct qv_fi_coll_op *op;

	if (qv_schedule_build(&spec, group->rank, &schedule))
		return -FI_ENOMEM;
	op = new_op(coll, group, schedule);
	if (!op) {
		qv_schedule_free(schedule);
		return -FI_ENOMEM;
	}
	op->kind = kind;
	op->schedule = schedule;
	op->tag = tag;
	op->data = *data;
	op->data.count = group->n;
	op->data.in = (char *)data->work + group->rank * data->item;
	start(op);
	return 0;
}

int qv_fi_coll_start_join(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	return start_allgather(
		coll, group, QV_FI_COLL_JOIN,
		UINT64_C(1) << 63 | (group->hash & UINT64_C(0x7fffffffffff)) << 16,
		&(struct qv_run_data){.item = sizeof(struct qv_fi_member), .work = group->members});
}

int qv_fi_coll_start_exchange(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	const struct qv_run_data data = {.item = sizeof(*group->told), .work = group->told};
	int ret = start_allgather(coll, group, QV_FI_COLL_EXCHANGE, (uint64_t)group->seq << 16,
				  &data);

	if (!ret)
		group->seq++;
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
	if (call->coll != QV_COLL_REDUCE_SCATTER && call->coll != QV_COLL_SCATTER)
		return;
	op->bytes = block;
	op->from = (char *)d->work + rank * block;
	op->to = call->result;
	if (op->to == op->from)
		op->bytes = 0;
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

int qv_fi_coll_start(struct qv_fi_coll *coll, const struct qv_fi_coll_call *call)
{
	struct qv_fi_group *group = qv_fi_group_find(coll, call->group);
	struct qv_fi_coll_op ask = {.coll = coll, .group = group}, *op;
	struct qv_select_call select;
	const struct qv_plan *plan;
	const uint64_t *arrive;
	uint32_t root = 0;
	int ret;

	if (!group)
		return -FI_EINVAL;
	if (group->failed)
		return -qv_fi_errno(group->failed);
	if (!group->joined)
		return -FI_EOPBADSTATE;
	if (call->root != FI_ADDR_NOTAVAIL && (root = rank_of(group, call->root)) == group->n)
		return -FI_EINVAL;
	ret = judge(&ask, call);
	if (!ret)
		ret = qv_fi_coll_expect(coll, group, call->coll, &arrive);
	if (ret)
		return ret;
	select = (struct qv_select_call){.group = group->id,
					 .coll = call->coll,
					 .ranks = group->n,
					 .rank = group->rank,
					 .root = root,
					 .bytes = ask.data.count * ask.data.item,
					 .arrive = arrive};
	if (qv_select_get(coll->select, &select, &plan))
		return -FI_ENOMEM;
	op = new_op(coll, group, plan->schedule);
	if (!op) {
		qv_select_put(coll->select, plan);
		return -FI_ENOMEM;
	}
	op->plan = plan;
	op->op = ask.op;
	op->type = ask.type;
	op->data = ask.data;
	ret = prepare(op, call, root);
	if (ret) {
		free_op(op);
		return ret;
	}
	op->tag = (uint64_t)group->seq++ << 16;
	qv_fi_coll_expected(group, call->coll);
	op->context = call->context;
	op->entry = !coll->ep->tx_selective || call->flags & FI_COMPLETION;
	start(op);
	return 0;
}
