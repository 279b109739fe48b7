/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.c - communicators with neighbours, while they are made: all their ranks are here,
 * and may wait for each other. A nonblocking call on neighbours may not, so if it is the first one,
 * and shall be ours, all must have been told before who is whose neighbour.
 */
#include "mpi_glue/run/blocks.h"

/* In a simulation there are no neighbours. */
#ifndef QV_MPI_SIMULATED
static bool is_wanted(void)
{
	if (!qv_mpi.on || !qv_mpi.hook_here)
		return false;
	for (int name = QV_MPI_NEIGHBOR_ALLGATHER; name < QV_MPI_N_NAMES; name++)
		if (qv_mpi.rules->rule[name].by == QV_MPI_BY_FRIENDS)
			return true;
	return false; /* `auto` asks when it has seen a few blocking calls */
}

/* It was made from an old one, with this error code. */
static int made(MPI_Comm old, MPI_Comm *comm, int rc)
{
	struct qv_mpi_comm *c;

	rc = qv_mpi_comm_made(old, comm, rc);
	if (rc || !is_wanted() || *comm == MPI_COMM_NULL)
		return rc;
	c = qv_mpi_comm_of(*comm);
	if (c && qv_mpi_comm_judge(c) == QV_MPI_TAKEN)
		if (qv_mpi_pattern_of(c, QV_MPI_BLOCKING) == QV_MPI_FAILED) {
			PMPI_Comm_call_errhandler(old, MPI_ERR_NO_MEM); /* the others know */
			rc = MPI_ERR_NO_MEM;
		}
	return rc;
}

QV_API int MPI_Cart_create(MPI_Comm old, int n, const int dims[], const int periods[], int reorder,
			   MPI_Comm *comm)
{
	return made(old, comm, QV_REAL(Cart_create)(old, n, dims, periods, reorder, comm));
}
QV_MPI_BOTH(Cart_create)

QV_API int MPI_Cart_sub(MPI_Comm old, const int remain[], MPI_Comm *comm)
{
	return made(old, comm, QV_REAL(Cart_sub)(old, remain, comm));
}
QV_MPI_BOTH(Cart_sub)

QV_API int MPI_Graph_create(MPI_Comm old, int n, const int index[], const int edges[], int reorder,
			    MPI_Comm *comm)
{
	return made(old, comm, QV_REAL(Graph_create)(old, n, index, edges, reorder, comm));
}
QV_MPI_BOTH(Graph_create)

QV_API int MPI_Dist_graph_create(MPI_Comm old, int n, const int from[], const int degrees[],
				 const int to[], const int weights[], MPI_Info info, int reorder,
				 MPI_Comm *comm)
{
	return made(old, comm,
		    QV_REAL(Dist_graph_create)(old, n, from, degrees, to, weights, info, reorder,
					       comm));
}
QV_MPI_BOTH(Dist_graph_create)

QV_API int MPI_Dist_graph_create_adjacent(MPI_Comm old, int in_n, const int in[],
					  const int in_weights[], int out_n, const int out[],
					  const int out_weights[], MPI_Info info, int reorder,
					  MPI_Comm *comm)
{
	return made(old, comm,
		    QV_REAL(Dist_graph_create_adjacent)(old, in_n, in, in_weights, out_n, out,
							out_weights, info, reorder, comm));
}
QV_MPI_BOTH(Dist_graph_create_adjacent)
#endif
