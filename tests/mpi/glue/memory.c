/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - blocking collectives through memory of the node. */
#include "glue.h"

#include <stdlib.h>
#include <string.h>

/* Every operation on every type, lengths at the borders of pieces, in place and not. */
static void reductions(void)
{
#ifdef OPEN_MPI
	static const int counts[] = {1, 7, 500, 4100, 20000};
#else /* Debian's MPICH dies in longer ones of its own that are in place at rank 1 */
	static const int counts[] = {1, 3, 7, 20, 40};
#endif
	struct glue_pair p;

	for (size_t i = 0; glue_pair(i, &p); i++)
		for (int kind = GLUE_REDUCE; kind <= GLUE_ALLREDUCE; kind++) {
			struct glue_call call = {(enum glue_kind)kind,
						 p.type,
						 0,
						 p.op,
						 counts[i % 5],
						 (int)i % glue_ranks,
						 (int)(i / 2 % 2),
						 MPI_COMM_WORLD};
			MPI_Aint low, extent;
			int size;

			MPI_Type_get_extent(p.type, &low, &extent);
			MPI_Type_size(p.type, &size);
			call.item = (size_t)extent;
			for (int again = 0; again < 2; again++)
				glue_compare(&call, "memory", GLUE_BLOCKING, p.fill,
					     size == extent);
		}
}

/* Some pieces, to each root: no rank is in place. */
static void long_reductions(void)
{
	struct glue_pair p;
	struct glue_call call;

	glue_pair(0, &p);
	call = (struct glue_call){GLUE_REDUCE, p.type, 0, p.op, 70000, 0, 0, MPI_COMM_WORLD};
	for (call.root = 0; call.root < glue_ranks; call.root++) {
		MPI_Aint low, extent;

		MPI_Type_get_extent(p.type, &low, &extent);
		call.item = (size_t)extent;
		glue_compare(&call, "memory", GLUE_BLOCKING, p.fill, 1);
	}
}

