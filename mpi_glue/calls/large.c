/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * large.c - reductions, moves and exchanges by large counts. One rank may call by these and another
 * one by ints, so both must go the same way. A count that does not fit an int means more bytes than
 * we take, or elements of no bytes. Such calls by ints go to the MPI, too. MPI_Reduce_scatter_c is in
 * reduce.c.
 */
#include "mpi_glue/glue.h"

#ifdef QV_MPI_LARGE
static bool fits(MPI_Count count)
{
	return count == (int)count;
}

QV_API int MPI_Reduce_c(const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op,
			int root, MPI_Comm comm)
{
	return qv_mpi.on && fits(count) ? MPI_Reduce(in, out, (int)count, type, op, root, comm)
					: QV_REAL(Reduce_c)(in, out, count, type, op, root, comm);
}
QV_MPI_BOTH(Reduce_c)

/* Without a root. */
#define DEFINE_REDUCTION(name)                                                                   \
	QV_API int MPI_##name##_c(const void *in, void *out, MPI_Count count, MPI_Datatype type, \
				  MPI_Op op, MPI_Comm comm)                                      \
	{                                                                                        \
		return qv_mpi.on && fits(count)                                                  \
			       ? MPI_##name(in, out, (int)count, type, op, comm)                 \
			       : QV_REAL(name##_c)(in, out, count, type, op, comm);              \
	}                                                                                        \
	QV_MPI_BOTH(name##_c)

DEFINE_REDUCTION(Allreduce)
DEFINE_REDUCTION(Reduce_scatter_block)
DEFINE_REDUCTION(Scan)
DEFINE_REDUCTION(Exscan)

/* Others may call by a count that fits, of a longer type, and all observe the same calls. */
static int bcast_many(void *buf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
	struct qv_mpi_call call = {
		.name = QV_MPI_BCAST,
		.coll = QV_COLL_BROADCAST,
		.out = buf,
		.count = SIZE_MAX,
		.type = type,
		.op = MPI_SUM,
		.root = root,
		.comm = comm,
	};
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return qv_mpi_return(&call,
			     o ? qv_mpi_finish(o) : QV_REAL(Bcast_c)(buf, count, type, root, comm));
}

QV_API int MPI_Bcast_c(void *buf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
	return qv_mpi.on && fits(count) ? MPI_Bcast(buf, (int)count, type, root, comm)
					: bcast_many(buf, count, type, root, comm);
}
QV_MPI_BOTH(Bcast_c)

#define DEFINE(name)                                                                             \
	QV_API int MPI_##name##_c(const void *in, MPI_Count in_count, MPI_Datatype in_type,      \
				  void *out, MPI_Count out_count, MPI_Datatype out_type,         \
				  MPI_Comm comm)                                                 \
	{                                                                                        \
		const MPI_Count sent = in == MPI_IN_PLACE ? 0 : in_count;                        \
                                                                                                 \
		if (qv_mpi.on && fits(sent) && fits(out_count))                                  \
			return MPI_##name(in, (int)sent, in_type, out, (int)out_count, out_type, \
					  comm);                                                 \
		return QV_REAL(name##_c)(in, in_count, in_type, out, out_count, out_type, comm); \
	}                                                                                        \
	QV_MPI_BOTH(name##_c)

DEFINE(Allgather)
DEFINE(Alltoall)

/* Whether this rank is the root; -1: the call is the MPI's. A rank without memory goes the way of the others, to
 * be told. */
static int is_root_of(MPI_Comm comm, int root)
{
	const struct qv_mpi_comm *c = qv_mpi.on ? qv_mpi_comm_of(comm) : NULL;
	int inter = 1, rank = -1;

	if (c)
		return c->inter ? -1 : c->rank == root;
	if (!qv_mpi.on || !qv_mpi_comm_is_poor(comm) || PMPI_Comm_test_inter(comm, &inter) ||
	    inter || PMPI_Comm_rank(comm, &rank))
		return -1;
	return rank == root;
}

/* One side is significant at the root only: of the others its count is not looked at. */
#define DEFINE_ROOTED(name, in_there, out_there)                                                   \
	QV_API int MPI_##name##_c(const void *in, MPI_Count in_count, MPI_Datatype in_type,        \
				  void *out, MPI_Count out_count, MPI_Datatype out_type, int root, \
				  MPI_Comm comm)                                                   \
	{                                                                                          \
		const int is_root = is_root_of(comm, root);                                        \
		const MPI_Count sent = (in_there) ? in_count : 0;                                  \
		const MPI_Count taken = (out_there) ? out_count : 0;                               \
                                                                                                   \
		if (is_root >= 0 && fits(sent) && fits(taken))                                     \
			return MPI_##name(in, (int)sent, in_type, out, (int)taken, out_type, root, \
					  comm);                                                   \
		return QV_REAL(name##_c)(in, in_count, in_type, out, out_count, out_type, root,    \
					 comm);                                                    \
	}                                                                                          \
	QV_MPI_BOTH(name##_c)

DEFINE_ROOTED(Gather, in != MPI_IN_PLACE, is_root > 0)
DEFINE_ROOTED(Scatter, is_root > 0, out != MPI_IN_PLACE)
#endif
