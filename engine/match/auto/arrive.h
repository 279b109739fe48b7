/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arrive.h - structure "auto": a message arrives, the posted queue is not empty: the ways
 * to find its receive that call nothing.
 */
#ifndef QV_AUTO_ARRIVE_H
#define QV_AUTO_ARRIVE_H

#include "path.h"

/* LIST: what a walk finds. What costs more is far. */
QV_INLINE enum qv_short arrive_list(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv)
{
	uint32_t n = qv_line_len(q), pos = 0;
	struct qv_recv *r;

	if (qv_unlikely(qv_line_in_debt(q)))
		return QV_SHORT_FAR;
	for (; pos < n; pos++) {
		if (recv_fits(qv_line_at(q, pos), tag, src))
			break;
		if (qv_unlikely(pos == QV_WALK_MAX))
			return QV_SHORT_FAR;
	}
	if (pos == n) {
		qv_line_walked(q, pos);
		return QV_SHORT_MISS;
	}
	r = qv_recv_of(qv_line_at(q, pos));
	if (qv_unlikely(r->flags & QV_RECV_STICKY))
		return QV_SHORT_FAR;
	qv_line_walked(q, pos);
	qv_ring_take(q, pos);
	*recv = r;
	return QV_SHORT_HIT;
}

/* The receive at e, the head that *link points to in ix, is the answer. */
QV_INLINE enum qv_short arrive_head(struct qv_line *q, struct qv_index *ix, uint64_t *link,
				    uint64_t *e, struct qv_recv **recv)
{
	qv_index_pop(ix, QV_POSTED, link, e);
	ix->live--; /* of no meaning if it is the only one */
	*recv = qv_recv_of(e);
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

/* Several classes. Mostly no more than one has anything in the key's bucket: no
 * branch asks which. */
QV_INLINE enum qv_short arrive_classes(struct qv_line *q, uint64_t tag, uint32_t src,
				       struct qv_recv **recv)
{
	uint64_t src_hash = src * QV_MUL_SRC;
	uintptr_t word = 0, link = 0, owner = 0;
	uint32_t buckets = 0;

	if (qv_unlikely(q->active & QV_UNUSUAL))
		return QV_SHORT_FAR;
	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];
		uint64_t keep = (uint64_t)(int32_t)ix->src_keep;
		uint64_t hash = (tag & ix->keep) * QV_MUL_TAG + (src_hash & keep);
		uint64_t *slot = ix->slots + (hash >> ix->shift);
		uintptr_t used = 0 - (uintptr_t)(*slot != 0);

		word |= *slot;
		link |= (uintptr_t)slot & used;
		owner |= (uintptr_t)ix & used;
		buckets -= (uint32_t)used;
	}
	if (!buckets)
		return QV_SHORT_MISS;
	if (buckets > 1 || !recv_takes(qv_entry(word), tag, src))
		return q->wide ? QV_SHORT_FAR : QV_SHORT_BUCKET;
	return arrive_head(q, (struct qv_index *)owner, qv_entry(link), qv_entry(word), recv);
}

/* The same for two. */
QV_INLINE enum qv_short arrive_pair(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv)
{
	struct qv_index *first = q->in_use[0], *second = q->in_use[1];
	uint64_t *slot1 = qv_index_weak_slot(first, tag, src);
	uint64_t *slot2 = qv_index_weak_slot(second, tag, src);
	uintptr_t is_second = 0 - (uintptr_t)(*slot1 == 0);
	uintptr_t ix = (uintptr_t)first ^ (((uintptr_t)first ^ (uintptr_t)second) & is_second);
	uintptr_t link = (uintptr_t)slot1 ^ (((uintptr_t)slot1 ^ (uintptr_t)slot2) & is_second);
	uint64_t word = *slot1 | *slot2;

	if (!word)
		return QV_SHORT_MISS;
	if (*slot2 & ~is_second || /* both */
	    !recv_takes(qv_entry(word), tag, src))
		return QV_SHORT_BUCKET;
	return arrive_head(q, (struct qv_index *)ix, qv_entry(link), qv_entry(word), recv);
}

