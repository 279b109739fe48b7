/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern.c - who is whose neighbour on a communicator: each rank knows its own ones, plans
 * are made by those of all. Asked for once, in a call that may wait for other ranks.
 */
#include "mpi_glue/run/blocks.h"

#include <limits.h>
#include <stdlib.h>

/* A rank's own neighbours, as the MPI tells them; MPI_PROC_NULL where there is none. */
struct own {
	int in_n, out_n;
	int *in, *out;
};

static void *need(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort(); /* this rank would choose other than the rest */
	return p;
}

static void ask_cart(MPI_Comm comm, struct own *own)
{
	int dims = 0;

	PMPI_Cartdim_get(comm, &dims);
	own->in_n = own->out_n = 2 * dims;
	own->in = need((size_t)own->in_n, sizeof(int));
	own->out = need((size_t)own->out_n, sizeof(int));
	for (int d = 0; d < dims; d++) {
		PMPI_Cart_shift(comm, d, 1, &own->in[2 * d], &own->in[2 * d + 1]);
		own->out[2 * d] = own->in[2 * d];
		own->out[2 * d + 1] = own->in[2 * d + 1];
	}
}

static void ask_graph(MPI_Comm comm, int rank, struct own *own)
{
	int n = 0;

	PMPI_Graph_neighbors_count(comm, rank, &n);
	own->in_n = own->out_n = n;
	own->in = need((size_t)n, sizeof(int));
	own->out = need((size_t)n, sizeof(int));
	PMPI_Graph_neighbors(comm, rank, n, own->in);
	PMPI_Graph_neighbors(comm, rank, n, own->out);
}

static void ask_dist_graph(MPI_Comm comm, struct own *own)
{
	int in_n = 0, out_n = 0, weighted = 0;
	int *weights;

	PMPI_Dist_graph_neighbors_count(comm, &in_n, &out_n, &weighted);
	own->in_n = in_n;
	own->out_n = out_n;
	own->in = need((size_t)in_n, sizeof(int));
	own->out = need((size_t)out_n, sizeof(int));
	weights = need((size_t)in_n + (size_t)out_n, sizeof(int));
	PMPI_Dist_graph_neighbors(comm, in_n, own->in, weights, out_n, own->out, weights + in_n);
	free(weights);
}

/* Without those that are not there; slots say where they stood. */
static int *squeeze(int *list, int n, uint32_t *left)
{
	int *slots = need((size_t)n, sizeof(*slots));

	*left = 0;
	for (int i = 0; i < n; i++) {
		if (list[i] == MPI_PROC_NULL)
			continue;
		slots[*left] = i;
		list[(*left)++] = list[i];
	}
	return slots;
}

/* The number of the lowest rank on the same node. */
static int node_of(struct qv_mpi_comm *c)
{
	MPI_Comm node;
	int lowest = c->rank;

	if (QV_REAL(Comm_split_type)(c->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node))
		return lowest;
	QV_REAL(Allreduce)(&c->rank, &lowest, 1, MPI_INT, MPI_MIN, node);
	PMPI_Comm_free(&node);
	return lowest;
}

/* All lists of all ranks, one behind the other: in, out of rank 0, in, out of rank 1, ... */
static uint32_t *gather(struct qv_mpi_comm *c, const struct qv_mpi_pattern *p,
			const struct own *own, int *degrees)
{
	const size_t ranks = (size_t)c->ranks;
	int *counts = need(ranks, sizeof(int)), *displs = need(ranks, sizeof(int));
	int mine[3] = {(int)p->in_n, (int)p->out_n, node_of(c)};
	uint32_t *both = need((size_t)p->in_n + p->out_n, sizeof(uint32_t)), *all = NULL;
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->in_n + p->out_n; i++)
		both[i] = (uint32_t)(i < p->in_n ? own->in[i] : own->out[i - p->in_n]);
	QV_REAL(Allgather)(mine, 3, MPI_INT, degrees, 3, MPI_INT, c->comm);
	for (size_t r = 0; r < ranks; r++) {
		counts[r] = degrees[3 * r] + degrees[3 * r + 1];
		displs[r] = (int)sum;
		sum += counts[r];
	}
	if (sum <= INT_MAX) {
		all = need((size_t)sum, sizeof(*all));
		QV_REAL(Allgatherv)
		(both, mine[0] + mine[1], MPI_UINT32_T, all, counts, displs, MPI_UINT32_T, c->comm);
	}
	free(both);
	free(counts);
	free(displs);
	return all;
}

