/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - allgather and alltoall in all their forms: ours where it can be, else the
 * MPI's. Ranks may give different types; a block is of the same number of bytes for all of them. */
#include "mpi_glue/glue.h"

/* So many elements, as bytes; SIZE_MAX if the MPI shall judge that. */
static size_t bytes_of(int count, MPI_Datatype type)
{
	int size;

	if (count < 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) || size < 0)
		return SIZE_MAX;
	return (size_t)count * (size_t)size;
}

/* What a rank gives to another one, and what it gets from one. */
static struct qv_mpi_call exchange(enum qv_mpi_name name, enum qv_mpi_form form, const void *in,
				   int in_count, MPI_Datatype in_type, void *out, int out_count,
				   MPI_Datatype out_type, MPI_Comm comm)
{
	const bool in_place = in == MPI_IN_PLACE;
	struct qv_mpi_call call = {
		.name = name,
		.coll = name == QV_MPI_ALLTOALL ? QV_COLL_ALLTOALL : QV_COLL_ALLGATHER,
		.form = form,
		.in = in,
		.out = out,
		.type = MPI_BYTE,
		.op = MPI_SUM, /* any: nothing is combined */
		.comm = comm,
		.in_count = in_place ? out_count : in_count,
		.in_type = in_place ? out_type : in_type,
		.out_count = out_count,
		.out_type = out_type,
	};
	size_t block = SIZE_MAX;
	int ranks;

	/* A call that is not ours is not looked at. */
	if (qv_mpi.on && qv_mpi.rules->ours[call.coll] && comm != MPI_COMM_NULL)
		block = bytes_of(call.in_count, call.in_type);
	if (block != SIZE_MAX && !PMPI_Comm_size(comm, &ranks) && block <= SIZE_MAX / (size_t)ranks)
		call.count = block * (size_t)ranks;
	else
		call.count = SIZE_MAX;
	return call;
}

#define PARAMETERS                                                                    \
	const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count, \
		MPI_Datatype out_type, MPI_Comm comm
#define ARGUMENTS in, in_count, in_type, out, out_count, out_type, comm

#define DEFINE(name, upper)                                                                     \
	QV_API int MPI_##name(PARAMETERS)                                                       \
	{                                                                                       \
		struct qv_mpi_call call = exchange(QV_MPI_##upper, QV_MPI_BLOCKING, ARGUMENTS); \
		struct qv_mpi_op *o = qv_mpi_take(&call);                                       \
                                                                                                \
		return qv_mpi_return(&call, o ? qv_mpi_finish(o) : QV_REAL(name)(ARGUMENTS));   \
	}                                                                                       \
	QV_MPI_BOTH(name)

#define DEFINE_NONBLOCKING(name, upper)                                                            \
	QV_API int MPI_##name(PARAMETERS, MPI_Request *request)                                    \
	{                                                                                          \
		struct qv_mpi_call call = exchange(QV_MPI_##upper, QV_MPI_NONBLOCKING, ARGUMENTS); \
		struct qv_mpi_op *o = qv_mpi_take(&call);                                          \
                                                                                                   \
		return o ? qv_mpi_nonblocking(o, request) : QV_REAL(name)(ARGUMENTS, request);     \
	}                                                                                          \
	QV_MPI_BOTH(name)

DEFINE(Allgather, ALLGATHER)
DEFINE(Alltoall, ALLTOALL)
DEFINE_NONBLOCKING(Iallgather, ALLGATHER)
DEFINE_NONBLOCKING(Ialltoall, ALLTOALL)

#ifdef QV_MPI_PERSISTENT
QV_MPI_DEFINE_INIT(Allgather_init, exchange(QV_MPI_ALLGATHER, QV_MPI_INIT, ARGUMENTS),
		   (PARAMETERS, MPI_Info info, MPI_Request *request), (ARGUMENTS, info, request))
QV_MPI_DEFINE_INIT(Alltoall_init, exchange(QV_MPI_ALLTOALL, QV_MPI_INIT, ARGUMENTS),
		   (PARAMETERS, MPI_Info info, MPI_Request *request), (ARGUMENTS, info, request))
#endif
