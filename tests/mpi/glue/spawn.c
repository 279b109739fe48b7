/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spawn.c WAY [CHILD] - ranks of two MPI_COMM_WORLDs in one communicator, whose settings
 * and figures differ. WAY is spawn, or connect: the two meet once more by a port. CHILD is the
 * program that is spawned, this one or the same without libquiver-mpi. All values must be right,
 * and what is of one world only is still the library's.
 */
#include "poison.h"

#include <string.h>

#pragma weak qv_mpi_set
#pragma weak qv_mpi_network
#pragma weak qv_mpi_taken

#define CHILDREN 2
#define LONG     100000

int glue_rank, glue_ranks;
static int is_child;

static void set(const char *settings)
{
	CHECK(!qv_mpi_set || !qv_mpi_set(settings), "%s: refused", settings);
}

static int taken(void)
{
	return qv_mpi_taken ? (int)qv_mpi_taken() : 0;
}

static int value(int from, int to, int i)
{
	return from * 1009 + to * 31 + i % 1000;
}

/* Sums, and a broadcast, of so many doubles. */
static void reductions(MPI_Comm comm, enum glue_form form, int n)
{
	double *in = calloc((size_t)n, sizeof(*in)), *out = calloc((size_t)n, sizeof(*out));
	struct poison_call call = {.form = form,
				   .in = {in, n, NULL, NULL, MPI_DOUBLE},
				   .out = {out, n, NULL, NULL, MPI_DOUBLE},
				   .comm = comm};
	int rank, ranks, ranks_in;

	CHECK(in && out, "no memory");
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	for (int kind = POISON_REDUCE; kind <= POISON_BCAST; kind++) {
		if (kind == POISON_SCATTER || kind == POISON_SCATTER_BLOCK)
			continue;
		for (int i = 0; i < n; i++) {
			in[i] = rank + i;
			out[i] = kind == POISON_BCAST && rank == ranks - 1 ? i : -1;
		}
		call.kind = (enum poison_kind)kind;
		call.root = ranks - 1;
		poison_begin(&call);
		poison_end(&call);
		if (form == GLUE_PERSISTENT)
			MPI_Request_free(&call.request);
		if (kind == POISON_BARRIER || (kind == POISON_REDUCE && rank != ranks - 1))
			continue;
		if (kind == POISON_SCAN || kind == POISON_EXSCAN)
			ranks_in = rank + (kind == POISON_SCAN);
		else
			ranks_in = ranks;
		for (int i = 0; i < n; i++) {
			const double want =
				kind == POISON_BCAST
					? i
					: (double)ranks_in * i + ranks_in * (ranks_in - 1) / 2;

			CHECK(!ranks_in || out[i] == want,
			      "child %d, kind %d, form %d: element %d is %g, not %g", is_child,
			      kind, (int)form, i, out[i], want);
		}
	}
	free(in);
	free(out);
}

static void exchanges(MPI_Comm comm, enum glue_form form, int n)
{
	int in[64 * 8], out[64 * 8], counts[8], displs[8], rank, ranks;
	struct poison_call call = {.form = form,
				   .in = {in, n, counts, displs, MPI_INT},
				   .out = {out, n, counts, displs, MPI_INT},
				   .comm = comm};

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	CHECK(ranks <= 8 && n <= 64, "too much for this test");
	for (int kind = POISON_ALLGATHER; kind <= POISON_ALLTOALLV; kind++) {
		const int gather = kind == POISON_ALLGATHER || kind == POISON_ALLGATHERV;

		memset(out, -1, sizeof(out));
		for (int r = 0; r < ranks; r++) {
			counts[r] = n;
			displs[r] = r * n;
			for (int i = 0; i < n; i++)
				in[r * n + i] = value(rank, gather ? 0 : r, i);
		}
		call.kind = (enum poison_kind)kind;
		poison_begin(&call);
		poison_end(&call);
		if (form == GLUE_PERSISTENT)
			MPI_Request_free(&call.request);
		for (int i = 0; i < ranks * n; i++)
			CHECK(out[i] == value(i / n, gather ? 0 : rank, i % n),
			      "child %d, kind %d, form %d: element %d is %d", is_child, kind,
			      (int)form, i, out[i]);
	}
}

/* A chain over all ranks. */
static void neighbors(MPI_Comm comm)
{
	int in[2], out[2] = {-1, -1}, dims[1], periods[1] = {0}, rank, ranks;
	MPI_Comm chain;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	dims[0] = ranks;
	in[0] = value(rank, rank - 1, 0);
	in[1] = value(rank, rank + 1, 0);
	MPI_Cart_create(comm, 1, dims, periods, 0, &chain);
	for (int turn = 0; turn < 8; turn++) {
		MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, chain);
		CHECK(out[0] == (rank ? value(rank - 1, rank, 0) : -1) &&
			      out[1] == (rank + 1 < ranks ? value(rank + 1, rank, 0) : -1),
		      "child %d: from the left %d, from the right %d", is_child, out[0], out[1]);
	}
	MPI_Comm_free(&chain);
}

