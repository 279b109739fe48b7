/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_index.h - a hash index over the entries of one class: one ignore mask, source compared or not.
 *
 * All entries whose compared bits are equal (the same key) form a list, oldest first; the oldest,
 * the head, hangs in a bucket. Whatever of this class is accepted has one key, so the head of that
 * key's list is the answer, and a match always takes a head.
 *
 *   slots[hash >> shift] -> head A -BUCKET-> head B -BUCKET-> 0      different keys, same bucket
 *                             |NEXT             |NEXT
 *                           entry             entry                 same key, younger
 *                             |NEXT             0
 *                           entry
 *
 * The links are three words of the entry: NEXT; PEER = the previous entry of the list, or in a head
 * the last one (itself if alone); BUCKET, valid in a head only. An entry is a head if its PEER's
 * NEXT is not itself.
 */
#ifndef QV_INDEX_H
#define QV_INDEX_H

#include "match/qv_vlist.h"

enum { QV_NEXT, QV_PEER, QV_BUCKET, QV_LINKS };

struct qv_index {
	uint64_t keep;             /* tag bits that are compared: the class's ~ignore */
	uint64_t *slots;           /* 1 << (64 - shift) of them; NULL: no table yet */
	uint64_t mul_tag, mul_src; /* of the hash, or its secret when strong */
	uint32_t src_keep;         /* UINT32_MAX: source compared, 0: not */
	uint32_t live;             /* entries */
	uint64_t used;             /* sequence number when it last served a search */
	uint32_t debt;             /* steps of searches by narrower receives */
	uint8_t shift;
	uint8_t word;   /* the entry's priv word at which the three links begin */
	uint8_t strong; /* keyed hash: someone aims at one bucket */
};

/* A bucket with more keys than this is no accident while the table has room. */
#define QV_BUCKET_MAX 16

/* Set the class of an index that has no entries. */
static inline void qv_index_set_class(struct qv_index *ix, uint64_t ignore, int anysrc)
{
	ix->keep = ~ignore;
	ix->src_keep = anysrc ? 0 : UINT32_MAX;
}

/* Entries from now on: make room for n in all. QV_ENOMEM: the index is as before. */
int qv_index_reserve(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t n);

/* Give back a table that is far too large for n entries. */
void qv_index_shrink(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t n);

/* Change to the keyed hash with this secret. QV_ENOMEM: the index is as before. */
int qv_index_harden(struct qv_index *ix, enum qv_side side, struct qv_mem *mem,
		    const uint64_t secret[2]);

/* Forget all entries; keeps the table. */
void qv_index_clear(struct qv_index *ix);

/* Give the table back. */
void qv_index_free(struct qv_index *ix, struct qv_mem *mem);

/* Call fn for each entry, in no order. */
void qv_index_each(const struct qv_index *ix, void (*fn)(void *ctx, uint64_t *e), void *ctx);

static inline uint32_t qv_index_slots(const struct qv_index *ix)
{
	return ix->slots ? (uint32_t)1 << (64 - ix->shift) : 0;
}

QV_INLINE uint64_t qv_key_tag(enum qv_side side, const uint64_t *e)
{
	return side == QV_POSTED ? qv_recv_of(e)->tag : qv_msg_of(e)->tag;
}

QV_INLINE uint32_t qv_key_src(enum qv_side side, const uint64_t *e)
{
	return side == QV_POSTED ? qv_recv_of(e)->src : qv_msg_of(e)->src;
}

QV_INLINE int qv_index_is_class(const struct qv_index *ix, uint64_t ignore, uint32_t src)
{
	return ix->keep == ~ignore && (ix->src_keep == 0) == (src == QV_SRC_ANY);
}

/* Both halves of the 128-bit product. */
QV_INLINE uint64_t qv_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 r = (unsigned __int128)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/*
 * The slot of a key. Multiply-shift with multipliers of the two-dimensional R2 sequence spreads
 * runs and grids of tags and sources, what programs use, better than a random function would.
 */
