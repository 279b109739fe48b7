/* SPDX-License-Identifier: BSD-2-Clause */
/* take.c - whether a call is ours, and by what it is run. The same on all ranks. */
#include "engine/team/team.h"
#include "mpi_glue/glue.h"

#include <limits.h>
#include <stdlib.h>

/* Whether this rank's result is significant. */
static bool has_result(const struct qv_mpi_call *call, const struct qv_mpi_comm *c)
{
	return call->coll != QV_COLL_REDUCE || c->rank == call->root;
}

/* Arguments that are wrong, or that only the MPI can judge, are the MPI's. Buffers are each rank's
 * own affair: they tell nothing, unless no MPI could run the call with them. One that is given for
 * both contribution and result is in place. */
enum qv_mpi_reason qv_mpi_judge(const struct qv_mpi_call *call, const struct qv_mpi_comm *c)
{
	const enum qv_mpi_reason why = qv_mpi_comm_judge(c);

	if (why != QV_MPI_TAKEN || call->coll == QV_COLL_BARRIER)
		return why;
	if (call->root < 0 || call->root >= c->ranks || call->op == MPI_OP_NULL ||
	    call->type == MPI_DATATYPE_NULL || call->count > INT_MAX)
		return QV_MPI_ODD_ARGUMENT;
	if (call->unequal)
		return QV_MPI_UNEQUAL;
	if (!call->count)
		return QV_MPI_EMPTY;
	/* In place is an error. MPIs that judge arguments say so at once. */
	if (call->coll == QV_COLL_BROADCAST)
		return call->out == MPI_IN_PLACE ? QV_MPI_ODD_ARGUMENT : QV_MPI_TAKEN;
	if (call->coll == QV_COLL_EXSCAN && !c->rank) /* gets nothing, wherever that would be */
		return QV_MPI_TAKEN;
	if (qv_mpi_is_exchange(call)) /* a rank alone may be in error here: the MPI must not wait */
		return QV_MPI_TAKEN;
	if ((has_result(call, c) ? call->out : call->in) == MPI_IN_PLACE)
		return QV_MPI_ODD_ARGUMENT;
	return QV_MPI_TAKEN;
}

enum qv_mpi_reason qv_mpi_judge_form(const struct qv_mpi_comm *c, enum qv_mpi_form form)
{
	if (form != QV_MPI_BLOCKING && !qv_mpi.hook_here)
		return QV_MPI_NO_HOOK;
	if (form == QV_MPI_NONBLOCKING && c->dup == MPI_COMM_NULL)
		return QV_MPI_NO_DUP;
	return form == QV_MPI_INIT && c->persistent >= qv_mpi.persistent ? QV_MPI_TOO_MANY
									 : QV_MPI_TAKEN;
}

static enum qv_mpi_reason judge_form(const struct qv_mpi_call *call, const struct qv_mpi_comm *c,
				     const struct qv_mpi_reduce *r)
{
	if (call->count > INT_MAX / r->item)
		return QV_MPI_TOO_LONG;
	if (call->form != QV_MPI_BLOCKING && qv_mpi.hook_here && r->user)
		return QV_MPI_USER_OP;
	return qv_mpi_judge_form(c, call->form);
}

/* Of the types that MPIs judge at once, also where a rank alone is in error. Open MPI judges what is received in an
 * alltoall only, and neither side of a scatter: with such a type it would wait for ranks that run ours. */
static bool is_committed(const struct qv_mpi_call *call)
{
	if (call->coll == QV_COLL_BROADCAST)
		return qv_mpi_is_committed(call->type);
	if (call->coll == QV_COLL_ALLTOALL && !qv_mpi_is_committed(call->out_type))
		return false;
	return call->coll == QV_COLL_SCATTER || call->in == MPI_IN_PLACE ||
	       qv_mpi_is_committed(call->in_type);
}

/* What the elements are: of a broadcast bytes, since each rank may have another type
 * for the same. */
static enum qv_mpi_reason judge_data(const struct qv_mpi_call *call, struct qv_mpi_reduce *r)
{
	int size;

