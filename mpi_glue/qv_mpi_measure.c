/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_mpi_measure.c - what the network is like, measured in MPI_Init: messages between the first
 * rank and the last, which are as far apart as ranks mostly are, and how fast rank 0 combines. All
 * ranks are told the same figures, for all must choose the same schedules.
 */
#include "qv_mpi.h"

#include <stdlib.h>
#include <time.h>

#define TURNS     8 /* of each length, after one that is not counted */
#define LONGEST   65536
#define COMBINING 6

static const int lengths[] = {8, 8192, LONGEST};

#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* There and back. */
static int exchange(void *buf, int length, int first, int other)
{
	int rc = MPI_SUCCESS;

	if (first)
		rc = PMPI_Send(buf, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
	if (!rc)
		rc = PMPI_Recv(buf, length, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!rc && !first)
		rc = PMPI_Send(buf, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
	return rc;
}

static int measure_moves(void *buf, int first, int other, struct qv_sample *samples)
{
	int rc = MPI_SUCCESS;

	for (size_t k = 0; k < LENGTHS; k++)
		for (int turn = -1; turn < TURNS && !rc; turn++) {
			const double begin = now();

			rc = exchange(buf, lengths[k], first, other);
			if (turn >= 0)
				samples[k * TURNS + (size_t)turn] =
					(struct qv_sample){lengths[k], (now() - begin) / 2};
		}
	return rc;
}

static void measure_combines(double *buf, struct qv_sample *samples)
{
	const size_t most = LONGEST / sizeof(*buf) / 2;

	for (int i = -1; i < COMBINING; i++) {
		const size_t n = i % 2 ? most : most / 2;
		const double begin = now();

		qv_combine_to(qv_mpi.combine, QV_OP_SUM, QV_TYPE_DOUBLE, buf, buf, buf + most, n);
		if (i >= 0)
			samples[i] = (struct qv_sample){(double)(n * sizeof(*buf)), now() - begin};
	}
}

/* Of the first rank and the last; alpha is 0 if it fails. */
static void measure(int rank, int ranks, struct qv_network *network)
{
	struct qv_sample moves[LENGTHS * TURNS], combines[COMBINING];
	void *buf = calloc(1, LONGEST);

	if (!buf)
		abort(); /* the other one waits */
	if (!measure_moves(buf, !rank, rank ? 0 : ranks - 1, moves) && !rank) {
		measure_combines(buf, combines);
		if (qv_network_fit(moves, LENGTHS * TURNS, combines, COMBINING, network))
			network->alpha = 0;
	}
	free(buf);
}

void qv_mpi_measure(void)
{
	struct qv_network network = {0};
	int rank, ranks, crowded = qv_mpi.crowded, any;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	/* Where ranks wait for a core, they would measure that. */
	if (ranks < 2 || QV_REAL(Allreduce)(&crowded, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) ||
	    any)
		return;
	if (!rank || rank == ranks - 1)
		measure(rank, ranks, &network);
	if (!QV_REAL(Bcast)(&network, (int)sizeof(network), MPI_BYTE, 0, MPI_COMM_WORLD) &&
	    !qv_select_network(qv_mpi.rules->select, &network))
		qv_mpi.network = network;
}
