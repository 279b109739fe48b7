/* SPDX-License-Identifier: BSD-2-Clause */
/* plans.h - by what a call is run, and how `auto` finds out. */
#ifndef QV_MPI_PLANS_H
#define QV_MPI_PLANS_H

#include "mpi_glue/op.h"

/* From mpi_glue/plans/expect.c. */

/* When each rank is expected in this call, which is ours to run; *arrive is NULL: all at once.
 * Collective. QV_ENOMEM. */
int qv_mpi_arrivals(struct qv_mpi_comm *c, const struct qv_mpi_call *call, const uint64_t **arrive);
/* A blocking call is over. */
void qv_mpi_expect_ended(struct qv_mpi_comm *c);
void qv_mpi_expect_close(struct qv_mpi_comm *c);

/* From mpi_glue/plans/measure.c. */

/* Let the rules know the network, with bursts if these are asked for; collective over
 * MPI_COMM_WORLD. */
void qv_mpi_measure(bool bursts);

/* From mpi_glue/plans/plan.c. */

/* The plan by which a call for so many bytes is run, held once; or NULL and why not. */
struct qv_mpi_plan *qv_mpi_plan_of(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				   size_t bytes, bool ordered, enum qv_mpi_reason *why);
/* One that was made by a rule; the lock is held. */
void qv_mpi_plan_keep(struct qv_mpi_comm *c, struct qv_mpi_plan *plan);
/* The lock is held. */
void qv_mpi_plan_free(struct qv_mpi_plan *plan);

/* From mpi_glue/plans/autotune.c. */

/* Calls that go to the MPI and to us in turn, until it is decided which is faster. */
struct qv_mpi_trial {
	bool varies; /* the calls are of different lengths */
	bool decided, ours;
	bool stubborn;    /* ours is given up only if it was slower twice */
	bool won, lost;   /* ours, in the turns before */
	int turns, tries; /* tries: those that told nothing */
	double began;
	double shortest[2], bytes[2]; /* the MPI's, ours; seconds */
};

/* A call is timed, which begins on all ranks together. Whether it is ours. */
bool qv_mpi_trial_begin(struct qv_mpi_trial *t, MPI_Comm comm);
/* It is over, with this error code; the same, or another one. This rank sent so many bytes in it.
 * Collective. */
int qv_mpi_trial_end(struct qv_mpi_trial *t, MPI_Comm comm, double bytes, int rc);

/* Whether `auto` takes the call, by memory or by a schedule; if not, why. Times it where that is not
 * known yet. */
bool qv_mpi_autotune_turn(struct qv_mpi_comm *c, struct qv_mpi_call *call, size_t bytes,
			  const struct qv_mpi_reduce *r, bool memory, enum qv_mpi_reason *why);
void qv_mpi_autotune_free(struct qv_mpi_comm *c);
void qv_mpi_autotune_v_free(struct qv_mpi_comm *c);

/* The end of a blocking call. */
static inline int qv_mpi_return(struct qv_mpi_call *call, int rc)
{
	return call->trial ? qv_mpi_trial_end(call->trial, call->comm, 0, rc) : rc;
}

#endif /* QV_MPI_PLANS_H */
