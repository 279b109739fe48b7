/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.c - which ranks of a communicator are on one node, and who leads them. */
#include "nodes.h"

#include <stdlib.h>

#include "engine/base/proc.h"

struct host {
	uint64_t id, name; /* name: one that a team may have */
};

/* Nodes are numbered by their first ranks. False: some rank does not know where it is, or each is alone. */
static bool number(struct qv_mpi_nodes *n, const struct host *hosts, int ranks)
{
	int *first = n->place; /* of each node, until all are known */

	n->nodes = 0;
	for (int r = 0; r < ranks; r++) {
		int at = r ? n->node[r - 1] : 0; /* most follow each other */

		if (!hosts[r].id)
			return false;
		if (!r || hosts[first[at]].id != hosts[r].id)
			for (at = 0; at < n->nodes && hosts[first[at]].id != hosts[r].id; at++)
				;
		if (at == n->nodes)
			first[n->nodes++] = r;
		n->node[r] = at;
	}
	return n->nodes > 1 && n->nodes < ranks;
}

static int members_before(const struct qv_mpi_nodes *n, int rank)
{
	int k = 0;

	for (int r = 0; r < rank; r++)
		k += n->node[r] == n->node[rank];
	return k;
}

static void place(struct qv_mpi_nodes *n, int rank, int ranks)
{
	int *next = calloc((size_t)n->nodes, sizeof *next);

	n->in_order = true;
	for (int r = 0; r < ranks; r++) {
		n->place[r] = next ? next[n->node[r]]++ : members_before(n, r);
		n->in_order &= !r || n->node[r] >= n->node[r - 1];
		n->members += n->node[r] == n->node[rank];
	}
	free(next);
	n->mine = n->node[rank];
}

/* The leaders, in the order of their nodes. */
static bool lead(struct qv_mpi_nodes *n, struct qv_mpi_comm *c)
{
	int *ranks = malloc((size_t)n->nodes * sizeof *ranks);
	bool all;

	for (int r = 0; ranks && r < c->ranks; r++)
		if (!n->place[r])
			ranks[n->node[r]] = r;
	if (!n->place[c->rank])
		n->scratch = malloc(sizeof *n->scratch);
	all = qv_mpi_agree(c->comm, ranks && (n->scratch || n->place[c->rank])) &&
	      qv_mpi_comm_of_some(c, n->nodes, ranks, &n->leaders);
	free(ranks);
	return all;
}

struct qv_mpi_nodes *qv_mpi_nodes_make(struct qv_mpi_comm *c, uint64_t host, uint64_t *name)
{
	const struct host own = {host, qv_proc_random() | 1};
	struct host *hosts = malloc((size_t)c->ranks * sizeof *hosts);
	struct qv_mpi_nodes *n = calloc(1, sizeof *n);

	if (n) {
		n->leaders = MPI_COMM_NULL;
		n->node = malloc((size_t)c->ranks * sizeof *n->node);
		n->place = malloc((size_t)c->ranks * sizeof *n->place);
	}
	if (!qv_mpi_agree(c->comm, hosts && n && n->node && n->place) ||
	    QV_REAL(Allgather)(&own, sizeof own, MPI_BYTE, hosts, sizeof own, MPI_BYTE, c->comm) ||
	    !number(n, hosts, c->ranks))
		goto none;
	*name = hosts[n->place[n->node[c->rank]]].name;
	place(n, c->rank, c->ranks);
	if (!lead(n, c))
		goto none;
	free(hosts);
	return n;
none:
	free(hosts);
	qv_mpi_nodes_free(n);
	return NULL;
}

void qv_mpi_nodes_free(struct qv_mpi_nodes *n)
{
	if (!n)
		return;
	qv_mpi_comm_unmake(&n->leaders);
	free(n->node);
	free(n->place);
	free(n->scratch);
	free(n);
}

bool qv_mpi_nodes_serve(const struct qv_mpi_nodes *n, enum qv_coll coll,
			const struct qv_mpi_reduce *r)
{
	return coll == QV_COLL_BARRIER || coll == QV_COLL_BROADCAST ||
	       ((coll == QV_COLL_REDUCE || coll == QV_COLL_ALLREDUCE) &&
		(!r->ordered || n->in_order));
}
