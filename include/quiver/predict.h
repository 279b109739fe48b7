/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * predict.h - when ranks are expected, and what a network is like: what select.h is to be told.
 *
 * Ranks of iterative programs are late by habit. Each rank keeps the mean of its last observations,
 * of how long it took from one collective to the next, and every so many calls all tell it to all
 * others (an allgather of one number). What was told is the expectation until the next time; it is
 * the same on all ranks because all have been told the same.
 *
 * Objects are for one thread at a time.
 */
#ifndef QUIVER_PREDICT_H
#define QUIVER_PREDICT_H

#include <quiver/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QV_PREDICT_WINDOW 5 /* observations of which the mean is taken, after the literature */

struct qv_predict; /* of one rank in one group, opaque */

/*
 * Make the object of one rank in a group.
 *   ranks    of the group, 1 or more
 *   every    calls from one exchange to the next, 1 or more
 *   predict  out: to be given to qv_predict_close
 * QV_EINVAL: a number is 0; QV_ENOMEM.
 */
QV_API int qv_predict_open(uint32_t ranks, uint32_t every, struct qv_predict **predict);

/* Free it; NULL is allowed. */
QV_API void qv_predict_close(struct qv_predict *predict);

/*
 * This rank has come to a collective.
 *   predict  from qv_predict_open
 *   ns       how long after the end of the collective before
 */
QV_API void qv_predict_observe(struct qv_predict *predict, uint64_t ns);

/* A call begins. Returns 1: an exchange is due in it, 0: not; the same on all ranks, if all have
 * made as many of these calls. */
QV_API int qv_predict_due(struct qv_predict *predict);

/* What this rank tells the others: the mean of its last observations, in ns; 0 if it has none. */
QV_API uint64_t qv_predict_mine(const struct qv_predict *predict);

/*
 * Learn what all have told.
 *   predict  from qv_predict_open
 *   told     by rank, as many as there are: what qv_predict_mine returned there; copied
 */
QV_API void qv_predict_learn(struct qv_predict *predict, const uint64_t *told);

/* When each rank is expected, in ns from any moment, by rank; as long as the object lives and until
 * the next qv_predict_learn. NULL: nothing has been told. */
QV_API const uint64_t *qv_predict_arrivals(const struct qv_predict *predict);

/* Networks. */

/* Something of so many bytes took so many seconds. */
struct qv_sample {
	double bytes, seconds;
};

/*
 * Fit alpha, beta and gamma: medians of slopes and of what remains, so that single samples that
 * took long, as they do, do not matter.
 *   moves       messages of at least two lengths, from the first call to the receiver's having
 *               them
 *   n_moves     how many, 2 or more
 *   combines    of at least two lengths
 *   n_combines  how many, 2 or more
 *   network     out: alpha 1 ns or more, beta and gamma 0 or more, one range of lengths
 * QV_EINVAL: too few samples, or all of one length; QV_ENOMEM.
 */
QV_API int qv_network_fit(const struct qv_sample *moves, size_t n_moves,
			  const struct qv_sample *combines, size_t n_combines,
			  struct qv_network *network);

/*
 * Fit alpha and beta of messages in bursts, in one range of lengths or in several, as many as make
 * a difference: by least squares of what the error is of each length, of which the median counts.
 *   moves    messages of at least two lengths: seconds of a burst both ways, for each message
 *   n_moves  how many, 2 or more
 *   ranges   at most so many, 1 to 1 + QV_NETWORK_LONGER
 *   network  out: alpha, beta and the longer ranges; gamma is left as it is
 * QV_EINVAL: too few samples, all of one length, seconds that are not more than 0, bytes or seconds
 * that are not finite, or ranges out of range; QV_ENOMEM.
 */
QV_API int qv_network_fit_bursts(const struct qv_sample *moves, size_t n_moves, unsigned int ranges,
				 struct qv_network *network);

/*
 * Choose a number of segments by what was measured: the fastest, but a smaller one that is within
 * 2 % of it rather than a larger one.
 *   segments, seconds  n numbers, and how long each took
 *   n                  how many, 1 or more
 * Returns one of segments.
 */
QV_API uint32_t qv_segments_fit(const uint32_t *segments, const double *seconds, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_PREDICT_H */
