// SPDX-License-Identifier: BSD-2-Clause
/*
 * modes.c - synchronous, ready and buffered sends, persistent requests.
 *
 * Left out on purpose: MPI_Ssend matched by MPI_Mrecv. Open MPI 4.1.4's mtl/ofi never sends the
 * acknowledgement then, over any provider, and the sender waits forever (mended in Open MPI 5).
 */
#include <stdlib.h>

#include "suite.h"

enum { BIG = 100000 };

static const int sizes[] = {0, 8, 5000, BIG};

/* A synchronous send completes only after its receive was posted. */
static void sync_waits(void)
{
	unsigned char *buf = suite_alloc(BIG);

	for (int i = 0; suite.rank < 2 && i < 12; i++) {
		int bytes = sizes[i % 4], flag;
		MPI_Request req;
		MPI_Status st;

		if (suite.rank == 1) {
			suite_fill(buf, (size_t)bytes, (uint64_t)i);
			MPI_Issend(buf, bytes, MPI_BYTE, 0, i, suite.comm, &req);
			suite_meet(0);
			for (int n = 0; n < 20; n++) {
				MPI_Test(&req, &flag, &st);
				CHECK(!flag, "Issend of %d bytes completed before its receive",
				      bytes);
			}
			suite_meet(0);
			MPI_Wait(&req, &st);
		} else {
			suite_meet(1);
			suite_meet(1);
			if (i % 3 == 2) {
				MPI_Probe(1, i, suite.comm, &st);
				suite_envelope(&st, 1, i, bytes);
			}
			MPI_Recv(buf, BIG, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE,
				 i % 3 ? i : MPI_ANY_TAG, suite.comm, &st);
			suite_envelope(&st, 1, i, bytes);
			suite_verify(buf, (size_t)bytes, (uint64_t)i);
		}
	}
	free(buf);
}

/* Receives first: exact, any source, any tag. Two ranks send to each other at the same time. */
static void sync_posted(void)
{
	enum { N = 32 };
	unsigned char *in = suite_alloc((size_t)N * BIG), *out = suite_alloc((size_t)N * BIG);
	MPI_Request recvs[N], sends[N];
	int other = 1 - suite.rank;

	for (int i = 0; suite.rank < 2 && i < N; i++)
		MPI_Irecv(in + (size_t)i * BIG, BIG, MPI_BYTE, i % 2 ? other : MPI_ANY_SOURCE, i,
			  suite.comm, &recvs[i]);
	for (int i = 0; suite.rank < 2 && i < N; i++) {
		suite_fill(out + (size_t)i * BIG, (size_t)sizes[i % 4], (uint64_t)i);
		MPI_Issend(out + (size_t)i * BIG, sizes[i % 4], MPI_BYTE, other, i, suite.comm,
			   &sends[i]);
	}
	for (int i = 0; suite.rank < 2 && i < N; i++) {
		MPI_Status st;

		MPI_Wait(&recvs[i], &st);
		suite_envelope(&st, other, i, sizes[i % 4]);
		suite_verify(in + (size_t)i * BIG, (size_t)sizes[i % 4], (uint64_t)i);
		MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
	}
	free(in);
	free(out);
}

static void sync_many(void)
{
	int n = suite_scaled(2000, 100);

	for (int i = 0; i < n; i++) {
		uint64_t v = (uint64_t)i;
		MPI_Status st;

		if (suite.rank == 1) {
			MPI_Ssend(&v, 8, MPI_BYTE, 0, 1, suite.comm);
		} else if (suite.rank == 0) {
			MPI_Recv(&v, 8, MPI_BYTE, 1, 1, suite.comm, &st);
			suite_envelope(&st, 1, 1, 8);
			CHECK(v == (uint64_t)i, "message %d instead of %d", (int)v, i);
		}
	}
}

static void ready(void)
{
	unsigned char *buf = suite_alloc(BIG);

	for (int i = 0; i < 40; i++) {
		int bytes = sizes[i % 4];
		MPI_Request req;
		MPI_Status st;

		if (suite.rank == 1) {
			suite_fill(buf, (size_t)bytes, (uint64_t)i);
			suite_await(0);
			MPI_Rsend(buf, bytes, MPI_BYTE, 0, 6, suite.comm);
		} else if (suite.rank == 0) {
			MPI_Irecv(buf, BIG, MPI_BYTE, 1, 6, suite.comm, &req);
			suite_signal(1);
			MPI_Wait(&req, &st);
			suite_envelope(&st, 1, 6, bytes);
			suite_verify(buf, (size_t)bytes, (uint64_t)i);
		}
	}
	free(buf);
}

