/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.h - collectives through the memory of several nodes, and by messages between their leaders. */
#ifndef QV_MPI_NODES_H
#define QV_MPI_NODES_H

#include "mpi_glue/glue.h"

struct qv_team_call;

/* Of a vector, one after the other: a node works on the next one while leaders wait for the last. */
#define QV_MPI_NODES_PIECE ((size_t)512 << 10)

/* Of a communicator whose ranks are on several nodes. */
struct qv_mpi_nodes {
	MPI_Comm leaders; /* MPI_COMM_NULL: this rank is none */
	int nodes;
	int *node, *place; /* of each rank: its node, from 0 on; its rank within that */
	int mine, members; /* our node, and how many ranks it has: one alone has no team */
	bool in_order;     /* ranks of a node follow each other */
	bool failed;       /* an operation was cut: for good */
	/* Of a leader, whose program may have no room for a result. */
	struct {
		int64_t unused; /* so that the body has the alignment of malloc */
		int64_t status;
		char body[QV_MPI_NODES_PIECE];
		char other[QV_MPI_NODES_PIECE];
	} * scratch;
};

/* Collective, and the same on all ranks; host is this rank's. *name is one for the team of this rank's node.
 * NULL: each rank has a node of its own, or one does not know its host; no memory, no communicator. */
struct qv_mpi_nodes *qv_mpi_nodes_make(struct qv_mpi_comm *c, uint64_t host, uint64_t *name);
void qv_mpi_nodes_free(struct qv_mpi_nodes *n);
/* Whether such a call can be run so; the same on all ranks. */
bool qv_mpi_nodes_serve(const struct qv_mpi_nodes *n, enum qv_coll coll,
			const struct qv_mpi_reduce *r);
/* leaders.c: the call, where t says what one node would do. After an error none is run any more. */
int qv_mpi_nodes_run(struct qv_mpi_comm *c, const struct qv_mpi_call *call, struct qv_team_call *t);

#endif /* QV_MPI_NODES_H */
