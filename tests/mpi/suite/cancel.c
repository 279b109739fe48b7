// SPDX-License-Identifier: BSD-2-Clause
/* cancel.c - a receive is cancelled or gets its message: exactly one, and no
 * message is lost. */
#include <sched.h>
#include <stdlib.h>

#include "suite.h"

/* Cancels and completes; returns whether it was cancelled. */
static int cancel_and_wait(MPI_Request *req, MPI_Status *st)
{
	int cancelled;

	MPI_Cancel(req);
	MPI_Wait(req, st);
	MPI_Test_cancelled(st, &cancelled);
	return cancelled;
}

/* Nobody sends: the cancel must succeed, in every class, and what comes later goes elsewhere. */
static void never_matched(void)
{
	static const int sources[] = {1, MPI_ANY_SOURCE}, tags[] = {3, MPI_ANY_TAG};
	uint64_t cancelled_buf = 0, buf;
	MPI_Request req;
	MPI_Status st;

	for (int i = 0; i < 40; i++) {
		if (suite.rank == 0) {
			MPI_Irecv(&cancelled_buf, 8, MPI_BYTE, sources[i % 2], tags[i / 2 % 2],
				  suite.comm, &req);
			CHECK(cancel_and_wait(&req, &st), "receive was not cancelled");
			suite_signal(1);
			MPI_Recv(&buf, 8, MPI_BYTE, 1, 3, suite.comm, &st);
			suite_envelope(&st, 1, 3, 8);
			CHECK(buf == (uint64_t)i + 9, "wrong payload");
			CHECK(cancelled_buf == 0, "a cancelled receive was written to");
		} else if (suite.rank == 1) {
			buf = (uint64_t)i + 9;
			suite_await(0);
			MPI_Send(&buf, 8, MPI_BYTE, 0, 3, suite.comm);
		}
	}
}

/* The message is here already: the receive takes it, the cancel comes too late. */
static void too_late(void)
{
	enum { BIG = 200000 };
	unsigned char *buf = suite_alloc(BIG);

	for (int i = 0; i < 40; i++) {
		int bytes = i % 2 ? BIG : 16;
		MPI_Request req;
		MPI_Status st;

		if (suite.rank == 1) {
			suite_fill(buf, (size_t)bytes, (uint64_t)i);
			MPI_Isend(buf, bytes, MPI_BYTE, 0, 3, suite.comm, &req);
			suite_signal(0);
			MPI_Wait(&req, MPI_STATUS_IGNORE);
		} else if (suite.rank == 0) {
			suite_await(1);
			MPI_Irecv(buf, BIG, MPI_BYTE, 1, 3, suite.comm, &req);
			CHECK(!cancel_and_wait(&req, &st), "cancelled after it was matched");
			suite_envelope(&st, 1, 3, bytes);
			suite_verify(buf, (size_t)bytes, (uint64_t)i);
		}
	}
	free(buf);
}

/* A little work of random length, so that the cancel meets the message at different places. */
static void dawdle(uint64_t *rng)
{
	volatile uint64_t sink = 0;

	for (uint64_t n = suite_random(rng) % 20000; n; n--)
		sink += n;
	(void)sink;
	if (suite_random(rng) % 4 == 0)
		sched_yield();
}

/* The message and the cancel are on their way at the same time. */
static void race(int rounds, int bytes)
{
	unsigned char *buf = suite_alloc((size_t)bytes);
	uint64_t rng = suite.seed + (uint64_t)suite.rank;

	for (int i = 0; suite.rank < 2 && i < rounds; i++) {
		MPI_Request req;
		MPI_Status st;

		if (suite.rank == 1) {
			suite_await(0);
			dawdle(&rng);
			suite_fill(buf, (size_t)bytes, (uint64_t)i);
			MPI_Send(buf, bytes, MPI_BYTE, 0, i % 7, suite.comm);
			continue;
		}
		MPI_Irecv(buf, bytes, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE, i % 7, suite.comm,
			  &req);
		suite_signal(1);
		dawdle(&rng);
		if (cancel_and_wait(&req, &st)) {
			MPI_Recv(buf, bytes, MPI_BYTE, 1, i % 7, suite.comm, &st);
		}
		suite_envelope(&st, 1, i % 7, bytes);
		suite_verify(buf, (size_t)bytes, (uint64_t)i);
	}
	free(buf);
}

static void race_small(void)
{
	race(suite_scaled(2000, 100), 16);
}

static void race_big(void)
{
	race(suite_scaled(300, 50), 200000);
}

/*
 * A window of receives of one key while the messages stream in; every second one is cancelled.
 * Those that were not cancelled hold the messages in order; as many as were cancelled are still to
 * come.
 */
static void race_stream(void)
{
	enum { N = 256 };
	uint64_t bufs[N], next = 0, rng = suite.seed, extra;
	MPI_Request reqs[N];
	MPI_Status st;

	for (int round = 0; suite.rank < 2 && round < suite_scaled(20, 4); round++) {
		int cancelled = 0;

		next = 0;
		for (int i = 0; suite.rank == 0 && i < N; i++)
			MPI_Irecv(&bufs[i], 8, MPI_BYTE, i % 3 ? 1 : MPI_ANY_SOURCE, 2, suite.comm,
				  &reqs[i]);
		suite_meet(1 - suite.rank);
		for (uint64_t i = 0; suite.rank == 1 && i < N; i++)
			MPI_Send(&i, 8, MPI_BYTE, 0, 2, suite.comm);
		if (suite.rank)
			continue;
		dawdle(&rng);
		for (int i = N - 1; i >= 0; i -= 2)
			MPI_Cancel(&reqs[i]);
		for (int i = 0; i < N; i++) {
			int flag;

			MPI_Wait(&reqs[i], &st);
			MPI_Test_cancelled(&st, &flag);
			cancelled += flag;
			CHECK(!flag || i % 2, "receive %d was cancelled, nobody asked for it", i);
			CHECK(flag || bufs[i] == next++, "receive %d got message %d, expected %d",
			      i, (int)bufs[i], (int)next - 1);
		}
		for (int i = 0; i < cancelled; i++) {
			MPI_Recv(&extra, 8, MPI_BYTE, 1, 2, suite.comm, &st);
			CHECK(extra == next++, "message %d instead of %d", (int)extra,
			      (int)next - 1);
		}
		CHECK(next == N, "%d messages of %d", (int)next, N);
	}
}

const struct suite_case cancel_cases[] = {
	{"cancel.never_matched", 2, 0, never_matched}, {"cancel.too_late", 2, 0, too_late},
	{"cancel.race_small", 2, 0, race_small},       {"cancel.race_big", 2, 0, race_big},
	{"cancel.race_stream", 2, 0, race_stream},     {NULL, 0, 0, NULL},
};
