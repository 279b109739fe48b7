/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traced_requests.c - threads with short requests: the MPI gives the handle of one that is over to another
 * thread at once, be it a receive there, a send or a collective.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, EACH = 3000 };

static int rank;

struct thread {
	pthread_t id;
	MPI_Comm comm;
	int number;
};

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "traced_requests: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void test(MPI_Request *request)
{
	int flag = 0;

	while (!flag)
		MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

static void *exchange(void *arg)
{
	struct thread *t = arg;
	MPI_Request in, out[2];
	MPI_Status status, statuses[2];

	for (int i = 0; i < EACH; i++) {
		int sent = i, got = -1, cancelled = 0;

		MPI_Irecv(&got, 1, MPI_INT, !rank, t->number, t->comm, &in);
		MPI_Isend(&sent, 1, MPI_INT, !rank, t->number, t->comm, &out[0]);
		i % 8 ? MPI_Wait(&in, MPI_STATUS_IGNORE) : test(&in);
		must(got == i, "another value");
		MPI_Wait(&out[0], MPI_STATUS_IGNORE);
		if (i % 64 == 0) {
			MPI_Ibarrier(t->comm, &out[0]);
			MPI_Irecv(&got, 1, MPI_INT, !rank, 99, t->comm, &out[1]);
			MPI_Cancel(&out[1]);
			MPI_Wait(&out[1], &status);
			MPI_Test_cancelled(&status, &cancelled);
			must(cancelled, "not cancelled");
			MPI_Waitall(2, out, statuses);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct thread threads[THREADS];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (level < MPI_THREAD_MULTIPLE && !rank)
		printf("skipped: this MPI is not for several threads\n");
	for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++) {
		threads[i].number = i;
		MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
	}
	for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
		must(!pthread_create(&threads[i].id, NULL, exchange, &threads[i]), "no thread");
	for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++) {
		pthread_join(threads[i].id, NULL);
		MPI_Comm_free(&threads[i].comm);
	}
	MPI_Finalize();
	return 0;
}