	*r = (struct qv_mpi_reduce){.item = 1};
	if (call->coll == QV_COLL_BARRIER)
		return QV_MPI_TAKEN;
	if (qv_mpi_is_exchange(call)) /* in bytes */
		return is_committed(call) ? QV_MPI_TAKEN : QV_MPI_ODD_ARGUMENT;
	if (call->coll != QV_COLL_BROADCAST)
		return qv_mpi_reduce_of(call->op, call->type, r);
	if (!is_committed(call) || PMPI_Type_size(call->type, &size) || size < 0)
		return QV_MPI_ODD_ARGUMENT;
	r->item = (size_t)size;
	return size ? QV_MPI_TAKEN : QV_MPI_EMPTY;
}

void qv_mpi_comes_again(struct qv_mpi_call *call)
{
	if (call->trial)
		call->trial->again = true;
	call->trial = NULL;
	if (call->observed)
		qv_mpi_habit(call->observed, call->coll)->again = true;
	call->observed = NULL;
}

static struct qv_mpi_op *fail(struct qv_mpi_call *call, int error)
{
	qv_mpi_comes_again(call);
	return qv_mpi_op_failed(call->comm, error, false);
}

/* By memory each rank combines a slice of a long vector, so a reduce holds all until the last has come.
 * Where some come late by habit `auto` tries schedules instead. */
#define LONG_REDUCE 8192 /* bytes */

static bool holds_early_ranks(const struct qv_mpi_comm *c, const struct qv_mpi_call *call,
			      size_t item)
{
	return call->coll == QV_COLL_REDUCE && call->count * item > LONG_REDUCE &&
	       qv_mpi_late(c, call->coll);
}

/* Whether the call goes through memory of the node: always, or where `auto` finds that faster than
 * the MPI. Else *why is QV_MPI_TAKEN if a schedule may take it. */
static bool is_for_memory(struct qv_mpi_comm *c, struct qv_mpi_call *call,
			  const struct qv_mpi_reduce *r, enum qv_mpi_reason *why)
{
	const bool named = qv_mpi.rules->memory[call->coll];

	*why = QV_MPI_TAKEN;
	/* A device combines arrays of schedules only. */
	if (!named && (!qv_mpi.rules->automatic[call->coll] || !qv_mpi_memory_has(call->coll) ||
		       qv_mpi_offload_wanted()))
		return false;
	if (call->form != QV_MPI_BLOCKING)
		*why = QV_MPI_NOT_BLOCKING;
	else if (r->user && r->item > QV_TEAM_ITEM)
		*why = QV_MPI_TOO_LONG;
	else if (!qv_mpi_memory_open(c) || !qv_mpi_memory_serves(c, call, r))
		*why = QV_MPI_APART;
	else if (!named && holds_early_ranks(c, call, r->item))
		*why = QV_MPI_SLOWER;
	else if (named || qv_mpi_autotune_turn(c, call, call->count * r->item, r, true, why))
		return true;
	/* Of ranks on one node schedules win reductions only. */
	if (!named && *why != QV_MPI_TRIED && *why != QV_MPI_FAILED &&
	    (*why != QV_MPI_SLOWER || call->coll <= QV_COLL_REDUCE_SCATTER || c->nodes))
		*why = QV_MPI_TAKEN;
	if (*why == QV_MPI_SLOWER)
		qv_mpi_pass(c, call, r);
	return false;
}

/* Nothing is known of nonblocking calls of this kind, but that some ranks are late: nobody can time them. */
static bool is_untried(const struct qv_mpi_comm *c, const struct qv_mpi_call *call,
		       enum qv_mpi_reason why)
{
	return why == QV_MPI_TRIED && call->form == QV_MPI_NONBLOCKING &&
	       qv_mpi_late(c, call->coll) && qv_expect_serves(call->coll);
}

static struct qv_mpi_op *take(struct qv_mpi_call *call, enum qv_mpi_reason *why)
{
	struct qv_mpi_comm *c = call->poor ? NULL : qv_mpi_comm_of(call->comm);
	struct qv_mpi_reduce r;
	struct qv_mpi_plan *plan;
	struct qv_mpi_op *op;
	bool untried;
	int error;

