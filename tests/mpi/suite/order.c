// SPDX-License-Identifier: BSD-2-Clause
/* order.c - which receive takes which message: the oldest one that accepts it, always. */
#include <stdlib.h>

#include "suite.h"

#define TAG 5

/* The four ways in which a receive can accept (source 1, TAG). */
struct shape {
	int source, tag;
	const char *name;
};

static const struct shape shapes[] = {
	{1, TAG, "exact"},
	{MPI_ANY_SOURCE, TAG, "any source"},
	{1, MPI_ANY_TAG, "any tag"},
	{MPI_ANY_SOURCE, MPI_ANY_TAG, "any source, any tag"},
};

/* Receives that no message of these cases matches, posted to move the interesting ones about. */
static void post_others(MPI_Request *reqs, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Irecv(NULL, 0, MPI_BYTE, 1, 1000 + i, suite.comm, &reqs[i]);
}

static void cancel_others(MPI_Request *reqs, int n)
{
	for (int i = 0; i < n; i++) {
		MPI_Status st;
		int cancelled;

		MPI_Cancel(&reqs[i]);
		MPI_Wait(&reqs[i], &st);
		MPI_Test_cancelled(&st, &cancelled);
		CHECK(cancelled, "a receive that nothing matches was not cancelled");
	}
}

/* Two receives, `older` first, `between` others around them; then two messages that both accept. */
static void order_pair(const struct shape *older, const struct shape *younger, int between)
{
	MPI_Request reqs[2], others[128];
	MPI_Status st[2];
	uint64_t got[2];

	if (suite.rank == 0) {
		post_others(others, between);
		MPI_Irecv(&got[0], 8, MPI_BYTE, older->source, older->tag, suite.comm, &reqs[0]);
		post_others(others + between, between);
		MPI_Irecv(&got[1], 8, MPI_BYTE, younger->source, younger->tag, suite.comm,
			  &reqs[1]);
		suite_signal(1);
		MPI_Waitall(2, reqs, st);
		for (uint64_t i = 0; i < 2; i++) {
			suite_envelope(&st[i], 1, TAG, 8);
			CHECK(got[i] == 71 + i,
			      "receive %d got message %d (older: %s; younger: %s; %d others)",
			      (int)i, (int)(got[i] - 71), older->name, younger->name, between);
		}
		cancel_others(others, 2 * between);
	} else if (suite.rank == 1) {
		suite_await(0);
		for (uint64_t v = 71; v < 73; v++)
			MPI_Send(&v, 8, MPI_BYTE, 0, TAG, suite.comm);
	}
}

static void order_pairs(size_t older_from, size_t older_to, size_t younger_from, size_t younger_to)
{
	static const int between[] = {0, 1, 7, 8, 9, 31, 64};

	for (size_t o = older_from; o < older_to; o++)
		for (size_t y = younger_from; y < younger_to; y++)
			for (size_t b = 0; b < sizeof(between) / sizeof(between[0]); b++)
				order_pair(&shapes[o], &shapes[y], between[b]);
}

static void any_source_older(void)
{
	order_pairs(1, 2, 0, 1);
}

static void any_source_younger(void)
{
	order_pairs(0, 1, 1, 2);
}

static void any_tag_older(void)
{
	order_pairs(2, 3, 0, 1);
}

static void any_tag_younger(void)
{
	order_pairs(0, 1, 2, 3);
}

static void all_shapes(void)
{
	order_pairs(0, 4, 0, 4);
}

/* Messages of one key in arrival order, whatever their size and however the receive is written. */
static void unexpected_shapes(void)
{
	enum { N = 64, BIG = 40000 };
	unsigned char *buf = suite_alloc(BIG);

	for (int i = 0; suite.rank == 1 && i < N; i++) {
		int bytes = i % 3 == 2 ? BIG : i;
		MPI_Request req;

		suite_fill(buf, (size_t)bytes, (uint64_t)i);
		MPI_Isend(buf, bytes, MPI_BYTE, 0, TAG, suite.comm, &req);
		suite_signal(0); /* the message is at rank 0 before its receive is posted */
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
	for (int i = 0; suite.rank == 0 && i < N; i++) {
		const struct shape *s = &shapes[i % 4];
		int bytes = i % 3 == 2 ? BIG : i;
		MPI_Status st;

		suite_await(1);
		MPI_Recv(buf, BIG, MPI_BYTE, s->source, s->tag, suite.comm, &st);
		suite_envelope(&st, 1, TAG, bytes);
		suite_verify(buf, (size_t)bytes, (uint64_t)i);
	}
	free(buf);
}

static int fifo_bytes(int i)
{
	static const int sizes[] = {0, 8, 20000, 64, 3, 70000, 1024, 8192, 8193, 1, 300000, 16};

	return sizes[i % 12];
}

/* One key, sizes that take different ways through the stack; `posted` receives come first. */
static void fifo(int n, int posted)
{
	enum { MOST = 300000, WINDOW = 48 };
	MPI_Request reqs[WINDOW];
	unsigned char *bufs = suite_alloc((size_t)WINDOW * MOST);

	for (int base = 0; base < n; base += WINDOW) {
		for (int i = 0; i < WINDOW; i++) {
			unsigned char *buf = bufs + (size_t)i * MOST;

			if (suite.rank == 1) {
				if (posted && i == 0)
					suite_await(0);
				suite_fill(buf, (size_t)fifo_bytes(i), (uint64_t)(base + i));
				MPI_Isend(buf, fifo_bytes(i), MPI_BYTE, 0, TAG, suite.comm,
					  &reqs[i]);
			} else if (suite.rank == 0) {
				if (!posted && i == 0)
					suite_await(1);
				MPI_Irecv(buf, MOST, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE, TAG,
					  suite.comm, &reqs[i]);
			}
		}
		if (suite.rank == (posted ? 0 : 1))
			suite_signal(1 - suite.rank);
		for (int i = 0; suite.rank < 2 && i < WINDOW; i++) {
			MPI_Status st;

			MPI_Wait(&reqs[i], &st);
			if (suite.rank == 1)
				continue;
			suite_envelope(&st, 1, TAG, fifo_bytes(i));
			suite_verify(bufs + (size_t)i * MOST, (size_t)fifo_bytes(i),
				     (uint64_t)(base + i));
		}
	}
	free(bufs);
}

static void fifo_posted(void)
{
	fifo(suite_scaled(480, 48), 1);
}

static void fifo_unexpected(void)
{
	fifo(suite_scaled(480, 48), 0);
}

const struct suite_case order_cases[] = {
	{"order.any_source_older", 2, 0, any_source_older},
	{"order.any_source_younger", 2, 0, any_source_younger},
	{"order.any_tag_older", 2, 0, any_tag_older},
	{"order.any_tag_younger", 2, 0, any_tag_younger},
	{"order.all_shapes", 2, 0, all_shapes},
	{"order.unexpected_shapes", 2, 0, unexpected_shapes},
	{"order.fifo_posted", 2, 0, fifo_posted},
	{"order.fifo_unexpected", 2, 0, fifo_unexpected},
	{NULL, 0, 0, NULL},
};
