/* SPDX-License-Identifier: BSD-2-Clause */
/* take.c - whether a call is ours, and what is to be done for it. The same on all ranks. */
#include "mpi_glue/glue.h"

#include <limits.h>
#include <stdlib.h>

static bool is_exchange(const struct qv_mpi_call *call)
{
	return call->coll == QV_COLL_ALLGATHER || call->coll == QV_COLL_ALLTOALL;
}

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
	if (call->coll == QV_COLL_BROADCAST)
		return QV_MPI_TAKEN;
	if (is_exchange(call)) /* a rank alone may be in error here: the MPI must not wait */
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

/* What the elements are: of a broadcast bytes, since each rank may have another type
 * for the same. */
static enum qv_mpi_reason judge_data(const struct qv_mpi_call *call, struct qv_mpi_reduce *r)
{
	int size;

	*r = (struct qv_mpi_reduce){.item = 1};
	if (call->coll == QV_COLL_BARRIER || is_exchange(call)) /* the latter in bytes */
		return QV_MPI_TAKEN;
	if (call->coll != QV_COLL_BROADCAST)
		return qv_mpi_reduce_of(call->op, call->type, r);
	if (PMPI_Type_size(call->type, &size) || size < 0)
		return QV_MPI_ODD_ARGUMENT;
	r->item = (size_t)size;
	return size ? QV_MPI_TAKEN : QV_MPI_EMPTY;
}

int qv_mpi_keep_type(MPI_Datatype type, MPI_Datatype *kept)
{
	/* MPI_Type_dup would call the program's functions that copy attributes. */
	const int rc = PMPI_Type_contiguous(1, type, kept);

	return rc ? rc : PMPI_Type_commit(kept);
}

int qv_mpi_make_room(struct qv_mpi_op *op, size_t bytes)
{
	if (op->room_bytes >= bytes)
		return MPI_SUCCESS;
	free(op->room);
	op->room = malloc(bytes);
	op->room_bytes = op->room ? bytes : 0;
	return op->room ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

bool qv_mpi_is_plain(MPI_Datatype type)
{
	MPI_Aint low, extent;
	int integers, addresses, types, combiner, size;

	return !PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) &&
	       combiner == MPI_COMBINER_NAMED && !PMPI_Type_get_extent(type, &low, &extent) &&
	       !PMPI_Type_size(type, &size) && low == 0 && extent == size;
}

/* Where the own block of an allgather in place begins. */
static const void *own_block(const struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	MPI_Aint low, extent = 0;

	PMPI_Type_get_extent(call->out_type, &low, &extent);
	return (const char *)call->out + extent * call->out_count * op->c->rank;
}

/* The root's bytes go to everybody; what does not lie in one piece is packed. */
static int arrange_broadcast(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const size_t bytes = call->count * op->reduce.item;
	void *work = call->out;
	int rc = MPI_SUCCESS;

	if (!qv_mpi_is_plain(call->type)) {
		rc = qv_mpi_make_room(op, bytes);
		/* The program may free its own before the end. */
		if (!rc)
			rc = qv_mpi_keep_type(call->type, &op->packed);
		work = op->room;
		op->out = call->out;
		op->out_count = (int)call->count;
		op->is_root = op->c->rank == call->root;
	}
	op->data = (struct qv_run_data){.item = 1, .count = bytes, .in = work, .work = work};
	return rc;
}

/* Where the blocks of an allgather or alltoall are. Those that do not lie as they travel are packed
 * into room, or unpacked from it at the end. The program may free its types before. */
static int arrange_exchange(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const size_t whole = call->count, block = whole / (size_t)op->c->ranks;
	const bool all = call->coll == QV_COLL_ALLTOALL, in_place = call->in == MPI_IN_PLACE;
	const bool plain_out = qv_mpi_is_plain(call->out_type);
	const bool plain_in = in_place ? !all : qv_mpi_is_plain(call->in_type);
	const size_t scratch = qv_schedule_scratch(op->plan->schedule) * block;
	const size_t in = plain_in && (!in_place || plain_out) ? 0 : all ? whole : block;
	char *room;
	int rc = qv_mpi_make_room(op, whole * !plain_out + in + scratch + 1);

	if (rc)
		return rc;
	room = op->room;
	op->data =
		(struct qv_run_data){.item = 1, .count = whole, .in = call->in, .work = call->out};
	if (!plain_out) {
		op->data.work = room;
		rc = qv_mpi_keep_type(call->out_type, &op->packed);
		op->out = call->out;
		op->out_count = call->out_count * op->c->ranks;
		op->is_root = false;
		room += whole;
	}
	if (in) {
		op->data.in = op->to = room;
		op->to_bytes = in;
		op->from = in_place ? call->out : call->in;
		op->from_count = call->in_count * (all ? op->c->ranks : 1);
		room += in;
	} else if (in_place) {
		op->data.in = (char *)call->out + block * (size_t)op->c->rank;
	}
	if (in && in_place && !all)
		op->from = own_block(op, call);
	if (in && !rc)
		rc = qv_mpi_keep_type(call->in_type, &op->sent);
	op->data.temp = room;
	return rc;
}

/* Say where contribution, work and result are; make room for what the caller does not have. */
static int arrange_reduction(struct qv_mpi_op *op, const struct qv_mpi_call *call)
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

	if (qv_mpi_make_room(op, vectors * bytes))
		return MPI_ERR_NO_MEM;
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
	if (scatter) {
		op->out_bytes = bytes / (size_t)c->ranks;
		op->result = work + op->out_bytes * (size_t)c->rank;
		op->out = call->out;
	}
	return MPI_SUCCESS;
}

