/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c - ranks that are late by habit. */
#include "glue.h"

#include <string.h>
#include <time.h>

/* The last rank is late for so many calls; whether sums are right. */
static void late_calls(int calls, MPI_Comm comm)
{
	const struct timespec late = {0, 3000000};

	for (int i = 0; i < calls; i++) {
		int in[3] = {i, glue_rank, 7}, out[3] = {0};

		if (glue_rank == glue_ranks - 1)
			nanosleep(&late, NULL);
		if (i % 3)
			MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, comm);
		else
			MPI_Reduce(in, out, 3, MPI_INT, MPI_SUM, 0, comm);
		CHECK((i % 3 == 0 && glue_rank) || (out[0] == i * glue_ranks &&
						    out[1] == glue_ranks * (glue_ranks - 1) / 2 &&
						    out[2] == 7 * glue_ranks),
		      "call %d: the sum is %d, %d, %d", i, out[0], out[1], out[2]);
	}
}

/* One rank is always late: soon all ranks expect that, all alike, and sums stay right. So it is with
 * `auto`, which need not find that it pays. */
void glue_late(void)
{
	static const struct {
		const char *setting;
		int calls, least; /* that are by arrival */
	} cases[] = {{"allreduce=clairvoyant:faithful,reduce=segmented", 48, 16},
		     {"allreduce=auto,reduce=auto", 150, 0}};

	for (int i = 0; i < 2; i++) {
		uint64_t before[2] = {qv_mpi_by_arrival(), qv_mpi_taken()}, mine[2], all[128] = {0};
		MPI_Comm dup;

		CHECK(!qv_mpi_set(cases[i].setting), "refused");
		MPI_Comm_dup(MPI_COMM_WORLD, &dup);
		late_calls(cases[i].calls, dup);
		MPI_Comm_free(&dup);
		mine[0] = qv_mpi_by_arrival() - before[0];
		mine[1] = qv_mpi_taken() - before[1];
		MPI_Allgather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, MPI_COMM_WORLD);
		for (int r = 0; r < glue_ranks; r++)
			CHECK(!memcmp(&all[2 * r], mine, sizeof(mine)) &&
				      mine[0] >= (uint64_t)cases[i].least,
			      "%s: rank %d took %d calls, %d by arrival, here %d and %d",
			      cases[i].setting, r, (int)all[2 * r + 1], (int)all[2 * r],
			      (int)mine[1], (int)mine[0]);
	}
}
