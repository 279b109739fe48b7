// SPDX-License-Identifier: BSD-2-Clause
/* trunc.c - a message longer than its receive is an error of that receive, and
 * of nothing else. */
#include <stdlib.h>
#include <string.h>

#include "suite.h"

enum { MOST = 200000, GUARD_BYTE = 0x5A };

static const struct {
	int sent, room;
} shapes[] = {{8, 0}, {8, 4}, {64, 63}, {5000, 100}, {9000, 8192}, {MOST, 10}, {MOST, 100000}};

#define SHAPES (int)(sizeof(shapes) / sizeof(shapes[0]))

static void expect_truncate(int rc)
{
	int class = MPI_SUCCESS;

	CHECK(rc != MPI_SUCCESS, "a truncated receive succeeded");
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_TRUNCATE, "error class %d, expected MPI_ERR_TRUNCATE", class);
}

static void check_guard(const unsigned char *buf, int room)
{
	for (int i = room; i < MOST; i++)
		CHECK(buf[i] == GUARD_BYTE, "byte %d behind a receive of %d was written", i, room);
}

/* Rank 1: the long message and, behind it, one of the same key that must arrive whole. */
static void send_pair(unsigned char *buf, unsigned char *next, int bytes, int unexpected)
{
	MPI_Request reqs[2];

	suite_fill(buf, (size_t)bytes, 1);
	suite_fill(next, 100, 2);
	if (!unexpected)
		suite_await(0);
	MPI_Isend(buf, bytes, MPI_BYTE, 0, 3, suite.comm, &reqs[0]);
	MPI_Isend(next, 100, MPI_BYTE, 0, 3, suite.comm, &reqs[1]);
	if (unexpected)
		suite_signal(0);
	MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
}

static void recv_pair(unsigned char *buf, unsigned char *next, int room, int unexpected, int any)
{
	int source = any ? MPI_ANY_SOURCE : 1;
	MPI_Request reqs[2];
	MPI_Status st;

	memset(buf, GUARD_BYTE, MOST);
	if (unexpected)
		suite_await(1);
	MPI_Irecv(buf, room, MPI_BYTE, source, 3, suite.comm, &reqs[0]);
	MPI_Irecv(next, 100, MPI_BYTE, source, 3, suite.comm, &reqs[1]);
	if (!unexpected)
		suite_signal(1);
	expect_truncate(MPI_Wait(&reqs[0], &st));
	CHECK(st.MPI_SOURCE == 1 && st.MPI_TAG == 3, "truncated: source %d tag %d", st.MPI_SOURCE,
	      st.MPI_TAG);
	check_guard(buf, room);
	CHECK(MPI_Wait(&reqs[1], &st) == MPI_SUCCESS, "the message behind it failed");
	suite_envelope(&st, 1, 3, 100);
	suite_verify(next, 100, 2);
}

static void truncate_pairs(void)
{
	unsigned char *buf = suite_alloc(MOST), *next = suite_alloc(100);

	MPI_Comm_set_errhandler(suite.comm, MPI_ERRORS_RETURN);
	for (int i = 0; i < SHAPES * 4; i++) {
		int s = i / 4, unexpected = i % 2, any = i / 2 % 2;

		if (suite.rank == 1)
			send_pair(buf, next, shapes[s].sent, unexpected);
		else if (suite.rank == 0)
			recv_pair(buf, next, shapes[s].room, unexpected, any);
	}
	MPI_Comm_set_errhandler(suite.comm, MPI_ERRORS_ARE_FATAL);
	free(buf);
	free(next);
}

static void truncate_self(void)
{
	unsigned char *out = suite_alloc(MOST), *in = suite_alloc(MOST);

	MPI_Comm_set_errhandler(suite.comm, MPI_ERRORS_RETURN);
	for (int i = 0; i < SHAPES; i++) {
		MPI_Request req;
		MPI_Status st;

		memset(in, GUARD_BYTE, MOST);
		suite_fill(out, (size_t)shapes[i].sent, (uint64_t)i);
		MPI_Isend(out, shapes[i].sent, MPI_BYTE, suite.rank, 3, suite.comm, &req);
		expect_truncate(
			MPI_Recv(in, shapes[i].room, MPI_BYTE, suite.rank, 3, suite.comm, &st));
		check_guard(in, shapes[i].room);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
	MPI_Comm_set_errhandler(suite.comm, MPI_ERRORS_ARE_FATAL);
	free(out);
	free(in);
}

/* Every third receive of a stream is too short; all others are whole and in order. */
static void truncate_stream(void)
{
	enum { N = 300, BYTES = 600 };
	unsigned char *bufs = suite_alloc((size_t)N * BYTES);
	MPI_Request reqs[N];

	MPI_Comm_set_errhandler(suite.comm, MPI_ERRORS_RETURN);
	for (int i = 0; suite.rank == 0 && i < N; i++)
		MPI_Irecv(bufs + (size_t)i * BYTES, i % 3 ? BYTES : 20, MPI_BYTE, 1, 4, suite.comm,
			  &reqs[i]);
	if (suite.rank < 2)
		suite_meet(1 - suite.rank);
	for (int i = 0; suite.rank == 1 && i < N; i++) {
		suite_fill(bufs, BYTES, (uint64_t)i);
		MPI_Send(bufs, BYTES, MPI_BYTE, 0, 4, suite.comm);
	}
	for (int i = 0; suite.rank == 0 && i < N; i++) {
		MPI_Status st;
		int rc = MPI_Wait(&reqs[i], &st);

		if (i % 3 == 0) {
			expect_truncate(rc);
			continue;
		}
		CHECK(rc == MPI_SUCCESS, "receive %d failed", i);
		suite_envelope(&st, 1, 4, BYTES);
		suite_verify(bufs + (size_t)i * BYTES, BYTES, (uint64_t)i);
	}
	MPI_Comm_set_errhandler(suite.comm, MPI_ERRORS_ARE_FATAL);
	free(bufs);
}

const struct suite_case trunc_cases[] = {
	{"trunc.pairs", 2, 0, truncate_pairs},
	{"trunc.self", 1, 0, truncate_self},
	{"trunc.stream", 2, 0, truncate_stream},
	{NULL, 0, 0, NULL},
};
