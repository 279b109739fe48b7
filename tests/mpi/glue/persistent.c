/* SPDX-License-Identifier: BSD-2-Clause */
/* persistent.c - persistent requests, and what they outlive. */
#include "poison.h"

#include <dlfcn.h>

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
typedef int init_fn(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
		    MPI_Request *);

/* By the names of Open MPI 4 and of 5, whichever this is. */
static init_fn *init_by(int name)
{
	static const char *const names[] = {"MPIX_Allreduce_init", "MPI_Allreduce_init",
					    "PMPIX_Allreduce_init", "PMPI_Allreduce_init"};
	init_fn *fn = (init_fn *)dlsym(RTLD_DEFAULT, names[name % 4]);

	CHECK(fn, "there is no %s", names[name % 4]);
	return fn;
}

/* Started many times, in another order on each rank, with new values each time. */
void glue_persistent(void)
{
	enum { N = 4, ROUNDS = 40 };
	int in[N][700], out[N][700], counts[N] = {1, 64, 700, 3};
	MPI_Request r[N];
	uint64_t before = qv_mpi_taken();

	CHECK(!qv_mpi_set("allreduce=butterfly"), "refused");
	for (int i = 0; i < N; i++)
		init_by(i)(in[i], out[i], counts[i], MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			   MPI_INFO_NULL, &r[i]);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++)
			for (int k = 0; k < counts[i]; k++)
				in[i][k] = glue_rank + k * round + i;
		if (round % 2)
			MPI_Startall(N, r);
		else
			for (int i = 0; i < N; i++)
				MPI_Start(&r[(i + glue_rank) % N]);
		MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
		for (int i = 0; i < N; i++)
			for (int k = 0; k < counts[i]; k++)
				CHECK(out[i][k] == (k * round + i) * glue_ranks +
							   glue_ranks * (glue_ranks - 1) / 2,
				      "round %d: element %d of %d is %d", round, k, i, out[i][k]);
	}
	MPI_Start(&r[0]); /* freed while it is active */
	MPI_Request_free(&r[0]);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 1; i < N; i++)
		MPI_Request_free(&r[i]);
	CHECK(qv_mpi_taken() - before == N, "%d inits were taken", (int)(qv_mpi_taken() - before));
}

/* The communicator is freed before the request is started. */

/* Elements of two words, with a gap between them; each rank has the same for all. */
enum { N = 3, WORDS = 3 * N };

static void start_behind(enum poison_kind kind)
{
	int in[64][WORDS], out[64][WORDS], counts[64], displs[64];
	struct poison_call call = {
		.kind = kind,
		.form = GLUE_PERSISTENT,
		.in = {in, N, counts, displs},
		.out = {out, N, counts, displs},
	};

	MPI_Comm_dup(MPI_COMM_WORLD, &call.comm);
	MPI_Type_vector(2, 1, 2, MPI_INT, &call.in.type);
	MPI_Type_commit(&call.in.type);
	call.out.type = call.in.type;
	for (int r = 0; r < glue_ranks; r++) {
		counts[r] = N;
		displs[r] = r * N;
		for (int i = 0; i < WORDS; i++) {
			in[r][i] = 100 * glue_rank + i;
			out[r][i] = kind == POISON_BCAST && !glue_rank ? i : -1;
		}
	}
	poison_begin(&call);
	MPI_Type_free(&call.in.type);
	MPI_Comm_free(&call.comm);
	poison_end(&call);
	MPI_Request_free(&call.request);
	for (int r = 0; r < (kind == POISON_BCAST ? 1 : glue_ranks); r++)
		for (int i = 0; i < WORDS; i++)
			CHECK(i % 3 == 1 || out[r][i] == 100 * r + i,
			      "kind %d: word %d of %d is %d", (int)kind, i, r, out[r][i]);
}

/* Rank 0 starts it before it frees the communicator, the others behind that, when rank 0 has freed it. */
static void start_across(void)
{
	int out = -1, token = 0;
	MPI_Request r;
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	init_by(0)(&glue_rank, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r);
	if (!glue_rank)
		MPI_Start(&r);
	MPI_Comm_free(&comm);
	MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (glue_rank)
		MPI_Start(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(out == glue_ranks * (glue_ranks - 1) / 2, "the sum is %d", out);
	MPI_Request_free(&r);
}

void glue_outlive(void)
{
	CHECK(!qv_mpi_set("broadcast=binomial,allreduce=ring,allgather=ring,alltoall=direct,"
			  "allgatherv=ring,alltoallv=crystal"),
	      "refused");
	for (int kind = POISON_BCAST; kind <= POISON_ALLTOALLV; kind++)
		start_behind((enum poison_kind)kind);
	start_across();
}

/* A request is kept while many others come and go, and one of them ends before it. */

static MPI_Request sum_on(MPI_Comm comm, int *out)
{
	MPI_Request r;

	init_by(0)(&glue_rank, out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r);
	return r;
}

/* The last rank starts `late` when `early` has ended everywhere. */
static void end_in_order(MPI_Request *late, MPI_Request *early)
{
	const int starts = glue_rank < glue_ranks - 1;
	int done = 0, over = 0;

	if (starts)
		MPI_Start(late);
	MPI_Start(early);
	while (!done) {
		MPI_Test(early, &done, MPI_STATUS_IGNORE);
		if (starts)
			MPI_Test(late, &over, MPI_STATUS_IGNORE);
		CHECK(!over, "it has ended before all ranks have begun");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!starts)
		MPI_Start(late);
	MPI_Wait(late, MPI_STATUS_IGNORE);
}

void glue_many(void)
{
	enum { COMMS = 32, EACH = 1024 }; /* 32768, but for the first and the last one */
	const int sum = glue_ranks * (glue_ranks - 1) / 2;
	int kept_out = -1, out = -1;
	MPI_Request kept, r;
	MPI_Comm comm;

	CHECK(!qv_mpi_set("allreduce=ring"), "refused");
	kept = sum_on(MPI_COMM_WORLD, &kept_out);
	for (int i = 0; i < COMMS; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		for (int k = !i; k < EACH; k++) {
			r = sum_on(comm, &out);
			MPI_Request_free(&r);
		}
		MPI_Comm_free(&comm);
	}
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	r = sum_on(comm, &out);
	end_in_order(&kept, &r);
	CHECK(out == sum && kept_out == sum, "sums of %d and %d", out, kept_out);
	MPI_Request_free(&r);
	MPI_Request_free(&kept);
	MPI_Comm_free(&comm);
}
#else
void glue_persistent(void)
{
	if (!glue_rank)
		printf("persistent: this MPI has no persistent collectives\n");
}

void glue_outlive(void)
{
}

void glue_many(void)
{
}
#endif
