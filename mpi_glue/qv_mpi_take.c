/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_mpi_take.c - whether a call is ours, and what is to be done for it. The same on all ranks. */
#include "qv_mpi.h"

#include <limits.h>
#include <stdlib.h>

/* Arguments that are wrong, or that only the MPI can judge, are the MPI's. */
static enum qv_mpi_reason judge(const struct qv_mpi_call *call, const struct qv_mpi_comm *c)
{
	if (c->inter)
		return QV_MPI_INTER;
	if (c->ranks < 2)
		return QV_MPI_ALONE;
	if (call->root < 0 || call->root >= c->ranks || call->op == MPI_OP_NULL ||
	    call->type == MPI_DATATYPE_NULL || call->count > INT_MAX)
		return QV_MPI_ODD_ARGUMENT;
	if (call->unequal)
		return QV_MPI_UNEQUAL;
	if (!call->count)
		return QV_MPI_EMPTY;
	if (call->in == call->out || call->out == MPI_IN_PLACE)
		return QV_MPI_ODD_ARGUMENT;
	if (call->in == MPI_IN_PLACE && call->coll == QV_COLL_REDUCE && c->rank != call->root)
		return QV_MPI_ODD_ARGUMENT;
	return QV_MPI_TAKEN;
}

static enum qv_mpi_reason judge_form(const struct qv_mpi_call *call, const struct qv_mpi_comm *c,
				     const struct qv_mpi_reduce *r)
{
	if (call->count > INT_MAX / r->item)
		return QV_MPI_TOO_LONG;
	if (call->form == QV_MPI_BLOCKING)
		return QV_MPI_TAKEN;
	if (!qv_mpi.hook_here)
		return QV_MPI_NO_HOOK;
	if (r->user)
		return QV_MPI_USER_OP;
	return call->form == QV_MPI_INIT && c->persistent >= QV_MPI_SLOTS ? QV_MPI_TOO_MANY
									  : QV_MPI_TAKEN;
}

/* Say where contribution, work and result are; make room for what the caller does not have. */
static int arrange(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const struct qv_mpi_comm *c = op->c;
	const size_t bytes = call->count * op->reduce.item;
	const bool whole = call->coll == QV_COLL_ALLREDUCE ||
			   (call->coll == QV_COLL_REDUCE && c->rank == call->root);
	const bool scatter = call->coll == QV_COLL_REDUCE_SCATTER;
	/* Who only sends, sends from where it is. */
	const bool borrow = !whole && !op->plan->receives;
	const size_t vectors = (size_t)(!whole && !borrow) + (size_t)op->plan->combines;
	const void *in = call->in == MPI_IN_PLACE ? call->out : call->in;
	char *work;

	if (op->room_bytes < vectors * bytes) {
		free(op->room);
		op->room = malloc(vectors * bytes);
		op->room_bytes = op->room ? vectors * bytes : 0;
		if (!op->room)
			return MPI_ERR_NO_MEM;
	}
	work = whole ? call->out : borrow ? (void *)(uintptr_t)in : op->room;
	op->data = (struct qv_run_data){
		.reduce = qv_mpi_combine,
		.context = &op->reduce,
		.item = op->reduce.item,
		.count = call->count,
		.in = in,
		.work = work,
		.temp = (char *)op->room + (vectors > 1 ? bytes : 0),
	};
	op->result = NULL;
	if (scatter) {
		op->out_bytes = bytes / (size_t)c->ranks;
		op->result = work + op->out_bytes * (size_t)c->rank;
		op->out = call->out;
	}
	return MPI_SUCCESS;
}

static struct qv_mpi_op *take(const struct qv_mpi_call *call, enum qv_mpi_reason *why)
{
	struct qv_mpi_comm *c = qv_mpi_comm_of(call->comm);
	struct qv_mpi_reduce r;
	struct qv_mpi_plan *plan;
	struct qv_mpi_op *op;

	*why = c ? judge(call, c) : QV_MPI_ODD_ARGUMENT;
	if (*why == QV_MPI_TAKEN)
		*why = qv_mpi_reduce_of(call->op, call->type, &r);
	if (*why == QV_MPI_TAKEN)
		*why = judge_form(call, c, &r);
	if (*why != QV_MPI_TAKEN)
		return NULL;
	plan = qv_mpi_plan_of(c, call, &r, why);
	if (!plan)
		return NULL;
	op = qv_mpi_op_get(c, plan);
	if (!op)
		return NULL;
	op->reduce = r;
	op->form = call->form;
	if (op->form == QV_MPI_INIT) { /* they are started in any order, but made in one */
		op->number = (uint64_t)c->persistent++;
		op->tag = (QV_MPI_SLOTS + (int)op->number) * qv_mpi.slot;
	}
	op->error = arrange(op, call);
	if (!op->error)
		op->error = qv_mpi_comm_open(c);
	qv_mpi_count(call->name, call->form, QV_MPI_TAKEN + plan->algorithm);
	return op;
}

struct qv_mpi_op *qv_mpi_take(const struct qv_mpi_call *call)
{
	enum qv_mpi_reason why = QV_MPI_NOT_CHOSEN;
	struct qv_mpi_op *op = NULL;

	if (!qv_mpi.on)
		return NULL;
	if (qv_mpi.set[call->coll].choice != QV_MPI_CHOICE_MPI)
		op = take(call, &why);
	if (!op)
		qv_mpi_count(call->name, call->form, why);
	return op;
}
