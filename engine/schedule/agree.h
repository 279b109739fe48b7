/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agree.h - what the members of a group agree on: when each is expected, and what their network is
 * like. Each member tells all others what it has seen, by an allgather. So all come to the same.
 *
 * The owner brings the clock and the messages. Objects are for one thread at a time.
 */
#ifndef QV_AGREE_H
#define QV_AGREE_H

#include <quiver/combine.h>
#include <quiver/predict.h>

/*
 * Expectations. Every so many calls an exchange of predictions (predict.h) begins, which goes on
 * beside the next calls. What was told counts from the call on in which the next exchange is due.
 * So nobody waits for it in the meantime, and all expect the same in the same call, whenever the
 * exchange was over for each of them.
 *
 * For each call: qv_expect_due, perhaps an exchange, qv_expect_arrivals, qv_expect_called; at its
 * end qv_expect_ended.
 */
#define QV_EXPECT_EVERY 8 /* calls from one exchange to the next, where nothing else is known */

struct qv_expect; /* of one rank in one group */

/*
 *   ranks, rank  of the group, 1 or more; which of them this is
 *   every        calls from one exchange to the next, 1 or more
 *   expect       out: to be given to qv_expect_close
 * QV_EINVAL: a number is out of range; QV_ENOMEM.
 */
int qv_expect_open(uint32_t ranks, uint32_t rank, uint32_t every, struct qv_expect **expect);
void qv_expect_close(struct qv_expect *expect);

/* What the next call needs before it begins; may be asked again. QV_OK: nothing. 1: that an
 * exchange begins. QV_EAGAIN: that the one before is over, which is under way here. */
int qv_expect_due(struct qv_expect *expect);

/* What the exchange works on, an allgather in place of one number of each rank: what this rank
 * tells is in its place, in ns, when an exchange is due. */
uint64_t *qv_expect_told(struct qv_expect *expect);

/* The exchange that was due has begun; it is over. If it failed, expectations stay as they are. */
void qv_expect_begun(struct qv_expect *expect);
void qv_expect_over(struct qv_expect *expect, int status);

/* When each rank is expected in the next call, in ns from any moment, by rank; until qv_expect_due
 * of another one. NULL: nothing has been told. */
const uint64_t *qv_expect_arrivals(const struct qv_expect *expect);

/* The call has begun: this rank came at this moment, in ns; 0: it did something else before, so
 * that its time says nothing. */
void qv_expect_called(struct qv_expect *expect, uint64_t now);

/* A collective of this rank was over at this moment, in ns and not 0. */
void qv_expect_ended(struct qv_expect *expect, uint64_t now);

/* Figures of a network. */

/* As qv_network_fit, of messages alone: gamma is left as it is. */
int qv_network_fit_moves(const struct qv_sample *moves, size_t n_moves, struct qv_network *network);

/*
 * Gamma of this rank: the shortest of a few sums of two arrays, for each byte of one of them.
 *   now     the clock, s
 *   memory  QV_GAMMA_ROOM bytes of zeros, aligned for a double
 */
#define QV_GAMMA_ROOM 65536
double qv_network_gamma(const struct qv_combine *combine, double (*now)(void), void *memory);

/*
 * The figures that all take, out of those that members have told: alpha, beta and gamma, each the
 * median over those whose figure can be: finite, at least 0 (alpha: 1 ns), and 1 s at most. Who has
 * not measured a figure tells a negative one. Ranges of lengths are not looked at.
 *   told     n of them, the same on all members
 *   room     for n figures
 *   network  out: the same on all members, without ranges
 * QV_EINVAL: of one figure, nobody has told one that can be.
 */
int qv_network_agree(const struct qv_network *told, size_t n, double *room,
		     struct qv_network *network);

/* Seconds in which a root sends a block to each other rank, or gets one from each. Its messages are under way
 * at once: behind the first one each takes what one of a burst does. */
double qv_root_seconds(const struct qv_network *network, const struct qv_network *bursts,
		       uint32_t ranks, double block);

#endif /* QV_AGREE_H */
