/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hops.h - schedules from the ways of blocks: what touches this rank, phase by phase; all blocks
 * that it sends to, or gets from, a rank in one phase are one message. Inside of engine/ only.
 */
#ifndef QV_HOPS_H
#define QV_HOPS_H

#include "engine/schedule/schedule.h"

/* A block that leaves or comes. Phases with the same bits above the 16th do not wait for each
 * other. */
struct qv_hop {
	uint32_t phase;
	uint32_t out;  /* 0: it comes; these are first */
	uint32_t turn; /* how far away the peer is, so that not all go to the same one at once */
	uint32_t peer, src, dst;
	int mine; /* it comes, and belongs to this rank */
};

/* Where blocks are that this rank has, or is to have. */
struct qv_place {
	uint32_t src, dst, slot;
};

struct qv_hops {
	struct qv_builder *b;
	int gather; /* a block goes to all that need it: dst plays no part */
	/* A rank's number among those that blocks come from, and go to; NULL: it is the rank. */
	uint32_t (*in_of)(void *context, uint32_t rank);
	uint32_t (*out_of)(void *context, uint32_t rank);
	void *context;
	struct qv_hop *hops;
	struct qv_place *places;
	size_t n, room, places_n;
	size_t known; /* places that are sorted: of blocks that can be sent on */
	int failed;
};

/* In any order; turn and mine are filled in. An allgather has dst all the same. */
void qv_hops_add(struct qv_hops *h, uint32_t phase, uint32_t from, uint32_t to, uint32_t src,
		 uint32_t dst);
/* Doubles are dropped before there are too many. */
void qv_hops_shrink(struct qv_hops *h);
/* Add the steps; hops and places are freed. */
void qv_hops_build(struct qv_hops *h);

#endif /* QV_HOPS_H */
