/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.h - both ends of one ring in one process, with pages around it that nobody may touch. */
#ifndef QV_PAIR_H
#define QV_PAIR_H

#include "guest.h"

struct pair {
	struct qv_ring *ring;
	struct qv_ring_tx tx;
	struct qv_ring_rx rx;
	uint32_t sent, got; /* packets */
	uint32_t len[256];  /* of each that is under way, by its number */
};

/* The ring has grown. */
void pair_open(struct pair *p);
/* It has not, and nothing has touched it. */
void pair_open_small(struct pair *p);
void pair_close(struct pair *p);
/* A ring that has grown, as if so many packets and bytes of the staging area had gone through it. */
void pair_begin_at(struct pair *p, uint32_t number, uint32_t staged);
/* One that has not grown. */
void pair_begin_small(struct pair *p, uint32_t number, uint32_t staged);
/* False: there is no room. */
bool pair_send(struct pair *p, uint32_t len);
/* False: there is nothing. What comes is what was sent. */
bool pair_receive(struct pair *p);
/* All that is under way. */
void pair_receive_all(struct pair *p);

#endif /* QV_PAIR_H */
