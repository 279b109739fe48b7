/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * together.c - the library gets no memory, on all ranks at once: a call that cannot go to the MPI ends
 * with MPI_ERR_NO_MEM, which the communicator's error handler has seen once, and the same call
 * works when there is memory again.
 */
#include "refuse.h"
#include "tests/mpi/glue/glue.h"

int glue_rank, glue_ranks;

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
	handled++;
}

static int reduce(MPI_Comm comm)
{
	int in = 1, out = 0;
	const int rc = MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);

	CHECK(rc || out == glue_ranks, "a sum of %d", out);
	return rc;
}

#if MPI_VERSION >= 4
static int scatter_c(MPI_Comm comm)
{
	int in[16], out = 0, rc;
	MPI_Count counts[16];

	for (int i = 0; i < glue_ranks; i++) {
		in[i] = i;
		counts[i] = 1;
	}
	rc = MPI_Reduce_scatter_c(in, &out, counts, MPI_INT, MPI_SUM, comm);
	CHECK(rc || out == glue_rank * glue_ranks, "a sum of %d", out);
	return rc;
}
#endif

#ifdef OPEN_MPI /* with others it is the MPI's own */
static int later(MPI_Comm comm)
{
	int in = 1, out = 0;
	MPI_Request request;
	int rc = MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request);

	if (!rc)
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(rc || out == glue_ranks, "a sum of %d", out);
	return rc;
}
#endif

static int alltoallv(MPI_Comm comm)
{
	int in[16], out[16] = {0}, counts[16], displs[16], rc;

	for (int i = 0; i < glue_ranks; i++) {
		in[i] = glue_rank;
		counts[i] = 1;
		displs[i] = i;
	}
	rc = MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm);
	for (int i = 0; i < glue_ranks; i++)
		CHECK(rc || out[i] == i, "%d from %d", out[i], i);
	return rc;
}

static int neighbors(MPI_Comm comm)
{
	int out[2] = {-1, -1},
	    rc = MPI_Neighbor_allgather(&glue_rank, 1, MPI_INT, out, 1, MPI_INT, comm);

	CHECK(rc || out[1] == (glue_rank + 1) % glue_ranks, "%d from the right", out[1]);
	return rc;
}

static int exchanged(MPI_Comm comm)
{
	const int in[2] = {10 * glue_rank, 10 * glue_rank + 1};
	int out[2] = {-1, -1}, rc = MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);

	CHECK(rc || out[1] == 10 * ((glue_rank + 1) % glue_ranks), "%d from the right", out[1]);
	return rc;
}

static int make_ring(MPI_Comm old, MPI_Comm *ring)
{
	const int yes = 1;

	return MPI_Cart_create(old, 1, &glue_ranks, &yes, 0, ring);
}

static const struct {
	const char *settings;
	int (*call)(MPI_Comm comm);
	int before; /* calls that are made with memory */
} cases[] = {
	{"allreduce=ring", reduce, 0},
#ifdef OPEN_MPI
	{"allreduce=ring", later, 0},
#endif
#if MPI_VERSION >= 4
	{"reduce_scatter=ring", scatter_c, 0},
#endif
	{"allreduce=clairvoyant", reduce, 0},
	{"allreduce=auto", reduce, 0},
	{"alltoallv=direct", alltoallv, 0},
	{"alltoallv=crystal", alltoallv, 0},
	{"alltoallv=auto", alltoallv, 0},
	{"neighbor_allgather=friends", neighbors, 0},
	{"neighbor_alltoall=crystal", exchanged, 0},
	{"neighbor_allgather=auto", neighbors, 0},
	{"neighbor_allgather=auto", neighbors, 3}, /* then it asks who is whose neighbour */
};

static void make_comm(MPI_Errhandler handler, MPI_Comm *comm)
{
	CHECK(!qv_mpi_set("barrier=dissemination"), "no settings");
	make_ring(MPI_COMM_WORLD, comm);
	MPI_Comm_set_errhandler(*comm, handler);
	MPI_Barrier(*comm); /* so that the library knows it */
}

static void run(size_t i, MPI_Errhandler handler)
{
	MPI_Comm comm;
	int rc, class = MPI_SUCCESS;

	make_comm(handler, &comm);
	CHECK(!qv_mpi_set(cases[i].settings), "no settings");
	for (int n = 0; n < cases[i].before; n++)
		cases[i].call(comm);
	refused = handled = 0;
	refuse = REFUSE_ALL;
	rc = cases[i].call(comm);
	refuse = 0;
	MPI_Error_class(rc, &class);
	CHECK(refused > 0, "%s: nothing was asked for", cases[i].settings);
	CHECK(class == MPI_ERR_NO_MEM && handled == 1, "%s: error %d, %d handled",
	      cases[i].settings, class, handled);
	for (int n = 0; n < 200; n++)
		CHECK(!cases[i].call(comm), "%s: an error afterwards", cases[i].settings);
	CHECK(handled == 1, "%s: %d errors handled", cases[i].settings, handled);
	MPI_Comm_free(&comm);
	if (!glue_rank)
		printf("%s: ok, %d refused\n", cases[i].settings, refused);
}

