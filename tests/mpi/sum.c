/* SPDX-License-Identifier: BSD-2-Clause */
/* sum.c - a small program of one MPI, for a libquiver-mpi that may be of another. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	MPI_Comm copy;
	int rank, one = 1, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Barrier(copy);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
	MPI_Comm_free(&copy);
	if (!rank)
		printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
