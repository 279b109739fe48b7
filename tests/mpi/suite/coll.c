// SPDX-License-Identifier: BSD-2-Clause
/* coll.c - collectives with known answers, blocking and not, beside ordinary messages. */
#include <stdlib.h>

#include "suite.h"

static const int counts[] = {0, 1, 7, 1000, 100000};

#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

static void bcast(void)
{
	unsigned char *buf = suite_alloc(100000);

	for (int i = 0; i < COUNTS * suite.size; i++) {
		int root = i % suite.size, n = counts[i / suite.size];

		suite_fill(buf, (size_t)n, (uint64_t)(suite.rank == root ? i : 12345));
		MPI_Bcast(buf, n, MPI_BYTE, root, suite.comm);
		suite_verify(buf, (size_t)n, (uint64_t)i);
	}
	free(buf);
}

/* Sums that are exact in double: sum over the ranks of i + rank. */
static void allreduce(void)
{
	double *in = suite_alloc(100000 * sizeof(*in)), *out = suite_alloc(100000 * sizeof(*out));
	int p = suite.size;

	for (int c = 0; c < COUNTS; c++) {
		for (int i = 0; i < counts[c]; i++)
			in[i] = i + suite.rank;
		MPI_Allreduce(in, out, counts[c], MPI_DOUBLE, MPI_SUM, suite.comm);
		for (int i = 0; i < counts[c]; i++)
			CHECK(out[i] == (double)i * p + p * (p - 1) / 2, "sum %d is wrong", i);
		MPI_Allreduce(in, out, counts[c], MPI_DOUBLE, MPI_MAX, suite.comm);
		for (int i = 0; i < counts[c]; i++)
			CHECK(out[i] == i + p - 1, "maximum %d is wrong", i);
		MPI_Reduce(in, out, counts[c], MPI_DOUBLE, MPI_MIN, p - 1, suite.comm);
		for (int i = 0; suite.rank == p - 1 && i < counts[c]; i++)
			CHECK(out[i] == i, "minimum %d is wrong", i);
		MPI_Scan(in, out, counts[c], MPI_DOUBLE, MPI_SUM, suite.comm);
		for (int i = 0; i < counts[c]; i++)
			CHECK(out[i] == (double)i * (suite.rank + 1) +
						suite.rank * (suite.rank + 1) / 2,
			      "prefix sum %d is wrong", i);
	}
	free(in);
	free(out);
}

/* Rank r sends n * (r + to + 1) bytes to rank `to`. */
static void alltoallv_of(int n)
{
	int p = suite.size, sends[64], recvs[64], sat[64], rat[64], s = 0, r = 0;
	unsigned char *in, *out;

	CHECK(p <= 64, "at most 64 ranks");
	for (int i = 0; i < p; i++) {
		sends[i] = recvs[i] = n * (suite.rank + i + 1) * (i != suite.rank || n % 2);
		sat[i] = s;
		rat[i] = r;
		s += sends[i];
		r += recvs[i];
	}
	in = suite_alloc((size_t)r);
	out = suite_alloc((size_t)s);
	for (int i = 0; i < p; i++)
		suite_fill(out + sat[i], (size_t)sends[i], (uint64_t)(suite.rank * 64 + i));
	MPI_Alltoallv(out, sends, sat, MPI_BYTE, in, recvs, rat, MPI_BYTE, suite.comm);
	for (int i = 0; i < p; i++)
		suite_verify(in + rat[i], (size_t)recvs[i], (uint64_t)(i * 64 + suite.rank));
	free(in);
	free(out);
}

static void alltoallv(void)
{
	for (int c = 0; c < COUNTS; c++)
		alltoallv_of(counts[c]);
}

