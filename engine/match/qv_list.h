/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_list.h - an ordered list of entries that is a chain (ll), a list of arrays (lla) or of vector
 * blocks (llv), as the user composed it: what the structures of several lists are made of.
 *
 * A list must stay at its address while it has entries: they point to it.
 */
#ifndef QV_LIST_H
#define QV_LIST_H

#include "match/qv_lla.h"

struct qv_list {
	uint32_t kind;  /* enum qv_list_kind */
	uint32_t count; /* entries */
	union {
		struct qv_chain ll;
		struct qv_lla lla;
		struct qv_vlist llv;
	};
};

/* An empty list of the kind that m's options ask for. Allocates nothing. */
void qv_list_init(struct qv_list *l, struct qv_match *m, enum qv_side side);

/* Forget all entries and give all memory back. */
void qv_list_clear(struct qv_list *l);

/* QV_ENOMEM: nothing changed. */
int qv_list_append(struct qv_list *l, uint64_t *e);

/* Remove e from the list that it is in. */
void qv_list_remove(uint64_t *e);

/* The oldest that matches, or `best` if that is older or there is none (see qv_chain.h). */
uint64_t *qv_list_find_recv(struct qv_list *l, uint64_t tag, uint32_t src, uint64_t *best,
			    uint64_t *seen);
uint64_t *qv_list_find_msg(struct qv_list *l, uint64_t tag, uint64_t ignore, uint32_t src,
			   uint64_t *best, uint64_t *seen);

/* Call fn for each entry, in order. */
void qv_list_each(const struct qv_list *l, qv_each_fn *fn, void *ctx);

#endif /* QV_LIST_H */