QV_INLINE uint64_t *qv_index_slot(const struct qv_index *ix, uint64_t tag, uint32_t src)
{
	uint64_t t = tag & ix->keep, s = src & ix->src_keep, h;

	if (qv_unlikely(ix->strong))
		h = qv_mix(qv_mix(t ^ ix->mul_tag, s ^ ix->mul_src) ^ ix->mul_src, ix->mul_tag);
	else
		h = t * ix->mul_tag + s * ix->mul_src;
	return ix->slots + (h >> ix->shift);
}

QV_INLINE int qv_index_same(const struct qv_index *ix, enum qv_side side, const uint64_t *e,
			    uint64_t tag, uint32_t src)
{
	return (((qv_key_tag(side, e) ^ tag) & ix->keep) |
		((qv_key_src(side, e) ^ src) & ix->src_keep)) == 0;
}

/*
 * The word that points to the head of the key's list; if there is none, NULL. *seen grows by the
 * entries compared.
 */
QV_INLINE uint64_t *qv_index_find(const struct qv_index *ix, enum qv_side side, uint64_t tag,
				  uint32_t src, uint64_t *seen)
{
	uint64_t *link = qv_index_slot(ix, tag, src);

	while (*link) {
		uint64_t *e = qv_entry(*link);

		++*seen;
		if (qv_likely(qv_index_same(ix, side, e, tag, src)))
			return link;
		link = &e[ix->word + QV_BUCKET];
	}
	return NULL;
}

/* Remove the head that *link points to. */
QV_INLINE void qv_index_pop(const struct qv_index *ix, uint64_t *link)
{
	uint64_t *l = qv_entry(*link) + ix->word;
	uint64_t bucket = l[QV_BUCKET];

	if (qv_unlikely(l[QV_NEXT] != 0)) {
		uint64_t *next = qv_entry(l[QV_NEXT]) + ix->word;

		next[QV_PEER] = l[QV_PEER];
		next[QV_BUCKET] = bucket;
		bucket = l[QV_NEXT];
	}
	*link = bucket;
}

/* Append e to its key's list, making it a head if it is alone. Returns the heads looked at. */
QV_INLINE uint32_t qv_index_insert(struct qv_index *ix, enum qv_side side, uint64_t *e)
{
	uint64_t tag = qv_key_tag(side, e);
	uint32_t src = qv_key_src(side, e), seen = 0;
	uint64_t *link = qv_index_slot(ix, tag, src), *l = e + ix->word;

	l[QV_NEXT] = 0;
	while (qv_unlikely(*link != 0)) {
		uint64_t *head = qv_entry(*link);

		seen++;
		if (qv_index_same(ix, side, head, tag, src)) {
			l[QV_PEER] = head[ix->word + QV_PEER];
			qv_entry(l[QV_PEER])[ix->word + QV_NEXT] = (uintptr_t)e;
			head[ix->word + QV_PEER] = (uintptr_t)e;
			return seen;
		}
		link = &head[ix->word + QV_BUCKET];
	}
	l[QV_PEER] = (uintptr_t)e;
	l[QV_BUCKET] = 0;
	*link = (uintptr_t)e;
	return seen;
}

/* Remove entry e, wherever in its list it stands. *seen as in qv_index_find. */
QV_INLINE void qv_index_remove(struct qv_index *ix, enum qv_side side, const uint64_t *e,
			       uint64_t *seen)
{
	const uint64_t *l = e + ix->word;
	uint64_t *peer = qv_entry(l[QV_PEER]) + ix->word;
	int is_head = peer[QV_NEXT] != (uintptr_t)e;
	uint64_t *link;

	if (!is_head && l[QV_NEXT]) {
		peer[QV_NEXT] = l[QV_NEXT];
		qv_entry(l[QV_NEXT])[ix->word + QV_PEER] = l[QV_PEER];
		return;
	}
	link = qv_index_find(ix, side, qv_key_tag(side, e), qv_key_src(side, e), seen);
	if (is_head) {
		qv_index_pop(ix, link);
	} else {
		peer[QV_NEXT] = 0;
		qv_entry(*link)[ix->word + QV_PEER] = l[QV_PEER];
	}
}

#endif /* QV_INDEX_H */