static int arrange(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	op->result = NULL;
	op->packed = op->sent = MPI_DATATYPE_NULL;
	if (is_exchange(call))
		return arrange_exchange(op, call);
	if (call->coll == QV_COLL_BROADCAST)
		return arrange_broadcast(op, call);
	if (call->coll != QV_COLL_BARRIER)
		return arrange_reduction(op, call);
	op->data = (struct qv_run_data){.item = 1, .in = op, .work = op}; /* of no bytes */
	return MPI_SUCCESS;
}

static struct qv_mpi_bypass *bypass(struct qv_mpi_comm *c, const struct qv_mpi_call *call)
{
	const uint64_t key = (uint64_t)(uintptr_t)call->op + call->count;

	return &c->bypass[call->coll][key * 0x9E3779B97F4A7C15u >> 61];
}

/* Whether `auto` has left a call like this to the MPI. */
static bool is_bypassed(struct qv_mpi_comm *c, const struct qv_mpi_call *call)
{
	const struct qv_mpi_bypass *t = bypass(c, call);

	return t->count == call->count && t->type == call->type && t->op == call->op &&
	       t->expects == (c->arrive != NULL);
}

/* Remember that it does; elements in one piece and an operation of the MPI's are
 * needed for that. */
static void remember(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
		     const struct qv_mpi_reduce *r)
{
	if (r->user || !call->count ||
	    (call->coll == QV_COLL_BROADCAST && !qv_mpi_is_plain(call->type)))
		return;
	*bypass(c, call) =
		(struct qv_mpi_bypass){call->count, call->type, call->op, c->arrive != NULL};
}

/* No memory. What was timed is not over, so nobody is told how long it took. */
static struct qv_mpi_op *fail(struct qv_mpi_call *call, struct qv_mpi_comm *c)
{
	call->trial = NULL;
	return qv_mpi_op_failed(c, MPI_ERR_NO_MEM, false);
}

/* `auto` does not try longer vectors and blocks: they are copied twice, which an MPI that reads from
 * the other process does once, and a trial between processors that are near says nothing of what it
 * takes when the kernel has moved a rank to a far one. An allreduce combines on the way. */
#define MOST_COPIED_TWICE 8192

static bool is_short(const struct qv_mpi_comm *c, const struct qv_mpi_call *call, size_t item)
{
	const size_t bytes = call->count * item;

	return call->coll == QV_COLL_ALLREDUCE ||
	       (is_exchange(call) ? bytes / (size_t)c->ranks : bytes) <= MOST_COPIED_TWICE;
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
	else if (!qv_mpi_memory_open(c))
		*why = QV_MPI_APART;
	else if (!named && !is_short(c, call, r->item))
		*why = QV_MPI_SLOWER;
	else if (named || qv_mpi_autotune_turn(c, call, call->count * r->item, r, true, why))
		return true;
	/* Of ranks on one node schedules win reductions only. */
	if (!named && *why != QV_MPI_TRIED && *why != QV_MPI_FAILED &&
	    (*why != QV_MPI_SLOWER || call->coll <= QV_COLL_REDUCE_SCATTER))
		*why = QV_MPI_TAKEN;
	if (*why == QV_MPI_SLOWER)
		remember(c, call, r);
	return false;
}

static struct qv_mpi_op *take(struct qv_mpi_call *call, enum qv_mpi_reason *why)
{
	struct qv_mpi_comm *c = qv_mpi_comm_of(call->comm);
	struct qv_mpi_reduce r;
	struct qv_mpi_plan *plan;
	struct qv_mpi_op *op;
	int rc;

	*why = QV_MPI_SLOWER;
	if (c && qv_mpi.rules->automatic[call->coll] && call->count && is_bypassed(c, call))
		return NULL;
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
		return *why == QV_MPI_FAILED ? fail(call, c) : NULL;
	if (qv_mpi.rules->automatic[call->coll] &&
	    !qv_mpi_autotune_turn(c, call, call->count * r.item, &r, false, why)) {
		if (*why == QV_MPI_SLOWER)
			remember(c, call, &r);
		return *why == QV_MPI_FAILED ? fail(call, c) : NULL;
	}
	plan = qv_mpi_plan_of(c, call, call->count * r.item, r.ordered, why);
	if (!plan)
		return *why == QV_MPI_FAILED ? fail(call, c) : NULL;
	op = qv_mpi_op_get(c, plan);
	if (!op)
		return fail(call, c);
	op->reduce = r;
	op->error = arrange(op, call);
	rc = qv_mpi_op_open(op, call->form); /* in any case: the others do it */
	if (!op->error)
		op->error = rc;
	qv_mpi_count(call->name, call->form, plan->way);
	if (plan->plan->by_arrival)
		qv_mpi_count_by_arrival();
	return op;
}

struct qv_mpi_op *qv_mpi_take(struct qv_mpi_call *call)
{
	enum qv_mpi_reason why = QV_MPI_NOT_CHOSEN;
	struct qv_mpi_op *op = NULL;

	if (!qv_mpi.on)
		return NULL;
	if (call->form == QV_MPI_BLOCKING && (op = qv_mpi_memory_again(call)))
		return op;
	if (qv_mpi.rules->ours[call->coll])
		op = take(call, &why);
	if (!op)
		qv_mpi_count(call->name, call->form, why);
	return op;
}
