// SPDX-License-Identifier: BSD-2-Clause
/* threads.c - MPI_THREAD_MULTIPLE: threads of one rank send, receive and cancel at the same
 * time. */
#include <pthread.h>
#include <stdlib.h>

#include "suite.h"

enum { THREADS = 4, MOST = 100000 };

static const int sizes[] = {0, 8, 64, 3000, 20000, 8, 16, MOST};

struct worker {
	pthread_t thread;
	int id;
	MPI_Comm comm;
};

/* Starts THREADS workers, waits for them; comms[i] goes to the i-th. */
static void run_workers(void *(*fn)(void *), const MPI_Comm *comms)
{
	struct worker w[THREADS];

	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.id = i, .comm = comms[i]};
		CHECK(!pthread_create(&w[i].thread, NULL, fn, &w[i]), "no thread");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
}

static void same_comm(MPI_Comm *comms)
{
	for (int i = 0; i < THREADS; i++)
		comms[i] = suite.comm;
}

/* Thread i of rank 0 and thread i of rank 1 exchange messages of tag i. */
static void *exchange_by_tag(void *arg)
{
	const struct worker *w = arg;
	unsigned char *in = suite_alloc(MOST), *out = suite_alloc(MOST);
	int other = 1 - suite.rank;

	for (int i = 0; i < suite_scaled(300, 50); i++) {
		int bytes = sizes[(i + w->id) % 8];
		uint64_t key = (uint64_t)(i * THREADS + w->id) * 2;
		MPI_Request reqs[2];
		MPI_Status st[2];

		suite_fill(out, (size_t)bytes, key + (uint64_t)suite.rank);
		MPI_Irecv(in, MOST, MPI_BYTE, i % 3 ? other : MPI_ANY_SOURCE, w->id, w->comm,
			  &reqs[0]);
		MPI_Isend(out, bytes, MPI_BYTE, other, w->id, w->comm, &reqs[1]);
		MPI_Waitall(2, reqs, st);
		suite_envelope(&st[0], other, w->id, bytes);
		suite_verify(in, (size_t)bytes, key + (uint64_t)other);
	}
	free(in);
	free(out);
	return NULL;
}

static void by_tag(void)
{
	MPI_Comm comms[THREADS];

	same_comm(comms);
	if (suite.rank < 2)
		run_workers(exchange_by_tag, comms);
}

/* Each thread owns a communicator; collectives, wildcards and messages run side by side. */
static void *exchange_by_comm(void *arg)
{
	const struct worker *w = arg;
	int right = (suite.rank + 1) % suite.size,
	    left = (suite.rank + suite.size - 1) % suite.size;
	unsigned char *in = suite_alloc(MOST), *out = suite_alloc(MOST);

	for (int i = 0; i < suite_scaled(60, 20); i++) {
		int bytes = sizes[(i + w->id) % 8], sum = 0, one = w->id + i + suite.rank;
		uint64_t key = (uint64_t)(i * THREADS + w->id) * 16;
		MPI_Status st;

		suite_fill(out, (size_t)bytes, key + (uint64_t)suite.rank);
		MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, MOST, MPI_BYTE, MPI_ANY_SOURCE,
			     MPI_ANY_TAG, w->comm, &st);
		suite_envelope(&st, left, 1, bytes);
		suite_verify(in, (size_t)bytes, key + (uint64_t)left);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, w->comm);
		CHECK(sum == suite.size * (w->id + i) + suite.size * (suite.size - 1) / 2,
		      "Allreduce of thread %d gave %d", w->id, sum);
	}
	free(in);
	free(out);
	return NULL;
}

static void by_comm(void)
{
	MPI_Comm comms[THREADS];

	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(suite.comm, &comms[i]);
	run_workers(exchange_by_comm, comms);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
}

enum { SHARED_N = 2000 };

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char shared_seen[THREADS * SHARED_N];

/* All threads of rank 1 send with one tag, all threads of rank 0 receive with wildcards. */
static void *exchange_shared(void *arg)
{
	const struct worker *w = arg;
	int n = suite_scaled(SHARED_N, 100);
	uint64_t word[2];
	MPI_Status st;

	for (int i = 0; i < (n < SHARED_N ? n : SHARED_N); i++) {
		if (suite.rank == 1) {
			word[0] = (uint64_t)(w->id * SHARED_N + i);
			word[1] = ~word[0];
			MPI_Send(word, 16, MPI_BYTE, 0, 9, w->comm);
			continue;
		}
		MPI_Recv(word, 16, MPI_BYTE, w->id % 2 ? MPI_ANY_SOURCE : 1,
			 w->id / 2 ? MPI_ANY_TAG : 9, w->comm, &st);
		suite_envelope(&st, 1, 9, 16);
		CHECK(word[0] < THREADS * SHARED_N && word[1] == ~word[0], "wrong payload");
		pthread_mutex_lock(&shared_lock);
		CHECK(!shared_seen[word[0]]++, "message %d came twice", (int)word[0]);
		pthread_mutex_unlock(&shared_lock);
	}
	return NULL;
}

static void shared_key(void)
{
	MPI_Comm comms[THREADS];

	same_comm(comms);
	for (int i = 0; i < THREADS * SHARED_N; i++)
		shared_seen[i] = 0;
	if (suite.rank < 2)
		run_workers(exchange_shared, comms);
}

/* Threads whose receives race with their own cancels, each on its tag, all on one endpoint. */
static void *exchange_cancel(void *arg)
{
	const struct worker *w = arg;

	for (int i = 0; i < suite_scaled(300, 50); i++) {
		uint64_t v = (uint64_t)(i * THREADS + w->id), got = 0;
		MPI_Request req;
		MPI_Status st;
		int cancelled;

		if (suite.rank == 1) {
			MPI_Send(&v, 8, MPI_BYTE, 0, w->id, w->comm);
			continue;
		}
		MPI_Irecv(&got, 8, MPI_BYTE, 1, w->id, w->comm, &req);
		MPI_Cancel(&req);
		MPI_Wait(&req, &st);
		MPI_Test_cancelled(&st, &cancelled);
		if (cancelled)
			MPI_Recv(&got, 8, MPI_BYTE, 1, w->id, w->comm, &st);
		suite_envelope(&st, 1, w->id, 8);
		CHECK(got == v, "thread %d: message %d instead of %d", w->id, (int)got, (int)v);
	}
	return NULL;
}

static void cancels(void)
{
	MPI_Comm comms[THREADS];

	same_comm(comms);
	if (suite.rank < 2)
		run_workers(exchange_cancel, comms);
}

const struct suite_case thread_cases[] = {
	{"threads.by_tag", 2, CASE_THREADS, by_tag},
	{"threads.by_comm", 2, CASE_THREADS, by_comm},
	{"threads.shared_key", 2, CASE_THREADS, shared_key},
	{"threads.cancels", 2, CASE_THREADS, cancels},
	{NULL, 0, 0, NULL},
};
