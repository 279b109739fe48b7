/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alone.c CASE - rank 1 alone gets no memory. No other rank may wait for ever: either calls are the MPI's on
 * all ranks, or rank 1 is told, and its next try is the call that the others are in.
 */
#include "refuse.h"
#include "tests/mpi/glue/glue.h"

#include <string.h>

int glue_rank, glue_ranks;

static void sum(MPI_Comm comm)
{
	int one = 1, all = -1, rc;

	do {
		rc = MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
	} while (rc && refused);
	CHECK(!rc && all == glue_ranks, "error %d, a sum of %d", rc, all);
}

static void gather(MPI_Comm comm)
{
	int got[16] = {0}, rc;

	do {
		rc = MPI_Gather(&glue_rank, 1, MPI_INT, got, 1, MPI_INT, 0, comm);
	} while (rc && refused);
	for (int i = 0; i < glue_ranks && !glue_rank; i++)
		CHECK(!rc && got[i] == i, "error %d, %d from %d", rc, got[i], i);
}

#if MPI_VERSION >= 4
static void gather_c(MPI_Comm comm)
{
	int got[16] = {0}, rc;

	do {
		rc = MPI_Gather_c(&glue_rank, 1, MPI_INT, got, 1, MPI_INT, 0, comm);
	} while (rc && refused);
	for (int i = 0; i < glue_ranks && !glue_rank; i++)
		CHECK(!rc && got[i] == i, "error %d, %d from %d", rc, got[i], i);
}
#endif

/* The first call on a communicator, with one refusal to rank 1 or more, and those behind it. */
static void first(const char *settings, void (*call)(MPI_Comm comm))
{
	MPI_Comm comm;

	for (int n = 1; n < 6; n++) {
		CHECK(!qv_mpi_set(""), "no settings");
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		CHECK(!qv_mpi_set(settings), "no settings");
		refused = 0;
		refuse = glue_rank == 1 ? n : 0;
		call(comm);
		refuse = 0;
		CHECK(glue_rank != 1 || refused, "%s: nothing was asked for", settings);
		for (int i = 0; i < 200; i++)
			call(comm);
		MPI_Comm_free(&comm);
	}
}

static void first_calls(void)
{
	first("allreduce=ring", sum);
	first("allreduce=auto", sum);
	first("gather=direct", gather);
#if MPI_VERSION >= 4
	first("gather=direct", gather_c);
#endif
}

/* Lengths that no call had before, so that each needs memory. */
#define MOST (1 << 18)

static int in[2 * MOST], out[2 * MOST], length;

static void sum_many(MPI_Comm comm)
{
	int rc;

	for (int i = 0; i < length; i++)
		in[i] = i;
	do {
		rc = MPI_Allreduce(in, out, length, MPI_INT, MPI_SUM, comm);
	} while (rc && refused);
	CHECK(!rc && out[length - 1] == glue_ranks * (length - 1), "error %d, a sum of %d", rc,
	      out[length - 1]);
}

