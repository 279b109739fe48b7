/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_control.h - what a program may tell libquiver-mpi, the library that runs an MPI's collectives
 * by schedules. No program needs it: see quiver-mpi(7) for the environment variables.
 *
 * Communicators are named by their Fortran handles (MPI_Comm_c2f), which are integers in every MPI.
 * All ranks of a communicator must make the same calls, at the same place among its collectives, or
 * they would choose differently and wait for each other for ever.
 */
#ifndef QUIVER_MPI_CONTROL_H
#define QUIVER_MPI_CONTROL_H

#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Choose algorithms anew.
 *   settings  as in QUIVER_MPI_COLL; operations that it does not name go to the MPI. Read during
 *             the call. NULL: what the environment said at MPI_Init
 * All ranks do so at the same place among their collectives, while no other thread is in one.
 * QV_EINVAL: it does not parse; QV_ENOMEM; QV_ENOSYS: the library is switched off. Then nothing
 * changes.
 */
QV_API int qv_mpi_set(const char *settings);

/*
 * Tell when the ranks of a communicator will come to its next collectives, until this is called
 * again. The algorithms clairvoyant and segmented, and `auto`, then let those who are there begin.
 * Where this was never called for a communicator, they expect what its ranks have observed in blocking
 * reductions and broadcasts.
 *   comm    Fortran handle of an intracommunicator
 *   arrive  for each rank the expected arrival in ns, counted from any moment; the same on all
 *           ranks. Read during the call. NULL: expect all at once
 * QV_EINVAL: MPI_COMM_NULL, an intercommunicator, or one whose calls are the MPI's since a rank had no
 * memory when it was made; QV_ENOMEM; QV_ENOSYS: the library is switched
 * off. Then nothing changes. A handle of no communicator is an error of the MPI.
 */
QV_API int qv_mpi_expect(int comm, const uint64_t *arrive);

/*
 * Tell what the network is like: a message takes alpha + bytes*beta seconds, to combine it
 * bytes*gamma. From this follow the number of segments, and the choice of `auto`. Until then it is
 * as measured at MPI_Init between the first rank and the last, if QUIVER_MPI_COLL names something
 * and no node has more ranks than cores; else a fast cluster's. The same on all ranks:
 *   alpha  seconds of a message of no bytes, more than 0
 *   beta   seconds of a byte of a message
 *   gamma  seconds to combine a byte
 * QV_EINVAL: a value is negative or not finite, or alpha is 0; QV_ENOSYS: the library is switched
 * off. Then nothing changes.
 */
QV_API int qv_mpi_network(double alpha, double beta, double gamma);

/* How many calls of this process schedules or memory have run so far, in any form. */
QV_API uint64_t qv_mpi_taken(void);

/*
 * What the schedules of this process have sent so far.
 *   messages, bytes  out: how many, and of how many bytes in all
 */
QV_API void qv_mpi_sent(uint64_t *messages, uint64_t *bytes);

/*
 * How often `auto` of a v form or of neighbours has compared, in this process.
 *   judged   out: how often ranks have told each other what they send
 *   changed  out: how often that led to another choice, or to the same being timed again
 */
QV_API void qv_mpi_judged(uint64_t *judged, uint64_t *changed);

/*
 * What plans for collectives with neighbours have cost this process so far. A communicator has one plan
 * for each algorithm, number and `cumulative` that its calls went by, whichever operations these were.
 *   plans    out: how many were made
 *   seconds  out: how long that took in all, with finding out that the ranks agree on who is whose neighbour
 */
QV_API void qv_mpi_planned(uint64_t *plans, double *seconds);

/* How many calls of this process were run by a schedule that was built from expected arrivals. */
QV_API uint64_t qv_mpi_by_arrival(void);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_MPI_CONTROL_H */
