/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c - one clock for all ranks, that of rank 0, wherever they are. */
#include "worker.h"
#include "engine/base/clock.h"

#define TURNS 32

static double ahead; /* seconds that the clock of rank 0 is ahead of this rank's own */

double qv_bl_now(void)
{
	return qv_clock_seconds() + ahead;
}

/* Who sleeps wakes up too late: not for the last of the time. */
void qv_bl_wait_until(double when)
{
	double left;

	while ((left = when - qv_bl_now()) > 0) {
		const double sleep = left - 200e-6;
		const struct timespec nap = {(time_t)sleep,
					     (long)((sleep - (double)(time_t)sleep) * 1e9)};

		if (sleep > 0)
			nanosleep(&nap, NULL);
	}
}

/* Of the shortest turn, rank 0 has answered in the middle, give or take a half of it. An answer that
 * can be of our own clock is: ranks on one machine share it. */
static void ask(void)
{
	double shortest = 0;

	for (int i = 0; i < TURNS; i++) {
		const double asked = qv_clock_seconds();
		double there, took;

		MPI_Sendrecv(NULL, 0, MPI_BYTE, 0, 0, &there, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		took = qv_clock_seconds() - asked;
		if (i && took >= shortest)
			continue;
		shortest = took;
		ahead = there - asked - took / 2;
		if (ahead < took / 2 && ahead > -took / 2)
			ahead = 0;
	}
}

static void answer(int rank)
{
	for (int i = 0; i < TURNS; i++) {
		double here;

		MPI_Recv(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		here = qv_clock_seconds();
		MPI_Send(&here, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD);
	}
}

void qv_bl_agree(const struct qv_bl_rank *r)
{
	for (int i = 1; i < r->ranks; i++) {
		if (!r->rank)
			answer(i);
		else if (r->rank == i)
			ask();
	}
}