/* Buffered sends return although nobody receives; detach waits until they are on their way. */
static void buffered(void)
{
	enum { N = 50 };
	size_t space = (size_t)N * (BIG + MPI_BSEND_OVERHEAD);
	unsigned char *pool = suite_alloc(space), *buf = suite_alloc(BIG);
	int left;

	if (suite.rank == 1) {
		MPI_Buffer_attach(pool, (int)space);
		for (int i = 0; i < N; i++) {
			suite_fill(buf, (size_t)sizes[i % 4], (uint64_t)i);
			MPI_Bsend(buf, sizes[i % 4], MPI_BYTE, 0, i, suite.comm);
		}
		suite_fill(buf, BIG, 999); /* the buffer is ours again */
		suite_signal(0);
		MPI_Buffer_detach(&pool, &left);
	} else if (suite.rank == 0) {
		suite_await(1);
		for (int i = N - 1; i >= 0; i--) {
			MPI_Status st;

			MPI_Recv(buf, BIG, MPI_BYTE, 1, i, suite.comm, &st);
			suite_envelope(&st, 1, i, sizes[i % 4]);
			suite_verify(buf, (size_t)sizes[i % 4], (uint64_t)i);
		}
	}
	free(pool);
	free(buf);
}

static int (*const send_inits[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
				 MPI_Request *) = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init};

/* Pairs of persistent requests, started many times; some receives with wildcards. */
static void persistent(void)
{
	enum { N = 12 };
	unsigned char *bufs = suite_alloc((size_t)N * BIG);
	MPI_Request reqs[N];
	MPI_Status st[N];

	for (int i = 0; suite.rank < 2 && i < N; i++) {
		unsigned char *buf = bufs + (size_t)i * BIG;

		if (suite.rank == 1)
			send_inits[i % 3](buf, sizes[i % 4], MPI_BYTE, 0, i, suite.comm, &reqs[i]);
		else
			MPI_Recv_init(buf, BIG, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 1, i, suite.comm,
				      &reqs[i]);
	}
	for (int round = 0; suite.rank < 2 && round < suite_scaled(100, 10); round++) {
		if (suite.rank == 1)
			suite_await(0);
		for (int i = 0; suite.rank == 1 && i < N; i++)
			suite_fill(bufs + (size_t)i * BIG, (size_t)sizes[i % 4],
				   (uint64_t)(round * N + i));
		MPI_Startall(N, reqs);
		if (suite.rank == 0)
			suite_signal(1);
		MPI_Waitall(N, reqs, st);
		for (int i = 0; suite.rank == 0 && i < N; i++) {
			suite_envelope(&st[i], 1, i, sizes[i % 4]);
			suite_verify(bufs + (size_t)i * BIG, (size_t)sizes[i % 4],
				     (uint64_t)(round * N + i));
		}
	}
	for (int i = 0; suite.rank < 2 && i < N; i++)
		MPI_Request_free(&reqs[i]);
	free(bufs);
}

/* A cancelled persistent receive can be started again and then gets the message. */
static void persistent_cancel(void)
{
	uint64_t v = 0;
	MPI_Request req;
	MPI_Status st;
	int flag;

	if (suite.rank == 0) {
		MPI_Recv_init(&v, 8, MPI_BYTE, 1, 4, suite.comm, &req);
		for (uint64_t i = 1; i <= 50; i++) {
			MPI_Start(&req);
			MPI_Cancel(&req);
			MPI_Wait(&req, &st);
			MPI_Test_cancelled(&st, &flag);
			CHECK(flag, "a persistent receive was not cancelled");
			MPI_Start(&req);
			suite_signal(1);
			MPI_Wait(&req, &st);
			suite_envelope(&st, 1, 4, 8);
			CHECK(v == i, "wrong payload");
		}
		MPI_Request_free(&req);
	} else if (suite.rank == 1) {
		for (v = 1; v <= 50; v++) {
			suite_await(0);
			MPI_Send(&v, 8, MPI_BYTE, 0, 4, suite.comm);
		}
	}
}

const struct suite_case mode_cases[] = {
	{"modes.sync_waits", 2, 0, sync_waits},
	{"modes.sync_posted", 2, 0, sync_posted},
	{"modes.sync_many", 2, 0, sync_many},
	{"modes.ready", 2, 0, ready},
	{"modes.buffered", 2, 0, buffered},
	{"modes.persistent", 2, 0, persistent},
	{"modes.persistent_cancel", 2, 0, persistent_cancel},
	{NULL, 0, 0, NULL},
};