/* A nonblocking call on a communicator without a duplicate is the MPI's on all ranks. */
static int is_ours(size_t i)
{
#ifdef OPEN_MPI
	return cases[i].call != later;
#else
	return 1;
#endif
}

/* The first call on a communicator finds no memory even for what the library keeps of it. */
static void run_first(size_t i, MPI_Errhandler handler)
{
	const int ours = is_ours(i);
	int rc, class;
	MPI_Comm comm;

	CHECK(!qv_mpi_set(""), "no settings");
	make_ring(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, handler);
	CHECK(!qv_mpi_set(cases[i].settings), "no settings");
	refused = handled = 0;
	refuse = REFUSE_ALL;
	rc = cases[i].call(comm);
	refuse = 0;
	MPI_Error_class(rc, &class);
	CHECK(refused > 0 && class == (ours ? MPI_ERR_NO_MEM : MPI_SUCCESS) && handled == ours,
	      "%s: %d failed, error %d, %d handled at first", cases[i].settings, refused, class,
	      handled);
	CHECK(!cases[i].call(comm), "%s: an error afterwards", cases[i].settings);
	MPI_Comm_free(&comm);
}

/* What an exchange needs is wanting, one thing after the other. If it is before it begins there is another try; on its
 * way that is something else. */
static void run_under_way(MPI_Errhandler handler)
{
	MPI_Comm comm;
	int rc, class, n = 0, tries = 0, ends = 0;

	do {
		make_comm(handler, &comm);
		CHECK(!qv_mpi_set("alltoallv=crystal"), "no settings");
		refused = handled = 0;
		grant = n++;
		refuse = REFUSE_ALL;
		rc = alltoallv(comm);
		refuse = 0;
		MPI_Error_class(rc, &class);
		CHECK(class == MPI_ERR_NO_MEM || class == (refused ? MPI_ERR_OTHER : MPI_SUCCESS),
		      "%d granted: error %d", n - 1, class);
		CHECK(class != MPI_ERR_NO_MEM || !alltoallv(comm), "%d granted: no other try",
		      n - 1);
		tries += class == MPI_ERR_NO_MEM;
		ends += class == MPI_ERR_OTHER;
		MPI_Comm_free(&comm);
	} while (refused);
	CHECK(tries && ends, "%d could be tried again, %d could not", tries, ends);
}

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
/* There is memory while it is made, and none when it is started: who waits for it must hear of that. */
static void run_persistent(MPI_Errhandler handler, int all)
{
	int in[16], out[16] = {0}, counts[16], displs[16], class, rc;
	MPI_Request request;
	MPI_Comm comm;

	for (int i = 0; i < 16; i++) {
		in[i] = displs[i] = i;
		counts[i] = 1;
	}
	make_comm(handler, &comm);
	CHECK(!qv_mpi_set("alltoallv=crystal"), "no settings");
	MPIX_Alltoallv_init(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm,
			    MPI_INFO_NULL, &request);
	refused = handled = 0;
	refuse = REFUSE_ALL;
	MPI_Start(&request);
	if (all) {
		MPI_Status status;

		rc = MPI_Waitall(1, &request, &status);
		CHECK(rc == MPI_ERR_IN_STATUS, "an error of %d among all", rc);
		rc = status.MPI_ERROR;
	} else {
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	refuse = 0;
	MPI_Error_class(rc, &class);
	CHECK(refused > 0, "a start asked for nothing");
	CHECK(class == MPI_ERR_TRUNCATE && handled == 1, "a start: error %d, %d handled", class,
	      handled);
	CHECK(request == MPI_REQUEST_NULL, "a request that has failed is kept");
	MPIX_Alltoallv_init(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm,
			    MPI_INFO_NULL, &request);
	for (int n = 0; n < 3; n++) {
		out[1] = -1;
		rc = MPI_Start(&request) ? 1 : MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(!rc && out[1] == glue_rank, "error %d afterwards, %d came", rc, out[1]);
	}
	MPI_Request_free(&request);
	CHECK(handled == 1, "a start: %d errors handled", handled);
	MPI_Comm_free(&comm);
}
#endif

int main(int argc, char **argv)
{
	MPI_Errhandler handler;
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	MPI_Comm_create_errhandler(on_error, &handler);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run(i, handler);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_first(i, handler);
	run_under_way(handler);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
	for (int all = 0; all < 2; all++)
		run_persistent(handler, all);
#endif
	MPI_Errhandler_free(&handler);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	MPI_Finalize();
	return 0;
}
