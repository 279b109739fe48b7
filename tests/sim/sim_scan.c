/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_scan.c BYTES... - MPI_Scan and MPI_Exscan of libquiver-mpi under SimGrid's SMPI, vectors of so many
 * bytes. Prints the mean time of the last calls, from the first arrival to the last exit:
 *     BYTES scan|exscan SETTING SECONDS
 * The setting "chain" is what Open MPI 4.1 does by default: one rank after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi_glue/glue.h"
#include "tests/sim/sim_curie.h"

#define CALLS 40
#define LAST  10 /* by then `auto` has made up its mind */

static const char *const settings[] = {"mpi", "chain", "binomial", "pipeline", "auto"};

static MPI_Op sum;

static int value(int from, int i)
{
	return from * 3 + i % 1000;
}

static void chain(int exclusive, int *in, int *out, int n)
{
	int *more = malloc(sizeof(int) * (size_t)n);

	memcpy(more, in, sizeof(int) * (size_t)n);
	if (rank) {
		PMPI_Recv(out, n, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		add(out, more, &n, NULL);
	}
	if (rank < ranks - 1)
		PMPI_Send(more, n, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
	if (!exclusive)
		memcpy(out, more, sizeof(int) * (size_t)n);
	free(more);
}

static double once(int exclusive, const char *setting, int *in, int *out, int n)
{
	double begin, end;

	memset(out, 0, sizeof(int) * (size_t)n);
	PMPI_Barrier(MPI_COMM_WORLD);
	begin = -MPI_Wtime();
	if (!strcmp(setting, "chain"))
		chain(exclusive, in, out, n);
	else if (exclusive)
		MPI_Exscan(in, out, n, MPI_INT, sum, MPI_COMM_WORLD);
	else
		MPI_Scan(in, out, n, MPI_INT, sum, MPI_COMM_WORLD);
	end = MPI_Wtime();
	PMPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	PMPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	for (int i = 0; i < n && (rank || !exclusive); i++) {
		const int from = rank + !exclusive; /* as many as are added up */

		if (out[i] != 3 * from * (from - 1) / 2 + from * (i % 1000))
			fail("a sum is wrong");
	}
	return end + begin;
}

static void run(int exclusive, int bytes, const char *setting)
{
	const char *const name = exclusive ? "exscan" : "scan";
	const int n = bytes / (int)sizeof(int);
	int *in = malloc((size_t)bytes), *out = malloc((size_t)bytes);
	double seconds = 0;
	char text[64];

	snprintf(text, sizeof(text), "%s=%s", name, strcmp(setting, "chain") ? setting : "mpi");
	if (!in || !out || qv_mpi_set(text))
		fail("no memory, or a setting was refused");
	for (int i = 0; i < n; i++)
		in[i] = value(rank, i);
	for (int i = 0; i < CALLS; i++) {
		const double one = once(exclusive, setting, in, out, n);

		seconds += i < CALLS - LAST ? 0 : one;
	}
	if (!rank)
		printf("%d %s %s %.9f\n", bytes, name, setting, seconds / LAST);
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	/* Said to commute, for SMPI's own scans of operations that do not are wrong. */
	MPI_Op_create(add, 1, &sum);
	if (qv_mpi_network(ALPHA, BETA, GAMMA))
		fail("the network was refused");
	for (int i = 1; i < argc; i++)
		for (int exclusive = 0; exclusive < 2; exclusive++)
			for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++)
				run(exclusive, atoi(argv[i]), settings[s]);
	MPI_Op_free(&sum);
	MPI_Finalize();
	return 0;
}
