/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_late.c reduce|allreduce|broadcast BYTES - `auto` of libquiver-mpi under SimGrid's SMPI, or between
 * real hosts (QV_REAL_HOSTS), where one rank begins to be late, by the time of the collective, and ends it.
 * Nobody tells the library. Prints, per part and setting, the time of the last calls of the part,
 *     PART SETTING SECONDS
 * from the first arrival to the last exit, the mean of simulated ones and the median of real ones; and
 * by how many calls of the part were run by a schedule that was built from expected arrivals:
 *     by-arrival PART SETTING CALLS
 */
#include <stdbool.h>
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

#define SETTINGS 6 /* at most */

static const char *const of_reductions[SETTINGS] = {"mpi", "binomial", "butterfly", "clairvoyant",
						    "segmented"};
static const char *const of_broadcasts[SETTINGS] = {"mpi",      "binomial",    "ring",
						    "pipeline", "clairvoyant", "binary"};

static const char *operation;
static bool reduces, broadcasts;
static int n, late_rank;
static int *in, *out;
static MPI_Op op;

static void check(void)
{
	for (int i = 0; (!rank || !reduces) && i < n; i++)
		if (out[i] != (broadcasts ? i : ranks * i + ranks * (ranks - 1) / 2))
			fail("a result is wrong");
}

static void call(MPI_Comm comm)
{
	if (broadcasts)
		MPI_Bcast(out, n, MPI_INT, 0, comm);
	else if (reduces)
		MPI_Reduce(in, out, n, MPI_INT, op, 0, comm);
	else
		MPI_Allreduce(in, out, n, MPI_INT, op, comm);
}

/* What a program does again and again: it computes, one rank for longer, and calls. */
static void once(MPI_Comm comm, double work, double late, double *begin, double *end)
{
	sleep_for(work + (rank == late_rank ? late : 0));
	if (broadcasts)
		memcpy(out, in, (size_t)n * sizeof(int));
	*begin = -seconds_now();
	call(comm);
	*end = seconds_now();
	if (broadcasts || reduces)
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

	snprintf(text, sizeof(text), "%s=%s", operation, setting);
	if (qv_mpi_set(text))
		fail("a setting was refused");
	PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int p = 0; p < (late > 0 ? 3 : 1); p++) {
		const uint64_t before = qv_mpi_by_arrival();
		const double seconds = part(comm, 1e-3, p == 1 ? late : 0);

		first = p ? first : seconds;
		if (!rank && late > 0)
			printf("%s %s %.9f\n", parts[p], setting, seconds);
		if (!rank && late > 0)
			printf("by-arrival %s %s %d\n", parts[p], setting,
			       (int)(qv_mpi_by_arrival() - before));
	}
	MPI_Comm_free(&comm);
	return first;
}

int main(int argc, char **argv)
{
	const char *const *settings;
	double late;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Op_create(add, 1, &op);
	if (argc != 3 || !tell_network())
		fail("wrong arguments, or the network was refused");
	operation = argv[1];
	reduces = !strcmp(operation, "reduce");
	broadcasts = !strcmp(operation, "broadcast");
	late_rank = broadcasts ? ranks / 4 & ~1 : ranks / 3; /* others are behind it in each tree */
	n = atoi(argv[2]) / (int)sizeof(int);
	in = malloc((size_t)n * sizeof(int));
	out = malloc((size_t)n * sizeof(int));
	if (!in || !out)
		fail("no memory");
	for (int i = 0; i < n; i++)
		in[i] = i + rank;
	late = run("mpi", 0);
	settings = broadcasts ? of_broadcasts : of_reductions;
	for (int i = 0; i < SETTINGS && settings[i]; i++)
		run(settings[i], late);
	run("auto", late);
	free(in);
	free(out);
	MPI_Op_free(&op);
	MPI_Finalize();
	return 0;
}
