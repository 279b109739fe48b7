/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - numbered messages between two ranks while something goes wrong, and a judge of what
 * became of them: nothing is lost without a word.
 *
 * The rule, for each direction:
 * - every send ends, with or without an error, and nothing stands still for FT_STILL seconds;
 * - what is received is whole, comes once and in the order in which it was sent;
 * - what a send with FI_DELIVERY_COMPLETE says was delivered is received;
 * - if a message that was sent is missing, the sender was told of an error (of this message, or of
 *   another one to the same peer: libfabric lets a send complete before it arrives), and so was the
 *   receiver: a receive of this stream failed, or what it sends to that peer afterwards fails;
 * - if nobody was told anything, nothing is missing.
 */
#ifndef FT_STREAM_H
#define FT_STREAM_H

#include "ft.h"

enum {
	FT_STILL = 12,        /* seconds, times QV_TEST_TIMEOUT */
	FT_STREAM_MOST = 4096 /* messages: as many as ft_shared has outcomes for */
};

/* Words, one for each rank: all its sends have ended; a send, a receive ended in an error. */
enum { FT_WORD_SENT = 40, FT_WORD_TOLD_TX = 48, FT_WORD_TOLD_RX = 56 };

enum ft_outcome { FT_UNSENT, FT_SENT, FT_FAILED };

struct ft_slot;
struct ft_stream {
	struct ft_ep *ep;
	int other;             /* rank */
	size_t n, len, window; /* len: 8 at least */
	bool sends, receives;  /* this rank */
	bool lockstep;         /* one message at a time: message i answers message i */
	bool multi;            /* into large buffers; the endpoint has FI_MULTI_RECV */
	bool delivery;         /* the endpoint sends with FI_DELIVERY_COMPLETE */
	double late;           /* seconds until the first receive is posted */
	void (*step)(struct ft_stream *s, void *arg); /* called again and again; may be NULL */
	void *arg;
	/* how far it is */
	double start, moved;       /* when it began; when something ended last */
	size_t next, sent, failed; /* sends: begun; ended well; ended in an error */
	size_t posted, received;   /* receives */
	size_t recv_failed;
	uint64_t *place; /* of message i: 1 + where the order of receives put it */
	struct ft_slot *tx, *rx;
};

/* All ranks of the stream call it. Returns when all has ended, and was judged; false: somebody was
 * told of an error. */
bool ft_stream(struct ft_stream *s);
/* What this rank received, when both have ended. Fails the case. */
void ft_stream_judge(struct ft_stream *s);
/* Messages go there and back: now, or after errors that tell of what was. */
void ft_stream_works(struct ft_ep *ep, int other);

#endif /* FT_STREAM_H */
