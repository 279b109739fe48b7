/* SPDX-License-Identifier: BSD-2-Clause */
/* plans.h - by what a call is run, and how `auto` finds out. */
#ifndef QV_MPI_PLANS_H
#define QV_MPI_PLANS_H

#include "engine/base/compiler.h"
#include "mpi_glue/op.h"

/* From mpi_glue/plans/expect.c. */

/* When each rank is expected in this call, by rank; NULL: all at once. */
const uint64_t *qv_mpi_arrivals(const struct qv_mpi_comm *c, const struct qv_mpi_call *call);
/* A blocking call for whose operation rules->observed is set begins, and is over; collective.
 * QV_ENOMEM. */
int qv_mpi_expect_begin(struct qv_mpi_comm *c, enum qv_coll coll);
void qv_mpi_expect_end(struct qv_mpi_comm *c, enum qv_coll coll);
/* A plan was made of arrivals, from this time of MPI_Wtime until now. */
void qv_mpi_expect_planned(struct qv_mpi_comm *c, enum qv_coll coll, double since);
void qv_mpi_expect_close(struct qv_mpi_comm *c);

/* From mpi_glue/plans/measure.c. */

/* Let the rules know the network, with bursts if these are asked for; collective over
 * MPI_COMM_WORLD. */
void qv_mpi_measure(bool bursts);

/* From this time of MPI_Wtime until now. */
static inline uint64_t qv_mpi_ns_since(double began)
{
	return (uint64_t)(1e9 * (PMPI_Wtime() - began));
}

/* From mpi_glue/plans/plan.c. */

/* The plan by which a call for so many bytes is run, held once; or NULL and why not. */
struct qv_mpi_plan *qv_mpi_plan_of(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				   size_t bytes, bool ordered, enum qv_mpi_reason *why);
/* It is not to be run after all. */
void qv_mpi_plan_put(struct qv_mpi_plan *plan);
/* One that was made by a rule; the lock is held. */
void qv_mpi_plan_keep(struct qv_mpi_comm *c, struct qv_mpi_plan *plan);
/* The lock is held. */
void qv_mpi_plan_free(struct qv_mpi_plan *plan);

/* From mpi_glue/plans/autotune.c. */

#define QV_MPI_TURNS 24 /* calls of a trial, at most */

/* Calls that go to the MPI and to us in turn, until it is decided which is faster. */
struct qv_mpi_trial {
	bool varies; /* the calls are of different lengths */
	bool decided, ours;
	bool stubborn;    /* ours is given up only if it was slower twice */
	bool apart;       /* ranks come at different times, and are left to */
	bool won, lost;   /* ours, in the turns before */
	bool again;       /* the call counted last has failed before it began, and comes again */
	int turns, tries; /* tries: those that told nothing */
	double began;
	double seconds[2][QV_MPI_TURNS / 2], bytes[2]; /* the MPI's, ours */
};

/* A call is timed, which begins on all ranks together unless they are late by habit. Whether it is
 * ours. */
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

/* mpi_glue/calls/pass.c: the MPI has found this rank's arguments wrong. MPIs are taken to say so before they send
 * anything. */
bool qv_mpi_is_of_arguments(int rc);

/* The end of a blocking call. */
static inline int qv_mpi_return(struct qv_mpi_call *call, int rc)
{
	if (QV_UNLIKELY(rc) && call->by_mpi && qv_mpi_is_of_arguments(rc))
		qv_mpi_comes_again(call);
	if (call->trial)
		rc = qv_mpi_trial_end(call->trial, call->comm, 0, rc);
	if (call->observed)
		qv_mpi_expect_end(call->observed, call->coll);
	return rc;
}

#endif /* QV_MPI_PLANS_H */
