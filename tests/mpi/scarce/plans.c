/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plans.c - neighbours make a plan together, by messages, and rank 1 alone gets no memory somewhere in that. No
 * other rank waits for ever: all are told, or rank 1's next try is the call that the others are in.
 */
#include "refuse.h"
#include "tests/mpi/glue/glue.h"

int glue_rank, glue_ranks;

static void neighbors(int grants)
{
	const int yes = 1, ranks = glue_ranks;
	MPI_Comm ring;
	int got[2], rc;

	CHECK(!qv_mpi_set("barrier=dissemination"), "no settings");
	MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &yes, 0, &ring);
	MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
	MPI_Barrier(ring); /* so that the library knows it */
	CHECK(!qv_mpi_set("neighbor_allgather=friends"), "no settings");
	refused = 0;
	grant = grants;
	refuse = glue_rank == 1;
	for (int i = 0; i < 3; i++) {
		do
			rc = MPI_Neighbor_allgather(&glue_rank, 1, MPI_INT, got, 1, MPI_INT, ring);
		while (rc);
		refuse = 0;
		CHECK(got[0] == (glue_rank + ranks - 1) % ranks, "%d from the left", got[0]);
		CHECK(got[1] == (glue_rank + 1) % ranks, "%d from the right", got[1]);
	}
	MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
	int grants = 0, some;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	do {
		neighbors(grants++);
		MPI_Allreduce(&refused, &some, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	} while (some); /* the last one met no refusal */
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	MPI_Finalize();
	return 0;
}