/* Several classes, most receives of one: mostly a message is for these, and the others have nothing
 * in the way. *slot is its bucket there; others: what the others have in the key's. */
QV_INLINE enum qv_short arrive_main(struct qv_line *q, uint64_t tag, uint32_t src, uint64_t *slot,
				    uint64_t others, struct qv_recv **recv)
{
	uint64_t *e = qv_entry(*slot);

	if (qv_unlikely(others || !e || !only_same(q, QV_POSTED, e, tag, src)))
		return others || e ? QV_SHORT_BUCKET : QV_SHORT_MISS;
	if (qv_unlikely(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return QV_SHORT_FAR;
	return arrive_head(q, q->in_use[0], slot, e, recv);
}

/* The same for two. */
QV_INLINE enum qv_short arrive_main_pair(struct qv_line *q, uint64_t tag, uint32_t src,
					 struct qv_recv **recv)
{
	uint64_t *slot = only_slot(q, tag, src);

	return arrive_main(q, tag, src, slot, *qv_index_weak_slot(q->in_use[1], tag, src), recv);
}

QV_INLINE enum qv_short arrive_main_many(struct qv_line *q, uint64_t tag, uint32_t src,
					 struct qv_recv **recv)
{
	uint64_t *slot = only_slot(q, tag, src), others = 0;

	for (uint32_t i = 1; i < q->n_in_use; i++)
		others |= *qv_index_weak_slot(q->in_use[i], tag, src);
	return arrive_main(q, tag, src, slot, others, recv);
}

/* One index, of one class: the key's bucket, which begins at *link and is not empty, if its first
 * entry has the key, as where many receives share one. Far: look at the rest. */
QV_INLINE enum qv_short arrive_first(struct qv_line *q, uint64_t tag, uint32_t src, uint64_t *link,
				     struct qv_recv **recv)
{
	uint64_t *e = qv_entry(*link);

	if (!only_same(q, QV_POSTED, e, tag, src) || qv_recv_of(e)->flags & QV_RECV_STICKY)
		return QV_SHORT_FAR;
	qv_index_pop(q->only, QV_POSTED, link, e);
	*recv = qv_recv_of(e);
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

/* The rest of it. */
QV_INLINE enum qv_short arrive_bucket(struct qv_line *q, uint64_t tag, uint32_t src, uint64_t *link,
				      struct qv_recv **recv)
{
	uint64_t *e = qv_entry(*link);

	for (; !only_same(q, QV_POSTED, e, tag, src); e = qv_entry(*link)) {
		q->rejected++;
		link = &e[QV_RECV_LINKS + QV_BUCKET];
		if (!*link)
			return QV_SHORT_MISS;
	}
	return arrive_first(q, tag, src, link, recv);
}

/* One index. */
QV_INLINE enum qv_short arrive_wide(struct qv_line *q, uint64_t tag, uint32_t src,
				    struct qv_recv **recv)
{
	struct qv_index *ix = q->only;
	uint64_t *link = qv_index_weak_slot(ix, tag, src), *e;

	for (; (e = qv_entry(*link)); link = &e[QV_RECV_LINKS + QV_BUCKET]) {
		if (qv_likely(recv_takes(e, tag, src)))
			return arrive_head(q, ix, link, e, recv);
		if (q->wide || qv_index_same(ix, QV_POSTED, e, tag, src))
			return QV_SHORT_FAR;
		q->rejected++;
	}
	return QV_SHORT_MISS;
}

/* Whether receive e takes the message, and leaves the queue: recv_takes reads source and flags in
 * one, which has to wait if they have just been written. */
QV_INLINE int guess_takes(const uint64_t *e, uint64_t tag, uint32_t src)
{
	const struct qv_recv *r = qv_recv_of(e);
	uint32_t named = 0u - (r->src != QV_SRC_ANY);

	return (((r->tag ^ tag) & ~r->ignore) | ((r->src ^ src) & named) | r->flags) == 0;
}

/* The head e, which *link points to, is the answer. */
QV_INLINE enum qv_short arrive_guess(struct qv_line *q, uint64_t *link, uint64_t *e,
				     struct qv_recv **recv)
{
	uint64_t *l = e + QV_RECV_LINKS, *next = qv_entry(l[QV_NEXT]);

	q->guess = next;
	if (qv_likely(next != NULL)) {
		/* In this order the two stores to it do not become one of a vector, which would
		 * have to wait for both. */
		next[QV_RECV_LINKS + QV_PEER] = l[QV_PEER];
		*link = (uintptr_t)next;
		next[QV_RECV_LINKS + QV_BUCKET] = l[QV_BUCKET];
	} else {
		*link = l[QV_BUCKET];
	}
	*recv = qv_recv_of(e);
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

/* A stream: nothing that is loaded depends on the message, which may be in no near cache yet. Far:
 * it is another's. */
QV_INLINE enum qv_short arrive_stream(struct qv_line *q, uint64_t tag, uint32_t src,
				      struct qv_recv **recv)
{
	if (qv_unlikely(!q->guess || !guess_takes(q->guess, tag, src)))
		return QV_SHORT_FAR;
	return arrive_guess(q, q->guess_link, q->guess, recv);
}

/* The same where the guess was wrong. */
QV_INLINE enum qv_short arrive_stray(struct qv_line *q, uint64_t tag, uint32_t src,
				     struct qv_recv **recv)
{
	uint64_t *link, *e;

	q->strays++;
	e = qv_index_find(q->only, QV_POSTED, tag, src, &link, &q->rejected);
	if (!e)
		return QV_SHORT_MISS;
	if (qv_unlikely(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return QV_SHORT_FAR;
	q->guess_link = link;
	return arrive_guess(q, link, e, recv);
}

/* What an empty bucket has instead of an entry: hardly any message has its key. */
static const struct qv_recv nothing = {.tag = UINT64_MAX};

/* What the heads of the key's buckets say. */
struct heads {
	uintptr_t link, ix; /* of the one that has the key; of no meaning if fit is not 1 */
	uint64_t fit, met;
	uint64_t more; /* not 0: there may be others behind those that do not fit */
};

/* Whether a bucket is empty and whether its head has the key come as they like, and so no branch
 * asks that. */
QV_INLINE void look_at_head(struct heads *h, struct qv_index *ix, uint64_t tag, uint32_t src)
{
	uint64_t *slot = qv_index_weak_slot(ix, tag, src), word = *slot, other, fits;
	uint64_t empty = 0 - (uint64_t)(word == 0);
	const uint64_t *e;

	word |= (uintptr_t)nothing.priv & empty;
	h->met += 1 + empty;
	e = qv_entry(word);
	other = ((qv_key_tag(QV_POSTED, e) ^ tag) & ix->keep) |
		((qv_key_src(QV_POSTED, e) ^ src) & ix->src_keep);
	fits = 0 - (uint64_t)(other == 0);
	h->link |= (uintptr_t)slot & fits;
	h->ix |= (uintptr_t)ix & fits;
	h->fit -= fits;
	h->more |= e[QV_RECV_LINKS + QV_BUCKET] & ~fits;
}

/* Far: only a longer search can say. */
QV_INLINE enum qv_short arrive_heads(struct qv_line *q, uint64_t tag, uint32_t src,
				     struct qv_recv **recv)
{
	struct heads h = {0};
	uint64_t *e;

	for (uint32_t i = 0; i < q->n_in_use; i++)
		look_at_head(&h, q->in_use[i], tag, src);
	q->contested += h.met > 1;
	if (qv_unlikely(h.more || h.fit != 1))
		return QV_SHORT_FAR;
	e = qv_entry(*qv_entry(h.link));
	if (qv_unlikely(!e || qv_recv_of(e)->flags & QV_RECV_STICKY))
		return QV_SHORT_FAR;
	q->rejected += h.met - 1;
	*recv = qv_recv_of(e);
	qv_index_pop((struct qv_index *)h.ix, QV_POSTED, qv_entry(h.link), e);
	((struct qv_index *)h.ix)->live--;
	return qv_unlikely(++q->head == q->tail) ? QV_SHORT_LAST : QV_SHORT_HIT;
}

#endif /* QV_AUTO_ARRIVE_H */
