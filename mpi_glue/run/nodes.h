/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.h - collectives through the memory of several nodes, and by messages between their leaders. */
#ifndef QV_MPI_NODES_H
#define QV_MPI_NODES_H

#include "mpi_glue/glue.h"

struct qv_mpi_nodes; /* of a communicator whose ranks are on several nodes */
struct qv_team_call;

/* Collective, and the same on all ranks; host is this rank's. *name is one for the team of this rank's node.
 * NULL: each rank has a node of its own, or one does not know its host; no memory, no communicator. */
struct qv_mpi_nodes *qv_mpi_nodes_make(struct qv_mpi_comm *c, uint64_t host, uint64_t *name);
void qv_mpi_nodes_free(struct qv_mpi_nodes *n);
/* The rank within its node of a rank. */
int qv_mpi_nodes_rank(const struct qv_mpi_nodes *n, int rank);
/* Ranks of this node. One has no team. */
int qv_mpi_nodes_members(const struct qv_mpi_nodes *n);
/* Whether such a call can be run so; the same on all ranks. */
bool qv_mpi_nodes_serve(const struct qv_mpi_nodes *n, enum qv_coll coll,
			const struct qv_mpi_reduce *r);
/* The call, where t says what one node would do. After an error none is run any more. */
int qv_mpi_nodes_run(struct qv_mpi_comm *c, const struct qv_mpi_call *call, struct qv_team_call *t);

#endif /* QV_MPI_NODES_H */
