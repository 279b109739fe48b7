/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - an ordered list of entries that is a chain (ll), a list of arrays (lla) or of vector
 * blocks (llv), as the user composed it: what the structures of several lists are made of.
 *
 * A list must stay at its address while it has entries: they point to it.
 */
#ifndef QV_LIST_H
#define QV_LIST_H

#include "lla.h"

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

/* The calls below for a list of blocks; a chain is handled in line. */
int qv_list_append_block(struct qv_list *l, uint64_t *e);
void qv_list_remove_block(struct qv_list *l, uint64_t *e);
uint64_t *qv_list_find_recv_block(struct qv_list *l, uint64_t tag, uint32_t src, uint64_t *best,
				  uint64_t *seen);
uint64_t *qv_list_find_msg_block(struct qv_list *l, uint64_t tag, uint64_t ignore, uint32_t src,
				 uint64_t *best, uint64_t *seen);

/* QV_ENOMEM: nothing changed. */
QV_INLINE int qv_list_append(struct qv_list *l, uint64_t *e)
{
	if (QV_UNLIKELY(l->kind != QV_LIST_LL)) {
		if (qv_list_append_block(l, e))
			return QV_ENOMEM;
	} else {
		qv_chain_append(&l->ll, e, QV_E_LINK);
	}
	e[QV_E_HOME] = (uintptr_t)l;
	l->count++;
	return QV_OK;
}

/* Remove e from the list that it is in. */
QV_INLINE void qv_list_remove(uint64_t *e)
{
	struct qv_list *l = (struct qv_list *)qv_entry(e[QV_E_HOME]);

	l->count--;
	if (QV_UNLIKELY(l->kind != QV_LIST_LL))
		qv_list_remove_block(l, e);
	else
		qv_chain_remove(&l->ll, e, QV_E_LINK);
}

/* The oldest that matches, or `best` if that is older or there is none (see chain.h). */
QV_INLINE uint64_t *qv_list_find_recv(struct qv_list *l, uint64_t tag, uint32_t src, uint64_t *best,
				      uint64_t *seen)
{
	if (QV_UNLIKELY(l->kind != QV_LIST_LL))
		return qv_list_find_recv_block(l, tag, src, best, seen);
	if (!best)
		return qv_chain_find_recv(&l->ll, QV_E_LINK, tag, src, NULL, seen);
	return qv_chain_find_recv(&l->ll, QV_E_LINK, tag, src, best, seen);
}

QV_INLINE uint64_t *qv_list_find_msg(struct qv_list *l, uint64_t tag, uint64_t ignore, uint32_t src,
				     uint64_t *best, uint64_t *seen)
{
	if (QV_UNLIKELY(l->kind != QV_LIST_LL))
		return qv_list_find_msg_block(l, tag, ignore, src, best, seen);
	if (!best)
		return qv_chain_find_msg(&l->ll, QV_E_LINK, tag, ignore, src, NULL, seen);
	return qv_chain_find_msg(&l->ll, QV_E_LINK, tag, ignore, src, best, seen);
}

/* Call fn for each entry, in order. */
void qv_list_each(const struct qv_list *l, qv_each_fn *fn, void *ctx);

#endif /* QV_LIST_H */