static void all_calls(MPI_Comm comm, int turns, int n)
{
	for (int turn = 0; turn < turns; turn++)
		for (int form = 0; form < GLUE_FORMS; form++) {
			if (!poison_has((enum glue_form)form))
				continue;
			reductions(comm, (enum glue_form)form, n);
			reductions(comm, (enum glue_form)form, 3);
			exchanges(comm, (enum glue_form)form, 33);
		}
}

/* What differs between parents and children; all of one world have the same. */
static const char *const settings[][2] = {
	{"allreduce=pipeline,reduce=segmented,broadcast=pipeline,"
	 "neighbor_alltoall=direct",
	 "allreduce=pipeline,reduce=segmented,broadcast=pipeline"},
	{"allreduce=segmented,reduce=clairvoyant,allgather=ring,alltoall=direct,alltoallv=crystal",
	 "allreduce=ring,reduce=binomial,allgather=hypercube,alltoall=mesh2,alltoallv=direct"},
	{"allreduce=auto,reduce=auto,broadcast=auto,allgatherv=auto,alltoallv=auto,neighbor_alltoall=auto",
	 "allreduce=ring,barrier=binomial,neighbor_alltoall=friends"},
	{"allreduce=ring,barrier=dissemination,broadcast=ring,allgather=ring,allgatherv=ring", ""},
};

/* Everything on a communicator of both worlds, and on those that come of it. */
static void mixed(MPI_Comm comm)
{
	int rank;
	MPI_Comm dup, part, own;

	MPI_Comm_rank(comm, &rank);
	if (qv_mpi_network)
		CHECK(!qv_mpi_network(is_child ? 1e-3 : 1e-7, is_child ? 1e-12 : 1e-8, 1e-10),
		      "these are no figures");
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const int before = taken(), n = i ? 500 : LONG;

		set(settings[i][is_child]);
		all_calls(comm, i == 2 ? 4 : 1, n); /* auto asks others after some calls */
		neighbors(comm);
		MPI_Comm_dup(comm, &dup);
		all_calls(dup, 1, 500);
		MPI_Comm_split(dup, rank % 2, -rank, &part);
		all_calls(part, 1, n);
		CHECK(taken() == before, "child %d, settings %d: %d calls among two worlds taken",
		      is_child, (int)i, taken() - before);
		MPI_Comm_split(dup, is_child, rank, &own);
		all_calls(own, 1, n);
		CHECK(!qv_mpi_taken || !*settings[i][is_child] || i == 2 || taken() > before,
		      "child %d, settings %d: no call of the own world was taken", is_child,
		      (int)i);
		MPI_Comm_free(&own);
		MPI_Comm_free(&part);
		MPI_Comm_free(&dup);
	}
}

static void meet(MPI_Comm inter)
{
	int one = 1, sum = 0, others;
	MPI_Comm merged;

	set("allreduce=ring");
	MPI_Comm_remote_size(inter, &others);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
	CHECK(sum == others, "the sum of the others is %d, not %d", sum, others);
	MPI_Intercomm_merge(inter, is_child, &merged);
	mixed(merged);
	MPI_Comm_free(&merged);
}

/* The two worlds meet once more; rank 0 of the parents listens, and all know where. */
static void connect(MPI_Comm inter)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm other;

	if (!is_child && !glue_rank)
		MPI_Open_port(MPI_INFO_NULL, port);
	MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR,
		  is_child     ? 0
		  : !glue_rank ? MPI_ROOT
			       : MPI_PROC_NULL,
		  inter);
	if (is_child)
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
	else
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
	meet(other);
	MPI_Comm_disconnect(&other);
	if (!is_child && !glue_rank)
		MPI_Close_port(port);
}

int main(int argc, char **argv)
{
	MPI_Comm inter;
	int provided, codes[CHILDREN];

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	MPI_Comm_get_parent(&inter);
	is_child = inter != MPI_COMM_NULL;
	if (!is_child) {
		char *args[] = {argv[1], NULL};

		CHECK(argc == 3, "no WAY and no CHILD");
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		if (MPI_Comm_spawn(argv[2], args, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
				   &inter, codes)) {
			if (!glue_rank)
				printf("skipped: this MPI cannot spawn here\n");
			MPI_Finalize();
			return 77;
		}
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	}
	if (!strcmp(argv[1], "connect"))
		connect(inter);
	else
		meet(inter);
	set("");
	MPI_Barrier(inter);
	MPI_Comm_disconnect(&inter);
	if (!glue_rank && !is_child)
		printf("passed %s with %d ranks and %d children\n", argv[1], glue_ranks, CHILDREN);
	MPI_Finalize();
	return 0;
}
