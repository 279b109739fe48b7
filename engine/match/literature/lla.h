/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lla.h - a linked list of arrays: entries in order of arrival, a few to a block, each with a
 * copy of what is compared, so that a search reads the blocks and no entry.
 *
 *   block   next prev head tail | [key mark entry] [key mark entry] ... `room` of them
 *                      |     \_ one past the last occupied slot
 *                      \_ first occupied slot
 *
 * Entries are appended at the tail of the last block only. One that leaves from between head and
 * tail leaves a hole, which is passed over and never filled: so slot order is order of arrival. An
 * empty block is given back, but for the only one and one in reserve.
 */
#ifndef QV_LLA_H
#define QV_LLA_H

#include "chain.h"

struct qv_lla_block {
	struct qv_lla_block *next, *prev;
	uint32_t head, tail;
	char slots[];
};

struct qv_lla {
	struct qv_lla_block *first, *last;
	struct qv_lla_block *spare;
	struct qv_mem *mem;
	uint32_t room; /* slots of a block */
	uint32_t side; /* enum qv_side */
};

/* An empty list of blocks of `room` entries; 0: two cache lines. Allocates nothing. */
void qv_lla_init(struct qv_lla *l, struct qv_mem *mem, enum qv_side side, uint32_t room);

/* Forget all entries and give all memory back. */
void qv_lla_clear(struct qv_lla *l);

/* The list's words in an entry are QV_E_LINK (block) and the next (slot). QV_ENOMEM: no change. */
int qv_lla_append(struct qv_lla *l, uint64_t *e);
void qv_lla_remove(struct qv_lla *l, const uint64_t *e);

/* The oldest that matches, or NULL; *seen grows by the entries compared. */
uint64_t *qv_lla_find_recv(const struct qv_lla *l, uint64_t tag, uint32_t src, uint64_t *seen);
uint64_t *qv_lla_find_msg(const struct qv_lla *l, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen);

/* Call fn for each entry, in order. */
void qv_lla_each(const struct qv_lla *l, qv_each_fn *fn, void *ctx);

/* The oldest entry, or NULL. */
uint64_t *qv_lla_first(const struct qv_lla *l);

#endif /* QV_LLA_H */
