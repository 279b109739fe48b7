/* SPDX-License-Identifier: BSD-2-Clause */
/* reduce.c - the reductions of MPI in all their forms: ours where it can be,
 * else the MPI's. */
#include "pass.h"

/* A call of each operation, from the arguments that all its forms have. */
static struct qv_mpi_call reduce(enum qv_mpi_form form, const void *in, void *out, int count,
				 MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
	return (struct qv_mpi_call){
		.name = QV_MPI_REDUCE,
		.coll = QV_COLL_REDUCE,
		.form = form,
		.in = in,
		.out = out,
		.count = count < 0 ? SIZE_MAX : (size_t)count,
		.type = type,
		.op = op,
		.root = root,
		.comm = comm,
	};
}

static struct qv_mpi_call allreduce(enum qv_mpi_form form, const void *in, void *out, int count,
				    MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	struct qv_mpi_call call = reduce(form, in, out, count, type, op, 0, comm);

	call.name = QV_MPI_ALLREDUCE;
	call.coll = QV_COLL_ALLREDUCE;
	return call;
}

static struct qv_mpi_call scan(enum qv_mpi_form form, const void *in, void *out, int count,
			       MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	struct qv_mpi_call call = reduce(form, in, out, count, type, op, 0, comm);

	call.name = QV_MPI_SCAN;
	call.coll = QV_COLL_SCAN;
	return call;
}

static struct qv_mpi_call exscan(enum qv_mpi_form form, const void *in, void *out, int count,
				 MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	struct qv_mpi_call call = reduce(form, in, out, count, type, op, 0, comm);

	call.name = QV_MPI_EXSCAN;
	call.coll = QV_COLL_EXSCAN;
	return call;
}

static int ranks_of(MPI_Comm comm)
{
	int n = 1;

	if (comm != MPI_COMM_NULL)
		PMPI_Comm_size(comm, &n);
	return n;
}

static struct qv_mpi_call scatter_block(enum qv_mpi_form form, const void *in, void *out, int count,
					MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	struct qv_mpi_call call = reduce(form, in, out, count, type, op, 0, comm);

	call.name = QV_MPI_REDUCE_SCATTER_BLOCK;
	call.coll = QV_COLL_REDUCE_SCATTER;
	if (qv_mpi.on && count > 0)
		call.count *= (size_t)ranks_of(comm);
	return call;
}

/* Whether the counts of a reduce_scatter are to be looked at. */
static bool counts_matter(const void *counts, MPI_Comm comm)
{
	return qv_mpi.on && counts && comm != MPI_COMM_NULL &&
	       qv_mpi.rules->ours[QV_COLL_REDUCE_SCATTER];
}

/* Blocks of one length only: schedules know no other ones. */
static struct qv_mpi_call scatter(enum qv_mpi_form form, const void *in, void *out,
				  const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	const bool matter = counts_matter(counts, comm);
	const int n = matter ? ranks_of(comm) : 0;
	struct qv_mpi_call call =
		scatter_block(form, in, out, matter ? counts[0] : -1, type, op, comm);

	call.name = QV_MPI_REDUCE_SCATTER;
	for (int i = 1; i < n; i++)
		call.unequal |= counts[i] != counts[0];
	return call;
}

/* Blocking. */

QV_MPI_DEFINE_BLOCKING(Reduce, REDUCE, REDUCE, qv_mpi_args(type, type, op, count, 0, 0),
		       reduce(QV_MPI_BLOCKING, in, out, count, type, op, root, comm),
		       (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
			int root, MPI_Comm comm),
		       (in, out, count, type, op, root, comm))

QV_API int MPI_Reduce_scatter(const void *in, void *out, const int counts[], MPI_Datatype type,
			      MPI_Op op, MPI_Comm comm)
{
	struct qv_mpi_call call = scatter(QV_MPI_BLOCKING, in, out, counts, type, op, comm);
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return qv_mpi_return(&call, o ? qv_mpi_finish(o)
				      : QV_REAL(Reduce_scatter)(in, out, counts, type, op, comm));
}
QV_MPI_BOTH(Reduce_scatter)

#ifdef QV_MPI_LARGE
/* One rank may call by these and another one by ints, so both must go the same way. No array of ints
 * is made of the counts: a rank that had no memory for it would go another way. */
