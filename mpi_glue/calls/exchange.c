/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - gather, scatter, allgather and alltoall in all their forms: ours where it can be, else
 * the MPI's. Ranks may give different types; a block is of the same number of bytes for all of them. */
#include "pass.h"

/* The MPI shall judge that. */
static bool is_odd(int count, MPI_Datatype type)
{
	return count < 0 || type == MPI_DATATYPE_NULL;
}

/* So many elements, as bytes; SIZE_MAX if the MPI shall judge that. */
static size_t bytes_of(int count, MPI_Datatype type)
{
	int size;

	if (is_odd(count, type) || PMPI_Type_size(type, &size) || size < 0)
		return SIZE_MAX;
	return (size_t)count * (size_t)size;
}

/* Whether a block that is to come is not as long as one that is sent. Only this rank knows: it takes part as the
 * others do, by the length that is sent. */
static bool is_misfit(const struct qv_mpi_call *call)
{
	if (call->in_type == call->out_type && call->in_count == call->out_count)
		return false;
	return bytes_of(call->in_count, call->in_type) != bytes_of(call->out_count, call->out_type);
}

/* Of the blocks of so many ranks. */
static size_t bytes_of_all(int count, MPI_Datatype type, int ranks)
{
	const size_t block = bytes_of(count, type);

	return block <= SIZE_MAX / (size_t)ranks ? block * (size_t)ranks : SIZE_MAX;
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
	int ranks;

	call.count = SIZE_MAX;
	/* A call that is not ours is not looked at. */
	if (qv_mpi.on && qv_mpi.rules->ours[call.coll] && comm != MPI_COMM_NULL &&
	    !is_odd(out_count, out_type) && !PMPI_Comm_size(comm, &ranks)) {
		call.count = bytes_of_all(call.in_count, call.in_type, ranks);
		call.misfit = is_misfit(&call);
	}
	return call;
}

/* What each rank gives to the root, or gets from it. The other side is significant at the root only,
 * and is not looked at elsewhere. */
static struct qv_mpi_call rooted(enum qv_mpi_name name, enum qv_mpi_form form, const void *in,
				 int in_count, MPI_Datatype in_type, void *out, int out_count,
				 MPI_Datatype out_type, int root, MPI_Comm comm)
{
	const bool gather = name == QV_MPI_GATHER;
	struct qv_mpi_call call = {
		.name = name,
		.coll = gather ? QV_COLL_GATHER : QV_COLL_SCATTER,
		.form = form,
		.count = SIZE_MAX,
		.type = MPI_BYTE,
		.op = MPI_SUM, /* any: nothing is combined */
		.root = root,
		.comm = comm,
		.in_type = MPI_DATATYPE_NULL,
		.out_type = MPI_DATATYPE_NULL,
	};
	const struct qv_mpi_comm *c = NULL;
	bool is_root;

	if (qv_mpi.on && qv_mpi.rules->ours[call.coll]) {
		c = qv_mpi_comm_of(comm);
		call.poor = !c && qv_mpi_comm_is_poor(comm);
	}
	if (!c || qv_mpi_comm_judge(c) != QV_MPI_TAKEN || root < 0 || root >= c->ranks)
		return call;
	is_root = c->rank == root;
	/* Only the root's own block may be in place. */
	if ((is_root == gather ? out : in) == MPI_IN_PLACE)
		return call;
	if (gather || is_root) {
		call.in = in;
		call.in_count = in == MPI_IN_PLACE ? out_count : in_count;
		call.in_type = in == MPI_IN_PLACE ? out_type : in_type;
	}
	if (!gather || is_root) {
		call.out = out;
		call.out_count = out == MPI_IN_PLACE ? in_count : out_count;
		call.out_type = out == MPI_IN_PLACE ? in_type : out_type;
	}
	if (is_root &&
	    (is_odd(call.in_count, call.in_type) || is_odd(call.out_count, call.out_type)))
		return call;
	call.count = gather || is_root ? bytes_of_all(call.in_count, call.in_type, c->ranks)
				       : bytes_of_all(call.out_count, call.out_type, c->ranks);
	call.misfit = is_root && is_misfit(&call);
	return call;
}

#define PARAMETERS                                                                    \
	const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count, \
		MPI_Datatype out_type
#define ARGUMENTS       in, in_count, in_type, out, out_count, out_type
#define ALL_PARAMETERS  PARAMETERS, MPI_Comm comm
#define ALL_ARGUMENTS   ARGUMENTS, comm
#define ROOT_PARAMETERS PARAMETERS, int root, MPI_Comm comm
#define ROOT_ARGUMENTS  ARGUMENTS, root, comm
#define ALL_ROOT        0
#define ROOT_ROOT       root

/* of: exchange or rooted; kind: ALL or ROOT. */
#define DEFINE(name, upper, of, kind)                                                       \
	QV_MPI_DEFINE_BLOCKING(                                                             \
		name, upper, upper,                                                         \
		qv_mpi_args(in_type, out_type, MPI_SUM, in_count, out_count, kind##_ROOT),  \
		of(QV_MPI_##upper, QV_MPI_BLOCKING, kind##_ARGUMENTS), (kind##_PARAMETERS), \
		(kind##_ARGUMENTS))

#define DEFINE_NONBLOCKING(name, upper, of, kind)                                 \
	QV_API int MPI_##name(kind##_PARAMETERS, MPI_Request *request)            \
	{                                                                         \
		struct qv_mpi_call call =                                         \
			of(QV_MPI_##upper, QV_MPI_NONBLOCKING, kind##_ARGUMENTS); \
		struct qv_mpi_op *o = qv_mpi_take(&call);                         \
                                                                                  \
		return o ? qv_mpi_nonblocking(o, request)                         \
			 : QV_REAL(name)(kind##_ARGUMENTS, request);              \
	}                                                                         \
	QV_MPI_BOTH(name)

DEFINE(Allgather, ALLGATHER, exchange, ALL)
DEFINE(Alltoall, ALLTOALL, exchange, ALL)
DEFINE(Gather, GATHER, rooted, ROOT)
DEFINE(Scatter, SCATTER, rooted, ROOT)
DEFINE_NONBLOCKING(Iallgather, ALLGATHER, exchange, ALL)
DEFINE_NONBLOCKING(Ialltoall, ALLTOALL, exchange, ALL)
DEFINE_NONBLOCKING(Igather, GATHER, rooted, ROOT)
DEFINE_NONBLOCKING(Iscatter, SCATTER, rooted, ROOT)

#ifdef QV_MPI_PERSISTENT
#define DEFINE_INIT(name, upper, of, kind)                                            \
	QV_MPI_DEFINE_INIT(name, of(QV_MPI_##upper, QV_MPI_INIT, kind##_ARGUMENTS),   \
			   (kind##_PARAMETERS, MPI_Info info, MPI_Request * request), \
			   (kind##_ARGUMENTS, info, request))

DEFINE_INIT(Allgather_init, ALLGATHER, exchange, ALL)
DEFINE_INIT(Alltoall_init, ALLTOALL, exchange, ALL)
DEFINE_INIT(Gather_init, GATHER, rooted, ROOT)
DEFINE_INIT(Scatter_init, SCATTER, rooted, ROOT)
#endif
