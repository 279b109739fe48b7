/* SPDX-License-Identifier: BSD-2-Clause */
/* scan.c - MPI_Scan and MPI_Exscan in all their forms: ours where it can be, else the MPI's. */
#include "mpi_glue/glue.h"

static struct qv_mpi_call scan(enum qv_mpi_name name, enum qv_mpi_form form, const void *in,
			       void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	return (struct qv_mpi_call){
		.name = name,
		.coll = name == QV_MPI_SCAN ? QV_COLL_SCAN : QV_COLL_EXSCAN,
		.form = form,
		.in = in,
		.out = out,
		.count = count < 0 ? SIZE_MAX : (size_t)count,
		.type = type,
		.op = op,
		.comm = comm,
	};
}

#define DEFINE(blocking, nonblocking, name)                                                   \
	QV_API int MPI_##blocking(const void *in, void *out, int count, MPI_Datatype type,    \
				  MPI_Op op, MPI_Comm comm)                                   \
	{                                                                                     \
		struct qv_mpi_call call =                                                     \
			scan(name, QV_MPI_BLOCKING, in, out, count, type, op, comm);          \
		struct qv_mpi_op *o = qv_mpi_take(&call);                                     \
                                                                                              \
		return qv_mpi_return(&call,                                                   \
				     o ? qv_mpi_finish(o)                                     \
				       : QV_REAL(blocking)(in, out, count, type, op, comm));  \
	}                                                                                     \
	QV_MPI_BOTH(blocking)                                                                 \
	QV_API int MPI_##nonblocking(const void *in, void *out, int count, MPI_Datatype type, \
				     MPI_Op op, MPI_Comm comm, MPI_Request *request)          \
	{                                                                                     \
		struct qv_mpi_call call =                                                     \
			scan(name, QV_MPI_NONBLOCKING, in, out, count, type, op, comm);       \
		struct qv_mpi_op *o = qv_mpi_take(&call);                                     \
                                                                                              \
		return o ? qv_mpi_nonblocking(o, request)                                     \
			 : QV_REAL(nonblocking)(in, out, count, type, op, comm, request);     \
	}                                                                                     \
	QV_MPI_BOTH(nonblocking)

DEFINE(Scan, Iscan, QV_MPI_SCAN)
DEFINE(Exscan, Iexscan, QV_MPI_EXSCAN)

#ifdef QV_MPI_PERSISTENT
QV_MPI_DEFINE_INIT(Scan_init, scan(QV_MPI_SCAN, QV_MPI_INIT, in, out, count, type, op, comm),
		   (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
		    MPI_Comm comm, MPI_Info info, MPI_Request *request),
		   (in, out, count, type, op, comm, info, request))
QV_MPI_DEFINE_INIT(Exscan_init, scan(QV_MPI_EXSCAN, QV_MPI_INIT, in, out, count, type, op, comm),
		   (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
		    MPI_Comm comm, MPI_Info info, MPI_Request *request),
		   (in, out, count, type, op, comm, info, request))
#endif
