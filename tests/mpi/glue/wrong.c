/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong.c - types that are not committed, and a broadcast in place: the MPI says what is wrong, also where one rank
 * alone is in error, and its next try is the call that the others are in. */
#include "glue.h"

#define MOST 16

static int from[MOST], to[MOST], one_each[MOST], at[MOST];

enum { CALLS = 12 };

/* One of each is sent as s and received as t. */
static int call(int i, MPI_Datatype s, MPI_Datatype t, MPI_Comm c)
{
	switch (i) {
	case 0: return MPI_Bcast(to, 1, s, 0, c);
	case 1: return MPI_Gather(from, 1, s, to, 1, t, 0, c);
	case 2: return MPI_Allgather(from, 1, s, to, 1, t, c);
	case 3: return MPI_Gatherv(from, 1, s, to, one_each, at, t, 0, c);
	case 4: return MPI_Scatterv(from, one_each, at, s, to, 1, t, 0, c);
	case 5: return MPI_Allgatherv(from, 1, s, to, one_each, at, t, c);
	case 6: return MPI_Neighbor_allgather(from, 1, s, to, 1, t, c);
	case 7: return MPI_Neighbor_allgatherv(from, 1, s, to, one_each, at, t, c);
	case 8: return MPI_Alltoall(from, 1, s, to, 1, t, c);
	case 9: return MPI_Alltoallv(from, one_each, at, s, to, one_each, at, t, c);
	case 10: return MPI_Neighbor_alltoall(from, 1, s, to, 1, t, c);
	default: return MPI_Neighbor_alltoallv(from, one_each, at, s, to, one_each, at, t, c);
	}
}

static void must_be(int rc, int wanted, const char *what, int i)
{
	int class = MPI_SUCCESS;

	MPI_Error_class(rc, &class);
	CHECK(class == wanted, "call %d, %s: error %d", i, what, class);
}

static void wrong_types(MPI_Comm comm)
{
	MPI_Datatype type;

	MPI_Type_contiguous(1, MPI_INT, &type);
	for (int i = 0; i < CALLS; i++) {
		const uint64_t before = qv_mpi_taken();

		if (!glue_rank)
			must_be(call(i, type, MPI_INT, comm), MPI_ERR_TYPE, "what is sent", i);
		if (!glue_rank && i >= 8) /* of others the MPI does not say it */
			must_be(call(i, MPI_INT, type, comm), MPI_ERR_TYPE, "what comes", i);
		must_be(call(i, MPI_INT, MPI_INT, comm), MPI_SUCCESS, "nothing", i);
		CHECK(qv_mpi_taken() == before + 1, "call %d was not taken", i);
	}
	MPI_Type_commit(&type);
	for (int i = 0; i < CALLS; i++)
		must_be(call(i, type, type, comm), MPI_SUCCESS, "committed", i);
	MPI_Type_free(&type);
}

/* Calls of `auto` that go to the MPI and to the library in turn, and for a time to the MPI only. A wrong one of one
 * rank counts for nothing, wherever it comes. */
static void wrong_turns(MPI_Comm comm)
{
	MPI_Datatype type;

	MPI_Type_contiguous(1, MPI_INT, &type);
	CHECK(!qv_mpi_set("gatherv=auto,scatterv=auto,allgatherv=auto,neighbor_allgather=auto,"
			  "neighbor_allgatherv=auto,alltoallv=auto,neighbor_alltoall=auto,"
			  "neighbor_alltoallv=auto"),
	      "refused");
	for (int i = 3; i < CALLS; i++) {
		if (i == 4 || i == 8) /* the MPI does not judge it, or it is no such call */
			continue;
		for (int n = 0; n < 300; n++) {
			if (!glue_rank && n % 7 == 0)
				must_be(call(i, type, MPI_INT, comm), MPI_ERR_TYPE, "in turn", i);
			must_be(call(i, MPI_INT, MPI_INT, comm), MPI_SUCCESS, "in turn", i);
		}
	}
	MPI_Type_free(&type);
}

static int reduce(int all, int count, MPI_Comm c)
{
	return all ? MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, c)
		   : MPI_Reduce(from, to, count, MPI_INT, MPI_SUM, 0, c);
}

