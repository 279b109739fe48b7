/* SPDX-License-Identifier: BSD-2-Clause */
/* move.c - barrier and broadcast in all their forms: ours where it can be,
 * else the MPI's. */
#include "pass.h"

static struct qv_mpi_call barrier(enum qv_mpi_form form, MPI_Comm comm)
{
	return (struct qv_mpi_call){
		.name = QV_MPI_BARRIER, .coll = QV_COLL_BARRIER, .form = form, .comm = comm};
}

static struct qv_mpi_call bcast(enum qv_mpi_form form, void *buf, int count, MPI_Datatype type,
				int root, MPI_Comm comm)
{
	return (struct qv_mpi_call){
		.name = QV_MPI_BCAST,
		.coll = QV_COLL_BROADCAST,
		.form = form,
		.out = buf,
		.count = count < 0 ? SIZE_MAX : (size_t)count,
		.type = type,
		.op = MPI_SUM, /* any: nothing is combined */
		.root = root,
		.comm = comm,
	};
}

QV_MPI_DEFINE_BLOCKING(Barrier, BARRIER, BARRIER, qv_mpi_args(MPI_BYTE, MPI_BYTE, MPI_SUM, 0, 0, 0),
		       barrier(QV_MPI_BLOCKING, comm), (MPI_Comm comm), (comm))

QV_API int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	struct qv_mpi_call call = barrier(QV_MPI_NONBLOCKING, comm);
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return o ? qv_mpi_nonblocking(o, request) : QV_REAL(Ibarrier)(comm, request);
}
QV_MPI_BOTH(Ibarrier)

QV_MPI_DEFINE_BLOCKING(Bcast, BCAST, BROADCAST, qv_mpi_args(type, type, MPI_SUM, count, 0, 0),
		       bcast(QV_MPI_BLOCKING, buf, count, type, root, comm),
		       (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
		       (buf, count, type, root, comm))

QV_API int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
		      MPI_Request *request)
{
	struct qv_mpi_call call = bcast(QV_MPI_NONBLOCKING, buf, count, type, root, comm);
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return o ? qv_mpi_nonblocking(o, request)
		 : QV_REAL(Ibcast)(buf, count, type, root, comm, request);
}
QV_MPI_BOTH(Ibcast)

#ifdef QV_MPI_PERSISTENT
QV_MPI_DEFINE_INIT(Barrier_init, barrier(QV_MPI_INIT, comm),
		   (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request))
QV_MPI_DEFINE_INIT(Bcast_init, bcast(QV_MPI_INIT, buf, count, type, root, comm),
		   (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
		    MPI_Request *request),
		   (buf, count, type, root, comm, info, request))
#endif
