/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_rooted.c BYTES... - MPI_Gather and MPI_Scatter of libquiver-mpi under SimGrid's SMPI, blocks of so
 * many bytes. Prints the mean time of the last calls, from the first arrival to the last exit:
 *     BYTES gather|scatter SETTING SECONDS
 */
#include <stdlib.h>
#include <string.h>

#include "mpi_glue/glue.h"
#include "tests/sim/sim_curie.h"

#define CALLS 40
#define LAST  10 /* by then `auto` has made up its mind */

static const char *const settings[] = {"mpi", "binomial", "direct", "auto"};

static void check(const char *blocks, int n, int bytes, int first)
{
	for (int i = 0; i < n; i++)
		if (blocks[(size_t)i * (size_t)bytes] != (char)(first + i) ||
		    blocks[(size_t)(i + 1) * (size_t)bytes - 1] != (char)(first + i))
			fail("a block is wrong");
}

static double once(int scatter, int bytes, char *whole, char *own)
{
	double begin, end;

	PMPI_Barrier(MPI_COMM_WORLD);
	begin = -MPI_Wtime();
	if (scatter)
		MPI_Scatter(whole, bytes, MPI_BYTE, own, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	else
		MPI_Gather(own, bytes, MPI_BYTE, whole, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	end = MPI_Wtime();
	PMPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	PMPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (scatter)
		check(own, 1, bytes, rank);
	else if (!rank)
		check(whole, ranks, bytes, 0);
	return end + begin;
}

static void run(int scatter, int bytes, const char *setting)
{
	const char *const name = scatter ? "scatter" : "gather";
	char *whole = calloc((size_t)ranks, (size_t)bytes), *own = calloc(1, (size_t)bytes);
	double sum = 0;
	char text[64];

	snprintf(text, sizeof(text), "%s=%s", name, setting);
	if (!whole || !own || qv_mpi_set(text))
		fail("no memory, or a setting was refused");
	for (int i = 0; i < ranks && scatter; i++)
		memset(whole + (size_t)i * (size_t)bytes, i, (size_t)bytes);
	if (!scatter)
		memset(own, rank, (size_t)bytes);
	for (int i = 0; i < CALLS; i++) {
		const double seconds = once(scatter, bytes, whole, own);

		sum += i < CALLS - LAST ? 0 : seconds;
	}
	if (!rank)
		printf("%d %s %s %.9f\n", bytes, name, setting, sum / LAST);
	free(whole);
	free(own);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (qv_mpi_network(ALPHA, BETA, GAMMA))
		fail("the network was refused");
	/* A simulated rank has as many messages under way as it likes; they share its link. Measured
	 * figures would say so. */
	qv_mpi.bursts = (struct qv_network){.alpha = 1e-9, .beta = BETA, .gamma = GAMMA};
	for (int i = 1; i < argc; i++)
		for (int scatter = 0; scatter < 2; scatter++)
			for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++)
				run(scatter, atoi(argv[i]), settings[s]);
	MPI_Finalize();
	return 0;
}
