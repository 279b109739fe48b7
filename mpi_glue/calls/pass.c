/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.c - calls that `auto` leaves to the MPI for good are remembered. */
#include "pass.h"

/* A program's operation, or type, may be another one next time. */
static bool lasts(MPI_Datatype type)
{
	return type == MPI_DATATYPE_NULL || qv_mpi_is_plain(type);
}

void qv_mpi_pass(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
		 const struct qv_mpi_reduce *r)
{
	if (!call->args || r->user || (call->coll == QV_COLL_BROADCAST && !lasts(call->type)) ||
	    (qv_mpi_is_exchange(call) && !(lasts(call->in_type) && lasts(call->out_type))))
		return;
	*qv_mpi_bypass_of(c, call->name, call->args) =
		(struct qv_mpi_bypass){.args = *call->args,
				       .rules = qv_mpi.rules->number,
				       .late = qv_mpi_late(c, call->coll),
				       .observed = call->observed != NULL};
}

bool qv_mpi_is_of_arguments(int rc)
{
	int class = MPI_ERR_OTHER;

	PMPI_Error_class(rc, &class);
	return class == MPI_ERR_BUFFER || class == MPI_ERR_COUNT || class == MPI_ERR_TYPE ||
	       class == MPI_ERR_ROOT || class == MPI_ERR_OP || class == MPI_ERR_ARG;
}

void qv_mpi_passed_wrong(enum qv_coll coll, MPI_Comm comm, int rc)
{
	struct qv_mpi_comm *c;

	if (!qv_mpi.on || !qv_mpi.rules->automatic[coll] || !qv_mpi_is_of_arguments(rc))
		return;
	c = qv_mpi_comm_at_once(comm);
	if (c && c->bypassed && c->bypassed->observed)
		qv_expect_idle_again(qv_mpi_habit(c, coll)->expect);
}

void qv_mpi_passed_wrong_v(enum qv_mpi_name name, MPI_Comm comm, int rc)
{
	struct qv_mpi_comm *c;

	if (!qv_mpi.on || qv_mpi.rules->rule[name].by != QV_MPI_BY_AUTO ||
	    !qv_mpi_is_of_arguments(rc))
		return;
	c = qv_mpi_comm_at_once(comm);
	if (c && c->passing[name].rules == qv_mpi.rules->number)
		c->passing[name].left++;
}
