/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * am_gups.c - random updates of a table that is spread over all ranks, as HPCC's RandomAccess makes
 * them, in three ways: each update a message of the MPI; updates collected by hand for each rank, and
 * exchanged by MPI_Alltoallv; each update an item of a stream (quiver/am.h). They take turns, so that
 * what disturbs one disturbs all, and the table must be the same behind each.
 *
 *   mpicc am_gups.c -lquiver-am-ompi -lquiver     (libquiver-am-mpich with MPICH)
 *   mpirun -np 4 ./a.out [updates of a rank, 20000] [turns, 5]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/am.h>

#define WORDS     4096 /* of a rank's part, a power of two */
#define AT_ONCE   64   /* messages under way */
#define COLLECTED 1024 /* updates between two exchanges, as in HPCC */

static int rank, ranks;
static uint64_t table[WORDS];

/* An update: which rank, and what is combined with which word there. */

static uint64_t random_of(int from, long i)
{
	uint64_t x = (uint64_t)from * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xd1342543de82ef95u + 1;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 29;
}

static int owner(uint64_t value)
{
	return (int)(value / WORDS % (uint64_t)ranks);
}

static void update(uint64_t value)
{
	table[value % WORDS] ^= value;
}

/* Each a message. */

static void receive_some(MPI_Request *receive, uint64_t *value, int *ended)
{
	MPI_Status status;
	int done = 1;

	while (*ended < ranks) {
		MPI_Test(receive, &done, &status);
		if (!done)
			return;
		if (status.MPI_TAG)
			(*ended)++;
		else
			update(*value);
		if (*ended < ranks)
			MPI_Irecv(value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG,
				  MPI_COMM_WORLD, receive);
	}
}

static void by_messages(long updates)
{
	static uint64_t out[AT_ONCE], in;
	MPI_Request sends[AT_ONCE], receive;
	int ended = 0, done;

	for (int i = 0; i < AT_ONCE; i++)
		sends[i] = MPI_REQUEST_NULL;
	MPI_Irecv(&in, 1, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
	for (long i = 0; i < updates + ranks; i++) { /* at last, to each rank: that was all */
		const int k = (int)(i % AT_ONCE);

		for (done = 0; !done; receive_some(&receive, &in, &ended))
			MPI_Test(&sends[k], &done, MPI_STATUS_IGNORE);
		out[k] = random_of(rank, i);
		MPI_Isend(&out[k], 1, MPI_UINT64_T,
			  i < updates ? owner(out[k]) : (int)(i - updates), i >= updates,
			  MPI_COMM_WORLD, &sends[k]);
	}
	while (ended < ranks)
		receive_some(&receive, &in, &ended);
	for (int i = 0; i < AT_ONCE; i++)
		MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
}

/* Collected by hand. */

static void exchange(const uint64_t *values, int n, int *counts)
{
	static uint64_t out[COLLECTED];
	int *at = counts + ranks, *come = at + ranks, *place = come + ranks, all = 0;
	uint64_t *in;

	for (int r = 0; r < ranks; r++) {
		at[r] = all;
		all += counts[r];
	}
	for (int i = 0; i < n; i++)
		out[at[owner(values[i])]++] = values[i];
	for (int r = 0; r < ranks; r++)
		at[r] -= counts[r];
	MPI_Alltoall(counts, 1, MPI_INT, come, 1, MPI_INT, MPI_COMM_WORLD);
	all = 0;
	for (int r = 0; r < ranks; r++) {
		place[r] = all;
		all += come[r];
	}
	in = malloc((size_t)(all ? all : 1) * sizeof(*in));
	if (!in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Alltoallv(out, counts, at, MPI_UINT64_T, in, come, place, MPI_UINT64_T, MPI_COMM_WORLD);
	for (int i = 0; i < all; i++)
		update(in[i]);
	free(in);
}

static void by_hand(long updates)
{
	static uint64_t values[COLLECTED];
	int *counts = calloc((size_t)ranks, 4 * sizeof(*counts)), n = 0;

	if (!counts)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (long i = 0; i < updates; i++) {
		values[n++] = random_of(rank, i);
		counts[owner(values[n - 1])]++;
		if (n == COLLECTED || i == updates - 1) {
			exchange(values, n, counts);
			memset(counts, 0, (size_t)ranks * sizeof(*counts));
			n = 0;
		}
	}
	free(counts);
}

/* By a stream. */

static struct qv_am_stream *stream;

static void come(void *user, uint32_t from, const void *data, size_t bytes)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	update(value);
}

static void by_stream(long updates)
{
	for (long i = 0; i < updates; i++) {
		const uint64_t value = random_of(rank, i);

		if (qv_am_stream_insert(stream, (uint32_t)owner(value), &value, sizeof(value)))
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (qv_am_stream_fence(stream))
		MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The whole. */

static const struct {
	const char *name;
	void (*run)(long updates);
} ways[] = {{"messages", by_messages}, {"by hand", by_hand}, {"stream", by_stream}};

#define WAYS 3

static int by_time(const void *a, const void *b)
{
	return *(const double *)a > *(const double *)b ? 1 : -1;
}

/* The time of the slowest rank; -1: the table is not that of `sum`. */
static double turn(int way, long updates, uint64_t *sum)
{
	uint64_t mine = 0;
	double time;
	int same;

	memset(table, 0, sizeof(table));
	MPI_Barrier(MPI_COMM_WORLD);
	time = MPI_Wtime();
	ways[way].run(updates);
	time = MPI_Wtime() - time;
	MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	for (int i = 0; i < WORDS; i++)
		mine += table[i] * (uint64_t)(2 * i + 1);
	*sum = *sum ? *sum : mine;
	same = *sum == mine;
	MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return same ? time : -1;
}

int main(int argc, char **argv)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .items = 256};
	const long updates = argc > 1 ? atol(argv[1]) : 20000;
	const int turns = argc > 2 ? atoi(argv[2]) : 5;
	double times[WAYS][101];
	uint64_t sum = 0;
	int wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (updates < 1 || turns < 1 || turns > 101) {
		if (!rank)
			fprintf(stderr, "usage: am_gups [updates of a rank] [turns, 1 to 101]\n");
		MPI_Finalize();
		return 2;
	}
	if (qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, come, NULL, &stream))
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < turns; i++)
		for (int w = 0; w < WAYS; w++) {
			times[w][i] = turn(w, updates, &sum);
			wrong |= times[w][i] < 0;
		}
	for (int w = 0; w < WAYS && !rank && !wrong; w++) {
		qsort(times[w], (size_t)turns, sizeof(double), by_time);
		printf("%-8s %8.1f ns an update (median of %d turns)\n", ways[w].name,
		       1e9 * times[w][turns / 2] / (double)updates, turns);
	}
	if (!rank)
		printf("%s\n", wrong ? "WRONG: the tables differ" : "all tables are the same");
	qv_am_stream_free(stream);
	MPI_Finalize();
	return wrong;
}
