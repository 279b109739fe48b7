// SPDX-License-Identifier: BSD-2-Clause
/*
 * deep.c - very many unexpected messages and posted receives.
 *
 * The sender uses MPI_Isend and completes the requests at the end, so the programs are legal
 * however little a library buffers. They stop for ever over libfabric 1.17's own shm, tcp and rxm
 * providers.
 */
#include <stdlib.h>

#include "suite.h"

enum order { FORWARD, REVERSE, RANDOM };

/* The i-th receive of the pass takes the message with this tag. */
static int *receive_order(int n, enum order order)
{
	int *p = suite_permutation(n, suite.seed);

	for (int i = 0; order != RANDOM && i < n; i++)
		p[i] = order == FORWARD ? i : n - 1 - i;
	return p;
}

static void send_all(int n, int bytes)
{
	MPI_Request *reqs = suite_alloc((size_t)n * sizeof(*reqs));
	unsigned char *bufs = suite_alloc((size_t)n * (size_t)bytes);

	for (int i = 0; i < n; i++) {
		unsigned char *buf = bufs + (size_t)i * (size_t)bytes;

		suite_fill(buf, (size_t)bytes, (uint64_t)i);
		MPI_Isend(buf, bytes, MPI_BYTE, 0, i, suite.comm, &reqs[i]);
	}
	suite_signal(0);
	MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
	free(reqs);
	free(bufs);
}

/* n messages wait at rank 0, then it takes them by tag. */
static void unexpected(int n, int bytes, enum order order)
{
	unsigned char *buf = suite_alloc((size_t)bytes);
	int *tags;

	if (suite.rank == 1)
		send_all(n, bytes);
	if (suite.rank == 0) {
		tags = receive_order(n, order);
		suite_await(1);
		for (int i = 0; i < n; i++) {
			int source = i % 5 ? 1 : MPI_ANY_SOURCE;
			MPI_Status st;

			MPI_Recv(buf, bytes, MPI_BYTE, source, tags[i], suite.comm, &st);
			suite_envelope(&st, 1, tags[i], bytes);
			suite_verify(buf, (size_t)bytes, (uint64_t)tags[i]);
		}
		free(tags);
	}
	free(buf);
}

/* n receives wait at rank 0, then rank 1 sends in another order. */
static void posted(int n, int bytes, enum order order)
{
	unsigned char *bufs = suite_alloc((size_t)n * (size_t)bytes);
	MPI_Request *reqs = suite_alloc((size_t)n * sizeof(*reqs));
	int *tags = receive_order(n, order);

	for (int i = 0; suite.rank == 0 && i < n; i++)
		MPI_Irecv(bufs + (size_t)i * (size_t)bytes, bytes, MPI_BYTE,
			  i % 5 ? 1 : MPI_ANY_SOURCE, i, suite.comm, &reqs[i]);
	if (suite.rank < 2)
		suite_meet(1 - suite.rank);
	for (int i = 0; suite.rank == 1 && i < n; i++) {
		suite_fill(bufs, (size_t)bytes, (uint64_t)tags[i]);
		MPI_Send(bufs, bytes, MPI_BYTE, 0, tags[i], suite.comm);
	}
	for (int i = 0; suite.rank == 0 && i < n; i++) {
		MPI_Status st;

		MPI_Wait(&reqs[i], &st);
		suite_envelope(&st, 1, i, bytes);
		suite_verify(bufs + (size_t)i * (size_t)bytes, (size_t)bytes, (uint64_t)i);
	}
	free(bufs);
	free(reqs);
	free(tags);
}

static void unexpected_4_forward(void)
{
	unexpected(suite_scaled(100000, 1000), 4, FORWARD);
}

static void unexpected_4_reverse(void)
{
	unexpected(suite_scaled(100000, 1000), 4, REVERSE);
}

static void unexpected_4_random(void)
{
	unexpected(suite_scaled(100000, 1000), 4, RANDOM);
}

static void unexpected_20k_reverse(void)
{
	unexpected(suite_scaled(5000, 200), 20000, REVERSE);
}

static void unexpected_20k_random(void)
{
	unexpected(suite_scaled(5000, 200), 20000, RANDOM);
}

static void posted_reverse(void)
{
	posted(suite_scaled(10000, 1000), 16, REVERSE);
}

static void posted_random(void)
{
	posted(suite_scaled(10000, 1000), 16, RANDOM);
}

static void posted_20k_random(void)
{
	posted(suite_scaled(2000, 200), 20000, RANDOM);
}

const struct suite_case deep_cases[] = {
	{"unexpected.4_forward", 2, 0, unexpected_4_forward},
	{"unexpected.4_reverse", 2, 0, unexpected_4_reverse},
	{"unexpected.4_random", 2, 0, unexpected_4_random},
	{"unexpected.20k_reverse", 2, 0, unexpected_20k_reverse},
	{"unexpected.20k_random", 2, 0, unexpected_20k_random},
	{"posted.reverse", 2, 0, posted_reverse},
	{"posted.random", 2, 0, posted_random},
	{"posted.20k_random", 2, 0, posted_20k_random},
	{NULL, 0, 0, NULL},
};
