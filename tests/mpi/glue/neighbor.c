/* SPDX-License-Identifier: BSD-2-Clause */
/* neighbor.c - neighbourhood collectives against the MPI's own, on all kinds of
 * topologies. */
#include "blocks.h"

#include <string.h>

#define MOST 130 /* neighbours of a rank */

/* The own neighbours, as calls number them. */
struct lists {
	int in_n, out_n;
	int in[MOST], out[MOST];
};

static int pairs(int seed, int from, int to)
{
	const int d = glue_draw(seed, from, to, 5);

	return d == 0 ? 0 : d == 1 ? 3000 : glue_draw(seed + 1, from, to, 40);
}

/* How many pairs a block is of: from whom to whom. */
static int count_of(enum glue_blocks_kind kind, int seed, int from, int to)
{
	switch (kind) {
	case GLUE_NEIGHBOR_ALLGATHERV: return pairs(seed, from, 0);
	case GLUE_NEIGHBOR_ALLTOALLV: return pairs(seed, from, to);
	default: return pairs(seed, 0, 0);
	}
}

static void one(MPI_Comm comm, const struct lists *l, const char *algorithm,
		enum glue_blocks_kind kind, enum glue_form form, int seed, int taken)
{
	const int gather = kind == GLUE_NEIGHBOR_ALLGATHER || kind == GLUE_NEIGHBOR_ALLGATHERV;
	const int vary = kind == GLUE_NEIGHBOR_ALLGATHERV || kind == GLUE_NEIGHBOR_ALLTOALLV;
	struct glue_blocks b = {.kind = kind, .comm = comm};
	int in[MOST], out[MOST], rank;

	MPI_Comm_rank(comm, &rank);
	in[0] = out[0] = count_of(kind, seed, rank, 0);
	for (int i = 0; i < l->out_n && !gather; i++)
		in[i] = count_of(kind, seed, rank, l->out[i]);
	for (int i = 0; i < l->in_n; i++)
		out[i] = count_of(kind, seed, l->in[i], rank);
	glue_side_open(&b.in, gather || !l->out_n ? 1 : l->out_n, in,
		       vary && !gather && glue_draw(seed, rank, 1, 2),
		       glue_draw(seed, rank, 2, 3) == 0);
	glue_side_open(&b.out, l->in_n ? l->in_n : 1, out, vary && glue_draw(seed, rank, 3, 2),
		       glue_draw(seed, rank, 4, 3) == 0);
	glue_blocks_compare(&b, algorithm, form, 2, taken && glue_takes(form));
	glue_side_close(&b.in);
	glue_side_close(&b.out);
}

/* All calls by all rules on one communicator. */
static void all(MPI_Comm comm, const struct lists *l, int seed, int taken)
{
	static const char *const algorithms[] = {
		"direct",  "friends",   "friends:3", "nodes:2", "friends:2:cumulative",
		"crystal", "crystal:3", "mesh2"};

	for (int i = 0; i < 8; i++)
		for (int kind = GLUE_NEIGHBOR_ALLGATHER; kind < GLUE_BLOCKS_KINDS; kind++)
			for (int form = 0; form < GLUE_FORMS; form++) {
				if (!glue_has((enum glue_form)form) ||
				    (i > 4 && kind < GLUE_NEIGHBOR_ALLTOALL))
					continue;
				one(comm, l, algorithms[i], (enum glue_blocks_kind)kind,
				    (enum glue_form)form, seed + i, taken);
			}
}

/* Weights are given, though nobody looks at them. */
static MPI_Comm adjacent(const struct lists *l)
{
	int weights[MOST];
	MPI_Comm comm;

	for (int i = 0; i < MOST; i++)
		weights[i] = i;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, l->in_n, l->in, weights, l->out_n, l->out,
				       weights, MPI_INFO_NULL, 0, &comm);
	return comm;
}

/* Each edge with a chance of `density` percent, one to oneself too. */
static void random_graph(int seed, int density)
{
	struct lists l = {0};
	MPI_Comm comm;

	for (int k = 0; k < glue_ranks; k++) {
		const int r = seed % 2 ? glue_ranks - 1 - k : k; /* lists in any order */

		if (glue_draw(seed, glue_rank, r, 100) < density)
			l.out[l.out_n++] = r;
		if (glue_draw(seed, r, glue_rank, 100) < density)
			l.in[l.in_n++] = r;
	}
	comm = adjacent(&l);
	all(comm, &l, seed, 1);
	MPI_Comm_free(&comm);
}

