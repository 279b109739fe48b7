// SPDX-License-Identifier: BSD-2-Clause
/* starts.c - the first thing that each rank does is to send to all others; then it looks what came. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t word_of(int from, int to)
{
	return (uint64_t)from << 32 | (uint64_t)to;
}

int main(int argc, char **argv)
{
	int rank, ranks, wrong = 0;
	MPI_Request *req;
	uint64_t *out;
	char *seen;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	req = malloc((size_t)ranks * sizeof *req);
	out = malloc((size_t)ranks * sizeof *out);
	seen = calloc((size_t)ranks, 1);
	if (!req || !out || !seen)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int k = 0; k < ranks; k++) {
		const int to = (rank + k) % ranks;

		out[to] = word_of(rank, to);
		MPI_Isend(&out[to], sizeof *out, MPI_BYTE, to, 1, MPI_COMM_WORLD, &req[to]);
	}
	for (int k = 0; k < ranks; k++) {
		uint64_t in = 0;
		MPI_Status st;

		MPI_Recv(&in, sizeof in, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &st);
		if (in != word_of(st.MPI_SOURCE, rank) || seen[st.MPI_SOURCE]++)
			wrong++;
	}
	MPI_Waitall(ranks, req, MPI_STATUSES_IGNORE);
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d ranks, %d messages, %d wrong\n", ranks, ranks * ranks, wrong);
	free(req);
	free(out);
	free(seen);
	MPI_Finalize();
	return wrong != 0;
}
