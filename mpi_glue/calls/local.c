/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - MPI_Reduce_local by our kernels or a device. No other rank knows of it, so each call is judged
 * by itself. */
#include "mpi_glue/glue.h"

/* What the last call of this thread combined: of types and operations of the MPI only, whose handles never
 * stand for anything else. */
static _Thread_local struct qv_mpi_reduce last;

static enum qv_mpi_reason judge(const void *in, const void *inout, MPI_Count count,
				MPI_Datatype type, MPI_Op op)
{
	struct qv_mpi_reduce r;
	enum qv_mpi_reason why;

	if (!qv_mpi.rules->reduce_local)
		return QV_MPI_NOT_CHOSEN;
	if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE || count < 0 || op == MPI_OP_NULL ||
	    type == MPI_DATATYPE_NULL)
		return QV_MPI_ODD_ARGUMENT;
	if (!count)
		return QV_MPI_EMPTY;
	if (last.item && last.mpi_op == op && last.mpi_type == type)
		return QV_MPI_TAKEN;
	why = qv_mpi_reduce_of(op, type, &r);
	if (why == QV_MPI_TAKEN && r.local)
		return QV_MPI_NO_KERNEL;
	if (why == QV_MPI_TAKEN)
		last = r;
	return why;
}

/* Whether it is done. */
static bool combine(const void *in, void *inout, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	enum qv_mpi_reason why;

	if (!qv_mpi.on)
		return false;
	why = judge(in, inout, count, type, op);
	qv_mpi_count(QV_MPI_REDUCE_LOCAL, QV_MPI_BLOCKING,
		     why == QV_MPI_TAKEN ? (unsigned int)QV_MPI_KERNEL : (unsigned int)why);
	if (why == QV_MPI_TAKEN)
		qv_mpi_combine(&last, inout, in, inout, (size_t)count);
	return why == QV_MPI_TAKEN;
}

QV_API int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
	return combine(in, inout, count, type, op)
		       ? MPI_SUCCESS
		       : QV_REAL(Reduce_local)(in, inout, count, type, op);
}
QV_MPI_BOTH(Reduce_local)

#ifdef QV_MPI_LARGE
QV_API int MPI_Reduce_local_c(const void *in, void *inout, MPI_Count count, MPI_Datatype type,
			      MPI_Op op)
{
	return combine(in, inout, count, type, op)
		       ? MPI_SUCCESS
		       : QV_REAL(Reduce_local_c)(in, inout, count, type, op);
}
QV_MPI_BOTH(Reduce_local_c)
#endif