/* By edges that another rank names; the MPI orders the lists. */
static void given_graph(void)
{
	const int next = (glue_rank + 1) % glue_ranks, far = (glue_rank + 2) % glue_ranks;
	int degree = 2, to[2] = {glue_rank, far}, weights[MOST] = {1, 1}, weighted;
	struct lists l;
	MPI_Comm comm;

	if (far == next || far == glue_rank) /* not the same one twice */
		degree = 1;
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &next, &degree, to, weights, MPI_INFO_NULL, 0,
			      &comm);
	MPI_Dist_graph_neighbors_count(comm, &l.in_n, &l.out_n, &weighted);
	MPI_Dist_graph_neighbors(comm, l.in_n, l.in, weights, l.out_n, l.out, weights);
	all(comm, &l, 11, 1);
	MPI_Comm_free(&comm);
}

static void cart(int periodic)
{
	int dims[2] = {0, 0}, periods[2] = {periodic, periodic}, twice = 0;
	struct lists l = {.in_n = 4, .out_n = 4};
	MPI_Comm comm;

	MPI_Dims_create(glue_ranks, 2, dims);
	for (int d = 0; d < 2; d++)
		twice |= periodic && dims[d] < 3; /* both neighbours are one */
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
	for (int d = 0; d < 2; d++)
		MPI_Cart_shift(comm, d, 1, &l.in[2 * d], &l.in[2 * d + 1]);
	memcpy(l.out, l.in, sizeof(l.out));
	/* MPIs differ in which of two blocks from one neighbour is which. */
	if (!twice)
		all(comm, &l, 21, 1);
	MPI_Comm_free(&comm);
}

static void graph(void)
{
	int index[64], edges[128], n = 0;
	struct lists l = {0};
	MPI_Comm comm;

	for (int r = 0; r < glue_ranks; r++) { /* a chain */
		if (r)
			edges[n++] = r - 1;
		if (r + 1 < glue_ranks)
			edges[n++] = r + 1;
		index[r] = n;
	}
	MPI_Graph_create(MPI_COMM_WORLD, glue_ranks, index, edges, 0, &comm);
	MPI_Graph_neighbors_count(comm, glue_rank, &l.in_n);
	MPI_Graph_neighbors(comm, glue_rank, MOST, l.in);
	l.out_n = l.in_n;
	memcpy(l.out, l.in, sizeof(l.out));
	all(comm, &l, 31, 1);
	MPI_Comm_free(&comm);
}

/* A neighbour twice: the MPI's, and what comes is in order. */
static void twice(void)
{
	const int next = (glue_rank + 1) % glue_ranks;
	const int last = (glue_rank + glue_ranks - 1) % glue_ranks;
	struct lists l = {2, 2, {last, last}, {next, next}};
	MPI_Comm comm = adjacent(&l);

	one(comm, &l, "friends", GLUE_NEIGHBOR_ALLTOALL, GLUE_BLOCKING, 41, 0);
	MPI_Comm_free(&comm);
}

/* A nonblocking call may not wait for other ranks, so it can be ours only once all are known: from
 * the beginning, if neighbours' calls were ours then, or after a blocking call. */
static void unknown(void)
{
	const int next = (glue_rank + 1) % glue_ranks;
	const int last = (glue_rank + glue_ranks - 1) % glue_ranks;
	struct lists l = {1, 1, {last}, {next}};
	MPI_Comm comm;

	for (int early = 0; early < 2; early++) {
		CHECK(!qv_mpi_set(early ? "neighbor_alltoall=direct" : ""), "refused");
		comm = adjacent(&l);
		one(comm, &l, "direct", GLUE_NEIGHBOR_ALLGATHER, GLUE_NONBLOCKING, 51, early);
		one(comm, &l, "direct", GLUE_NEIGHBOR_ALLGATHER, GLUE_BLOCKING, 51, 1);
		one(comm, &l, "direct", GLUE_NEIGHBOR_ALLGATHER, GLUE_NONBLOCKING, 51, 1);
		MPI_Comm_free(&comm);
	}
	CHECK(!qv_mpi_set("neighbor_alltoallv=crystal"), "refused");
	comm = adjacent(&l);
	one(comm, &l, "crystal", GLUE_NEIGHBOR_ALLTOALLV, GLUE_NONBLOCKING, 52, 1);
	MPI_Comm_free(&comm);
}

