/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_calls.c - who sends what to whom, and the calls that are timed. */
#include "worker.h"

#include <stdlib.h>

/* Edges. */

static bool near(int a, int b, int size, int distance)
{
	const int d = abs(a - b);

	return (d < size - d ? d : size - d) <= distance;
}

/* Whether one rank is among the k nearest of another, above and below in turn, in steps of the stride. */
static bool is_nearest(const struct qv_bl_case *c, int from, int to)
{
	const int above = (to - from + c->ranks) % c->ranks, below = c->ranks - above;
	const int k = (int)c->reach;

	return above && ((above % c->stride == 0 && above / c->stride <= (k + 1) / 2) ||
			 (below % c->stride == 0 && below / c->stride <= k / 2));
}

/* Blocks that go from one rank to another: none, one, or two. */
static int blocks(const struct qv_bl_case *c, int from, int to)
{
	const int ranks = c->ranks, k = (int)c->reach;
	int grid[2] = {0, 0};

	switch (c->pattern) {
	case 'u': return c->operation == QV_BL_ALLGATHERV ? from % 3 : (from + to) % 3;
	case 'k':
		for (int i = 0; i < k; i++) /* k of the others, spread */
			if ((from + 1 + i * (ranks - 1) / k) % ranks == to)
				return 1;
		return 0;
	case 'x': return is_nearest(c, from, to);
	case 'm':
		MPI_Dims_create(ranks, 2, grid);
		return from != to && near(from / grid[1], to / grid[1], grid[0], k) &&
		       near(from % grid[1], to % grid[1], grid[1], k);
	case 's': return qv_bx_spmm_needs(c, to, from);
	case 'd': return qv_bx_chance((unsigned)from, (unsigned)to) < c->reach;
	default: return 1;
	}
}

/* Shape. */

static bool is_graph(const struct qv_bl_case *c)
{
	return c->pattern == 'm' || c->pattern == 'd' || c->pattern == 's';
}

void qv_bx_release(struct qv_bl_rank *r)
{
	struct qv_bx_shape *s = &r->shape;

	if (s->sends && s->comm != MPI_COMM_WORLD)
		MPI_Comm_free(&s->comm);
	free(s->sends);
	s->sends = NULL;
	qv_bx_spmm_free(s->spmm);
	s->spmm = NULL;
}

/* A block for each neighbour; a graph's blocks are all of one size. */
static void graph(struct qv_bl_rank *r, const struct qv_bl_case *c, int block)
{
	struct qv_bx_shape *s = &r->shape;
	int *to = s->sends, *from = s->recvs, to_n = 0, from_n = 0;

	for (int i = 0; i < r->ranks; i++) {
		if (blocks(c, r->rank, i))
			to[to_n++] = i;
		if (blocks(c, i, r->rank))
			from[from_n++] = i;
	}
	/* Weights of 0: the compiler takes MPI_UNWEIGHTED for an array without elements. */
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from_n, from, s->recvs_at, to_n, to,
				       s->sends_at, MPI_INFO_NULL, 0, &s->comm);
	s->in = (size_t)block * (size_t)(c->operation == QV_BL_NEIGHBOR_ALLTOALL ? to_n : 1);
	s->out = (size_t)block * (size_t)from_n;
	s->sends[0] = block;
}

static void whole(struct qv_bl_rank *r, const struct qv_bl_case *c, int block)
{
	struct qv_bx_shape *s = &r->shape;

	s->comm = MPI_COMM_WORLD;
	s->in = s->out = 0;
	for (int i = 0; i < r->ranks; i++) {
		s->sends[i] = block * blocks(c, r->rank, i);
		s->recvs[i] = block * blocks(c, i, r->rank);
		s->sends_at[i] = (int)s->in;
		s->recvs_at[i] = (int)s->out;
		s->in += (size_t)s->sends[i];
		s->out += (size_t)s->recvs[i];
	}
}

void qv_bx_prepare(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	const int block = (int)(c->bytes / (long)sizeof(double));
	struct qv_bx_shape *s = &r->shape;

	qv_bx_release(r);
	s->sends = calloc(4 * (size_t)r->ranks, sizeof(int));
	if (!s->sends)
		MPI_Abort(MPI_COMM_WORLD, 1);
	s->sends_at = s->sends + r->ranks;
	s->recvs = s->sends_at + r->ranks;
	s->recvs_at = s->recvs + r->ranks;
	if (is_graph(c))
		graph(r, c, block);
	else
		whole(r, c, block);
	if (c->operation == QV_BL_SPMM)
		qv_bx_spmm_open(r, c);
}

/* Calls. */

void qv_bx_call(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	const struct qv_bx_shape *s = &r->shape;
	const int block = s->sends[0];

	switch (c->operation) {
	case QV_BL_ALLGATHER:
		MPI_Allgather(r->in, block, MPI_DOUBLE, r->out, block, MPI_DOUBLE, s->comm);
		break;
	case QV_BL_ALLTOALL:
		MPI_Alltoall(r->in, block, MPI_DOUBLE, r->out, block, MPI_DOUBLE, s->comm);
		break;
	case QV_BL_ALLGATHERV:
		MPI_Allgatherv(r->in, s->sends[0], MPI_DOUBLE, r->out, s->recvs, s->recvs_at,
			       MPI_DOUBLE, s->comm);
		break;
	case QV_BL_NEIGHBOR_ALLGATHER:
		MPI_Neighbor_allgather(r->in, block, MPI_DOUBLE, r->out, block, MPI_DOUBLE,
				       s->comm);
		break;
	case QV_BL_SPMM: qv_bx_spmm_call(r, c); break;
	case QV_BL_NEIGHBOR_ALLTOALL:
		MPI_Neighbor_alltoall(r->in, block, MPI_DOUBLE, r->out, block, MPI_DOUBLE, s->comm);
		break;
	default:
		MPI_Alltoallv(r->in, s->sends, s->sends_at, MPI_DOUBLE, r->out, s->recvs,
			      s->recvs_at, MPI_DOUBLE, s->comm);
		break;
	}
}