/* Every other int, so it is packed. */
static void broadcast(MPI_Comm comm)
{
	MPI_Datatype type;
	int rc;

	MPI_Type_vector(length, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	out[0] = glue_rank ? -1 : length;
	out[2 * (length - 1)] = out[0];
	do {
		rc = MPI_Bcast(out, 1, type, 0, comm);
	} while (rc && refused);
	CHECK(!rc && out[2 * (length - 1)] == length, "error %d, %d came", rc,
	      out[2 * (length - 1)]);
	MPI_Type_free(&type);
}

/* Calls on a communicator that is in use, of which some meet refusals. */
static void used(const char *settings, void (*call)(MPI_Comm comm))
{
	MPI_Comm comm;

	CHECK(!qv_mpi_set(settings), "no settings");
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	length = 2;
	for (int i = 0; i < 100; i++)
		call(comm);
	for (int n = 1; n < 12; n++) {
		length = MOST >> (12 - n);
		refused = 0;
		refuse = glue_rank == 1 ? n : 0;
		call(comm);
		refuse = 0;
		for (int i = 0; i < 20; i++)
			call(comm);
	}
	MPI_Comm_free(&comm);
}

static void later_calls(void)
{
	used("allreduce=ring", sum_many);
	used("allreduce=auto", sum_many);
	used("broadcast=binomial", broadcast);
	used("broadcast=clairvoyant", broadcast);
	used("allreduce=clairvoyant", sum_many);
}

/* The first call of a kind, with a refusal behind any number of grants: each thing that it needs is wanting once. */
static void each(const char *settings, void (*call)(MPI_Comm comm))
{
	MPI_Comm comm;

	for (int n = 0; n < 24; n++) {
		CHECK(!qv_mpi_set("barrier=dissemination"), "no settings");
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		MPI_Barrier(comm); /* so that the library knows it */
		CHECK(!qv_mpi_set(settings), "no settings");
		refused = 0;
		grant = n;
		refuse = glue_rank == 1;
		call(comm);
		refuse = 0;
		CHECK(glue_rank != 1 || refused || n, "%s: nothing was asked for", settings);
		for (int i = 0; i < 5; i++)
			call(comm);
		MPI_Comm_free(&comm);
	}
}

static void exchange(MPI_Comm comm)
{
	int mine[16], got[16] = {0}, counts[16], at[16], rc;

	for (int i = 0; i < 16; i++) {
		mine[i] = glue_rank;
		counts[i] = 1;
		at[i] = i;
	}
	do {
		rc = MPI_Alltoallv(mine, counts, at, MPI_INT, got, counts, at, MPI_INT, comm);
	} while (rc && refused);
	for (int i = 0; i < glue_ranks; i++)
		CHECK(!rc && got[i] == i, "error %d, %d from %d", rc, got[i], i);
}

#ifdef OPEN_MPI /* with others it is the MPI's own */
/* As a nonblocking one. */
static void exchange_later(MPI_Comm comm)
{
	int mine[16], got[16] = {0}, counts[16], at[16], rc;
	MPI_Request request;

	for (int i = 0; i < 16; i++) {
		mine[i] = glue_rank;
		counts[i] = 1;
		at[i] = i;
	}
	do {
		rc = MPI_Ialltoallv(mine, counts, at, MPI_INT, got, counts, at, MPI_INT, comm,
				    &request);
		rc = rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
	} while (rc && refused);
	for (int i = 0; i < glue_ranks; i++)
		CHECK(!rc && got[i] == i, "error %d, %d from %d", rc, got[i], i);
}
#endif

/* What an exchange asks for first, when it was made before, is for its start. */
static void start(void (*call)(MPI_Comm comm))
{
	MPI_Comm comm;

	CHECK(!qv_mpi_set("alltoallv=crystal"), "no settings");
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	exchange(comm); /* a nonblocking one makes nothing */
	refused = 0;
	call(comm);
	refuse = glue_rank == 1;
	call(comm);
	refuse = 0;
	CHECK(refused == (glue_rank == 1), "%d refused", refused);
	for (int i = 0; i < 5; i++) {
		exchange(comm);
		call(comm);
	}
	MPI_Comm_free(&comm);
}

static void each_of_calls(void)
{
	start(exchange);
#ifdef OPEN_MPI
	start(exchange_later);
#endif
	length = 8;
	each("allreduce=ring", sum_many);
	each("broadcast=binomial", broadcast);
	each("gather=direct", gather);
}

/* A root that has no memory to pack its data cannot give them by memory of the node. */
static void root_fails(void)
{
	MPI_Datatype type;
	MPI_Comm comm;
	int rc, class;

	CHECK(!qv_mpi_set("broadcast=memory"), "no settings");
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Bcast(out, 1, MPI_INT, 1, comm);
	MPI_Type_vector(2, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	refused = 0;
	refuse = glue_rank == 1;
	rc = MPI_Bcast(out, 1, type, 1, comm);
	refuse = 0;
	MPI_Error_class(rc, &class);
	CHECK(refused == (glue_rank == 1), "%d refused", refused);
	CHECK(class == MPI_ERR_OTHER, "error %d", class); /* the others' call is over */
	MPI_Type_free(&type);
	MPI_Comm_free(&comm);
}

/* A communicator is made: its calls are the MPI's, and those of its copies are not. */
static void made(void)
{
	MPI_Comm comm, copy;
	uint64_t before;
	int from;

	CHECK(!qv_mpi_set("allreduce=ring"), "no settings");
	refuse = glue_rank == 1 ? REFUSE_ALL : 0;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	refuse = 0;
#ifdef OPEN_MPI /* others make a duplicate at the first call */
	CHECK(glue_rank != 1 || refused, "nothing was asked for");
#endif
	if (!glue_rank)
		MPI_Send(&glue_rank, 1, MPI_INT, 1, 0, comm);
	else if (glue_rank == 1)
		MPI_Recv(&from, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
	before = qv_mpi_taken();
	for (int i = 0; i < 3; i++)
		sum(comm);
#ifdef OPEN_MPI
	CHECK(qv_mpi_taken() == before, "a call was taken");
#endif
	MPI_Comm_dup(comm, &copy);
	before = qv_mpi_taken();
	sum(copy);
	CHECK(qv_mpi_taken() == before + 1, "not taken");
	MPI_Comm_free(&copy);
	MPI_Comm_free(&comm);
}

/* Before MPI_Init nobody knows their rank but the launcher. */
static int launched_as(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	rank = rank ? rank : getenv("PMI_RANK");
	return rank ? atoi(rank) : 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const int in_init = !strcmp(name, "init");

	setenv("QUIVER_MPI_COLL", "allreduce=ring", 1);
	refuse = in_init && launched_as() == 1 ? REFUSE_ALL : 0;
	MPI_Init(&argc, &argv);
	refuse = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	if (in_init) {
		CHECK(glue_rank != 1 || refused, "nothing was asked for");
		sum(MPI_COMM_WORLD);
		CHECK(!qv_mpi_taken(), "a call was taken");
	} else if (!strcmp(name, "made")) {
		made();
	} else if (!strcmp(name, "later")) {
		later_calls();
	} else if (!strcmp(name, "each")) {
		each_of_calls();
	} else if (!strcmp(name, "root")) {
		root_fails();
	} else {
		first_calls();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	MPI_Finalize();
	return 0;
}
