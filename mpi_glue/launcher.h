/* SPDX-License-Identifier: BSD-2-Clause */
/* launcher.h - what the launcher of a job says to its processes, before MPI_Init and in any MPI. */
#ifndef QV_MPI_LAUNCHER_H
#define QV_MPI_LAUNCHER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether this process is the one whose lines stand for those of all: rank 0, or no rank at all. */
static inline bool qv_mpi_speaks_for_all(void)
{
	static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		const char *rank = getenv(ranks[i]);

		if (rank)
			return !strcmp(rank, "0");
	}
	return true;
}

#endif /* QV_MPI_LAUNCHER_H */
