/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged.h - a network in one process for messages that have a tag and two ends: it delivers when
 * it likes, in any order, is busy at times, and fails when told to. */
#ifndef QV_TAGGED_H
#define QV_TAGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QV_TAGGED_GROUPS 4
#define QV_TAGGED_RANKS  256

/* What a port begins with. */
struct qv_end {
	uint32_t group, rank;
};

/* To be set before it is used, and changed at any time. */
struct qv_tagged {
	/* A send or a receive is over: as many bytes as the message has. */
	void (*over)(struct qv_end at, uint32_t id, size_t bytes, int status);
	uint32_t busy; /* one call in so many is refused; 0: none is */
	bool exact;    /* receives are as long as their messages */
	bool empty;    /* messages may have no bytes */
	/* Sends may be over at once, and receives for which there is a message. Else the sender's
	 * memory is not looked at before the message is delivered. */
	bool early;
	bool refuse;         /* the next send fails */
	uint32_t fail_after; /* so many more messages until one end of one fails; 0: none does */
	/* This byte is changed in the next message that is sent and has it, counted from 1; 0:
	 * none is. */
	size_t spoil;
};

extern struct qv_tagged qv_tagged;

uint64_t qv_tagged_draw(uint64_t n);
void qv_tagged_seed(uint64_t seed);

/* The calls of a port. */
int qv_tagged_send(void *port, uint32_t id, uint32_t peer, uint32_t tag, const void *buf,
		   size_t bytes);
int qv_tagged_receive(void *port, uint32_t id, uint32_t peer, uint32_t tag, void *buf,
		      size_t bytes);
/* Some message that has both ends; false: there is none. */
bool qv_tagged_deliver(void);
/* Sends and receives under way. */
size_t qv_tagged_n(void);
/* Drop all that is under way. */
void qv_tagged_clear(void);

#endif /* QV_TAGGED_H */
