/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - what the network is like, measured in MPI_Init: messages between the first
 * rank and the last, which are as far apart as ranks mostly are, one by one and in bursts both
 * ways, and how fast rank 0 combines. All ranks are told the same figures, for all must choose the
 * same schedules.
 */
#include "mpi_glue/glue.h"
#include "engine/base/clock.h"

#include <stdlib.h>

#define TURNS     8 /* of each length, after one that is not counted */
#define LONGEST   65536
#define COMBINING 6

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
		rc = PMPI_Irecv(in + (size_t)i * LONGEST, length, MPI_BYTE, other, 0,
				MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < BURST && !rc; i++)
		rc = PMPI_Isend(out, length, MPI_BYTE, other, 0, MPI_COMM_WORLD,
				&requests[BURST + i]);
	return rc ? rc : PMPI_Waitall(2 * BURST, requests, statuses);
}

/* The first rank tells the other whether there is time for more. */
static int may_go_on(int first, int other, double end, int *more)
{
	*more = qv_clock_seconds() < end;
	return first ? PMPI_Send(more, 1, MPI_INT, other, 0, MPI_COMM_WORLD)
		     : PMPI_Recv(more, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

static void measure_combines(double *buf, struct qv_sample *samples)
{
	const size_t most = LONGEST / sizeof(*buf) / 2;

	for (int i = -1; i < COMBINING; i++) {
		const size_t n = i % 2 ? most : most / 2;
		const double begin = qv_clock_seconds();

		qv_combine_to(qv_mpi.combine, QV_OP_SUM, QV_TYPE_DOUBLE, buf, buf, buf + most, n);
		if (i >= 0)
			samples[i] = (struct qv_sample){(double)(n * sizeof(*buf)),
							qv_clock_seconds() - begin};
	}
}

/* Figures of messages one by one, and in bursts. */
struct figures {
	struct qv_network network, bursts; /* alpha 0: not known */
};

/* Of the first rank and the last. */
static void measure_network(char *buf, int rank, int other, struct figures *f)
{
	struct qv_sample moves[LENGTHS * TURNS], combines[COMBINING];

	if (measure_moves(buf, !rank, other, moves) || rank)
		return;
	measure_combines((double *)(void *)buf, combines);
	if (qv_network_fit(moves, LENGTHS * TURNS, combines, COMBINING, &f->network))
		f->network.alpha = 0;
}

static void measure_rows(char *buf, int rank, int other, struct figures *f)
{
	struct qv_sample samples[BURST_LENGTHS * BURST_TURNS];
	size_t n;

	if (measure_bursts(buf + LONGEST, buf, !rank, other, samples, &n) || rank)
		return;
	f->bursts.gamma = f->network.gamma;
	if (qv_network_fit_bursts(samples, n, 1 + QV_NETWORK_LONGER, &f->bursts))
		f->bursts.alpha = 0;
}

void qv_mpi_measure(bool bursts)
{
	struct figures f = {.network = {.alpha = 0}};
	int rank, ranks, skip = qv_mpi.crowded, any;
	char *buf = NULL;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks < 2)
		return;
	if (!rank || rank == ranks - 1) {
		buf = calloc(1 + (bursts ? BURST : 0), LONGEST);
		skip |= !buf;
	}
	/* Where ranks wait for a core, they would measure that; without memory, the other one would
	 * wait: then the figures remain those that are assumed, on all ranks. */
	if (QV_REAL(Allreduce)(&skip, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) || any) {
		free(buf);
		return;
	}
	if (buf) {
		measure_network(buf, rank, rank ? 0 : ranks - 1, &f);
		if (bursts)
			measure_rows(buf, rank, rank ? 0 : ranks - 1, &f);
		free(buf);
	}
	if (QV_REAL(Bcast)(&f, (int)sizeof(f), MPI_BYTE, 0, MPI_COMM_WORLD))
		return;
	if (!qv_select_network(qv_mpi.rules->select, &f.network))
		qv_mpi.network = f.network;
	if (bursts && !qv_select_bursts(qv_mpi.rules->select, &f.bursts))
		qv_mpi.bursts = f.bursts;
}
