/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern.c - who is whose neighbour on a communicator. Each rank knows its own neighbours, and a
 * plan needs those of all ranks. They are gathered once, in a call that may wait for other ranks.
 */
#include "mpi_glue/run/blocks.h"

#include <limits.h>
#include <stdlib.h>

/* A rank's own neighbours, as the MPI tells them; MPI_PROC_NULL where there is none. */
struct own {
	int in_n, out_n;
	int *in, *out;
};

/* For n elements and one more, since for none of them calloc may return NULL. */
static void *room_for(size_t n, size_t size)
{
	return calloc(n + 1, size);
}

static bool make_own(struct own *own, int in_n, int out_n)
{
	own->in_n = in_n;
	own->out_n = out_n;
	own->in = room_for((size_t)in_n, sizeof(int));
	own->out = room_for((size_t)out_n, sizeof(int));
	return own->in && own->out;
}

/* These return false where there is no memory. */

static bool ask_cart(MPI_Comm comm, struct own *own)
{
	int dims = 0;

	PMPI_Cartdim_get(comm, &dims);
	if (!make_own(own, 2 * dims, 2 * dims))
		return false;
	for (int d = 0; d < dims; d++) {
		PMPI_Cart_shift(comm, d, 1, &own->in[2 * d], &own->in[2 * d + 1]);
		own->out[2 * d] = own->in[2 * d];
		own->out[2 * d + 1] = own->in[2 * d + 1];
	}
	return true;
}

static bool ask_graph(MPI_Comm comm, int rank, struct own *own)
{
	int n = 0;

	PMPI_Graph_neighbors_count(comm, rank, &n);
	if (!make_own(own, n, n))
		return false;
	PMPI_Graph_neighbors(comm, rank, n, own->in);
	PMPI_Graph_neighbors(comm, rank, n, own->out);
	return true;
}

static bool ask_dist_graph(MPI_Comm comm, struct own *own)
{
	int in_n = 0, out_n = 0, weighted = 0;
	int *weights;

	PMPI_Dist_graph_neighbors_count(comm, &in_n, &out_n, &weighted);
	weights = room_for((size_t)in_n + (size_t)out_n, sizeof(int));
	if (!make_own(own, in_n, out_n) || !weights) {
		free(weights);
		return false;
	}
	PMPI_Dist_graph_neighbors(comm, in_n, own->in, weights, out_n, own->out, weights + in_n);
	free(weights);
	return true;
}

/* Without those that are not there; slots say where they stood. */
static int *squeeze(int *list, int n, uint32_t *left)
{
	int *slots = room_for((size_t)n, sizeof(*slots));

	*left = 0;
	for (int i = 0; slots && i < n; i++) {
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

/* What gather allocates for the time of its call. */
struct gathering {
	int *counts, *displs;
	uint32_t *both;
};

/* All lists of all ranks, one behind the other: in, out of rank 0, in, out of rank 1, ...; no list,
 * where they are too long for the MPI. */
static bool gather_with(struct gathering *g, struct qv_mpi_comm *c, struct qv_mpi_pattern *p,
			const struct own *own, int *degrees)
{
	const size_t ranks = (size_t)c->ranks;
	int *const counts = g->counts, *const displs = g->displs;
	int mine[3] = {(int)p->in_n, (int)p->out_n, node_of(c)};
	uint32_t *const both = g->both;
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->in_n + p->out_n; i++)
		both[i] = (uint32_t)(i < p->in_n ? own->in[i] : own->out[i - p->in_n]);
	QV_REAL(Allgather)(mine, 3, MPI_INT, degrees, 3, MPI_INT, c->comm);
	for (size_t r = 0; r < ranks; r++) {
		counts[r] = degrees[3 * r] + degrees[3 * r + 1];
		displs[r] = (int)sum;
		sum += counts[r];
	}
	if (sum > INT_MAX)
		return true;
	p->lists = room_for((size_t)sum, sizeof(uint32_t));
	if (!p->lists)
		return false;
	QV_REAL(Allgatherv)
	(both, mine[0] + mine[1], MPI_UINT32_T, p->lists, counts, displs, MPI_UINT32_T, c->comm);
	return true;
}

static bool gather(struct qv_mpi_comm *c, struct qv_mpi_pattern *p, const struct own *own,
		   int *degrees)
{
	struct gathering g = {room_for((size_t)c->ranks, sizeof(int)),
			      room_for((size_t)c->ranks, sizeof(int)),
			      room_for((size_t)p->in_n + p->out_n, sizeof(uint32_t))};
	const bool there = g.counts && g.displs && g.both && gather_with(&g, c, p, own, degrees);

	free(g.both);
	free(g.counts);
	free(g.displs);
	return there;
}

/* The graph over the lists, and whether plans can be made of it. */
static bool make_graph(struct qv_mpi_comm *c, struct qv_mpi_pattern *p, const int *degrees)
{
	const size_t ranks = (size_t)c->ranks;
	uint32_t *in_n = room_for(2 * ranks, sizeof(*in_n)), *out_n = in_n + ranks;
	const uint32_t **in = room_for(2 * ranks, sizeof(*in)), **out = in + ranks;
	const uint32_t *all = p->lists;
	struct qv_neighbor_spec spec = {.k = 1};
	struct qv_neighbor_plan *plan;
	int rc;

	p->graph = (struct qv_graph){(uint32_t)ranks, out_n, in_n, out, in};
	if (!in_n || !in)
		return false;
	for (size_t r = 0; r < ranks; r++) {
		in_n[r] = (uint32_t)degrees[3 * r];
		out_n[r] = (uint32_t)degrees[3 * r + 1];
		in[r] = all;
		out[r] = all + in_n[r];
		all += in_n[r] + out_n[r];
		p->node[r] = (uint32_t)degrees[3 * r + 2];
	}
	spec.graph = p->graph;
	rc = qv_neighbor_plan(&spec, &plan);
	if (!rc)
		qv_neighbor_free(plan);
	p->odd = rc;
	return rc != QV_ENOMEM;
}

static bool ask(MPI_Comm comm, int rank, int topology, struct own *own)
{
	if (topology == MPI_CART)
		return ask_cart(comm, own);
	return topology == MPI_GRAPH ? ask_graph(comm, rank, own) : ask_dist_graph(comm, own);
}

static bool fill(struct qv_mpi_pattern *p, struct qv_mpi_comm *c, int topology, struct own *own,
		 int *degrees)
{
	p->node = room_for((size_t)c->ranks, sizeof(*p->node));
	if (!p->node || !degrees || !ask(c->comm, c->rank, topology, own))
		return false;
	p->in_slots = squeeze(own->in, own->in_n, &p->in_n);
	p->out_slots = squeeze(own->out, own->out_n, &p->out_n);
	if (!p->in_slots || !p->out_slots || !gather(c, p, own, degrees))
		return false;
	p->odd = !p->lists;
	return p->odd || make_graph(c, p, degrees);
}

static struct qv_mpi_pattern *make(struct qv_mpi_comm *c, int topology)
{
	struct qv_mpi_pattern *p = calloc(1, sizeof(*p));
	int *degrees = room_for(3 * (size_t)c->ranks, sizeof(*degrees));
	struct own own = {0};

	if (p && !fill(p, c, topology, &own, degrees)) {
		qv_mpi_pattern_free(p);
		p = NULL;
	}
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
	if (!c->pattern) /* the other ranks have theirs */
		return QV_MPI_FAILED;
	return c->pattern->odd ? QV_MPI_TWICE : QV_MPI_TAKEN;
}
