/* SPDX-License-Identifier: BSD-2-Clause */
/* late_real.h - what sim_late.c needs where ranks are real processes of one machine: the clock of the machine,
 * real sleep, and a network that libquiver-mpi measures by itself. */
#ifndef QV_TESTS_LATE_REAL_H
#define QV_TESTS_LATE_REAL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank, ranks;

static inline void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline bool tell_network(void)
{
	return true;
}

/* MPI_Wtime of two ranks need not begin at the same moment. */
static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void sleep_for(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds};

	t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
	nanosleep(&t, NULL);
}

static inline int compare_times(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What stands for several times: other programs disturb some of them, so it is the median. */
static inline double figure_of(double *times, int n)
{
	qsort(times, (size_t)n, sizeof(*times), compare_times);
	return times[n / 2];
}

/* An operation of the program's, on ints. */
static inline void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	const int *a = in;
	int *b = inout;

	(void)type;
	for (int i = 0; i < *n; i++)
		b[i] += a[i];
}

#endif /* QV_TESTS_LATE_REAL_H */