static struct qv_mpi_call scatter_c(const void *in, void *out, const MPI_Count counts[],
				    MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	const bool matter = counts_matter(counts, comm);
	const int n = matter ? ranks_of(comm) : 0;
	const bool fits = matter && counts[0] == (int)counts[0];
	struct qv_mpi_call call =
		scatter_block(QV_MPI_BLOCKING, in, out, fits ? (int)counts[0] : -1, type, op, comm);

	call.name = QV_MPI_REDUCE_SCATTER;
	for (int i = 1; i < n; i++)
		call.unequal |= counts[i] != counts[0];
	return call;
}

QV_API int MPI_Reduce_scatter_c(const void *in, void *out, const MPI_Count counts[],
				MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	struct qv_mpi_call call = scatter_c(in, out, counts, type, op, comm);
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return qv_mpi_return(&call, o ? qv_mpi_finish(o)
				      : QV_REAL(Reduce_scatter_c)(in, out, counts, type, op, comm));
}
QV_MPI_BOTH(Reduce_scatter_c)
#endif

/* Nonblocking. */

QV_API int MPI_Ireduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
		       MPI_Comm comm, MPI_Request *request)
{
	struct qv_mpi_call call = reduce(QV_MPI_NONBLOCKING, in, out, count, type, op, root, comm);
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return o ? qv_mpi_nonblocking(o, request)
		 : QV_REAL(Ireduce)(in, out, count, type, op, root, comm, request);
}
QV_MPI_BOTH(Ireduce)

QV_API int MPI_Ireduce_scatter(const void *in, void *out, const int counts[], MPI_Datatype type,
			       MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct qv_mpi_call call = scatter(QV_MPI_NONBLOCKING, in, out, counts, type, op, comm);
	struct qv_mpi_op *o = qv_mpi_take(&call);

	return o ? qv_mpi_nonblocking(o, request)
		 : QV_REAL(Ireduce_scatter)(in, out, counts, type, op, comm, request);
}
QV_MPI_BOTH(Ireduce_scatter)

/* Persistent. */

#ifdef QV_MPI_PERSISTENT
QV_MPI_DEFINE_INIT(Reduce_init, reduce(QV_MPI_INIT, in, out, count, type, op, root, comm),
		   (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
		    MPI_Comm comm, MPI_Info info, MPI_Request *request),
		   (in, out, count, type, op, root, comm, info, request))
QV_MPI_DEFINE_INIT(Reduce_scatter_init, scatter(QV_MPI_INIT, in, out, counts, type, op, comm),
		   (const void *in, void *out, const int counts[], MPI_Datatype type, MPI_Op op,
		    MPI_Comm comm, MPI_Info info, MPI_Request *request),
		   (in, out, counts, type, op, comm, info, request))
#endif

/* Those whose arguments are alike, in all forms. */

#ifdef QV_MPI_PERSISTENT
#define DEFINE_INIT(name, of)                                                                   \
	QV_MPI_DEFINE_INIT(name, of(QV_MPI_INIT, in, out, count, type, op, comm),               \
			   (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, \
			    MPI_Comm comm, MPI_Info info, MPI_Request *request),                \
			   (in, out, count, type, op, comm, info, request))
#else
#define DEFINE_INIT(name, of)
#endif

#define DEFINE(blocking, nonblocking, upper, coll, of)                                            \
	QV_MPI_DEFINE_BLOCKING(blocking, upper, coll, qv_mpi_args(type, type, op, count, 0, 0),   \
			       of(QV_MPI_BLOCKING, in, out, count, type, op, comm),               \
			       (const void *in, void *out, int count, MPI_Datatype type,          \
				MPI_Op op, MPI_Comm comm),                                        \
			       (in, out, count, type, op, comm))                                  \
	QV_API int MPI_##nonblocking(const void *in, void *out, int count, MPI_Datatype type,     \
				     MPI_Op op, MPI_Comm comm, MPI_Request *request)              \
	{                                                                                         \
		struct qv_mpi_call call = of(QV_MPI_NONBLOCKING, in, out, count, type, op, comm); \
		struct qv_mpi_op *o = qv_mpi_take(&call);                                         \
                                                                                                  \
		return o ? qv_mpi_nonblocking(o, request)                                         \
			 : QV_REAL(nonblocking)(in, out, count, type, op, comm, request);         \
	}                                                                                         \
	QV_MPI_BOTH(nonblocking)                                                                  \
	DEFINE_INIT(blocking##_init, of)

DEFINE(Allreduce, Iallreduce, ALLREDUCE, ALLREDUCE, allreduce)
DEFINE(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER,
       scatter_block)
DEFINE(Scan, Iscan, SCAN, SCAN, scan)
DEFINE(Exscan, Iexscan, EXSCAN, EXSCAN, exscan)
