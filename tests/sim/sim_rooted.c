/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_rooted.c BYTES... - MPI_Gather(v) and MPI_Scatter(v) of libquiver-mpi under SimGrid's SMPI, blocks of so
 * many bytes. Prints the mean time of the last calls, from the first arrival to the last exit:
 *     BYTES gather|scatter|gatherv|scatterv SETTING SECONDS
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

static int counts[4096], displs[4096];

static void call(int scatter, int v, int n, char *whole, char *own)
{
	if (scatter && v)
		MPI_Scatterv(whole, counts, displs, MPI_BYTE, own, n, MPI_BYTE, 0, MPI_COMM_WORLD);
	else if (scatter)
		MPI_Scatter(whole, n, MPI_BYTE, own, n, MPI_BYTE, 0, MPI_COMM_WORLD);
	else if (v)
		MPI_Gatherv(own, n, MPI_BYTE, whole, counts, displs, MPI_BYTE, 0, MPI_COMM_WORLD);
	else
		MPI_Gather(own, n, MPI_BYTE, whole, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static double once(int scatter, int v, int bytes, char *whole, char *own)
{
	double begin, end;

	PMPI_Barrier(MPI_COMM_WORLD);
	begin = -MPI_Wtime();
	call(scatter, v, bytes, whole, own);
	end = MPI_Wtime();
	PMPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	PMPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (scatter)
		check(own, 1, bytes, rank);
	else if (!rank)
		check(whole, ranks, bytes, 0);
	return end + begin;
}

static void run(int scatter, int v, int bytes, const char *setting)
{
	static const char *const names[2][2] = {{"gather", "gatherv"}, {"scatter", "scatterv"}};
	const char *const name = names[scatter][v];
	char *whole = calloc((size_t)ranks, (size_t)bytes), *own = calloc(1, (size_t)bytes);
	double sum = 0;
	char text[64];

	snprintf(text, sizeof(text), "%s=%s", name, setting);
	if (!whole || !own || qv_mpi_set(text))
		fail("no memory, or a setting was refused");
	for (int i = 0; i < ranks; i++) {
		counts[i] = bytes;
		displs[i] = i * bytes;
	}
	for (int i = 0; i < ranks && scatter; i++)
		memset(whole + (size_t)i * (size_t)bytes, i, (size_t)bytes);
	if (!scatter)
		memset(own, rank, (size_t)bytes);
	for (int i = 0; i < CALLS; i++) {
		const double seconds = once(scatter, v, bytes, whole, own);

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
		for (int which = 0; which < 4; which++)
			for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++)
				run(which / 2, which % 2, atoi(argv[i]), settings[s]);
	MPI_Finalize();
	return 0;
}
