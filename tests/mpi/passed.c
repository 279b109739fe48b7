/* SPDX-License-Identifier: BSD-2-Clause */
/* passed.c - calls of one rank that libquiver-mpi leaves to the MPI: run/passed.sh counts what they cost. */
#include <mpi.h>

#define CALLS 1000

void qv_passed_calls(int *value);

__attribute__((noinline)) void qv_passed_calls(int *value)
{
	for (int i = 0; i < CALLS; i++) {
		MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int value = 1;

	MPI_Init(&argc, &argv);
	MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* what is found once */
	MPI_Barrier(MPI_COMM_WORLD);
	qv_passed_calls(&value);
	MPI_Finalize();
	return 0;
}
