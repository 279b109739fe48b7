/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_late.c reduce|allreduce BYTES - `auto` of libquiver-mpi under SimGrid's SMPI, or between real hosts
 * (QV_REAL_HOSTS), where one rank begins to be late, by the time of the reduction, and ends it. Nobody
 * tells the library. Prints, per part and setting, the time of the last calls of the part,
 *     PART SETTING SECONDS
 * from the first arrival to the last exit, the mean of simulated ones and the median of real ones; and
 * for `auto`, by how many calls of the part were run by a schedule that was built from expected arrivals:
 *     by-arrival PART CALLS
 */
#include <stdlib.h>
#include <string.h>

#include <quiver/mpi_control.h>

#ifdef QV_REAL_HOSTS
#include "tests/mpi/late/late_real.h"
#else
#include "tests/sim/sim_curie.h"
#endif

#define CALLS 100 /* of a part */
#define LAST  50  /* that are timed: by then `auto` is to have found out */

static int n, root_only;
static int *in, *out;
static MPI_Op op;

static const char *const settings[] = {"mpi", "binomial", "butterfly", "clairvoyant", "segmented"};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void check(void)
{
	for (int i = 0; (!rank || !root_only) && i < n; i++)
		if (out[i] != ranks * i + ranks * (ranks - 1) / 2)
			fail("a sum is wrong");
}

/* What a program does again and again: it computes, one rank for longer, and reduces. */
static void once(MPI_Comm comm, double work, double late, double *begin, double *end)
{
	sleep_for(work + (rank == ranks / 3 ? late : 0));
	*begin = -seconds_now();
	if (root_only)
		MPI_Reduce(in, out, n, MPI_INT, op, 0, comm);
	else
		MPI_Allreduce(in, out, n, MPI_INT, op, comm);
	*end = seconds_now();
	if (root_only)
		PMPI_Barrier(comm);
	check();
}

/* The time of the last calls of a part. */
static double part(MPI_Comm comm, double work, double late)
{
	double begin[CALLS], end[CALLS], taken[LAST];

	for (int i = 0; i < CALLS; i++)
		once(comm, work, late, &begin[i], &end[i]);
	PMPI_Allreduce(MPI_IN_PLACE, begin, CALLS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	PMPI_Allreduce(MPI_IN_PLACE, end, CALLS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	for (int i = 0; i < LAST; i++)
		taken[i] = end[CALLS - LAST + i] + begin[CALLS - LAST + i];
	return figure_of(taken, LAST);
}

/* On a communicator of its own, of which nothing is known. */
static double run(const char *setting, double late)
{
	static const char *const parts[] = {"before", "late", "after"};
	char text[64];
	double first = 0;
	MPI_Comm comm;

	snprintf(text, sizeof(text), "%s=%s", root_only ? "reduce" : "allreduce", setting);
	if (qv_mpi_set(text))
		fail("a setting was refused");
	PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int p = 0; p < (late > 0 ? 3 : 1); p++) {
		const uint64_t before = qv_mpi_by_arrival();
		const double seconds = part(comm, 1e-3, p == 1 ? late : 0);

		first = p ? first : seconds;
		if (!rank && late > 0)
			printf("%s %s %.9f\n", parts[p], setting, seconds);
		if (!rank && late > 0 && !strcmp(setting, "auto"))
			printf("by-arrival %s %d\n", parts[p], (int)(qv_mpi_by_arrival() - before));
	}
	MPI_Comm_free(&comm);
	return first;
}

int main(int argc, char **argv)
{
	double late;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Op_create(add, 1, &op);
	if (argc != 3 || !tell_network())
		fail("wrong arguments, or the network was refused");
	root_only = !strcmp(argv[1], "reduce");
	n = atoi(argv[2]) / (int)sizeof(int);
	in = malloc((size_t)n * sizeof(int));
	out = malloc((size_t)n * sizeof(int));
	if (!in || !out)
		fail("no memory");
	for (int i = 0; i < n; i++)
		in[i] = i + rank;
	late = run("mpi", 0);
	for (size_t i = 0; i < SETTINGS; i++)
		run(settings[i], late);
	run("auto", late);
	free(in);
	free(out);
	MPI_Op_free(&op);
	MPI_Finalize();
	return 0;
}