/* The rows of a grid, and a copy: the first call on them is nonblocking. */
static void rows(void)
{
	int dims[2] = {1, glue_ranks}, periods[2] = {0, 0}, remain[2] = {0, 1};
	struct lists l = {2, 2, {0}, {0}};
	MPI_Comm grid, row, copy;

	CHECK(!qv_mpi_set("neighbor_alltoall=direct"), "refused");
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Cart_sub(grid, remain, &row);
	MPI_Cart_shift(row, 0, 1, &l.in[0], &l.in[1]);
	memcpy(l.out, l.in, sizeof(l.out));
	MPI_Comm_dup(row, &copy);
	one(row, &l, "direct", GLUE_NEIGHBOR_ALLTOALL, GLUE_NONBLOCKING, 61, 1);
	one(copy, &l, "direct", GLUE_NEIGHBOR_ALLTOALL, GLUE_NONBLOCKING, 62, 1);
	MPI_Comm_free(&copy);
	MPI_Comm_free(&row);
	MPI_Comm_free(&grid);
}

/* Ranks and neighbours on one communicator, by one algorithm: each has its own number of blocks. */
static void beside(void)
{
	const int next = (glue_rank + 1) % glue_ranks;
	const int last = (glue_rank + glue_ranks - 1) % glue_ranks;
	struct lists ring = {1, 1, {last}, {next}}, whole = {glue_ranks, glue_ranks, {0}, {0}};
	MPI_Comm comm = adjacent(&ring);

	for (int r = 0; r < glue_ranks; r++)
		whole.in[r] = whole.out[r] = r;
	for (int turn = 0; turn < 2; turn++) {
		one(comm, &whole, "crystal", GLUE_ALLTOALLV, GLUE_BLOCKING, 81, 1);
		one(comm, &ring, "crystal", GLUE_NEIGHBOR_ALLTOALLV, GLUE_BLOCKING, 82, 1);
	}
	MPI_Comm_free(&comm);
}

static int plans(void)
{
	static uint64_t n_then;
	static double seconds_then;
	uint64_t n;
	double seconds;

	qv_mpi_planned(&n, &seconds);
	CHECK(n == n_then || seconds > seconds_then, "a plan took no time");
	n_then = n;
	seconds_then = seconds;
	return (int)n;
}

/* A rule has one plan on a communicator, whichever operations go by it, and though others come between. */
static void planned_once(void)
{
	static const char *const rules[] = {"direct", "friends:2", "nodes:2",
					    "friends:2:cumulative"};
	const int next = (glue_rank + 1) % glue_ranks;
	const int last = (glue_rank + glue_ranks - 1) % glue_ranks;
	struct lists l = {1, 1, {last}, {next}};

	for (int turn = 0; turn < 2; turn++) { /* another communicator has its own */
		const int before = plans();
		MPI_Comm comm;

		CHECK(!qv_mpi_set(""), "refused"); /* no plan before the first call */
		comm = adjacent(&l);
		for (int i = 0; i < 12; i++) {
			for (int kind = GLUE_NEIGHBOR_ALLGATHER; kind < GLUE_BLOCKS_KINDS; kind++)
				one(comm, &l, rules[i % 4], (enum glue_blocks_kind)kind,
				    GLUE_BLOCKING, 71, 1);
			CHECK(plans() - before == (i < 4 ? i + 1 : 4), "call %d: %d plans", i,
			      plans() - before);
		}
		MPI_Comm_free(&comm);
	}
}

void glue_neighbor(void)
{
	CHECK(glue_ranks <= 64, "too many ranks for this test");
	random_graph(1, 100);
	random_graph(2, 60);
	random_graph(3, 20);
	given_graph();
	cart(0);
	cart(1);
	graph();
	twice();
	unknown();
	rows();
	beside();
	planned_once();
}
