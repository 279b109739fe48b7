/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_auto.c ALPHA BETA GAMMA - alltoallv=auto of libquiver-mpi under SimGrid's SMPI: each rank has
 * a message for 14 others, short ones first, then long ones, then short ones again. Prints, per
 * part and way, the time of a call at the part's end, by when fences have seen the change:
 *     PART WAY SECONDS
 * and at the end how often ranks have judged and chosen anew.
 */
#include <mpi.h>
#include <simgrid/actor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/mpi_control.h>

#define PARTNERS 14
#define CALLS    115 /* of a part, in which there is a fence of `auto`, and time for a trial */

static int rank, ranks;

static const struct part {
	const char *name;
	int bytes;
} parts[] = {{"short", 8}, {"long", 32768}, {"short-again", 8}};

static int counts[1024], displs[1024], from_counts[1024], from_displs[1024];
static char *sent, *got;

static void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* To those that follow, with gaps; what a rank gets is told by its first byte. */
static void fill(int bytes)
{
	int at = 0, to = 0;

	memset(counts, 0, sizeof(counts));
	memset(from_counts, 0, sizeof(from_counts));
	for (int i = 1; i <= PARTNERS; i++) {
		counts[(rank + i) % ranks] = bytes;
		from_counts[(rank + ranks - i) % ranks] = bytes;
	}
	for (int r = 0; r < ranks; r++) {
		displs[r] = at;
		from_displs[r] = to;
		if (counts[r])
			sent[at] = (char)(rank + r);
		at += counts[r];
		to += from_counts[r];
	}
}

/* Seconds, of the slowest rank. */
static double once(void)
{
	double begin, seconds;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	MPI_Alltoallv(sent, counts, displs, MPI_CHAR, got, from_counts, from_displs, MPI_CHAR,
		      MPI_COMM_WORLD);
	seconds = MPI_Wtime() - begin;
	for (int r = 0; r < ranks; r++)
		if (from_counts[r] && got[from_displs[r]] != (char)(rank + r))
			fail("an answer is wrong");
	MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return seconds;
}

static void others(const struct part *part)
{
	static const char *const ways[] = {"mpi", "direct", "crystal", "crystal:3", "mesh2"};
	char setting[64];
	double seconds;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		snprintf(setting, sizeof(setting), "alltoallv=%s", ways[i]);
		if (qv_mpi_set(setting))
			fail("a setting was refused");
		once();
		seconds = once();
		if (!rank)
			printf("%s %s %.9f\n", part->name, ways[i], seconds);
	}
}

int main(int argc, char **argv)
{
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	uint64_t judged, changed;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	sent = malloc((size_t)PARTNERS * 32768);
	got = malloc((size_t)PARTNERS * 32768);
	if (argc != 4 || !sent || !got || ranks <= PARTNERS || ranks > 1024)
		fail("wrong arguments, or no memory");
	if (qv_mpi_network(atof(argv[1]), atof(argv[2]), atof(argv[3])))
		fail("the network was refused");
	if (qv_mpi_set("alltoallv=auto"))
		fail("a setting was refused");
	for (size_t p = 0; p < n; p++) {
		double seconds = 0;

		fill(parts[p].bytes);
		for (int i = 0; i < CALLS; i++)
			seconds = once();
		if (!rank)
			printf("%s auto %.9f\n", parts[p].name, seconds);
	}
	qv_mpi_judged(&judged, &changed);
	if (!rank)
		printf("judged %d %d\n", (int)judged, (int)changed);
	for (size_t p = 0; p + 1 < n; p++) {
		fill(parts[p].bytes);
		others(&parts[p]);
	}
	free(sent);
	free(got);
	MPI_Finalize();
	return 0;
}
