/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks_take.c - whether a call on variable-length blocks is ours, and where
 * these are. The same on all ranks, though counts and types are not. */
#include "blocks.h"

#include <stdlib.h>

/* Where blocks are. */

/* Of how many blocks each side is, and which of the program's they are. */
struct shape {
	uint32_t in_n, out_n;
	const int *in_slots, *out_slots;
};

static struct shape shape_of(const struct qv_mpi_comm *c, const struct qv_mpi_blocks_call *call)
{
	const uint32_t ranks = (uint32_t)c->ranks, all = c->rank == call->root ? ranks : 0;
	const enum qv_mpi_name name = call->name;
	struct shape s = {ranks, ranks, NULL, NULL};

	if (qv_mpi_is_rooted_v(name))
		return name == QV_MPI_GATHERV ? (struct shape){1, all, NULL, NULL}
					      : (struct shape){all, 1, NULL, NULL};
	if (qv_mpi_is_neighbor(name))
		s = (struct shape){c->pattern->out.n, c->pattern->in.n, c->pattern->out.slots,
				   c->pattern->in.slots};
	if (qv_mpi_is_allgather(name)) {
		s.in_n = 1;
		s.in_slots = NULL;
	}
	return s;
}

/* The same as the program's arrays are, which have places for neighbours that are not there, too. */
static struct shape shape_of_arrays(const struct qv_mpi_comm *c,
				    const struct qv_mpi_blocks_call *call)
{
	int in_n, out_n;

	if (!qv_mpi_is_neighbor(call->name))
		return shape_of(c, call);
	qv_mpi_degrees(c, &in_n, &out_n);
	return (struct shape){qv_mpi_is_allgather(call->name) ? 1 : (uint32_t)out_n, (uint32_t)in_n,
			      NULL, NULL};
}

/* What is in place becomes an argument as any other. */
static struct qv_mpi_blocks_arg contribution(const struct qv_mpi_blocks_call *call, int rank)
{
	struct qv_mpi_blocks_arg in = call->in;

	if (in.buf != MPI_IN_PLACE)
		return in;
	in = call->out;
	if (call->name == QV_MPI_ALLGATHERV || call->name == QV_MPI_GATHERV) {
		in.counts = in.counts ? in.counts + rank : NULL;
		in.displs = in.displs ? in.displs + rank : NULL;
		in.wide_counts = in.wide_counts ? in.wide_counts + rank : NULL;
		in.wide_displs = in.wide_displs ? in.wide_displs + rank : NULL;
	}
	return in;
}

static int arrange(struct qv_mpi_op *op, const struct qv_mpi_blocks_call *call)
{
	const struct qv_mpi_made *made = op->plan->made;
	const struct qv_mpi_blocks_arg in = contribution(call, op->c->rank);
	const struct shape shape = shape_of(op->c, call);
	const bool in_place = call->in.buf == MPI_IN_PLACE && call->name == QV_MPI_ALLTOALLV;
	struct qv_mpi_blocks *b = op->blocks;
	bool pack_in, pack_out;
	size_t room;
	int rc = qv_mpi_layout_set(&b->in, &in, shape.in_n, shape.in_slots, 0);

	if (!rc)
		rc = qv_mpi_layout_set(&b->out, &call->out, shape.out_n, shape.out_slots,
				       b->passing);
	if (rc)
		return rc;
	pack_in = in_place || !b->in.plain || (made->wide_in && !qv_mpi_layout_in_a_row(&b->in));
	pack_out =
		!b->exchange && (!b->out.plain || (made->wide && !qv_mpi_layout_in_a_row(&b->out)));
	room = pack_in ? qv_mpi_layout_sum(&b->in) : 0;
	rc = qv_mpi_make_room(op, room + (pack_out ? qv_mpi_layout_sum(&b->out) : 0) + 1);
	if (rc)
		return rc;
	pack_in ? qv_mpi_layout_pack_at(&b->in, op->room) : qv_mpi_layout_stay(&b->in);
	pack_out ? qv_mpi_layout_pack_at(&b->out, (char *)op->room + room)
		 : qv_mpi_layout_stay(&b->out);
	b->asks = made->combines && (call->name == QV_MPI_NEIGHBOR_ALLGATHERV ||
				     call->name == QV_MPI_NEIGHBOR_ALLTOALLV || b->places);
	b->asked = b->asking = false;
	return MPI_SUCCESS;
}

/* Whether it is ours: the same on all ranks. */

static enum qv_mpi_reason judge(const struct qv_mpi_blocks_call *call, const struct qv_mpi_comm *c)
{
	enum qv_mpi_reason why;

	if (!c)
		return QV_MPI_ODD_ARGUMENT;
	why = qv_mpi_comm_judge(c);
	if (why == QV_MPI_TAKEN && (call->root < 0 || call->root >= c->ranks))
		return QV_MPI_ODD_ARGUMENT;
	if (why == QV_MPI_TAKEN && c->no_dup)
		return QV_MPI_DUP_REFUSED;
	return why == QV_MPI_TAKEN ? qv_mpi_judge_form(c, call->form) : why;
}

/* What is not significant on this rank, or is not moved, is of no elements. */
static void leave_out(struct qv_mpi_blocks_call *call, const struct qv_mpi_comm *c)
{
	const struct qv_mpi_blocks_arg nothing = {.type = MPI_BYTE};
	const bool gather = call->name == QV_MPI_GATHERV;

	if (!qv_mpi_is_rooted_v(call->name))
		return;
	if (c->rank != call->root)
		*(gather ? &call->out : &call->in) = nothing;
	else if (!gather && call->out.buf == MPI_IN_PLACE)
		call->out = nothing;
}

