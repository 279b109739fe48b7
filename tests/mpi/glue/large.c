/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c - one collective, called by ints on some ranks and by large counts on others:
 * MPI has it once, and which of the two a rank needs is its own affair. */
#include "poison.h"

#if MPI_VERSION >= 4
#define N 37

static int value(int from, int to, int i)
{
	return from * 10007 + to * 101 + i;
}

/* Which ranks call by large counts. */
static int is_large(int turn)
{
	return (glue_rank + turn) % 2;
}

#define CALL(name, ...) (large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

static int in[64 * N], out[64 * N], ints[64], at[64];
static MPI_Count wide[64];
static MPI_Aint wide_at[64];

static void fill(void)
{
	for (int r = 0; r < glue_ranks; r++) {
		wide[r] = ints[r] = N;
		wide_at[r] = at[r] = r * N;
		for (int i = 0; i < N; i++) {
			in[r * N + i] = value(glue_rank, r, i);
			out[r * N + i] = -1;
		}
	}
}

static void one(enum poison_kind kind, int large, MPI_Comm ring)
{
	const MPI_Comm world = MPI_COMM_WORLD;

	switch (kind) {
	case POISON_REDUCE: CALL(Reduce, in, out, N, MPI_INT, MPI_SUM, 0, world); break;
	case POISON_ALLREDUCE: CALL(Allreduce, in, out, N, MPI_INT, MPI_SUM, world); break;
	case POISON_SCAN: CALL(Scan, in, out, N, MPI_INT, MPI_SUM, world); break;
	case POISON_EXSCAN: CALL(Exscan, in, out, N, MPI_INT, MPI_SUM, world); break;
	case POISON_SCATTER_BLOCK:
		CALL(Reduce_scatter_block, in, out, N, MPI_INT, MPI_SUM, world);
		break;
	case POISON_SCATTER:
		if (large)
			MPI_Reduce_scatter_c(in, out, wide, MPI_INT, MPI_SUM, world);
		else
			MPI_Reduce_scatter(in, out, ints, MPI_INT, MPI_SUM, world);
		break;
	case POISON_BCAST: CALL(Bcast, glue_rank ? out : in, N, MPI_INT, 0, world); break;
	case POISON_ALLGATHER: CALL(Allgather, in, N, MPI_INT, out, N, MPI_INT, world); break;
	case POISON_ALLTOALL: CALL(Alltoall, in, N, MPI_INT, out, N, MPI_INT, world); break;
	case POISON_ALLGATHERV:
		if (large)
			MPI_Allgatherv_c(in, N, MPI_INT, out, wide, wide_at, MPI_INT, world);
		else
			MPI_Allgatherv(in, N, MPI_INT, out, ints, at, MPI_INT, world);
		break;
	case POISON_ALLTOALLV:
		if (large)
			MPI_Alltoallv_c(in, wide, wide_at, MPI_INT, out, wide, wide_at, MPI_INT,
					world);
		else
			MPI_Alltoallv(in, ints, at, MPI_INT, out, ints, at, MPI_INT, world);
		break;
	case POISON_NEIGHBOR_ALLGATHER:
		CALL(Neighbor_allgather, in, N, MPI_INT, out, N, MPI_INT, ring);
		break;
	case POISON_NEIGHBOR_ALLGATHERV:
		if (large)
			MPI_Neighbor_allgatherv_c(in, N, MPI_INT, out, wide, wide_at, MPI_INT,
						  ring);
		else
			MPI_Neighbor_allgatherv(in, N, MPI_INT, out, ints, at, MPI_INT, ring);
		break;
	case POISON_NEIGHBOR_ALLTOALL:
		CALL(Neighbor_alltoall, in, N, MPI_INT, out, N, MPI_INT, ring);
		break;
	case POISON_NEIGHBOR_ALLTOALLV:
		if (large)
			MPI_Neighbor_alltoallv_c(in, wide, wide_at, MPI_INT, out, wide, wide_at,
						 MPI_INT, ring);
		else
			MPI_Neighbor_alltoallv(in, ints, at, MPI_INT, out, ints, at, MPI_INT, ring);
		break;
	default: MPI_Barrier(world); break;
	}
}

/* What element i of the result is. */
static int expected(enum poison_kind kind, int i)
{
	const int last = (glue_rank + glue_ranks - 1) % glue_ranks;
	int sum = 0, ranks = glue_ranks;

	switch (kind) {
	case POISON_SCAN:
	case POISON_EXSCAN: ranks = glue_rank + (kind == POISON_SCAN); /* fall through */
	case POISON_REDUCE:
	case POISON_ALLREDUCE:
	case POISON_SCATTER:
	case POISON_SCATTER_BLOCK:
		for (int r = 0; r < ranks; r++)
			sum += value(r, kind >= POISON_SCATTER ? glue_rank : 0, i);
		return sum;
	case POISON_ALLGATHER:
	case POISON_ALLGATHERV: return value(i / N, 0, i % N);
	case POISON_ALLTOALL:
	case POISON_ALLTOALLV: return value(i / N, glue_rank, i % N);
	case POISON_BCAST: return value(0, 0, i);
	default: return value(last, 0, i);
	}
}

