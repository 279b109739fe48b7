// SPDX-License-Identifier: BSD-2-Clause
/* sizes.c - messages from nothing to 1 GiB, to another rank and to oneself. */
#include <stdlib.h>
#include <string.h>

#include "suite.h"

enum { GUARD = 64, GUARD_BYTE = 0xA5 };

/* Sends (rank 1) or receives and checks (rank 0) one message; `unexpected`: it is there first. */
static void one_message(unsigned char *buf, int bytes, int unexpected, uint64_t key)
{
	MPI_Request req;
	MPI_Status st;

	if (suite.rank == 1) {
		suite_fill(buf, (size_t)bytes, key);
		if (!unexpected)
			suite_await(0);
		MPI_Isend(buf, bytes, MPI_BYTE, 0, 1, suite.comm, &req);
		if (unexpected)
			suite_signal(0);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	} else if (suite.rank == 0) {
		if (unexpected)
			suite_await(1);
		memset(buf + bytes, GUARD_BYTE, GUARD);
		MPI_Irecv(buf, bytes + (bytes % 3 ? GUARD : 0), MPI_BYTE, 1, 1, suite.comm, &req);
		if (!unexpected)
			suite_signal(1);
		MPI_Wait(&req, &st);
		suite_envelope(&st, 1, 1, bytes);
		suite_verify(buf, (size_t)bytes, key);
		for (int i = 0; i < GUARD; i++)
			CHECK(buf[bytes + i] == GUARD_BYTE, "written past %d bytes", bytes);
	}
}

static void sweep(void)
{
	enum { MOST = 4 << 20 };
	unsigned char *buf = suite_alloc(MOST + 1 + GUARD);
	uint64_t key = 0;

	for (int base = 0; base <= MOST; base = base ? 2 * base : 1)
		for (int bytes = base > 2 ? base - 1 : base; bytes <= base + 1; bytes++)
			for (int unexpected = 0; unexpected < 2; unexpected++)
				one_message(buf, bytes, unexpected, key++);
	free(buf);
}

/* Every length around the places where a stack changes its way. */
static void thresholds(void)
{
	static const int middles[] = {64, 128, 256, 1024, 4096, 8192, 16384, 65536};
	unsigned char *buf = suite_alloc(65536 + 200 + GUARD);
	uint64_t key = 0;

	for (int i = 0; i < 8; i++)
		for (int bytes = middles[i] - 130 < 0 ? 0 : middles[i] - 130;
		     bytes <= middles[i] + 60; bytes += i < 3 ? 1 : 7)
			one_message(buf, bytes, bytes % 2, key++);
	free(buf);
}

static void zero(void)
{
	MPI_Request reqs[100];
	MPI_Status st;

	for (int i = 0; i < 100 && suite.rank < 2; i++) {
		if (suite.rank == 1)
			MPI_Isend(NULL, 0, MPI_BYTE, 0, i, suite.comm, &reqs[i]);
		else
			MPI_Irecv(NULL, 0, MPI_INT, i % 2 ? 1 : MPI_ANY_SOURCE, 99 - i, suite.comm,
				  &reqs[i]);
	}
	for (int i = 0; i < 100 && suite.rank < 2; i++) {
		MPI_Wait(&reqs[i], &st);
		if (suite.rank == 0)
			suite_envelope(&st, 1, 99 - i, 0);
	}
	if (suite.rank == 1) {
		MPI_Ssend(NULL, 0, MPI_DOUBLE, 0, 5, suite.comm);
	} else if (suite.rank == 0) {
		MPI_Recv(NULL, 0, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &st);
		suite_envelope(&st, 1, 5, 0);
	}
	MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0,
		     suite.comm, &st);
	suite_envelope(&st, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* Messages to oneself: receive first, send first, synchronous, probed. */
static void self(void)
{
	static const int sizes[] = {0, 1, 64, 5000, 70000, 1 << 20};
	unsigned char *in = suite_alloc(1 << 20), *out = suite_alloc(1 << 20);
	MPI_Request send, recv;
	MPI_Status st;

	for (int i = 0; i < 24; i++) {
		int bytes = sizes[i % 6], me = suite.rank;

		suite_fill(out, (size_t)bytes, (uint64_t)i);
		if (i / 6 == 0)
			MPI_Irecv(in, bytes, MPI_BYTE, me, i, suite.comm, &recv);
		if (i / 6 == 1)
			MPI_Issend(out, bytes, MPI_BYTE, me, i, suite.comm, &send);
		else
			MPI_Isend(out, bytes, MPI_BYTE, me, i, suite.comm, &send);
		if (i / 6 == 2) {
			MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &st);
			suite_envelope(&st, me, i, bytes);
		}
		if (i / 6)
			MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm,
				  &recv);
		MPI_Wait(&recv, &st);
		MPI_Wait(&send, MPI_STATUS_IGNORE);
		suite_envelope(&st, me, i, bytes);
		suite_verify(in, (size_t)bytes, (uint64_t)i);
		MPI_Sendrecv(out, bytes, MPI_BYTE, me, 1, in, bytes, MPI_BYTE, me, 1, suite.comm,
			     &st);
		suite_verify(in, (size_t)bytes, (uint64_t)i);
	}
	free(in);
	free(out);
}

/* Both ranks send large messages to each other at once. */
static void both_ways(void)
{
	enum { N = 8, BYTES = 1 << 20 };
	unsigned char *in = suite_alloc((size_t)N * BYTES), *out = suite_alloc((size_t)N * BYTES);
	MPI_Request reqs[2 * N];
	int other = 1 - suite.rank;

	for (int round = 0; suite.rank < 2 && round < 4; round++) {
		for (size_t i = 0; i < N; i++) {
			suite_fill(out + i * BYTES, BYTES, i * 2 + (uint64_t)suite.rank);
			MPI_Isend(out + i * BYTES, BYTES, MPI_BYTE, other, (int)i, suite.comm,
				  &reqs[i]);
		}
		for (size_t i = N; i-- > 0;)
			MPI_Irecv(in + i * BYTES, BYTES, MPI_BYTE, other, (int)i, suite.comm,
				  &reqs[N + i]);
		MPI_Waitall(2 * N, reqs, MPI_STATUSES_IGNORE);
		for (size_t i = 0; i < N; i++)
			suite_verify(in + i * BYTES, BYTES, i * 2 + (uint64_t)other);
		memset(in, 0, (size_t)N * BYTES);
	}
	free(in);
	free(out);
}

static void big(int bytes)
{
	unsigned char *buf = suite.rank < 2 ? suite_alloc((size_t)bytes + GUARD) : NULL;

	one_message(buf, bytes, 0, 1);
	one_message(buf, bytes, 1, 2);
	free(buf);
}

static void big_64m(void)
{
	big(64 << 20);
}

static void big_1g(void)
{
	big(1 << 30);
}

const struct suite_case size_cases[] = {
	{"sizes.sweep", 2, 0, sweep},
	{"sizes.thresholds", 2, 0, thresholds},
	{"sizes.zero", 2, 0, zero},
	{"sizes.self", 1, 0, self},
	{"sizes.both_ways", 2, 0, both_ways},
	{"sizes.big_64m", 2, 0, big_64m},
	{"sizes.big_1g", 2, CASE_SLOW, big_1g},
	{NULL, 0, 0, NULL},
};
