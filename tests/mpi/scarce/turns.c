/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turns.c - calls of `auto`, and what rank 1 alone asks for first in one of them it does not get. All ranks count
 * the same calls all the same: its next try is the call that the others are in.
 */
#include "refuse.h"
#include "tests/mpi/glue/glue.h"

enum { MOST = 16, FORMS = 8, TURNS = 40 };

int glue_rank, glue_ranks;

static int from[MOST], to[MOST], ones[MOST], at[MOST];

static const char *const names[FORMS] = {
	"gatherv=auto",           "scatterv=auto",           "allgatherv=auto",
	"alltoallv=auto",         "neighbor_allgather=auto", "neighbor_allgatherv=auto",
	"neighbor_alltoall=auto", "neighbor_alltoallv=auto",
};

static int call(int i, MPI_Comm c)
{
	const MPI_Datatype t = MPI_INT;
	const int root = glue_ranks - 1;

	switch (i) {
	case 0: return MPI_Gatherv(from, 1, t, to, ones, at, t, root, c);
	case 1: return MPI_Scatterv(from, ones, at, t, to, 1, t, root, c);
	case 2: return MPI_Allgatherv(from, 1, t, to, ones, at, t, c);
	case 3: return MPI_Alltoallv(from, ones, at, t, to, ones, at, t, c);
	case 4: return MPI_Neighbor_allgather(from, 1, t, to, 1, t, c);
	case 5: return MPI_Neighbor_allgatherv(from, 1, t, to, ones, at, t, c);
	case 6: return MPI_Neighbor_alltoall(from, 1, t, to, 1, t, c);
	default: return MPI_Neighbor_alltoallv(from, ones, at, t, to, ones, at, t, c);
	}
}

static void turns(int i, int poor)
{
	const int yes = 1;
	MPI_Comm ring;
	int rc, class;

	CHECK(!qv_mpi_set("barrier=dissemination"), "no settings");
	MPI_Cart_create(MPI_COMM_WORLD, 1, &glue_ranks, &yes, 0, &ring);
	MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
	MPI_Barrier(ring); /* so that the library knows it */
	CHECK(!qv_mpi_set(names[i]), "no settings");
	for (int n = 0; n < TURNS; n++) {
		refuse = glue_rank == 1 && n == poor;
		do {
			rc = call(i, ring);
			MPI_Error_class(rc, &class);
		} while (class == MPI_ERR_NO_MEM);
		CHECK(!rc, "%s: error %d in call %d", names[i], rc, n);
		refuse = 0;
	}
	MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	for (int i = 0; i < MOST; i++) {
		ones[i] = 1;
		at[i] = i;
	}
	for (int i = 0; i < FORMS; i++) {
		refused = 0;
		for (int poor = 0; poor < TURNS; poor++)
			turns(i, poor);
		CHECK(glue_rank != 1 || refused, "%s: nothing was asked for", names[i]);
	}
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	MPI_Finalize();
	return 0;
}
