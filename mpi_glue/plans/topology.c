/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.c - communicators with neighbours, while they are made: all their ranks are here,
 * and may wait for each other. A nonblocking call on neighbours may not, so if it is the first one,
 * and shall be ours, all must have been told before who is whose neighbour.
 */
#include "mpi_glue/run/blocks.h"

/* In a simulation there are no neighbours. */
#ifndef QV_MPI_SIMULATED
/* What the rules name is asked for now; `auto` asks when it has seen a few blocking calls. */
static enum qv_mpi_reason prepare(MPI_Comm comm)
{
	enum qv_mpi_reason why = QV_MPI_TAKEN;

	for (int name = QV_MPI_NEIGHBOR_ALLGATHER; name < QV_MPI_N_NAMES && why == QV_MPI_TAKEN;
	     name++) {
		const struct qv_mpi_rule *rule = &qv_mpi.rules->rule[name];
		const struct qv_mpi_friends *friends;
		struct qv_mpi_comm *c;

		if (rule->by != QV_MPI_BY_FRIENDS && rule->by != QV_MPI_BY_WAY)
			continue;
		c = qv_mpi_comm_of(comm);
		why = c ? qv_mpi_comm_judge(c) : QV_MPI_ODD_ARGUMENT;
		if (why == QV_MPI_TAKEN)
			why = qv_mpi_pattern_of(c, QV_MPI_BLOCKING);
		if (why == QV_MPI_TAKEN && rule->by == QV_MPI_BY_FRIENDS)
			why = qv_mpi_friends_of(c, rule, QV_MPI_BLOCKING, &friends);
	}
	return why;
}

int qv_mpi_topology_made(MPI_Comm old, MPI_Comm *comm, int rc)
{
	rc = qv_mpi_comm_made(old, comm, rc);
	if (rc || !qv_mpi.on || !qv_mpi.hook_here || *comm == MPI_COMM_NULL)
		return rc;
	if (prepare(*comm) == QV_MPI_FAILED) {
		PMPI_Comm_call_errhandler(old, MPI_ERR_NO_MEM); /* the others know */
		rc = MPI_ERR_NO_MEM;
	}
	return rc;
}

QV_API int MPI_Cart_create(MPI_Comm old, int n, const int dims[], const int periods[], int reorder,
			   MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm,
				    QV_REAL(Cart_create)(old, n, dims, periods, reorder, comm));
}
QV_MPI_BOTH(Cart_create)

QV_API int MPI_Cart_sub(MPI_Comm old, const int remain[], MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm, QV_REAL(Cart_sub)(old, remain, comm));
}
QV_MPI_BOTH(Cart_sub)

QV_API int MPI_Graph_create(MPI_Comm old, int n, const int index[], const int edges[], int reorder,
			    MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm,
				    QV_REAL(Graph_create)(old, n, index, edges, reorder, comm));
}
QV_MPI_BOTH(Graph_create)

QV_API int MPI_Dist_graph_create(MPI_Comm old, int n, const int from[], const int degrees[],
				 const int to[], const int weights[], MPI_Info info, int reorder,
				 MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm,
				    QV_REAL(Dist_graph_create)(old, n, from, degrees, to, weights,
							       info, reorder, comm));
}
QV_MPI_BOTH(Dist_graph_create)

QV_API int MPI_Dist_graph_create_adjacent(MPI_Comm old, int in_n, const int in[],
					  const int in_weights[], int out_n, const int out[],
					  const int out_weights[], MPI_Info info, int reorder,
					  MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm,
				    QV_REAL(Dist_graph_create_adjacent)(old, in_n, in, in_weights,
									out_n, out, out_weights,
									info, reorder, comm));
}
QV_MPI_BOTH(Dist_graph_create_adjacent)
#endif
