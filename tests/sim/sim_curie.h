/* SPDX-License-Identifier: BSD-2-Clause */
/* sim_curie.h - what programs share that smpicc builds with libquiver-mpi: the figures of the platform
 * file, how combining takes time, and a word when something is wrong. */
#ifndef QV_SIM_CURIE_H
#define QV_SIM_CURIE_H

#include <mpi.h>
#include <quiver/mpi_control.h>
#include <simgrid/actor.h>
#include <stdbool.h>
#include <stdio.h>

/* Seconds per message, per byte moved, per byte combined. */
#define ALPHA 2.66e-6
#define BETA  4.8179e-10
#define GAMMA 1.6654e-10

static int rank, ranks;

static inline void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* False: it was refused. */
static inline bool tell_network(void)
{
	return !qv_mpi_network(ALPHA, BETA, GAMMA);
}

static inline double seconds_now(void)
{
	return MPI_Wtime();
}

static inline void sleep_for(double seconds)
{
	sg_actor_sleep_for(seconds);
}

/* What stands for several times: nothing disturbs a simulation, so it is the mean. */
static inline double figure_of(double *times, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += times[i];
	return sum / n;
}

/* An operation of the program's, on ints. */
static inline void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	const int *a = in;
	int *b = inout;

	for (int i = 0; i < *n; i++)
		b[i] += a[i];
	sg_actor_sleep_for(GAMMA * (double)*n * sizeof(int));
}

#endif /* QV_SIM_CURIE_H */