/* The graph over the lists; whether plans can be made of it. */
static bool make_graph(struct qv_mpi_comm *c, struct qv_mpi_pattern *p, const int *degrees,
		       const uint32_t *all)
{
	const size_t ranks = (size_t)c->ranks;
	uint32_t *in_n = need(2 * ranks, sizeof(*in_n)), *out_n = in_n + ranks;
	const uint32_t **in = need(2 * ranks, sizeof(*in)), **out = in + ranks;
	struct qv_neighbor_spec spec = {.k = 1};
	struct qv_neighbor_plan *plan;
	int rc;

	for (size_t r = 0; r < ranks; r++) {
		in_n[r] = (uint32_t)degrees[3 * r];
		out_n[r] = (uint32_t)degrees[3 * r + 1];
		in[r] = all;
		out[r] = all + in_n[r];
		all += in_n[r] + out_n[r];
		p->node[r] = (uint32_t)degrees[3 * r + 2];
	}
	p->graph = (struct qv_graph){(uint32_t)ranks, out_n, in_n, out, in};
	spec.graph = p->graph;
	rc = qv_neighbor_plan(&spec, &plan);
	if (rc == QV_ENOMEM)
		abort();
	if (!rc)
		qv_neighbor_free(plan);
	return !rc;
}

static struct qv_mpi_pattern *make(struct qv_mpi_comm *c, int topology)
{
	struct qv_mpi_pattern *p = need(1, sizeof(*p));
	int *degrees = need(3 * (size_t)c->ranks, sizeof(*degrees));
	struct own own = {0};

	p->node = need((size_t)c->ranks, sizeof(*p->node));
	if (topology == MPI_CART)
		ask_cart(c->comm, &own);
	else if (topology == MPI_GRAPH)
		ask_graph(c->comm, c->rank, &own);
	else
		ask_dist_graph(c->comm, &own);
	p->in_slots = squeeze(own.in, own.in_n, &p->in_n);
	p->out_slots = squeeze(own.out, own.out_n, &p->out_n);
	p->lists = gather(c, p, &own, degrees);
	p->odd = !p->lists || !make_graph(c, p, degrees, p->lists);
	free(degrees);
	free(own.in);
	free(own.out);
	return p;
}

void qv_mpi_pattern_free(struct qv_mpi_pattern *pattern)
{
	if (!pattern)
		return;
	for (int k = 0; k <= QV_MPI_FRIENDS_TRIED; k++)
		qv_neighbor_free(pattern->plans[k]);
	free((void *)(uintptr_t)pattern->graph.in_n);
	free((void *)(uintptr_t)pattern->graph.in);
	free(pattern->lists);
	free(pattern->node);
	free(pattern->in_slots);
	free(pattern->out_slots);
	free(pattern);
}

enum qv_mpi_reason qv_mpi_pattern_of(struct qv_mpi_comm *c, enum qv_mpi_form form)
{
	int topology = MPI_UNDEFINED;

	if (PMPI_Topo_test(c->comm, &topology) || topology == MPI_UNDEFINED)
		return QV_MPI_NO_TOPOLOGY;
	if (!c->pattern && form == QV_MPI_NONBLOCKING)
		return QV_MPI_NOT_KNOWN;
	if (!c->pattern)
		c->pattern = make(c, topology);
	return c->pattern->odd ? QV_MPI_TWICE : QV_MPI_TAKEN;
}