	if (qv_mpi_comm_is_missing(c, call->comm, call->form))
		return fail(call, MPI_ERR_NO_MEM);
	*why = c ? qv_mpi_judge(call, c) : QV_MPI_ODD_ARGUMENT;
	if (*why == QV_MPI_TAKEN)
		*why = judge_data(call, &r);
	if (*why == QV_MPI_TAKEN)
		*why = judge_form(call, c, &r);
	if (*why != QV_MPI_TAKEN)
		return NULL;
	if (is_for_memory(c, call, &r, why))
		return qv_mpi_memory_run(c, call, &r);
	if (*why != QV_MPI_TAKEN)
		return *why == QV_MPI_FAILED ? fail(call, MPI_ERR_NO_MEM) : NULL;
	/* Before the turn of a trial, or the MPI's call would be timed as ours. */
	if (call->form == QV_MPI_BLOCKING && !qv_mpi_comm_open(c)) {
		*why = QV_MPI_DUP_REFUSED;
		return NULL;
	}
	untried = qv_mpi.rules->automatic[call->coll] &&
		  !qv_mpi_autotune_turn(c, call, call->count * r.item, &r, false, why);
	if (untried && !is_untried(c, call, *why)) {
		if (*why == QV_MPI_SLOWER)
			qv_mpi_pass(c, call, &r);
		return *why == QV_MPI_FAILED ? fail(call, MPI_ERR_NO_MEM) : NULL;
	}
	if (call->form == QV_MPI_INIT && !qv_mpi_comm_open(c)) {
		*why = QV_MPI_DUP_REFUSED;
		return NULL;
	}
	plan = qv_mpi_plan_of(c, call, call->count * r.item, r.ordered, why);
	if (!plan)
		return *why == QV_MPI_FAILED ? fail(call, MPI_ERR_NO_MEM) : NULL;
	if (untried && !plan->plan->by_arrival) { /* the model gains nothing by what is expected */
		qv_mpi_plan_put(plan);
		*why = QV_MPI_TRIED;
		return NULL;
	}
	op = qv_mpi_op_get(c, plan);
	if (!op)
		return fail(call, MPI_ERR_NO_MEM);
	op->reduce = r;
	op->error = qv_mpi_arrange(op, call);
	qv_mpi_op_open(op, call->form);
	error = qv_mpi_op_dropped(op);
	if (error)
		return fail(call, error);
	qv_mpi_count(call->name, call->form, plan->way);
	if (plan->plan->by_arrival)
		qv_mpi_count_by_arrival();
	return op;
}

/* `auto` of a blocking broadcast is memory or the MPI, whoever is late, once all ranks have found that they have
 * memory of a node. */
static bool takes_no_tree(const struct qv_mpi_comm *c, enum qv_coll coll)
{
	return coll == QV_COLL_BROADCAST && c->team && !c->nodes && qv_mpi.rules->automatic[coll] &&
	       !qv_mpi_offload_wanted();
}

/* Note when this rank comes to the call; NULL, or what failed. */
static struct qv_mpi_op *observe(struct qv_mpi_call *call)
{
	struct qv_mpi_comm *c = call->poor ? NULL : qv_mpi_comm_of(call->comm);

	if (qv_mpi_comm_is_missing(c, call->comm, call->form))
		return fail(call, MPI_ERR_NO_MEM); /* others observe it, and would count one more */
	if (!c || c->told || qv_mpi_comm_judge(c) != QV_MPI_TAKEN)
		return NULL;
	if (takes_no_tree(c, call->coll)) {
		qv_mpi_habit(c, call->coll)->late = 0; /* nobody finds out any more */
		return NULL;
	}
	if (qv_mpi_expect_begin(c, call->coll))
		return fail(call, MPI_ERR_NO_MEM);
	call->observed = c;
	return NULL;
}

struct qv_mpi_op *qv_mpi_take(struct qv_mpi_call *call)
{
	enum qv_mpi_reason why = QV_MPI_NOT_CHOSEN;
	struct qv_mpi_op *op = NULL;

	if (!qv_mpi.on)
		return NULL;
	if (call->form == QV_MPI_BLOCKING && qv_mpi.rules->observed[call->coll] &&
	    (op = observe(call)))
		return op;
	if (call->form == QV_MPI_BLOCKING && (op = qv_mpi_memory_again(call)))
		return op;
	if (qv_mpi.rules->ours[call->coll])
		op = take(call, &why);
	else
		qv_mpi_comm_used(call->comm);
	call->by_mpi = !op;
	if (!op)
		qv_mpi_count(call->name, call->form, why);
	return op;
}
