/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * am_histogram.c - a histogram whose bins are spread over all ranks: each rank has values, and tells
 * the owner of a bin that there is one more. An item is one bin's number; the stream makes few
 * messages of many items (quiver/am.h). The bins are compared with those that one MPI_Allreduce of
 * all bins gives.
 *
 *   mpicc am_histogram.c -lquiver-am-ompi -lquiver     (libquiver-am-mpich with MPICH)
 *   mpirun -np 4 ./a.out [values of a rank]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/am.h>

#define BINS 1000

struct part {
	int rank, ranks;
	uint64_t bins[BINS]; /* bin b is word b / ranks of rank b % ranks */
};

/* Runs at the owner of the bin. */
static void one_more(void *user, uint32_t from, const void *data, size_t bytes)
{
	struct part *part = user;
	uint16_t bin;

	memcpy(&bin, data, sizeof(bin));
	part->bins[bin / part->ranks]++;
}

/* The i-th value of a rank: most are in the middle. */
static uint16_t bin_of(int rank, long i)
{
	uint32_t x = (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u;

	x ^= x >> 15;
	x *= 2246822519u;
	return (uint16_t)((x % BINS + (x >> 12) % BINS) / 2);
}

static int is_right(const struct part *part, long values)
{
	static uint64_t all[BINS];
	int same = 1;

	for (long i = 0; i < values; i++)
		all[bin_of(part->rank, i)]++;
	MPI_Allreduce(MPI_IN_PLACE, all, BINS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int b = part->rank; b < BINS; b += part->ranks)
		same &= all[b] == part->bins[b / part->ranks];
	MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return same;
}

int main(int argc, char **argv)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .items = 512};
	const long values = argc > 1 ? atol(argv[1]) : 50000;
	static struct part part;
	struct qv_am_stream *stream;
	struct qv_stream_stats stats;
	int rc, right;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &part.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &part.ranks);
	rc = qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, one_more, &part, &stream);
	for (long i = 0; i < values && !rc; i++) {
		const uint16_t bin = bin_of(part.rank, i);

		rc = qv_am_stream_insert(stream, bin % (uint32_t)part.ranks, &bin, sizeof(bin));
	}
	if (!rc)
		rc = qv_am_stream_fence(stream); /* now all bins are complete */
	if (rc)
		MPI_Abort(MPI_COMM_WORLD, 1);
	qv_stream_stats(qv_am_stream_of(stream), &stats);
	MPI_Allreduce(MPI_IN_PLACE, &stats.messages, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	right = is_right(&part, values);
	if (!part.rank)
		printf("%ld values in %d bins by %llu messages: %s\n", values * part.ranks, BINS,
		       (unsigned long long)stats.messages, right ? "as counted by all" : "WRONG");
	qv_am_stream_free(stream);
	MPI_Finalize();
	return !right;
}
