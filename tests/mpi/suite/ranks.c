// SPDX-License-Identifier: BSD-2-Clause
/* ranks.c - several ranks at once: fan-in, and all-to-all while one rank sleeps. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

enum { MOST = 60000 };

static const int sizes[] = {8, 100, 0, 9000, 16, MOST};

static int size_of(int i)
{
	return sizes[i % 6];
}

static uint64_t key_of(int from, int to, int i)
{
	return ((uint64_t)from * 64 + (uint64_t)to) * 100000 + (uint64_t)i;
}

/* All others send to rank 0, which receives with wildcards: each source in its order. */
static void fan_in(void)
{
	int n = suite_scaled(600, 100), next[64] = {0};
	unsigned char *buf = suite_alloc(MOST);

	for (int i = 0; suite.rank && i < n; i++) {
		suite_fill(buf, (size_t)size_of(i), key_of(suite.rank, 0, i));
		MPI_Send(buf, size_of(i), MPI_BYTE, 0, i, suite.comm);
	}
	for (int i = 0; !suite.rank && i < n * (suite.size - 1); i++) {
		MPI_Status st;
		int from, serial;

		MPI_Recv(buf, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &st);
		from = st.MPI_SOURCE;
		CHECK(from > 0 && from < suite.size, "source %d", from);
		serial = next[from]++;
		suite_envelope(&st, from, serial, size_of(serial));
		suite_verify(buf, (size_t)size_of(serial), key_of(from, 0, serial));
	}
	free(buf);
}

/* The same, but rank 0 takes the sources one after the other, the others' messages pile up. */
static void fan_in_by_source(void)
{
	int n = suite_scaled(300, 50);
	unsigned char *buf = suite_alloc(MOST);

	for (int i = 0; suite.rank && i < n; i++) {
		suite_fill(buf, (size_t)size_of(i), key_of(suite.rank, 0, i));
		MPI_Send(buf, size_of(i), MPI_BYTE, 0, 1, suite.comm);
	}
	for (int from = suite.size - 1; !suite.rank && from > 0; from--) {
		for (int i = 0; i < n; i++) {
			MPI_Status st;

			MPI_Recv(buf, MOST, MPI_BYTE, from, 1, suite.comm, &st);
			suite_envelope(&st, from, 1, size_of(i));
			suite_verify(buf, (size_t)size_of(i), key_of(from, 0, i));
		}
	}
	free(buf);
}

/* All messages of this rank to one other, kept until they are complete. */
struct outbox {
	int n;
	unsigned char *bufs;
	MPI_Request *reqs;
};

static void outbox_send(struct outbox *o, int to, int n)
{
	o->n = n;
	o->bufs = suite_alloc((size_t)n * MOST);
	o->reqs = suite_alloc((size_t)n * sizeof(*o->reqs));
	for (int i = 0; i < n; i++) {
		unsigned char *buf = o->bufs + (size_t)i * MOST;

		suite_fill(buf, (size_t)size_of(i), key_of(suite.rank, to, i));
		MPI_Isend(buf, size_of(i), MPI_BYTE, to, i, suite.comm, &o->reqs[i]);
	}
}

static void outbox_finish(struct outbox *o)
{
	MPI_Waitall(o->n, o->reqs, MPI_STATUSES_IGNORE);
	free(o->bufs);
	free(o->reqs);
}

static void receive_from(int from, int n, int backwards)
{
	unsigned char *buf = suite_alloc(MOST);

	for (int k = 0; k < n; k++) {
		int i = backwards ? n - 1 - k : k;
		MPI_Status st;

		MPI_Recv(buf, MOST, MPI_BYTE, from, i, suite.comm, &st);
		suite_envelope(&st, from, i, size_of(i));
		suite_verify(buf, (size_t)size_of(i), key_of(from, suite.rank, i));
	}
	free(buf);
}

/* Blocks outside of MPI until rank 0 sends SIGUSR1: nothing of MPI can make progress here. */
static void sleep_until_woken(const sigset_t *set)
{
	const struct timespec limit = {.tv_sec = 50};
	int sig;

	do
		sig = sigtimedwait(set, NULL, &limit);
	while (sig < 0 && errno == EINTR);
	CHECK(sig == SIGUSR1, "the others did not finish while this rank slept");
}

/*
 * Everybody sends to everybody. The last rank sleeps outside of MPI until all messages between the
 * others have arrived, so these must not wait for it; then it takes its own in reverse order.
 */
static void sleeper(void)
{
	int n = suite_scaled(400, 50), last = suite.size - 1, awake = suite.rank != last;
	struct outbox boxes[64];
	sigset_t set;
	int pid = getpid();

	CHECK(suite.size <= 64, "at most 64 ranks");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MPI_Bcast(&pid, 1, MPI_INT, last, suite.ctl);
	for (int to = 0; to < suite.size; to++)
		outbox_send(&boxes[to], to, n);
	if (!awake)
		sleep_until_woken(&set);
	for (int from = 0; from < last; from++)
		receive_from(from, n, !awake);
	for (int from = 1; suite.rank == 0 && from < last; from++)
		suite_await(from);
	if (awake && suite.rank)
		suite_signal(0);
	if (suite.rank == 0)
		CHECK(!kill(pid, SIGUSR1), "cannot wake rank %d", last);
	receive_from(last, n, 1);
	for (int to = 0; to < suite.size; to++)
		outbox_finish(&boxes[to]);
}

const struct suite_case ranks_cases[] = {
	{"ranks.fan_in", 3, 0, fan_in},
	{"ranks.fan_in_by_source", 3, 0, fan_in_by_source},
	{"ranks.sleeper", 3, 0, sleeper},
	{NULL, 0, 0, NULL},
};
