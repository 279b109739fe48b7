/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern.c - the neighbours of this rank on a communicator. Before anything is done with them, all
 * ranks agree once that each edge is known to both its ends and none is there twice, in a call that
 * may wait for other ranks.
 */
#include "mpi_glue/run/blocks.h"

#include <stdlib.h>

#include "engine/base/random.h"

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
static bool squeeze(const int *list, int n, struct qv_mpi_edges *edges)
{
	edges->ranks = room_for((size_t)n, sizeof(*edges->ranks));
	edges->slots = room_for((size_t)n, sizeof(*edges->slots));
	if (!edges->ranks || !edges->slots)
		return false;
	for (int i = 0; i < n; i++) {
		if (list[i] == MPI_PROC_NULL)
			continue;
		edges->slots[edges->n] = i;
		edges->ranks[edges->n++] = (uint32_t)list[i];
	}
	return true;
}

static bool ask(MPI_Comm comm, int rank, int topology, struct own *own)
{
	if (topology == MPI_CART)
		return ask_cart(comm, own);
	return topology == MPI_GRAPH ? ask_graph(comm, rank, own) : ask_dist_graph(comm, own);
}

static bool fill(struct qv_mpi_pattern *p, const struct qv_mpi_comm *c, int topology)
{
	struct own own = {0};
	const bool there = ask(c->comm, c->rank, topology, &own) &&
			   squeeze(own.in, own.in_n, &p->in) &&
			   squeeze(own.out, own.out_n, &p->out);

	free(own.in);
	free(own.out);
	return there;
}

/* A number for each edge: over all ranks, those of the edges out and in cancel out, if each edge is in
 * both lists. */
static uint64_t sum_of(const struct qv_mpi_pattern *p, const struct qv_mpi_comm *c)
{
	const uint64_t rank = (uint64_t)c->rank;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->out.n; i++) {
		uint64_t edge = rank << 32 | p->out.ranks[i];

		sum ^= qv_random(&edge);
	}
	for (uint32_t i = 0; i < p->in.n; i++) {
		uint64_t edge = (uint64_t)p->in.ranks[i] << 32 | rank;

		sum ^= qv_random(&edge);
	}
	return sum;
}

/* What all ranks must know alike. False: an error, or a rank has no memory. */
static bool agree(struct qv_mpi_comm *c, struct qv_mpi_pattern *p)
{
	enum { FAILED, TWICE, DEGREE, N };
	const struct qv_planner_spec spec =
		qv_mpi_planner_spec(c, p, &(struct qv_mpi_rule){.k = 1});
	struct qv_planner *planner = NULL;
	const int rc = p->there ? qv_planner_create(&spec, NULL, NULL, &planner) : QV_ENOMEM;
	uint64_t mine = sum_of(p, c), sum;
	int ours[N] = {rc == QV_ENOMEM, rc == QV_EINVAL,
		       (int)(p->out.n > p->in.n ? p->out.n : p->in.n)};
	int all[N];

	qv_planner_free(planner);
	if (QV_REAL(Allreduce)(ours, all, N, MPI_INT, MPI_MAX, c->comm) ||
	    QV_REAL(Allreduce)(&mine, &sum, 1, MPI_UINT64_T, MPI_BXOR, c->comm) || all[FAILED])
		return false;
	p->odd = all[TWICE] || sum;
	p->degree = all[DEGREE];
	return true;
}

static struct qv_mpi_pattern *make(struct qv_mpi_comm *c, int topology)
{
	struct qv_mpi_pattern none = {.there = false}, *p = calloc(1, sizeof(*p));
	bool agreed;

	if (p)
		p->there = fill(p, c, topology);
	agreed = agree(c, p ? p : &none);
	if (!agreed) {
		qv_mpi_pattern_free(p);
		p = NULL;
	}
	return p;
}

static void free_edges(struct qv_mpi_edges *edges)
{
	free(edges->ranks);
	free(edges->slots);
}

void qv_mpi_degrees(const struct qv_mpi_comm *c, int *in_n, int *out_n)
{
	int topology = MPI_UNDEFINED, weighted;

	*in_n = *out_n = 0;
	PMPI_Topo_test(c->comm, &topology);
	if (topology == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors_count(c->comm, in_n, out_n, &weighted);
		return;
	}
	if (topology == MPI_GRAPH) {
		PMPI_Graph_neighbors_count(c->comm, c->rank, in_n);
	} else if (topology == MPI_CART) {
		PMPI_Cartdim_get(c->comm, in_n);
		*in_n *= 2;
	}
	*out_n = *in_n;
}

void qv_mpi_pattern_free(struct qv_mpi_pattern *pattern)
{
	struct qv_mpi_friends *next;

	if (!pattern)
		return;
	for (struct qv_mpi_friends *f = pattern->friends; f; f = next) {
		next = f->next;
		qv_neighbor_free(f->plan);
		free(f);
	}
	free_edges(&pattern->in);
	free_edges(&pattern->out);
	free(pattern);
}

enum qv_mpi_reason qv_mpi_pattern_of(struct qv_mpi_comm *c, enum qv_mpi_form form)
{
	int topology = MPI_UNDEFINED;

	if (PMPI_Topo_test(c->comm, &topology) || topology == MPI_UNDEFINED)
		return QV_MPI_NO_TOPOLOGY;
	if (!c->pattern && form == QV_MPI_NONBLOCKING)
		return QV_MPI_NOT_KNOWN;
	if (!qv_mpi_comm_open(c)) /* plans are made by messages on the duplicate */
		return QV_MPI_DUP_REFUSED;
	if (!c->pattern) {
		const double began = PMPI_Wtime();

		c->pattern = make(c, topology);
		qv_mpi.planned_ns += qv_mpi_ns_since(began);
	}
	if (!c->pattern) /* the other ranks have theirs */
		return QV_MPI_FAILED;
	return c->pattern->odd ? QV_MPI_TWICE : QV_MPI_TAKEN;
}
