// SPDX-License-Identifier: BSD-2-Clause
/* probe.c - Probe, Iprobe, Mprobe and Improbe, with one prober and with several. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "suite.h"

enum { MOST = 300000 };

static const int sizes[] = {0, 1, 8, 100, 4096, 8192, 20000, MOST};

#define SIZES (int)(sizeof(sizes) / sizeof(sizes[0]))

/* Rank 1 sends one message of each size, tags 0, 1, ... */
static void send_sizes(unsigned char *buf)
{
	for (int i = 0; i < SIZES; i++) {
		suite_fill(buf, (size_t)sizes[i], (uint64_t)i);
		MPI_Send(buf, sizes[i], MPI_BYTE, 0, i, suite.comm);
	}
}

static void probe_then_receive(void)
{
	unsigned char *buf = suite_alloc(MOST);

	if (suite.rank == 1)
		send_sizes(buf);
	for (int i = 0; suite.rank == 0 && i < SIZES; i++) {
		MPI_Status st;

		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &st);
		suite_envelope(&st, 1, i, sizes[i]);
		MPI_Probe(1, i, suite.comm, &st); /* it is still there */
		suite_envelope(&st, 1, i, sizes[i]);
		MPI_Recv(buf, sizes[i], MPI_BYTE, st.MPI_SOURCE, st.MPI_TAG, suite.comm, &st);
		suite_envelope(&st, 1, i, sizes[i]);
		suite_verify(buf, (size_t)sizes[i], (uint64_t)i);
	}
	free(buf);
}

static void mprobe_then_mrecv(void)
{
	unsigned char *buf = suite_alloc(MOST);

	if (suite.rank == 1)
		send_sizes(buf);
	for (int i = 0; suite.rank == 0 && i < SIZES; i++) {
		MPI_Message msg;
		MPI_Request req;
		MPI_Status st;

		MPI_Mprobe(MPI_ANY_SOURCE, i, suite.comm, &msg, &st);
		suite_envelope(&st, 1, i, sizes[i]);
		if (i % 2) {
			MPI_Mrecv(buf, sizes[i], MPI_BYTE, &msg, &st);
		} else {
			MPI_Imrecv(buf, sizes[i], MPI_BYTE, &msg, &req);
			MPI_Wait(&req, &st);
		}
		CHECK(msg == MPI_MESSAGE_NULL, "the message handle is still set");
		suite_envelope(&st, 1, i, sizes[i]);
		suite_verify(buf, (size_t)sizes[i], (uint64_t)i);
	}
	free(buf);
}

/* Nothing there: no probe finds anything; then exactly the probe that accepts the
 * message finds it. */
static void iprobe_misses(void)
{
	MPI_Message msg;
	MPI_Request req;
	MPI_Status st;
	int flag;

	if (suite.rank == 0) {
		for (int i = 0; i < 100; i++) {
			MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &flag, &st);
			CHECK(!flag, "Iprobe found a message that nobody sent");
			MPI_Improbe(1, 3, suite.comm, &flag, &msg, &st);
			CHECK(!flag, "Improbe found a message that nobody sent");
		}
		suite_signal(1);
		suite_await(1);
		MPI_Iprobe(1, 4, suite.comm, &flag, &st);
		CHECK(!flag, "Iprobe found another tag");
		MPI_Iprobe(0, 3, suite.comm, &flag, &st);
		CHECK(!flag, "Iprobe found another source");
		MPI_Iprobe(1, MPI_ANY_TAG, suite.comm, &flag, &st);
		CHECK(flag, "Iprobe missed the message");
		suite_envelope(&st, 1, 3, 0);
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, suite.comm, &st);
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &flag, &st);
		CHECK(!flag, "Iprobe found a message that was received");
	} else if (suite.rank == 1) {
		suite_await(0);
		MPI_Isend(NULL, 0, MPI_BYTE, 0, 3, suite.comm, &req);
		suite_signal(0);
		MPI_Wait(&req, &st);
	}
}

/* A message that a matched probe took is invisible to receives, probes and later matched probes. */
static void mprobe_takes(void)
{
	enum { N = 8 };
	unsigned char bufs[N][64];
	MPI_Message msgs[N];
	MPI_Request req, sends[N];
	MPI_Status st;
	int flag;

	for (int i = 0; suite.rank == 1 && i < N; i++) {
		suite_fill(bufs[i], 64, (uint64_t)i);
		MPI_Isend(bufs[i], 64, MPI_BYTE, 0, 7, suite.comm, &sends[i]);
	}
	if (suite.rank == 1) {
		suite_signal(0);
		MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
	}
	if (suite.rank)
		return;
	suite_await(1);
	for (int i = 0; i < N - 1; i++) {
		MPI_Improbe(1, 7, suite.comm, &flag, &msgs[i], &st);
		CHECK(flag, "Improbe missed message %d", i);
	}
	MPI_Irecv(bufs[N - 1], 64, MPI_BYTE, MPI_ANY_SOURCE, 7, suite.comm, &req);
	MPI_Wait(&req, &st);
	suite_verify(bufs[N - 1], 64, N - 1);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &flag, &st);
	CHECK(!flag, "a message taken by a matched probe can be probed again");
	for (int i = N - 2; i >= 0; i--) { /* in another order than they were taken */
		MPI_Mrecv(bufs[i], 64, MPI_BYTE, &msgs[i], &st);
		suite_envelope(&st, 1, 7, 64);
		suite_verify(bufs[i], 64, (uint64_t)i);
	}
	MPI_Mprobe(MPI_PROC_NULL, 0, suite.comm, &msgs[0], &st);
	CHECK(msgs[0] == MPI_MESSAGE_NO_PROC, "Mprobe of MPI_PROC_NULL");
	MPI_Mrecv(NULL, 0, MPI_BYTE, &msgs[0], &st);
}

