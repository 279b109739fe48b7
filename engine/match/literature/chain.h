/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chain.h - an ordered list of entries, oldest first, linked both ways through two words of the
 * entries; and the words that entries have in the structures made of such lists.
 *
 *   priv[QV_E_SEQ]   sequence number: order between lists
 *   priv[QV_E_HOME]  which list or table the entry is in, for its removal
 *   priv[QV_E_LINK]  next, previous; or the links of something else
 */
#ifndef QV_CHAIN_H
#define QV_CHAIN_H

#include "engine/match/auto/index.h"

enum { QV_E_SEQ, QV_E_HOME, QV_E_LINK };

struct qv_chain {
	uint64_t *head; /* oldest */
	uint64_t *tail;
};

typedef void qv_each_fn(void *ctx, uint64_t *e);

/* 1 if a was appended before b; right across the wrap of the sequence numbers. */
QV_INLINE int qv_older(const uint64_t *a, const uint64_t *b)
{
	return (int64_t)(a[QV_E_SEQ] - b[QV_E_SEQ]) < 0;
}

/* Of two entries, either of which may be NULL, the older. */
QV_INLINE uint64_t *qv_oldest(uint64_t *a, uint64_t *b)
{
	if (!a || !b)
		return a ? a : b;
	return qv_older(a, b) ? a : b;
}

/* In all calls, w is the word of the entries that holds `next`; the one after it, `previous`. */

QV_INLINE void qv_chain_append(struct qv_chain *c, uint64_t *e, unsigned int w)
{
	e[w] = 0;
	e[w + 1] = (uintptr_t)c->tail;
	if (c->tail)
		c->tail[w] = (uintptr_t)e;
	else
		c->head = e;
	c->tail = e;
}

QV_INLINE void qv_chain_remove(struct qv_chain *c, const uint64_t *e, unsigned int w)
{
	uint64_t *next = qv_entry(e[w]), *prev = qv_entry(e[w + 1]);

	if (prev)
		prev[w] = e[w];
	else
		c->head = next;
	if (next)
		next[w + 1] = e[w + 1];
	else
		c->tail = prev;
}

QV_INLINE void qv_chain_each(const struct qv_chain *c, unsigned int w, qv_each_fn *fn, void *ctx)
{
	for (uint64_t *e = c->head; e; e = qv_entry(e[w]))
		fn(ctx, e);
}

/*
 * The oldest receive that accepts (tag, src), or `best` if that is older or there is none: so the
 * lists that an answer may be in are searched one after the other, each only as far as it matters.
 * The first of them has no `best` to compare with, and often is the only one.
 */
QV_INLINE uint64_t *qv_chain_find_recv(const struct qv_chain *c, unsigned int w, uint64_t tag,
				       uint32_t src, uint64_t *best, uint64_t *seen)
{
	uint64_t n = 0, *found = NULL;

	for (uint64_t *e = c->head; e && !found; e = qv_entry(e[w])) {
		const struct qv_recv *r = qv_recv_of(e);

		if (best && qv_older(best, e))
			break;
		n++;
		if (qv_accepts(r->tag, r->ignore, r->src, tag, src))
			found = e;
	}
	*seen += n;
	return found ? found : best;
}

/* The same for the oldest message that (tag, ignore, src) accepts. */
QV_INLINE uint64_t *qv_chain_find_msg(const struct qv_chain *c, unsigned int w, uint64_t tag,
				      uint64_t ignore, uint32_t src, uint64_t *best, uint64_t *seen)
{
	uint64_t n = 0, *found = NULL;

	for (uint64_t *e = c->head; e && !found; e = qv_entry(e[w])) {
		const struct qv_msg *msg = qv_msg_of(e);

		if (best && qv_older(best, e))
			break;
		n++;
		if (qv_accepts(tag, ignore, src, msg->tag, msg->src))
			found = e;
	}
	*seen += n;
	return found ? found : best;
}

#endif /* QV_CHAIN_H */
