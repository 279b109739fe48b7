// SPDX-License-Identifier: BSD-2-Clause
/*
 * programs.c - collectives as kinds of applications call them, over any MPI: scripts/mpi-programs runs each
 * with and without libquiver-mpi.
 *
 *   mpi_programs PROGRAM [STEPS]
 *
 * Between its calls a program computes for a while, the same number of operations in every run. All that is
 * summed is a whole number, so every order of a sum gives the same: rank 0 prints what all ranks have
 * received as one number, which does not depend on who ran the collectives.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 256
#define UPDATES    32   /* of a step of gups, for one rank, at most */
#define ROWS       4096 /* of a rank, in spmm */

static int rank, ranks;
static uint64_t seen = 1; /* all that this rank has received */

static uint64_t next(uint64_t x)
{
	return x * 6364136223846793005u + 1442695040888963407u;
}

/* What a rank has in a step, small enough for sums of 2^20 of them. */
static int64_t value(int of, int step, int i)
{
	return (int64_t)(next(next((uint64_t)of << 40 | (uint64_t)step << 20 | (uint64_t)i)) >> 30);
}

static void fill(int64_t *to, int n, int step)
{
	for (int i = 0; i < n; i++)
		to[i] = value(rank, step, i);
}

static void receive(const int64_t *from, int n)
{
	for (int i = 0; i < n; i++)
		seen = next(seen ^ (uint64_t)from[i]);
}

/* So many microseconds, about. */
static void compute(int us)
{
	static volatile uint64_t kept;
	uint64_t x = kept;

	for (int i = 0; i < us * 800; i++)
		x = next(x);
	kept = x;
}