/* The same of reductions, whose ranks are observed for who comes late, by `auto` and by an algorithm. */
static void wrong_counts(MPI_Comm comm, const char *algorithm)
{
	char set[64];

	snprintf(set, sizeof set, "reduce=%s,allreduce=%s", algorithm, algorithm);
	CHECK(!qv_mpi_set(set), "%s: refused", set);
	for (int n = 0; n < 400; n++)
		for (int all = 0; all < 2; all++) {
			if (glue_rank == glue_ranks - 1 && n % 7 == 0)
				must_be(reduce(all, -1, comm), MPI_ERR_COUNT, algorithm, n);
			from[0] = n + glue_rank;
			must_be(reduce(all, 1, comm), MPI_SUCCESS, algorithm, n);
			CHECK((!all && glue_rank) ||
				      to[0] == glue_ranks * n + glue_ranks * (glue_ranks - 1) / 2,
			      "%s: sum %d of call %d", algorithm, to[0], n);
		}
}

/* The last rank waits for pairs, and half of one comes. */
static void half_an_element(MPI_Comm comm)
{
	static const char *const settings[] = {"allgather=ring", "allgather=memory"};
	const int last = glue_rank == glue_ranks - 1;
	MPI_Datatype pair;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	for (int i = 0; i < 2; i++) {
		CHECK(!qv_mpi_set(settings[i]), "%s: refused", settings[i]);
		must_be(MPI_Allgather(from, 1, MPI_INT, to, 1, last ? pair : MPI_INT, comm),
			last ? MPI_ERR_TRUNCATE : MPI_SUCCESS, settings[i], 2);
		must_be(call(2, MPI_INT, MPI_INT, comm), MPI_SUCCESS, settings[i], 2);
	}
	MPI_Type_free(&pair);
}

static void one_of_each(void)
{
	for (int i = 0; i < MOST; i++) {
		one_each[i] = 1;
		at[i] = i;
	}
}

void glue_wrong(void)
{
	const int yes = 1;
	MPI_Comm ring;

	one_of_each();
	CHECK(!qv_mpi_set("broadcast=binomial,gather=direct,allgather=ring,gatherv=direct,"
			  "scatterv=direct,allgatherv=ring,neighbor_allgather=direct,"
			  "neighbor_allgatherv=direct,alltoall=direct,alltoallv=direct,"
			  "neighbor_alltoall=direct,neighbor_alltoallv=direct"),
	      "refused");
	MPI_Cart_create(MPI_COMM_WORLD, 1, &glue_ranks, &yes, 0, &ring);
	MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
	wrong_types(ring);
	if (!glue_rank)
		must_be(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, ring), MPI_ERR_ARG, "in place", 0);
	must_be(call(0, MPI_INT, MPI_INT, ring), MPI_SUCCESS, "nothing", 0);
	wrong_turns(ring);
	wrong_counts(ring, "auto");
	wrong_counts(ring, "segmented");
	half_an_element(ring);
	MPI_Comm_free(&ring);
}

/* What only the MPI finds wrong, in the first call of `auto`, which is the MPI's. */
void glue_wrong_buffer(void)
{
	MPI_Comm comm;

	one_of_each();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	CHECK(!qv_mpi_set("reduce=auto,allgatherv=auto"), "refused");
	for (int n = 0; n < 300; n++) {
#ifdef OPEN_MPI
		if (!glue_rank && !n)
			must_be(MPI_Reduce(to, to, 1, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_ARG,
				"buffer", n);
#endif
		from[0] = n + glue_rank;
		must_be(reduce(0, 1, comm), MPI_SUCCESS, "buffer", n);
		CHECK(glue_rank || to[0] == glue_ranks * n + glue_ranks * (glue_ranks - 1) / 2,
		      "sum %d of call %d", to[0], n);
#ifndef OPEN_MPI
		if (!glue_rank && !n)
			must_be(MPI_Allgatherv(to, 1, MPI_INT, to, one_each, at, MPI_INT, comm),
				MPI_ERR_BUFFER, "buffer", n);
#endif
		must_be(MPI_Allgatherv(from, 1, MPI_INT, to, one_each, at, MPI_INT, comm),
			MPI_SUCCESS, "buffer", n);
		CHECK(to[glue_ranks - 1] == n + glue_ranks - 1, "%d of call %d", to[glue_ranks - 1],
		      n);
	}
	MPI_Comm_free(&comm);
}
