// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream.c - ping-pong and one-way stream of messages of given lengths, over any MPI.
 *
 * Two ranks. For each length: half a round trip; then windows of WINDOW messages from rank 0 to
 * rank 1, each window answered by one short message. Each message bears its number at both ends,
 * which the receiver compares. Medians over BATCHES batches.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW  64
#define BATCHES 21
#define TAG     1
#define BYTES   (48e6 / BATCHES) /* of a batch, about: short enough to be repeated often */
#define ROUNDS  2000             /* of a batch at most */

static int rank, peer;

static void die(const char *what)
{
	fprintf(stderr, "mpi_stream: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

/* The number at both ends of a message. */
static void number(char *buf, int bytes, uint64_t n)
{
	size_t len = bytes < (int)sizeof n ? (size_t)bytes : sizeof n;

	memcpy(buf, &n, len);
	memcpy(buf + bytes - len, &n, len);
}

static void check(const char *buf, int bytes, uint64_t n)
{
	size_t len = bytes < (int)sizeof n ? (size_t)bytes : sizeof n;

	if (memcmp(buf, &n, len) || memcmp(buf + bytes - len, &n, len))
		die("a wrong message");
}

/* us, half a round trip */
static double ping_pong(char *out, char *in, int bytes, int rounds)
{
	static uint64_t n;
	double start = MPI_Wtime();

	for (int i = 0; i < rounds; i++, n++) {
		number(out, bytes, n);
		if (!rank)
			MPI_Send(out, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
		MPI_Recv(in, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(out, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
		check(in, bytes, n);
	}
	return (MPI_Wtime() - start) * 1e6 / (2.0 * rounds);
}

/* us a message */
static double stream(char *out, char *in, int bytes, int windows)
{
	static uint64_t n;
	double start = MPI_Wtime();
	MPI_Request reqs[WINDOW];

	for (int w = 0; w < windows; w++) {
		for (int i = 0; i < WINDOW; i++) {
			char *buf = (rank ? in : out) + (size_t)i * (size_t)bytes;

			if (rank) {
				MPI_Irecv(buf, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
					  &reqs[i]);
				continue;
			}
			number(buf, bytes, n + (uint64_t)i);
			MPI_Isend(buf, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &reqs[i]);
		}
		MPI_Waitall(WINDOW, reqs, MPI_STATUSES_IGNORE);
		for (int i = 0; rank && i < WINDOW; i++)
			check(in + (size_t)i * (size_t)bytes, bytes, n + (uint64_t)i);
		n += WINDOW;
		if (rank)
			MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
		else
			MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return (MPI_Wtime() - start) * 1e6 / ((double)windows * WINDOW);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, BATCHES, sizeof *values, by_value);
	return values[BATCHES / 2];
}

static int fitting(double each, int most)
{
	double n = BYTES / (each + 1);

	return n < 1 ? 1 : n > most ? most : (int)n;
}

static void measure(int bytes)
{
	double trip[BATCHES], each[BATCHES], us;
	char *out = calloc(WINDOW, (size_t)bytes + 1), *in = calloc(WINDOW, (size_t)bytes + 1);

	if (!out || !in)
		die("out of memory");
	ping_pong(out, in, bytes, fitting(bytes, ROUNDS));
	for (int b = 0; b < BATCHES; b++)
		trip[b] = ping_pong(out, in, bytes, fitting(bytes, ROUNDS));
	stream(out, in, bytes, 1);
	for (int b = 0; b < BATCHES; b++)
		each[b] = stream(out, in, bytes, fitting((double)bytes * WINDOW, ROUNDS / WINDOW));
	us = median(each);
	if (!rank) {
		printf("%10d %12.3f %12.1f %12.4f\n", bytes, median(trip), bytes / us, 1 / us);
		fflush(stdout);
	}
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	peer = 1 - rank;
	if (size != 2 || argc < 2) {
		if (!rank)
			fprintf(stderr, "usage: mpirun -np 2 mpi_stream BYTES...\n");
		MPI_Finalize();
		return 2;
	}
	if (!rank)
		printf("%10s %12s %12s %12s\n", "bytes", "us", "MB/s", "Mmsg/s");
	for (int i = 1; i < argc; i++) {
		char *end;
		long bytes = strtol(argv[i], &end, 10);

		if (*end || end == argv[i] || bytes < 0 || bytes > 1 << 24)
			die("a length must be 0 to 16777216");
		measure((int)bytes);
	}
	MPI_Finalize();
	return 0;
}
