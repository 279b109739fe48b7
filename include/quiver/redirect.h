/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redirect.h - Local Redirect: a reduction whose order is found while it runs, for ranks that are
 * late without anyone having known. Nothing is built before; each rank is a small machine that
 * answers messages.
 *
 * The ranks stand in a line, the root at its right end. A rank that has come asks its right
 * neighbour; two that are there agree, the left one gives its partial result to the right one, and
 * tells its own left neighbour to go on past it. Partial results are always of consecutive places,
 * so the operation has to be associative only; which brackets are used depends on time, so sums of
 * floating-point numbers are not the same in each run.
 *
 * Messages of one place to another must stay in order. The caller keeps those that are not accepted
 * yet and offers them again after the next one was taken. No locks, no threads, no memory.
 *
 * P. Marendic, PhD thesis, Vrije Universiteit Brussel, 2016, algorithm 9; with two corrections,
 * without which it deadlocks.
 */
#ifndef QUIVER_REDIRECT_H
#define QUIVER_REDIRECT_H

#include <quiver/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QV_PLACE_NONE UINT32_MAX

enum qv_redirect_kind {
	QV_REDIRECT_DONE = 0, /* to the right: my partial result is ready */
	QV_REDIRECT_OK = 1,   /* to the left: I am here as well */
	QV_REDIRECT_ACK = 2,  /* to the right: then I want to send */
	QV_REDIRECT_SEND = 3, /* to the left: go on */
	QV_REDIRECT_DATA = 4, /* to the right: the partial result; value: my left neighbour */
	QV_REDIRECT_PAST = 5, /* to the left: I am gone; value: my right neighbour is yours */
};

enum qv_redirect_variant {
	/* As in the thesis. If all begin at the same time, the line resolves one by one. */
	QV_REDIRECT_FAITHFUL = 0,
	/* Ranks that could send and receive prefer to receive, so that pairs form as in a tree. */
	QV_REDIRECT_EXTENDED = 1,
	/* As printed: a redirected rank asks the one that has gone. It deadlocks; for tests. */
	QV_REDIRECT_PRINTED = 2,
};

enum qv_redirect_state {
	QV_REDIRECT_BEFORE = 0, /* not started */
	QV_REDIRECT_ASKING = 1,
	QV_REDIRECT_HOLDING = 2,   /* asked to send */
	QV_REDIRECT_RECEIVING = 3, /* asked the left neighbour to send */
	QV_REDIRECT_LEAVING = 4,   /* sent; the left neighbour is to be told yet */
	QV_REDIRECT_OVER = 5,
};

/* One rank; may be copied. To be changed by the functions below only. */
struct qv_redirect {
	enum qv_redirect_variant variant;
	enum qv_redirect_state state;
	uint32_t place;       /* in the line, from 0; the root has the last one */
	uint32_t left, right; /* neighbours now, or QV_PLACE_NONE */
	uint32_t to_root;     /* places between this one and the root */
	uint32_t merges;      /* partial results received */
	int said_ok;          /* to the left neighbour, which has not gone on yet */
};

/* A message to be sent. */
struct qv_redirect_out {
	enum qv_redirect_kind kind;
	uint32_t to;    /* place */
	uint32_t value; /* of DATA and PAST: a place, or QV_PLACE_NONE */
};

#define QV_REDIRECT_MOST 2 /* messages that one call gives out */

/*
 * Begin: the rank has come.
 *   r        out: written as a whole
 *   variant  which
 *   place    of this rank, less than places
 *   places   in the line, 1 or more
 *   out      out: messages to be sent, in this order
 * Returns how many.
 */
QV_API unsigned int qv_redirect_start(struct qv_redirect *r, enum qv_redirect_variant variant,
				      uint32_t place, uint32_t places,
				      struct qv_redirect_out out[QV_REDIRECT_MOST]);

/*
 * Whether the oldest message that is kept from a place can be taken now.
 *   r     from qv_redirect_start
 *   from  the place that sent it
 *   kind  as it was sent
 * Returns 1 or 0.
 */
QV_API int qv_redirect_accepts(const struct qv_redirect *r, uint32_t from,
			       enum qv_redirect_kind kind);

/*
 * Take a message that qv_redirect_accepts accepts. Before DATA is given here, the caller combines:
 * partial result = received op partial result.
 *   r      from qv_redirect_start
 *   from   the place that sent it
 *   kind   as it was sent
 *   value  as it was sent
 *   out    out: messages to be sent, in this order; DATA with the partial result
 * Returns how many.
 */
QV_API unsigned int qv_redirect_take(struct qv_redirect *r, uint32_t from,
				     enum qv_redirect_kind kind, uint32_t value,
				     struct qv_redirect_out out[QV_REDIRECT_MOST]);

/*
 * A reduction in virtual time: a short message takes alpha, and up to a fifth more; the partial
 * result alpha + bytes*beta, and combining it bytes*gamma, during which the rank does nothing else.
 *   network   alpha, beta, gamma
 *   variant   FAITHFUL or EXTENDED
 *   places    ranks, 1 or more; the last one is the root
 *   bytes     length of the vector
 *   arrive    by place, when each comes, in seconds; NULL: all at 0
 *   seed      of which messages take longer: each number gives other ones
 *   end       out: when the root has the result, in seconds
 * QV_ENOMEM; QV_EINVAL: there is no end, as of PRINTED.
 */
QV_API int qv_redirect_time(const struct qv_network *network, enum qv_redirect_variant variant,
			    uint32_t places, double bytes, const double *arrive, uint64_t seed,
			    double *end);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_REDIRECT_H */
