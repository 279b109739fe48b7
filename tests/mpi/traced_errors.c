/* SPDX-License-Identifier: BSD-2-Clause */
/* traced_errors.c - calls that fail while libquiver-mpi records: what went all the same is in the trace. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	int rank, small, big[8] = {0};
	MPI_Request r;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	/* Too long for the receive: it was sent. */
	MPI_Sendrecv(big, 8, MPI_INT, !rank, 1, &small, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Recv_init(&small, 1, MPI_INT, !rank, 2, MPI_COMM_WORLD, &r);
	/* Too long for it, then not: two receives. */
	for (int n = 8; n > 0; n -= 7) {
		MPI_Start(&r);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Send(big, n, MPI_INT, !rank, 2, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&r);
	MPI_Startall(1, NULL);
	MPI_Finalize();
	return 0;
}
