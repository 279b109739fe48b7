/* SPDX-License-Identifier: BSD-2-Clause */
/* levels.c - rank 0 has several threads, and the others have one, which MPI permits. Who runs a call must be
 * the same on all of them: on MPI_COMM_WORLD, and on a communicator that the program makes. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/glue/glue.h"

int glue_rank, glue_ranks;

/* Before MPI_Init nobody knows their rank but the launcher. */
static int launched_as(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	rank = rank ? rank : getenv("PMI_RANK");
	return rank ? atoi(rank) : 0;
}

static void sums(MPI_Comm comm)
{
	int all;

	for (int i = 0; i < 100; i++) {
		all = -1;
		MPI_Allreduce(&i, &all, 1, MPI_INT, MPI_SUM, comm);
		CHECK(all == glue_ranks * i, "a sum of %d", all);
	}
}

int main(int argc, char **argv)
{
	const char *settings = argc > 1 ? argv[1] : "";
	MPI_Comm comm;
	int level;

	setenv("QUIVER_MPI_COLL", settings, 1);
	MPI_Init_thread(&argc, &argv, launched_as() ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE,
			&level);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	sums(MPI_COMM_WORLD);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	sums(comm);
	MPI_Comm_free(&comm);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	MPI_Finalize();
	return 0;
}
