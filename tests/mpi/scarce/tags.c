/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tags.c - an MPI with so few tags that an operation has one. A ring may send as many messages from a rank to the
 * next as there are ranks, so it is the MPI's on all of them. What sends one is taken.
 */
#include "tests/mpi/glue/glue.h"

#include <dlfcn.h>

#define FEW 128

int glue_rank, glue_ranks;

typedef int get_attr_fn(MPI_Comm comm, int keyval, void *value, int *found);

/* In front of the MPI's: what the library asks. */
QV_API int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *found)
{
	static int few = FEW;
	get_attr_fn *real = (get_attr_fn *)dlsym(RTLD_NEXT, "PMPI_Comm_get_attr");
	const int rc = real(comm, keyval, value, found);

	if (!rc && keyval == MPI_TAG_UB)
		*(int **)value = &few;
	return rc;
}

static void allgatherv(void)
{
	int got[16], counts[16], at[16];

	for (int r = 0; r < glue_ranks; r++) {
		counts[r] = 1;
		at[r] = r;
	}
	MPI_Allgatherv(&glue_rank, 1, MPI_INT, got, counts, at, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < glue_ranks; r++)
		CHECK(got[r] == r, "%d from %d", got[r], r);
}

int main(int argc, char **argv)
{
	uint64_t before;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	CHECK(!qv_mpi_set("allgatherv=ring"), "no settings");
	allgatherv();
	CHECK(!qv_mpi_taken(), "a call was taken that has no tags");
	CHECK(!qv_mpi_set("alltoallv=direct"), "no settings");
	before = qv_mpi_taken();
	for (int i = 0; i < 200; i++) {
		int out[16] = {0}, counts[16], at[16];

		for (int r = 0; r < glue_ranks; r++) {
			counts[r] = 1;
			at[r] = r;
		}
		MPI_Alltoallv(counts, counts, at, MPI_INT, out, counts, at, MPI_INT,
			      MPI_COMM_WORLD);
		CHECK(out[0] == 1, "%d from the first", out[0]);
	}
	CHECK(qv_mpi_taken() == before + 200, "not taken");
	MPI_Barrier(MPI_COMM_WORLD);
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	MPI_Finalize();
	return 0;
}
