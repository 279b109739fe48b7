/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - what the network is like, measured in MPI_Init. The first rank and the last, which
 * are as far apart as ranks mostly are, send each other messages, one by one and in bursts both
 * ways. Each rank measures how fast it combines. All tell all their figures and agree on one set of
 * them, for all must choose the same schedules.
 */
#include "mpi_glue/glue.h"
#include "engine/base/clock.h"

#include <stdlib.h>

#define TURNS   8 /* of each length, after one that is not counted */
#define LONGEST QV_GAMMA_ROOM

static const int lengths[] = {8, 8192, LONGEST};

#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

#define BURST       16 /* messages */
#define BURST_TURNS 3
#define BURST_TIME  10e-3 /* seconds, after which the longer ones are left out */

static const int burst_lengths[] = {8, 64, 256, 1024, 4096, 8192, 16384, LONGEST};

#define BURST_LENGTHS (sizeof(burst_lengths) / sizeof(burst_lengths[0]))

/* There and back. */
static int exchange(void *buf, int length, int first, int other)
{
	int rc = MPI_SUCCESS;

	if (first)
		rc = QV_REAL(Send)(buf, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
	if (!rc)
		rc = QV_REAL(Recv)(buf, length, MPI_BYTE, other, 0, MPI_COMM_WORLD,
				   MPI_STATUS_IGNORE);
	if (!rc && !first)
		rc = QV_REAL(Send)(buf, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
	return rc;
}

static int measure_moves(void *buf, int first, int other, struct qv_sample *samples)
{
	int rc = MPI_SUCCESS;

	for (size_t k = 0; k < LENGTHS; k++)
		for (int turn = -1; turn < TURNS && !rc; turn++) {
			const double begin = qv_clock_seconds();

			rc = exchange(buf, lengths[k], first, other);
			if (turn >= 0)
				samples[k * TURNS + (size_t)turn] = (struct qv_sample){
					lengths[k], (qv_clock_seconds() - begin) / 2};
		}
	return rc;
}

/* Both send so many at once, as ranks of an alltoall do. */
static int burst(char *in, char *out, int length, int other)
{
	MPI_Request requests[2 * BURST];
	MPI_Status statuses[2 * BURST]; /* gcc takes MPICH's MPI_STATUSES_IGNORE for an array */
	int rc = MPI_SUCCESS;

	for (int i = 0; i < BURST && !rc; i++)
		rc = QV_REAL(Irecv)(in + (size_t)i * LONGEST, length, MPI_BYTE, other, 0,
				    MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < BURST && !rc; i++)
		rc = QV_REAL(Isend)(out, length, MPI_BYTE, other, 0, MPI_COMM_WORLD,
				    &requests[BURST + i]);
	return rc ? rc : QV_REAL(Waitall)(2 * BURST, requests, statuses);
}

/* The first rank tells the other whether there is time for more. */
static int may_go_on(int first, int other, double end, int *more)
{
	*more = qv_clock_seconds() < end;
	return first ? QV_REAL(Send)(more, 1, MPI_INT, other, 0, MPI_COMM_WORLD)
		     : QV_REAL(Recv)(more, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* n: samples that there are then. */
static int measure_bursts(char *in, char *out, int first, int other, struct qv_sample *samples,
			  size_t *n)
{
	const double end = qv_clock_seconds() + BURST_TIME;
	int rc = MPI_SUCCESS, more = 1;

	*n = 0;
	for (size_t k = 0; k < BURST_LENGTHS && more && !rc; k++) {
		for (int turn = -1; turn < BURST_TURNS && !rc; turn++) {
			const double begin = qv_clock_seconds();

			rc = burst(in, out, burst_lengths[k], other);
			if (turn >= 0)
				samples[(*n)++] = (struct qv_sample){
					burst_lengths[k], (qv_clock_seconds() - begin) / BURST};
		}
		if (!rc)
			rc = may_go_on(first, other, end, &more);
	}
	return rc;
}

/* other: at the first rank and the last, each other; else MPI_PROC_NULL, which measures no
 * messages. */
static void agree_on_network(char *buf, int rank, int other, int ranks, struct qv_network *told)
{
	struct qv_sample samples[LENGTHS * TURNS];
	struct qv_network mine = {.alpha = -1, .beta = -1}, agreed;

	mine.gamma = qv_network_gamma(qv_mpi.combine, qv_clock_seconds, buf);
	if (other != MPI_PROC_NULL && !measure_moves(buf, !rank, other, samples) && !rank)
		(void)qv_network_fit_moves(samples, LENGTHS * TURNS, &mine);
	if (QV_REAL(Allgather)(&mine, (int)sizeof(mine), MPI_BYTE, told, (int)sizeof(mine),
			       MPI_BYTE, MPI_COMM_WORLD))
		return;
	if (!qv_network_agree(told, (size_t)ranks, (double *)(told + ranks), &agreed) &&
	    !qv_select_network(qv_mpi.rules->select, &agreed))
		qv_mpi.network = agreed;
}

/* Figures with ranges of lengths have no median: all take those of the first rank. */
static void agree_on_bursts(char *buf, int rank, int other)
{
	struct qv_sample samples[BURST_LENGTHS * BURST_TURNS];
	struct qv_network bursts = {.gamma = qv_mpi.network.gamma}; /* alpha 0: not measured */
	size_t n;

	if (other != MPI_PROC_NULL &&
	    !measure_bursts(buf + LONGEST, buf, !rank, other, samples, &n) && !rank)
		(void)qv_network_fit_bursts(samples, n, 1 + QV_NETWORK_LONGER, &bursts);
	if (!QV_REAL(Bcast)(&bursts, (int)sizeof(bursts), MPI_BYTE, 0, MPI_COMM_WORLD) &&
	    !qv_select_bursts(qv_mpi.rules->select, &bursts))
		qv_mpi.bursts = bursts;
}

void qv_mpi_measure(bool bursts)
{
	int rank, ranks, other, skip, any;
	struct qv_network *told;
	char *buf;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks < 2)
		return;
	other = !rank ? ranks - 1 : rank == ranks - 1 ? 0 : MPI_PROC_NULL;
	buf = calloc(1 + (bursts && other != MPI_PROC_NULL ? BURST : 0), LONGEST);
	told = calloc((size_t)ranks, sizeof(*told) + sizeof(double));
	skip = qv_mpi.crowded || !buf || !told;
	/* Where ranks wait for a core, they would measure that; without memory, the others would
	 * wait: then the figures remain those that are assumed, on all ranks. */
	if (!QV_REAL(Allreduce)(&skip, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) && !any) {
		agree_on_network(buf, rank, other, ranks, told);
		if (bursts)
			agree_on_bursts(buf, rank, other);
	}
	free(buf);
	free(told);
}