static void check(enum poison_kind kind, int turn)
{
	const int whole = kind >= POISON_ALLGATHER && kind <= POISON_ALLTOALLV;
	const int none = kind == POISON_BARRIER || (kind == POISON_REDUCE && glue_rank) ||
			 ((kind == POISON_BCAST || kind == POISON_EXSCAN) && !glue_rank);

	for (int i = 0; i < N * (whole ? glue_ranks : 1) && !none; i++)
		CHECK(out[i] == expected(kind, i), "kind %d, turn %d: element %d is %d, not %d",
		      (int)kind, turn, i, out[i], expected(kind, i));
}

/* Of a gather and scatter; off the root a count is no count, and fits no int. */
static void rooted(int what, int large, int root)
{
	const MPI_Comm world = MPI_COMM_WORLD;
	const int here = glue_rank == root, n = here ? N : -3;
	const MPI_Count wide_n = here ? N : (MPI_Count)1 << 40;

	switch (what + 4 * large) {
	case 0: MPI_Gather(in, N, MPI_INT, out, n, MPI_INT, root, world); break;
	case 1: MPI_Scatter(in, n, MPI_INT, out, N, MPI_INT, root, world); break;
	case 2: MPI_Gatherv(in, N, MPI_INT, out, ints, at, MPI_INT, root, world); break;
	case 3: MPI_Scatterv(in, ints, at, MPI_INT, out, N, MPI_INT, root, world); break;
	case 4: MPI_Gather_c(in, N, MPI_INT, out, wide_n, MPI_INT, root, world); break;
	case 5: MPI_Scatter_c(in, wide_n, MPI_INT, out, N, MPI_INT, root, world); break;
	case 6: MPI_Gatherv_c(in, N, MPI_INT, out, wide, wide_at, MPI_INT, root, world); break;
	default: MPI_Scatterv_c(in, wide, wide_at, MPI_INT, out, N, MPI_INT, root, world); break;
	}
	for (int i = 0; i < (what % 2 ? N : here ? N * glue_ranks : 0); i++)
		CHECK(out[i] == (what % 2 ? value(root, glue_rank, i) : value(i / N, 0, i % N)),
		      "operation %d, large %d, root %d: element %d is %d", what, large, root, i,
		      out[i]);
}

static void all_rooted(void)
{
	uint64_t before;

	CHECK(!qv_mpi_set("gather=binomial,scatter=binomial,gatherv=binomial,scatterv=direct"),
	      "refused");
	for (int turn = 0; turn < 2 * glue_ranks; turn++)
		for (int what = 0; what < 4; what++) {
			before = qv_mpi_taken();
			fill();
			rooted(what, is_large(turn), turn / 2);
			CHECK(qv_mpi_taken() == before + 1, "operation %d, turn %d: not taken",
			      what, turn);
		}
}

/* One neighbour on each side, each another rank. */
static MPI_Comm make_ring(void)
{
	int next = (glue_rank + 1) % glue_ranks, weight = 1;
	int last = (glue_rank + glue_ranks - 1) % glue_ranks;
	MPI_Comm ring;

	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, &weight, 1, &next, &weight,
				       MPI_INFO_NULL, 0, &ring);
	return ring;
}

void glue_large(void)
{
	MPI_Comm ring = make_ring();
	uint64_t before;

	CHECK(glue_ranks <= 64, "too many ranks for this test");
	CHECK(!qv_mpi_set("reduce=binomial,allreduce=ring,reduce_scatter=ring,scan=binomial,"
			  "exscan=pipeline,broadcast=ring,"
			  "allgather=ring,alltoall=direct,allgatherv=ring,alltoallv=crystal,"
			  "neighbor_allgather=direct,neighbor_allgatherv=direct,"
			  "neighbor_alltoall=direct,neighbor_alltoallv=direct"),
	      "refused");
	for (int turn = 0; turn < 4; turn++)
		for (int kind = 0; kind < POISON_KINDS; kind++) {
			before = qv_mpi_taken();
			fill();
			one((enum poison_kind)kind, is_large(turn), ring);
			check((enum poison_kind)kind, turn);
			CHECK(kind == POISON_BARRIER || qv_mpi_taken() == before + 1,
			      "kind %d, turn %d: not taken", kind, turn);
		}
	MPI_Comm_free(&ring);
	all_rooted();
}

/* Rank 0 counts more elements of nothing than an int can, and all count the same calls. */
void glue_uneven(void)
{
	const MPI_Count many = (MPI_Count)1 << 32;
	MPI_Datatype nothing;
	int sum, one = 1;

	CHECK(!qv_mpi_set("broadcast=clairvoyant"), "refused");
	MPI_Type_contiguous(0, MPI_INT, &nothing);
	MPI_Type_commit(&nothing);
	for (int i = 0; i < 200; i++) {
		one = glue_rank ? 0 : i;
		MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
		CHECK(one == i, "call %d: %d", i, one);
		if (i % 3)
			continue;
		MPI_Bcast_c(NULL, glue_rank ? 0 : many, nothing, 0, MPI_COMM_WORLD);
		one = 1;
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == glue_ranks, "call %d: a sum of %d", i, sum);
	}
	MPI_Type_free(&nothing);
}
#else
void glue_large(void)
{
	if (!glue_rank)
		printf("skipped: this MPI has no large counts\n");
}

void glue_uneven(void)
{
}
#endif
