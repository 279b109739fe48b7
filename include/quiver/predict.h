/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * predict.h - when ranks are expected, and what a network is like: what select.h is to be told.
 *
 * The owner brings the clock and the messages. What all members of a group tell each other, each by
 * an allgather, comes to the same expectations and the same figures on all of them.
 *
 * Objects are for one thread at a time.
 */
#ifndef QUIVER_PREDICT_H
#define QUIVER_PREDICT_H

#include <quiver/combine.h>
#include <quiver/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ranks of iterative programs are late by habit. Each rank keeps the mean of its last observations,
 * of how long it took from the end of one collective to the call of the next. Every so many calls
 * all tell it to all others, by an exchange that goes on beside the next calls. What was told
 * counts from the call on in which the next exchange is due. So nobody waits for it in the
 * meantime, and all ranks expect the same in the same call, whenever the exchange was over for each
 * of them. For each call: qv_predict_due, perhaps an exchange, qv_predict_arrivals,
 * qv_predict_called; at its end qv_predict_ended.
 */
#define QV_PREDICT_WINDOW 5 /* observations of which the mean is taken, after the literature */
#define QV_PREDICT_EVERY  8 /* calls from one exchange to the next, where nothing else is known */

struct qv_predict; /* of one rank in one group, opaque */

/*
 *   ranks, rank  of the group, 1 or more; which of them this is
 *   every        calls from one exchange to the next, 1 or more
 *   predict      out: to be given to qv_predict_close
 * QV_EINVAL: a number is out of range; QV_ENOMEM.
 */
QV_API int qv_predict_open(uint32_t ranks, uint32_t rank, uint32_t every,
			   struct qv_predict **predict);
QV_API void qv_predict_close(struct qv_predict *predict);

/* What the next call needs before it begins; may be asked again. QV_OK: nothing. 1: that an
 * exchange begins. QV_EAGAIN: that the one before is over, which is under way here. */
QV_API int qv_predict_due(struct qv_predict *predict);

/* What the exchange works on, an allgather in place of one number of each rank: what this rank
 * tells is in its place, in ns, when an exchange is due. */
QV_API uint64_t *qv_predict_told(struct qv_predict *predict);

/* The exchange that was due has begun; it is over. If it failed, expectations stay as they are. */
QV_API void qv_predict_begun(struct qv_predict *predict);
QV_API void qv_predict_over(struct qv_predict *predict, int status);

/* When each rank is expected in the next call, in ns from any moment, by rank; until qv_predict_due
 * of another one. NULL: nothing has been told. */
QV_API const uint64_t *qv_predict_arrivals(const struct qv_predict *predict);

/* The call has begun: this rank came at this moment, in ns; 0: it did something else before, so
 * that its time says nothing. */
QV_API void qv_predict_called(struct qv_predict *predict, uint64_t now);

/* A collective of this rank was over at this moment, in ns and not 0. */
QV_API void qv_predict_ended(struct qv_predict *predict, uint64_t now);

/* Networks. */

/* Something took so long. */
struct qv_sample {
	double bytes, seconds;
};

/*
 * Fit alpha and beta: medians of slopes and of what remains, so that single samples that took long,
 * as they do, do not matter.
 *   moves     messages of at least two lengths, from the first call to the receiver's having them
 *   network   out: both 0 or more, alpha more; the rest is left as it is
 * QV_EINVAL: too few samples, or all of one length; QV_ENOMEM.
 */
QV_API int qv_network_fit(const struct qv_sample *moves, size_t n_moves,
			  struct qv_network *network);

/*
 * Fit alpha and beta of messages in bursts, in one range of lengths or in several, as many as make
 * a difference: by least squares of what the error is of each length, of which the median counts.
 *   moves     messages of at least two lengths: seconds of a burst both ways, for each message
 *   ranges    at most so many, 1 to 1 + QV_NETWORK_LONGER
 *   network   out: gamma is left as it is
 * QV_EINVAL: too few samples, all of one length, or no time; QV_ENOMEM.
 */
QV_API int qv_network_fit_bursts(const struct qv_sample *moves, size_t n_moves, unsigned int ranges,
				 struct qv_network *network);

/*
 * Gamma of this rank: the shortest of a few sums of two arrays, for each byte of one of them.
 *   now     the clock, s
 *   memory  QV_GAMMA_ROOM bytes of zeros, aligned for a double
 */
#define QV_GAMMA_ROOM 65536
QV_API double qv_network_gamma(const struct qv_combine *combine, double (*now)(void), void *memory);

/*
 * The figures that all take, out of those that members have told: alpha, beta and gamma, each the
 * median over those whose figure can be: finite, at least 0 (alpha: 1 ns), and 1 s at most. Who has
 * not measured a figure tells a negative one. Ranges of lengths are not looked at.
 *   told     n of them, the same on all members
 *   room     for n figures
 *   network  out: the same on all members, without ranges
 * QV_EINVAL: of one figure, nobody has told one that can be.
 */
QV_API int qv_network_agree(const struct qv_network *told, size_t n, double *room,
			    struct qv_network *network);

/*
 * Of measured numbers of segments, the one to take: the fastest, but a smaller one that is within
 * 2 % of it rather than a larger one.
 *   segments, seconds  n each, 1 or more
 */
QV_API uint32_t qv_segments_fit(const uint32_t *segments, const double *seconds, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_PREDICT_H */
