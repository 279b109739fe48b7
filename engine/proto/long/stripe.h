/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stripe.h - long messages over two transports at once. The first one carries a message from its
 * begin on in SEG packets, as all else that has an order; the second one from its end on, in PIECE
 * packets, which may be lost. It is all there where both meet.
 */
#ifndef QV_PROTO_STRIPE_H
#define QV_PROTO_STRIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QV_STRIPE_MIN ((size_t)64 << 10) /* shorter messages go over the first alone */

/* Of a peer: the second way to it. */
struct qv_stripe {
	struct qv_xport *x; /* NULL: it never told of one */
	uint64_t addr;      /* there */
	bool open;          /* it has told of it in this session */
	bool full;          /* it takes nothing, though it holds nothing of ours */
	unsigned flying;    /* pieces that it holds */
	unsigned waiting;   /* messages that wait for their end, pieces of which it had */
	uint64_t moved_at;  /* it took a piece, or gave one back; ms */
	uint64_t rest;      /* how long it is left alone after a failure, ms; 0: it works */
	uint64_t until;     /* and until when */
};

/* Of a send. */
struct qv_striped {
	size_t low;        /* from here on the second transport once had it */
	unsigned flying;   /* pieces that it holds */
	uint64_t moved_at; /* as above, of this message */
};

struct qv_tx;
struct qv_peer;
struct qv_wire_pkt;

/* Would a message of this length to the peer be striped? */
static inline bool qv_stripe_takes(const struct qv_stripe *s, size_t len)
{
	return s->open && len >= QV_STRIPE_MIN;
}

/* Give the second transport as much as it takes. True: the first holds as much as it should, so that
 * what is left waits for whoever has room first. */
bool qv_stripe_give(struct qv_tx *tx);
/* The receiver has all of it: no more is sent. */
void qv_stripe_fin(struct qv_tx *tx);
/* It is over. */
void qv_stripe_over(struct qv_tx *tx);
/* The peer tells of its second transport. */
void qv_stripe_on_rail(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
/* What was lost there goes over the first; what does not come back is cut off. */
void qv_stripe_tick(struct qv_peer *peer, uint64_t now);

#endif /* QV_PROTO_STRIPE_H */
