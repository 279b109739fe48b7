/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_reduce.c BYTES... - time of MPI_Reduce by libquiver-mpi's schedules, under SimGrid's SMPI.
 *
 * The library is part of the program. Nothing that the host computes counts: what combining takes
 * is said to the simulator. Clocks of all ranks are one, so that time to solution is what it says:
 * from the first arrival to the last exit. Prints, per length, algorithm and imbalance, a line
 *     BYTES ALGORITHM balanced|late-tree|late-segmented SECONDS
 */
#include <stdlib.h>
#include <string.h>

#include <quiver/mpi_control.h>

#include "tests/sim/sim_curie.h"

static const char *const algorithms[] = {"clairvoyant", "binomial", "redirect", "ring",
					 "butterfly",   "radix",    "segmented"};

#define ALGORITHMS (int)(sizeof(algorithms) / sizeof(algorithms[0]))

static void wait_until(double when)
{
	const double left = when - MPI_Wtime();

	if (left < 0)
		fail("too late for the beginning");
	sg_actor_sleep_for(left);
}

/* One reduction, the last rank late by so much; everybody returns its time to solution. */
static double once(const int *in, int *out, int n, MPI_Op op, double late)
{
	double begin, end;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime() + 1e-3;
	MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	wait_until(begin + (rank == ranks - 1 ? late : 0));
	MPI_Reduce(in, out, n, MPI_INT, op, 0, MPI_COMM_WORLD);
	end = MPI_Wtime();
	for (int i = 0; !rank && i < n; i++)
		if (out[i] != ranks * i + ranks * (ranks - 1) / 2)
			fail("a sum is wrong");
	MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return end - begin;
}

/* Those of the literature for 128 ranks; else two groups as equal as can be. */
static const char *factors(void)
{
	switch (ranks) {
	case 8: return ":2:4";
	case 32: return ":4:8";
	case 128: return ":4:4:8";
	default: return "";
	}
}

static double measure(const char *algorithm, const int *in, int *out, int n, MPI_Op op, double late)
{
	char setting[64];
	uint64_t *arrive = calloc((size_t)ranks, sizeof(*arrive)), before;
	double t;

	if (!arrive)
		fail("no memory");
	arrive[ranks - 1] = (uint64_t)(late * 1e9);
	snprintf(setting, sizeof(setting), "reduce=%s%s", algorithm,
		 strcmp(algorithm, "radix") ? "" : factors());
	if (qv_mpi_set(setting) || qv_mpi_expect(MPI_Comm_c2f(MPI_COMM_WORLD), arrive))
		fail("settings were refused");
	free(arrive);
	before = qv_mpi_taken();
	t = once(in, out, n, op, late);
	if (qv_mpi_taken() != before + 1)
		fail("the MPI did it");
	return t;
}

/* Some of the algorithms, with the last rank late by so much. */
static void late_by(int bytes, MPI_Op op, const int *in, int *out, const char *base, double late,
		    int first, int last)
{
	for (int a = first; a <= last; a++) {
		const double t =
			measure(algorithms[a], in, out, bytes / (int)sizeof(int), op, late);

		if (!rank)
			printf("%d %s %s %.9f\n", bytes, algorithms[a], base, t);
	}
}

static void all_of(int bytes, MPI_Op op)
{
	const int n = bytes / (int)sizeof(int);
	int *in = malloc((size_t)bytes), *out = malloc((size_t)bytes);
	double tree, segmented;

	if (!in || !out)
		fail("no memory");
	for (int i = 0; i < n; i++)
		in[i] = i + rank;
	tree = measure("binomial", in, out, n, op, 0);
	segmented = measure("segmented", in, out, n, op, 0);
	late_by(bytes, op, in, out, "balanced", 0, 0, ALGORITHMS - 1);
	late_by(bytes, op, in, out, "late-tree", tree, 0, 2);
	late_by(bytes, op, in, out, "late-segmented", segmented, 1, ALGORITHMS - 1);
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Op_create(add, 1, &op);
	if (qv_mpi_network(ALPHA, BETA, GAMMA))
		fail("the network was refused");
	for (int i = 1; i < argc; i++)
		all_of(atoi(argv[i]), op);
	MPI_Op_free(&op);
	MPI_Finalize();
	return 0;
}