/* Ranks that are late, and calls of all kinds in a row. */
static void mixed(void)
{
	CHECK(!qv_mpi_set("allreduce=memory,broadcast=memory,barrier=memory,alltoall=memory"),
	      "refused");
	for (int i = 0; i < 2000; i++) {
		int in[64] = {i + glue_rank}, out[64], root = i % glue_ranks, all[64];

		MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(out[0] == i * glue_ranks + glue_ranks * (glue_ranks - 1) / 2, "sum %d: %d", i,
		      out[0]);
		in[0] = glue_rank == root ? i : -1;
		MPI_Bcast(in, 1, MPI_INT, root, MPI_COMM_WORLD);
		CHECK(in[0] == i, "broadcast %d: %d", i, in[0]);
		if (i % 3)
			MPI_Barrier(MPI_COMM_WORLD);
		for (int k = 0; k < glue_ranks; k++)
			all[k] = glue_rank * 1000 + k + i;
		MPI_Alltoall(all, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
		for (int k = 0; k < glue_ranks; k++)
			CHECK(out[k] == k * 1000 + glue_rank + i, "exchange %d: %d", i, out[k]);
	}
}

/* Who waits for memory must let the MPI go on: rank 0 comes when it has what the others have begun
 * to send. */
static void messages(void)
{
	enum { N = 1 << 20 };
	int *data = malloc(N * sizeof(*data));
	MPI_Request r;

	CHECK(data, "no memory");
	CHECK(!qv_mpi_set("barrier=memory"), "refused");
	for (int i = 0; i < N; i++)
		data[i] = i + glue_rank;
	if (glue_rank) {
		MPI_Isend(data, N, MPI_INT, 0, 5, MPI_COMM_WORLD, &r);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else {
		for (int from = 1; from < glue_ranks; from++) {
			MPI_Recv(data, N, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(data[N - 1] == N - 1 + from, "from %d: %d", from, data[N - 1]);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	free(data);
}

/* The node of each rank, as run/common.sh says; NULL: all are on one. */
static const char *nodes(void)
{
	return getenv("QV_NODES");
}

int glue_in_order(void)
{
	for (int i = 1; nodes() && i < glue_ranks; i++)
		if (nodes()[2 * i] < nodes()[2 * i - 2])
			return 0;
	return 1;
}

/* Whether two ranks of a half, those with odd or even numbers, are on one node. */
static int has_neighbours(void)
{
	for (int i = glue_rank % 2; nodes() && i < glue_ranks; i += 2)
		for (int k = i + 2; k < glue_ranks; k += 2)
			if (nodes()[2 * i] == nodes()[2 * k])
				return 1;
	return !nodes();
}

/* Many communicators, each with memory of its own; what is not for memory is the MPI's. */
static void comms(void)
{
	uint64_t before;
	int one = 1, sum;
	MPI_Request r;

	CHECK(!qv_mpi_set("allreduce=memory"), "refused");
	for (int i = 0; i < 30; i++) {
		MPI_Comm dup, half;
		int ranks;

		MPI_Comm_dup(MPI_COMM_WORLD, &dup);
		MPI_Comm_split(dup, glue_rank % 2, -glue_rank, &half);
		MPI_Comm_size(half, &ranks);
		before = qv_mpi_taken();
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
		CHECK(sum == ranks, "half: %d of %d", sum, ranks);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
		CHECK(sum == glue_ranks, "all: %d", sum);
		CHECK((int)(qv_mpi_taken() - before) == 1 + (ranks > 1 && has_neighbours()),
		      "taken: %d", (int)(qv_mpi_taken() - before));
		MPI_Comm_free(&half);
		MPI_Comm_free(&dup);
	}
	before = qv_mpi_taken();
	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(sum == glue_ranks && qv_mpi_taken() == before, "nonblocking: %d", sum);
	CHECK(qv_mpi_set("reduce_scatter=memory") == QV_EINVAL, "memory has no reduce_scatter");
}

void glue_memory(void)
{
	reductions();
	long_reductions();
	mixed();
	messages();
	comms();
}

/* At MPI_BOTTOM. */

enum { BLOCK = 5, MOST_RANKS = 16 };

static int given[BLOCK * MOST_RANKS], got[BLOCK * MOST_RANKS];

/* Blocks of numbers at their addresses. */
static MPI_Datatype blocks_at(const int *numbers)
{
	const int length = BLOCK;
	MPI_Datatype one, many;
	MPI_Aint at;

	MPI_Get_address(numbers, &at);
	MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &one);
	MPI_Type_create_resized(one, at, (MPI_Aint)sizeof given / MOST_RANKS, &many);
	MPI_Type_commit(&many);
	MPI_Type_free(&one);
	return many;
}

/* Each rank's numbers are its own; so many blocks have come, each from the next rank, or all from one. */
static void check_blocks(const char *what, int blocks, int from, int step, int place)
{
	for (int i = 0; i < blocks * BLOCK; i++) {
		const int rank = from + i / BLOCK * step, at = place < 0 ? i : place + i % BLOCK;

		CHECK(got[i] == 1000 * rank + at, "%s: number %d is %d", what, i, got[i]);
	}
	memset(got, 0, sizeof got);
}

static void all_from_bottom(MPI_Datatype in, MPI_Datatype out)
{
	const int last = glue_ranks - 1, mine = BLOCK * glue_rank;
	const MPI_Comm comm = MPI_COMM_WORLD;

	MPI_Bcast(MPI_BOTTOM, 2, glue_rank == last ? in : out, last, comm);
	if (glue_rank != last)
		check_blocks("broadcast", 2, last, 0, -1);
	MPI_Allgather(MPI_BOTTOM, 1, in, MPI_BOTTOM, 1, out, comm);
	check_blocks("allgather", glue_ranks, 0, 1, 0);
	MPI_Alltoall(MPI_BOTTOM, 1, in, MPI_BOTTOM, 1, out, comm);
	check_blocks("alltoall", glue_ranks, 0, 1, mine);
	MPI_Gather(MPI_BOTTOM, 1, in, MPI_BOTTOM, 1, out, last, comm);
	if (glue_rank == last)
		check_blocks("gather", glue_ranks, 0, 1, 0);
	MPI_Scatter(MPI_BOTTOM, 1, in, MPI_BOTTOM, 1, out, last, comm);
	check_blocks("scatter", 1, last, 0, mine);
}

void glue_bottom(void)
{
	static const char *const rules[] = {
		"broadcast=memory,allgather=memory,alltoall=memory,gather=direct,scatter=direct",
		"broadcast=binomial,allgather=ring,alltoall=direct,gather=direct,scatter=direct"};
	MPI_Datatype in = blocks_at(given), out = blocks_at(got);

	for (int i = 0; i < BLOCK * MOST_RANKS; i++)
		given[i] = 1000 * glue_rank + i;
	for (int i = 0; i < 2; i++) {
		const uint64_t before = qv_mpi_taken();

		CHECK(!qv_mpi_set(rules[i]), "%s: refused", rules[i]);
		all_from_bottom(in, out);
		CHECK(qv_mpi_taken() == before + 5, "%s: not all were taken", rules[i]);
	}
	MPI_Type_free(&in);
	MPI_Type_free(&out);
}
