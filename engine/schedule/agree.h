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
 * Expectations. Now and then the members tell each other how long each takes from one call to the
 * next, and how long calls take. So all come to know who is late by habit, and that nobody is any
 * more. Exchanges are so far apart that they take little time, and the clock is read in the calls before
 * one only. What was told counts from the same call on for all, whenever the exchange was over for each.
 * Calls are those of which qv_expect_serves: reductions and broadcasts.
 *
 * For each call: qv_expect_due and perhaps an exchange, before the call or at its end, the same for all
 * calls; qv_expect_called, and qv_expect_came where that wants it; at its end qv_expect_ended.
 */
#define QV_EXPECT_WORDS 4    /* that each rank tells */
#define QV_EXPECT_LATE  2000 /* ns; ranks leave a call as far apart, and that is not late */

struct qv_expect; /* of one rank in one group */

/* Whether a collective has algorithms that are built from expectations. */
static inline int qv_expect_serves(enum qv_coll coll)
{
	return qv_schedule_exists(coll, QV_ALG_CLAIRVOYANT, 0);
}

/*
 *   ranks, rank  of the group, 1 or more; which of them this is
 *   delay        calls that begin with and after an exchange before it counts, so that nobody waits
 *                for it meanwhile; 0: it counts when it is over, before the next call
 *   expect       out: to be given to qv_expect_close
 * QV_EINVAL: a number is out of range; QV_ENOMEM.
 */
int qv_expect_open(uint32_t ranks, uint32_t rank, uint32_t delay, struct qv_expect **expect);
void qv_expect_close(struct qv_expect *expect);

/* What is needed now; may be asked again. QV_OK: nothing. 1: that an exchange begins. QV_EAGAIN: that
 * the one before is over, which is under way here. */
int qv_expect_due(struct qv_expect *expect);

/* What the exchange works on, an allgather in place of QV_EXPECT_WORDS of each rank. */
uint64_t *qv_expect_told(struct qv_expect *expect);

/* The exchange that was due begins at this moment, in ns: what this rank tells is in its place. It is
 * over. If it failed, expectations stay as they are. */
void qv_expect_begun(struct qv_expect *expect, uint64_t now);
void qv_expect_over(struct qv_expect *expect, int status, uint64_t now);

/* When each rank is expected in the next call, in ns from any moment, by rank; until qv_expect_due or
 * qv_expect_over. NULL: nothing has been told. */
const uint64_t *qv_expect_arrivals(const struct qv_expect *expect);

/* Whether some rank is late, by what was told: by a quarter of what a call takes. 0: no; else a number, the
 * same on all: another one than before where others are late than the last time. */
uint32_t qv_expect_late(const struct qv_expect *expect);

/* A call begins. Returns 1: qv_expect_came is to be called. */
int qv_expect_called(struct qv_expect *expect);
/* Instead of all these, where nothing is due or to be noted in the call; else 0, and nothing is done. */
int qv_expect_idle(struct qv_expect *expect);
/* The last one of these has failed on this rank before it began, and comes again. */
void qv_expect_idle_again(struct qv_expect *expect);

/* This rank came to the call at this moment, in ns; 0: it did something else before, so that its time
 * says nothing. Returns 1: qv_expect_ended is to be called. */
int qv_expect_came(struct qv_expect *expect, uint64_t now);

/* The call was over for this rank at this moment, in ns; together: for all ranks. */
void qv_expect_ended(struct qv_expect *expect, uint64_t now, int together);

/* So many ns were spent on what follows from expectations. */
void qv_expect_spent(struct qv_expect *expect, uint64_t ns);

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
