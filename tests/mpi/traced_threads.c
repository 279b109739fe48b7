/* SPDX-License-Identifier: BSD-2-Clause */
/* traced_threads.c - threads that make communicators at the same time. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, EACH = 500 };

static void *make(void *arg)
{
	MPI_Comm *parent = arg, comm;

	for (int i = 0; i < EACH; i++) {
		MPI_Comm_split(*parent, 0, 0, &comm);
		MPI_Comm_free(&comm);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	MPI_Comm parents[THREADS];
	pthread_t threads[THREADS];
	int level, rank;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (level < MPI_THREAD_MULTIPLE && !rank)
		printf("skipped: this MPI is not for several threads\n");
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
	for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
		if (pthread_create(&threads[i], NULL, make, &parents[i]))
			MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&parents[i]);
	MPI_Finalize();
	return 0;
}