/* As is_committed of take.c. Where there are no blocks no MPI looks. */
static bool is_committed(const struct qv_mpi_blocks_call *call, struct shape shape)
{
	const bool both = call->name == QV_MPI_ALLTOALLV ||
			  call->name == QV_MPI_NEIGHBOR_ALLTOALL ||
			  call->name == QV_MPI_NEIGHBOR_ALLTOALLV;

	return (call->in.buf == MPI_IN_PLACE || !shape.in_n ||
		qv_mpi_is_committed(call->in.type)) &&
	       (!both || !shape.out_n || qv_mpi_is_committed(call->out.type));
}

/* A rank alone is in error: the MPI says so. Its next try is the call that the others are in, so nothing has counted
 * it yet. */
static bool is_odd(const struct qv_mpi_blocks_call *call, const struct qv_mpi_comm *c)
{
	const struct shape shape = shape_of_arrays(c, call);
	struct qv_mpi_blocks_arg in;

	if (qv_mpi_is_rooted_v(call->name) && call->in.buf == MPI_IN_PLACE &&
	    (call->name == QV_MPI_SCATTERV || c->rank != call->root))
		return true;
	if (call->out.buf == MPI_IN_PLACE ||
	    (call->in.buf == MPI_IN_PLACE && qv_mpi_is_neighbor(call->name)) ||
	    qv_mpi_layout_odd(&call->out, shape.out_n))
		return true;
	in = contribution(call, c->rank);
	return qv_mpi_layout_odd(&in, shape.in_n) || !is_committed(call, shape);
}

/* With which friends it is done. */
static enum qv_mpi_reason judge_neighbors(const struct qv_mpi_blocks_call *call,
					  struct qv_mpi_comm *c, const struct qv_mpi_rule *rule,
					  const struct qv_mpi_friends **friends)
{
	enum qv_mpi_reason why = qv_mpi_pattern_of(c, call->form);

	if (why == QV_MPI_TAKEN && rule->by == QV_MPI_BY_FRIENDS)
		why = qv_mpi_friends_of(c, rule, call->form, friends);
	return why;
}

/* It has failed before it began, or in what the autotuner does. */
static struct qv_mpi_op *fail(struct qv_mpi_blocks_call *call, int error)
{
	qv_mpi_blocks_come_again(call);
	return qv_mpi_op_failed(call->comm, call->error ? call->error : error, call->error);
}

static struct qv_mpi_op *take(struct qv_mpi_blocks_call *call, const struct qv_mpi_rule *rule,
			      enum qv_mpi_reason *why)
{
	struct qv_mpi_comm *c = qv_mpi_comm_of(call->comm);
	const struct qv_mpi_friends *friends = NULL;
	struct qv_mpi_plan *plan;
	struct qv_mpi_op *op;
	int error;

	if (qv_mpi_comm_is_missing(c, call->comm, call->form))
		return fail(call, MPI_ERR_NO_MEM);
	*why = judge(call, c);
	if (*why == QV_MPI_TAKEN) {
		leave_out(call, c);
		*why = is_odd(call, c) ? QV_MPI_ODD_ARGUMENT : QV_MPI_TAKEN;
	}
	/* Before the turn of a trial, or the MPI's call would be timed as ours. */
	if (*why == QV_MPI_TAKEN && !qv_mpi_comm_open(c))
		*why = QV_MPI_DUP_REFUSED;
	if (*why == QV_MPI_TAKEN && rule->by == QV_MPI_BY_AUTO)
		rule = qv_mpi_autotune_v_turn(c, call, why);
	if (*why == QV_MPI_TAKEN && !qv_mpi_has_tags(c, call->name, rule))
		*why = QV_MPI_TOO_LONG;
	if (*why == QV_MPI_TAKEN && qv_mpi_is_neighbor(call->name))
		*why = judge_neighbors(call, c, rule, &friends);
	if (*why != QV_MPI_TAKEN)
		return *why == QV_MPI_FAILED ? fail(call, MPI_ERR_NO_MEM) : NULL;
	plan = qv_mpi_made_plan(c, call, rule, friends);
	op = plan ? qv_mpi_op_get(c, plan) : NULL;
	if (!op)
		return fail(call, MPI_ERR_NO_MEM);
	op->error = arrange(op, call);
	qv_mpi_op_open(op, call->form);
	error = qv_mpi_op_dropped(op);
	if (error)
		return fail(call, error);
	qv_mpi_count(call->name, call->form, plan->way);
	return op;
}

struct qv_mpi_op *qv_mpi_blocks_take(struct qv_mpi_blocks_call *call)
{
	enum qv_mpi_reason why = QV_MPI_NOT_CHOSEN;
	struct qv_mpi_op *op = NULL;

	if (!qv_mpi.on)
		return NULL;
	if (qv_mpi.rules->rule[call->name].by != QV_MPI_BY_MPI)
		op = take(call, &qv_mpi.rules->rule[call->name], &why);
	else
		qv_mpi_comm_used(call->comm);
	call->by_mpi = !op;
	if (!op)
		qv_mpi_count(call->name, call->form, why);
	return op;
}
