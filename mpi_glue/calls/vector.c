/* SPDX-License-Identifier: BSD-2-Clause */
/* vector.c - gather, scatter, allgather and alltoall of variable-length blocks, and of neighbours',
 * in all their forms: ours where it can be, else the MPI's. */
#include "mpi_glue/run/blocks.h"

#include "pass.h"

static struct qv_mpi_blocks_arg alike(const void *buf, MPI_Count count, MPI_Datatype type)
{
	return (struct qv_mpi_blocks_arg){.buf = buf, .count = count, .type = type};
}

static struct qv_mpi_blocks_arg various(const void *buf, const int counts[], const int displs[],
					MPI_Datatype type)
{
	return (struct qv_mpi_blocks_arg){
		.buf = buf, .varies = true, .counts = counts, .displs = displs, .type = type};
}

/* The kinds of arguments. */

#define ALIKE                                                                         \
	const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count, \
		MPI_Datatype out_type, MPI_Comm comm
#define ALIKE_ARGS in, in_count, in_type, out, out_count, out_type, comm
#define CALL_ALIKE alike(in, in_count, in_type), alike(out, out_count, out_type)

#define GATHER                                                                                 \
	const void *in, int in_count, MPI_Datatype in_type, void *out, const int out_counts[], \
		const int out_displs[], MPI_Datatype out_type, MPI_Comm comm
#define GATHER_ARGS in, in_count, in_type, out, out_counts, out_displs, out_type, comm
#define CALL_GATHER alike(in, in_count, in_type), various(out, out_counts, out_displs, out_type)

#define VARIOUS                                                                                   \
	const void *in, const int in_counts[], const int in_displs[], MPI_Datatype in_type,       \
		void *out, const int out_counts[], const int out_displs[], MPI_Datatype out_type, \
		MPI_Comm comm
#define VARIOUS_ARGS in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm
#define CALL_VARIOUS \
	various(in, in_counts, in_displs, in_type), various(out, out_counts, out_displs, out_type)

#define TO_ROOT                                                                                \
	const void *in, int in_count, MPI_Datatype in_type, void *out, const int out_counts[], \
		const int out_displs[], MPI_Datatype out_type, int root, MPI_Comm comm
#define TO_ROOT_ARGS in, in_count, in_type, out, out_counts, out_displs, out_type, root, comm
#define CALL_TO_ROOT CALL_GATHER, .root = root

#define FROM_ROOT                                                                           \
	const void *in, const int in_counts[], const int in_displs[], MPI_Datatype in_type, \
		void *out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm
#define FROM_ROOT_ARGS in, in_counts, in_displs, in_type, out, out_count, out_type, root, comm
#define CALL_FROM_ROOT \
	various(in, in_counts, in_displs, in_type), alike(out, out_count, out_type), .root = root

/* The three forms. */

#define TAKE(name, form, ...)                                                     \
	struct qv_mpi_blocks_call call = {name, form, __VA_ARGS__, .comm = comm}; \
	struct qv_mpi_op *o = qv_mpi_blocks_take(&call)