enum { PROBERS = 3, PER_SENDER = 600, MOST_RANKS = 16 };

struct crowd {
	pthread_mutex_t lock;
	int blocking, taken;
	unsigned char seen[MOST_RANKS][PER_SENDER];
};

static int crowd_bytes(int i)
{
	return i % 10 == 9 ? 30000 : 8 + i % 50;
}

static void note_taken(struct crowd *c, int from, uint32_t serial)
{
	pthread_mutex_lock(&c->lock);
	CHECK(!c->seen[from][serial], "message %u of rank %d came twice", serial, from);
	c->seen[from][serial] = 1;
	c->taken++;
	pthread_mutex_unlock(&c->lock);
}

/* Takes messages until it gets one of tag 1, the end mark. */
static void *take_messages(void *arg)
{
	struct crowd *c = arg;
	unsigned char *buf = suite_alloc(30000);
	int next[MOST_RANKS] = {0}, bytes, from, serial;

	for (;;) {
		MPI_Message msg;
		MPI_Status st;
		int flag = c->blocking;

		if (c->blocking)
			MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &msg, &st);
		while (!flag)
			MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &flag, &msg, &st);
		MPI_Get_count(&st, MPI_BYTE, &bytes);
		from = st.MPI_SOURCE;
		MPI_Mrecv(buf, bytes, MPI_BYTE, &msg, &st);
		if (st.MPI_TAG == 1)
			break;
		serial = buf[0] | buf[1] << 8;
		CHECK(serial < PER_SENDER, "wrong serial %d", serial);
		suite_envelope(&st, from, 0, crowd_bytes(serial));
		suite_verify(buf + 2, (size_t)bytes - 2, (uint64_t)(serial * 16 + from));
		/* One thread sees the messages of one sender in the order in which
		 * they were sent. */
		CHECK(serial >= next[from], "messages of one source in the wrong order");
		next[from] = serial + 1;
		note_taken(c, from, (uint32_t)serial);
	}
	free(buf);
	return NULL;
}

static void send_crowd(void)
{
	unsigned char *buf = suite_alloc(30000);

	for (int i = 0; i < PER_SENDER; i++) {
		buf[0] = (unsigned char)i;
		buf[1] = (unsigned char)(i >> 8);
		suite_fill(buf + 2, (size_t)crowd_bytes(i) - 2, (uint64_t)(i * 16 + suite.rank));
		MPI_Send(buf, crowd_bytes(i), MPI_BYTE, 0, 0, suite.comm);
	}
	free(buf);
}

static int taken_so_far(struct crowd *c)
{
	int taken;

	pthread_mutex_lock(&c->lock);
	taken = c->taken;
	pthread_mutex_unlock(&c->lock);
	return taken;
}

/* Several threads take whatever comes from all other ranks: each message exactly once. */
static void probers(int blocking)
{
	pthread_t threads[PROBERS];
	struct crowd *c;

	CHECK(suite.size <= MOST_RANKS, "at most %d ranks", MOST_RANKS);
	if (suite.rank) {
		send_crowd();
		return;
	}
	c = suite_alloc(sizeof(*c));
	c->blocking = blocking;
	pthread_mutex_init(&c->lock, NULL);
	for (int i = 0; i < PROBERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, take_messages, c), "no thread");
	while (taken_so_far(c) < (suite.size - 1) * PER_SENDER)
		usleep(1000);
	for (int i = 0; i < PROBERS; i++) /* end marks */
		MPI_Send(NULL, 0, MPI_BYTE, 0, 1, suite.comm);
	for (int i = 0; i < PROBERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(c->taken == (suite.size - 1) * PER_SENDER, "%d messages taken", c->taken);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void many_mprobers(void)
{
	probers(1);
}

static void many_improbers(void)
{
	probers(0);
}

const struct suite_case probe_cases[] = {
	{"probe.then_receive", 2, 0, probe_then_receive},
	{"probe.mprobe_mrecv", 2, 0, mprobe_then_mrecv},
	{"probe.misses", 2, 0, iprobe_misses},
	{"probe.mprobe_takes", 2, 0, mprobe_takes},
	{"probers.mprobe", 2, CASE_THREADS, many_mprobers},
	{"probers.improbe", 2, CASE_THREADS, many_improbers},
	{NULL, 0, 0, NULL},
};