/* Each rank's block is made by suite_fill with key rank. */
static void gathers(void)
{
	unsigned char *all = suite_alloc((size_t)suite.size * 100000), *mine = suite_alloc(100000);

	for (int c = 0; c < COUNTS; c++) {
		int n = counts[c], root = c % suite.size;

		suite_fill(mine, (size_t)n, (uint64_t)suite.rank);
		MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, suite.comm);
		for (int i = 0; i < suite.size; i++)
			suite_verify(all + (size_t)i * n, (size_t)n, (uint64_t)i);
		suite_fill(all, (size_t)n, 999);
		MPI_Gather(mine, n, MPI_BYTE, all, n, MPI_BYTE, root, suite.comm);
		for (int i = 0; suite.rank == root && i < suite.size; i++)
			suite_verify(all + (size_t)i * n, (size_t)n, (uint64_t)i);
		suite_fill(mine, (size_t)n, 999);
		MPI_Scatter(all, n, MPI_BYTE, mine, n, MPI_BYTE, root, suite.comm);
		suite_verify(mine, (size_t)n, (uint64_t)suite.rank);
	}
	free(all);
	free(mine);
}

/* Three collectives under way at once, ordinary messages with wildcards in between. */
static void nonblocking(void)
{
	int p = suite.size, right = (suite.rank + 1) % p, left = (suite.rank + p - 1) % p;
	unsigned char *bc = suite_alloc(50000);
	int *all = suite_alloc((size_t)p * sizeof(int));

	for (int i = 0; i < suite_scaled(50, 10); i++) {
		int one = suite.rank + i, sum = 0, me = suite.rank * 7 + i, token = i, got = -1;
		MPI_Request reqs[5];
		MPI_Status st[5];

		if (suite.rank == i % p)
			suite_fill(bc, 50000, (uint64_t)i);
		MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, suite.comm, &reqs[0]);
		MPI_Ibcast(bc, 50000, MPI_BYTE, i % p, suite.comm, &reqs[1]);
		MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &reqs[2]);
		MPI_Iallgather(&me, 1, MPI_INT, all, 1, MPI_INT, suite.comm, &reqs[3]);
		MPI_Isend(&token, 1, MPI_INT, right, i, suite.comm, &reqs[4]);
		MPI_Waitall(5, reqs, st);
		suite_envelope(&st[2], left, i, (int)sizeof(int));
		CHECK(got == i && sum == p * i + p * (p - 1) / 2, "token %d, sum %d", got, sum);
		suite_verify(bc, 50000, (uint64_t)i);
		for (int j = 0; j < p; j++)
			CHECK(all[j] == j * 7 + i, "Iallgather element %d", j);
	}
	free(bc);
	free(all);
}

static void barriers(void)
{
	for (int i = 0; i < suite_scaled(300, 50); i++)
		MPI_Barrier(suite.comm);
}

/* Collectives while many receives wait for messages that come afterwards. */
static void behind_receives(void)
{
	enum { POSTED = 500, CALLS = 100 };
	int right = (suite.rank + 1) % suite.size;
	int left = (suite.rank + suite.size - 1) % suite.size, got[POSTED];
	MPI_Request reqs[POSTED];

	for (int i = 0; i < POSTED; i++)
		MPI_Irecv(&got[i], 1, MPI_INT, left, i, suite.comm, &reqs[i]);
	for (int i = 0; i < CALLS; i++) {
		int one = suite.rank + i, sum = 0;

		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, suite.comm);
		CHECK(sum == suite.size * i + suite.size * (suite.size - 1) / 2, "sum %d", sum);
	}
	for (int i = 0; i < POSTED; i++)
		MPI_Send(&i, 1, MPI_INT, right, i, suite.comm);
	MPI_Waitall(POSTED, reqs, MPI_STATUSES_IGNORE);
	for (int i = 0; i < POSTED; i++)
		CHECK(got[i] == i, "receive %d has %d", i, got[i]);
}

const struct suite_case coll_cases[] = {
	{"coll.barriers", 2, 0, barriers},
	{"coll.bcast", 2, 0, bcast},
	{"coll.allreduce", 2, 0, allreduce},
	{"coll.alltoallv", 2, 0, alltoallv},
	{"coll.gathers", 2, 0, gathers},
	{"coll.nonblocking", 2, 0, nonblocking},
	{"coll.behind_receives", 2, 0, behind_receives},
	{NULL, 0, 0, NULL},
};