#define DEFINE(name, upper, kind)                                                               \
	QV_NOINLINE static int judge_##name(kind)                                               \
	{                                                                                       \
		TAKE(QV_MPI_##upper, QV_MPI_BLOCKING, CALL_##kind);                             \
                                                                                                \
		return qv_mpi_blocks_return(&call,                                              \
					    o ? qv_mpi_finish(o) : QV_REAL(name)(kind##_ARGS)); \
	}                                                                                       \
	QV_API int MPI_##name(kind)                                                             \
	{                                                                                       \
		if (!qv_mpi_passes_v(QV_MPI_##upper, comm))                                     \
			return judge_##name(kind##_ARGS);                                       \
		return qv_mpi_passed_v(QV_MPI_##upper, comm, QV_REAL(name)(kind##_ARGS));       \
	}                                                                                       \
	QV_MPI_BOTH(name)

#define DEFINE_NONBLOCKING(name, upper, kind)                                                    \
	QV_API int MPI_##name(kind, MPI_Request *request)                                        \
	{                                                                                        \
		TAKE(QV_MPI_##upper, QV_MPI_NONBLOCKING, CALL_##kind);                           \
                                                                                                 \
		return o ? qv_mpi_nonblocking(o, request) : QV_REAL(name)(kind##_ARGS, request); \
	}                                                                                        \
	QV_MPI_BOTH(name)

#define DEFINE_INIT(name, upper, kind)                                                             \
	QV_API int QV_MPI_PERSIST(name)(kind, MPI_Info info, MPI_Request * request)                \
	{                                                                                          \
		TAKE(QV_MPI_##upper, QV_MPI_INIT, CALL_##kind);                                    \
                                                                                                   \
		return o ? qv_mpi_persist(o, request) : QV_REAL(name)(kind##_ARGS, info, request); \
	}                                                                                          \
	QV_MPI_ALL_PERSIST(name)

DEFINE(Gatherv, GATHERV, TO_ROOT)
DEFINE(Scatterv, SCATTERV, FROM_ROOT)
DEFINE(Allgatherv, ALLGATHERV, GATHER)
DEFINE(Alltoallv, ALLTOALLV, VARIOUS)
DEFINE(Neighbor_allgather, NEIGHBOR_ALLGATHER, ALIKE)
DEFINE(Neighbor_allgatherv, NEIGHBOR_ALLGATHERV, GATHER)
DEFINE(Neighbor_alltoall, NEIGHBOR_ALLTOALL, ALIKE)
DEFINE(Neighbor_alltoallv, NEIGHBOR_ALLTOALLV, VARIOUS)

DEFINE_NONBLOCKING(Igatherv, GATHERV, TO_ROOT)
DEFINE_NONBLOCKING(Iscatterv, SCATTERV, FROM_ROOT)
DEFINE_NONBLOCKING(Iallgatherv, ALLGATHERV, GATHER)
DEFINE_NONBLOCKING(Ialltoallv, ALLTOALLV, VARIOUS)
DEFINE_NONBLOCKING(Ineighbor_allgather, NEIGHBOR_ALLGATHER, ALIKE)
DEFINE_NONBLOCKING(Ineighbor_allgatherv, NEIGHBOR_ALLGATHERV, GATHER)
DEFINE_NONBLOCKING(Ineighbor_alltoall, NEIGHBOR_ALLTOALL, ALIKE)
DEFINE_NONBLOCKING(Ineighbor_alltoallv, NEIGHBOR_ALLTOALLV, VARIOUS)

#ifdef QV_MPI_PERSISTENT
DEFINE_INIT(Gatherv_init, GATHERV, TO_ROOT)
DEFINE_INIT(Scatterv_init, SCATTERV, FROM_ROOT)
DEFINE_INIT(Allgatherv_init, ALLGATHERV, GATHER)
DEFINE_INIT(Alltoallv_init, ALLTOALLV, VARIOUS)
DEFINE_INIT(Neighbor_allgather_init, NEIGHBOR_ALLGATHER, ALIKE)
DEFINE_INIT(Neighbor_allgatherv_init, NEIGHBOR_ALLGATHERV, GATHER)
DEFINE_INIT(Neighbor_alltoall_init, NEIGHBOR_ALLTOALL, ALIKE)
DEFINE_INIT(Neighbor_alltoallv_init, NEIGHBOR_ALLTOALLV, VARIOUS)
#endif

/*
 * By large counts.
 *
 * One rank may call by these, as counts are its own, and others by ints. Where MPIs have them,
 * other forms than blocking ones are not ours.
 */
#ifdef QV_MPI_LARGE
static struct qv_mpi_blocks_arg wide(const void *buf, const MPI_Count counts[],
				     const MPI_Aint displs[], MPI_Datatype type)
{
	return (struct qv_mpi_blocks_arg){.buf = buf,
					  .varies = true,
					  .wide_counts = counts,
					  .wide_displs = displs,
					  .type = type};
}

#define ALIKE_C                                                                                   \
	const void *in, MPI_Count in_count, MPI_Datatype in_type, void *out, MPI_Count out_count, \
		MPI_Datatype out_type, MPI_Comm comm
#define ALIKE_C_ARGS ALIKE_ARGS
#define CALL_ALIKE_C CALL_ALIKE

#define GATHER_C                                                                                  \
	const void *in, MPI_Count in_count, MPI_Datatype in_type, void *out,                      \
		const MPI_Count out_counts[], const MPI_Aint out_displs[], MPI_Datatype out_type, \
		MPI_Comm comm
#define GATHER_C_ARGS GATHER_ARGS
#define CALL_GATHER_C alike(in, in_count, in_type), wide(out, out_counts, out_displs, out_type)

#define VARIOUS_C                                                                \
	const void *in, const MPI_Count in_counts[], const MPI_Aint in_displs[], \
		MPI_Datatype in_type, void *out, const MPI_Count out_counts[],   \
		const MPI_Aint out_displs[], MPI_Datatype out_type, MPI_Comm comm
#define VARIOUS_C_ARGS VARIOUS_ARGS
#define CALL_VARIOUS_C \
	wide(in, in_counts, in_displs, in_type), wide(out, out_counts, out_displs, out_type)

#define TO_ROOT_C                                                                                 \
	const void *in, MPI_Count in_count, MPI_Datatype in_type, void *out,                      \
		const MPI_Count out_counts[], const MPI_Aint out_displs[], MPI_Datatype out_type, \
		int root, MPI_Comm comm
#define TO_ROOT_C_ARGS TO_ROOT_ARGS
#define CALL_TO_ROOT_C CALL_GATHER_C, .root = root

#define FROM_ROOT_C                                                                          \
	const void *in, const MPI_Count in_counts[], const MPI_Aint in_displs[],             \
		MPI_Datatype in_type, void *out, MPI_Count out_count, MPI_Datatype out_type, \
		int root, MPI_Comm comm
#define FROM_ROOT_C_ARGS FROM_ROOT_ARGS
#define CALL_FROM_ROOT_C \
	wide(in, in_counts, in_displs, in_type), alike(out, out_count, out_type), .root = root

DEFINE(Gatherv_c, GATHERV, TO_ROOT_C)
DEFINE(Scatterv_c, SCATTERV, FROM_ROOT_C)
DEFINE(Allgatherv_c, ALLGATHERV, GATHER_C)
DEFINE(Alltoallv_c, ALLTOALLV, VARIOUS_C)
DEFINE(Neighbor_allgather_c, NEIGHBOR_ALLGATHER, ALIKE_C)
DEFINE(Neighbor_allgatherv_c, NEIGHBOR_ALLGATHERV, GATHER_C)
DEFINE(Neighbor_alltoall_c, NEIGHBOR_ALLTOALL, ALIKE_C)
DEFINE(Neighbor_alltoallv_c, NEIGHBOR_ALLTOALLV, VARIOUS_C)
#endif