/* A short allreduce behind equal work: nothing for quiver to gain by arrivals. */
static void balanced(int step)
{
	static int64_t a[128], sum[128];

	compute(100);
	fill(a, 128, step);
	MPI_Allreduce(a, sum, 128, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	receive(sum, 128);
}

/* Moments of particles are summed at one rank; a rank that has many particles is late, another one
 * after 250 steps. */
static void helsim(int step)
{
	static int64_t a[2048], sum[2048], field[64];

	compute(step / 250 % (ranks + 1) == rank ? 600 : 200);
	fill(a, 2048, step);
	MPI_Reduce(a, sum, 2048, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		receive(sum, 2048);
	memcpy(field, sum, sizeof field);
	MPI_Bcast(field, 64, MPI_INT64_T, 0, MPI_COMM_WORLD);
	receive(field, 64);
}

/* As the Fire Dynamics Simulator: ranks send what devices measure to rank 0, four times a step. */
static void fds(int step)
{
	static int64_t a[64], all[64 * MOST_RANKS], least;
	int n[MOST_RANKS], at[MOST_RANKS], end = 0;

	compute(200);
	for (int part = 0; part < 4; part++) {
		for (int r = end = 0; r < ranks; r++) {
			n[r] = (r + part) % 4 * 16;
			at[r] = end;
			end += n[r];
		}
		fill(a, n[rank], step + part);
		MPI_Gatherv(a, n[rank], MPI_INT64_T, all, n, at, MPI_INT64_T, 0, MPI_COMM_WORLD);
		if (!rank)
			receive(all, end);
	}
	MPI_Allreduce(a, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
	receive(&least, 1);
}

static MPI_Comm grid(void)
{
	static MPI_Comm comm = MPI_COMM_NULL;
	int n[2] = {0, 0}, periodic[2] = {1, 1};

	if (comm == MPI_COMM_NULL) {
		MPI_Dims_create(ranks, 2, n);
		MPI_Cart_create(MPI_COMM_WORLD, 2, n, periodic, 0, &comm);
	}
	return comm;
}

/* Borders of a field by messages, the time step by an allreduce. */
static void halo(int step)
{
	static int64_t out[256], in[4][256], shortest;
	MPI_Request req[8];
	MPI_Status status[8];

	compute(100);
	fill(out, 256, step);
	for (int side = 0; side < 4; side++) {
		int from, to;

		MPI_Cart_shift(grid(), side / 2, side % 2 ? 1 : -1, &from, &to);
		MPI_Irecv(in[side], 256, MPI_INT64_T, from, side, grid(), &req[2 * side]);
		MPI_Isend(out, 256, MPI_INT64_T, to, side, grid(), &req[2 * side + 1]);
	}
	MPI_Waitall(8, req, status);
	for (int side = 0; side < 4; side++)
		receive(in[side], 256);
	if (step % 10)
		return;
	MPI_Allreduce(out, &shortest, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
	receive(&shortest, 1);
}

/* The same borders by a neighbourhood collective. */
static void neighbours(int step)
{
	static int64_t out[4 * 64], in[4 * 64];

	compute(100);
	fill(out, 4 * 64, step);
	MPI_Neighbor_alltoall(out, 64, MPI_INT64_T, in, 64, MPI_INT64_T, grid());
	receive(in, 4 * 64);
}

/* Random updates of a table that all ranks have a part of, sent in small bundles. */
static void gups(int step)
{
	static int64_t out[UPDATES * MOST_RANKS], in[UPDATES * MOST_RANKS];
	int n[MOST_RANKS], from[MOST_RANKS], at[MOST_RANKS], in_at[MOST_RANKS], end = 0;

	for (int r = 0; r < ranks; r++) {
		n[r] = (int)((uint64_t)value(rank, step, r) % UPDATES);
		at[r] = r * UPDATES;
		fill(out + at[r], n[r], step);
	}
	MPI_Alltoall(n, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++) {
		in_at[r] = end;
		end += from[r];
	}
	MPI_Alltoallv(out, n, at, MPI_INT64_T, in, from, in_at, MPI_INT64_T, MPI_COMM_WORLD);
	receive(in, end);
}

/* Where each rank's particles begin, and sums over the ranks before. */
static void scans(int step)
{
	static int64_t a[128], before[128], sum[128];

	compute(50);
	fill(a, 128, step);
	MPI_Exscan(a, before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	if (rank)
		receive(before, 1);
	MPI_Scan(a, sum, 128, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	receive(sum, 128);
}

/* The matrix of an FFT is transposed. */
static void transpose(int step)
{
	static int64_t out[128 * MOST_RANKS], in[128 * MOST_RANKS];

	compute(100);
	fill(out, 128 * ranks, step);
	MPI_Alltoall(out, 128, MPI_INT64_T, in, 128, MPI_INT64_T, MPI_COMM_WORLD);
	receive(in, 128 * ranks);
}

static MPI_Comm band(int *n)
{
	static MPI_Comm comm = MPI_COMM_NULL;
	static int count;
	const int weights[4] = {1, 1, 1, 1};
	int near[4];

	if (comm == MPI_COMM_NULL) {
		for (int i = -2; i <= 2; i++) {
			const int other = (rank + i + 2 * ranks) % ranks;
			int known = other == rank;

			for (int k = 0; k < count; k++)
				known |= near[k] == other;
			if (!known)
				near[count++] = other;
		}
		MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, near, weights, count, near,
					       weights, MPI_INFO_NULL, 0, &comm);
	}
	*n = count;
	return comm;
}

/* Rows of B for a product with a matrix that is a band: from two ranks on either side. */
static void spmm(int step)
{
	static int64_t own[ROWS], all[4 * ROWS];
	int n;
	MPI_Comm comm = band(&n);

	compute(100);
	fill(own, ROWS, step);
	MPI_Neighbor_allgather(own, ROWS, MPI_INT64_T, all, ROWS, MPI_INT64_T, comm);
	receive(all, n * ROWS);
}

static const struct {
	const char *name;
	void (*step)(int step);
	int steps;
} programs[] = {
	{"balanced", balanced, 4000}, {"helsim", helsim, 1500},         {"fds", fds, 2000},
	{"halo", halo, 4000},         {"neighbours", neighbours, 4000}, {"gups", gups, 20000},
	{"scans", scans, 5000},       {"transpose", transpose, 4000},   {"spmm", spmm, 2000},
};

static int run(const char *name, int steps)
{
	size_t i = 0;

	while (i < sizeof programs / sizeof *programs && strcmp(programs[i].name, name) != 0)
		i++;
	if (i == sizeof programs / sizeof *programs)
		return 1;
	for (int step = 0; step < (steps ? steps : programs[i].steps); step++)
		programs[i].step(step);
	return 0;
}

int main(int argc, char **argv)
{
	static uint64_t all[MOST_RANKS];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks > MOST_RANKS || argc < 2 || run(argv[1], argc > 2 ? atoi(argv[2]) : 0)) {
		if (!rank) {
			fprintf(stderr,
				"usage: mpi_programs PROGRAM [STEPS], %d ranks at most; PROGRAM:",
				MOST_RANKS);
			for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
				fprintf(stderr, " %s", programs[i].name);
			fputs("\n", stderr);
		}
		MPI_Finalize();
		return 2;
	}
	MPI_Gather(&seen, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	for (int r = 1; r < ranks && !rank; r++)
		all[0] = next(all[0] ^ all[r]);
	if (!rank)
		printf("%s: %016llx\n", argv[1], (unsigned long long)all[0]);
	MPI_Finalize();
	return 0;
}
