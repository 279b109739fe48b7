/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.h - a hash index over the entries of one class: one ignore mask, source compared or not.
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

#include "engine/match/llv/vlist.h"
#include "tuning.h"

enum { QV_NEXT, QV_PEER, QV_BUCKET, QV_LINKS };

/* Where the links begin in a receive's priv words. In a message's it depends on the index. */
#define QV_RECV_LINKS 2

struct qv_index {
	uint64_t keep;      /* tag bits that are compared: the class's ~ignore */
	uint64_t *slots;    /* 1 << (64 - shift) of them; NULL: no table yet */
	uint64_t secret[2]; /* of the keyed hash */
	uint32_t src_keep;  /* UINT32_MAX: source compared, 0: not */
	union {
		uint32_t live;  /* posted: entries, where that is not the length of the queue */
		uint32_t steps; /* unexpected: of searches by narrower receives, halved in a tick */
	};
	uint64_t used; /* sequence number when it last served a search */
	/* Not bytes: stores to those might be seen as stores to anything. */
	uint16_t shift;
	uint16_t word;  /* the entry's priv word at which the links begin */
	uint16_t keyed; /* keyed hash: someone aims at one bucket */
	uint16_t quiet; /* ticks in a row without receives, or with few collisions */
	/* Unexpected: insertions since the last tick that met a bucket in use; ticks with few of
	 * them until that is believed; searches, of which one in QV_AVERAGED goes in a tick. */
	uint16_t collisions, quiet_needed, searches;
	/* Posted: -1: for receives of just this class. 0: narrower ones, which compare all that the
	 * index compares, go there, too. */
	int16_t strict;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct qv_index) == 64, "one cache line");

/* Set the class of an index that has no entries. */
static inline void qv_index_set_class(struct qv_index *ix, uint64_t ignore, int anysrc)
{
	ix->keep = ~ignore;
	ix->src_keep = anysrc ? 0 : UINT32_MAX;
	ix->strict = -1;
}

/* As qv_index_set_class; it shall have receives of narrower classes, too. */
static inline void qv_index_set_merged(struct qv_index *ix, uint64_t ignore, int anysrc)
{
	qv_index_set_class(ix, ignore, anysrc);
	ix->strict = 0;
}

/* Entries from now on: make room for n in all. QV_ENOMEM: the index is as before. */
int qv_index_reserve(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t n);

/* Entries from now on: make the table have so many slots at least. QV_ENOMEM: as before. */
int qv_index_widen(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t slots);

/* Give back a table that is far too large for n entries. */
void qv_index_shrink(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t n);

/* Change to the keyed hash with this secret. QV_ENOMEM: the index is as before. */
int qv_index_rekey(struct qv_index *ix, enum qv_side side, struct qv_mem *mem,
		   const uint64_t secret[2]);

/* Remove all entries and keep the table; give the table back. */
void qv_index_clear(struct qv_index *ix);
void qv_index_free(struct qv_index *ix, struct qv_mem *mem);

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
	/* The right side is UINT32_MAX for a source, 0 for any. */
	return (ix->keep == ~ignore) & (ix->src_keep == 0u - (src < QV_SRC_ANY));
}

/* Whether all that a receive (ignore, src) accepts has one key in ix. */
QV_INLINE int qv_index_covers(const struct qv_index *ix, uint64_t ignore, uint32_t src)
{
	return ((ignore & ix->keep) | (ix->src_keep & (0u - (src == QV_SRC_ANY)))) == 0;
}

/* The links of e in index ix. */
QV_INLINE uint64_t *qv_links(const struct qv_index *ix, enum qv_side side, uint64_t *e)
{
	return e + (side == QV_POSTED ? QV_RECV_LINKS : ix->word);
}

/* Both halves of the 128-bit product. */
QV_INLINE uint64_t qv_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 r = (unsigned __int128)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* The number of a key's slot, by the hash that is not keyed. */
QV_INLINE uint64_t qv_index_quick_place(const struct qv_index *ix, uint64_t tag, uint32_t src)
{
	uint64_t hash = (tag & ix->keep) * QV_MUL_TAG + (src & ix->src_keep) * QV_MUL_SRC;

	return hash >> ix->shift;
}

QV_INLINE uint64_t *qv_index_quick_slot(const struct qv_index *ix, uint64_t tag, uint32_t src)
{
	return ix->slots + qv_index_quick_place(ix, tag, src);
}

/* The slot of a key. */
QV_INLINE uint64_t *qv_index_slot(const struct qv_index *ix, uint64_t tag, uint32_t src)
{
	uint64_t t = tag & ix->keep, s = src & ix->src_keep;

	if (QV_LIKELY(!ix->keyed))
		return qv_index_quick_slot(ix, tag, src);
	t = qv_mix(t ^ ix->secret[0], s ^ ix->secret[1]);
	return ix->slots + (qv_mix(t ^ ix->secret[1], ix->secret[0]) >> ix->shift);
}

QV_INLINE int qv_index_same(const struct qv_index *ix, enum qv_side side, const uint64_t *e,
			    uint64_t tag, uint32_t src)
{
	return (((qv_key_tag(side, e) ^ tag) & ix->keep) |
		((qv_key_src(side, e) ^ src) & ix->src_keep)) == 0;
}

/*
 * In the bucket that begins at *link, find the head of the key's list, or NULL. *at becomes the
 * word that points to it; *rejected grows by the entries that were compared and did not fit.
 */
QV_INLINE uint64_t *qv_index_follow(const struct qv_index *ix, enum qv_side side, uint64_t *link,
				    uint64_t tag, uint32_t src, uint64_t **at, uint64_t *rejected)
{
	uint64_t *e = qv_entry(*link);

	while (e && QV_UNLIKELY(!qv_index_same(ix, side, e, tag, src))) {
		++*rejected;
		link = &qv_links(ix, side, e)[QV_BUCKET];
		e = qv_entry(*link);
	}
	*at = link;
	return e;
}

/* As qv_index_follow, from the key's own bucket. */
QV_INLINE uint64_t *qv_index_find(const struct qv_index *ix, enum qv_side side, uint64_t tag,
				  uint32_t src, uint64_t **at, uint64_t *rejected)
{
	return qv_index_follow(ix, side, qv_index_slot(ix, tag, src), tag, src, at, rejected);
}

/* Remove the head e that *link points to. */
QV_INLINE void qv_index_pop(const struct qv_index *ix, enum qv_side side, uint64_t *link,
			    uint64_t *e)
{
	uint64_t *l = qv_links(ix, side, e);
	uint64_t bucket = l[QV_BUCKET];

	if (QV_UNLIKELY(l[QV_NEXT] != 0)) {
		uint64_t *next = qv_links(ix, side, qv_entry(l[QV_NEXT]));

		next[QV_PEER] = l[QV_PEER];
		next[QV_BUCKET] = bucket;
		bucket = l[QV_NEXT];
	}
	*link = bucket;
}

/* e, whose links are at l, becomes the head of a new list at *slot, the empty end of a bucket. */
QV_INLINE void qv_index_fill_links(uint64_t *slot, uint64_t *e, uint64_t *l)
{
	l[QV_NEXT] = 0;
	l[QV_PEER] = (uintptr_t)e;
	l[QV_BUCKET] = 0;
	*slot = (uintptr_t)e;
}

/* Append e to the list of its key that begins with head. */
QV_INLINE void qv_index_join(const struct qv_index *ix, enum qv_side side, uint64_t *head,
			     uint64_t *e)
{
	uint64_t *l = qv_links(ix, side, e), *hl = qv_links(ix, side, head);

	l[QV_NEXT] = 0;
	l[QV_PEER] = hl[QV_PEER];
	qv_links(ix, side, qv_entry(l[QV_PEER]))[QV_NEXT] = (uintptr_t)e;
	hl[QV_PEER] = (uintptr_t)e;
}

/*
 * Append e to its key's list, in the bucket that begins at *link; it becomes a head if it is alone.
 * Returns the heads looked at.
 */
QV_INLINE uint32_t qv_index_insert_at(const struct qv_index *ix, enum qv_side side, uint64_t *link,
				      uint64_t *e)
{
	uint32_t seen = 0;

	for (uint64_t word; QV_UNLIKELY((word = *link) != 0);) {
		uint64_t *head = qv_entry(word);

		seen++;
		if (qv_index_same(ix, side, head, qv_key_tag(side, e), qv_key_src(side, e))) {
			qv_index_join(ix, side, head, e);
			return seen;
		}
		link = &qv_links(ix, side, head)[QV_BUCKET];
	}
	qv_index_fill_links(link, e, qv_links(ix, side, e));
	return seen;
}

/* The slot of entry e. */
QV_INLINE uint64_t *qv_index_slot_of(const struct qv_index *ix, enum qv_side side,
				     const uint64_t *e)
{
	return qv_index_slot(ix, qv_key_tag(side, e), qv_key_src(side, e));
}

/* The slot of entry e, by the hash that is not keyed. */
QV_INLINE uint64_t *qv_index_quick_slot_of(const struct qv_index *ix, enum qv_side side,
					   const uint64_t *e)
{
	return qv_index_quick_slot(ix, qv_key_tag(side, e), qv_key_src(side, e));
}

/* The end of qv_index_remove: e is the head of its list, in the bucket that begins at *link. */
QV_INLINE void qv_index_remove_head(const struct qv_index *ix, enum qv_side side, uint64_t *link,
				    uint64_t *e)
{
	while (*link != (uintptr_t)e)
		link = &qv_links(ix, side, qv_entry(*link))[QV_BUCKET];
	qv_index_pop(ix, side, link, e);
}

/* The end of qv_index_remove: e is the last of its list, whose head must know the one before. */
QV_INLINE void qv_index_remove_last(const struct qv_index *ix, enum qv_side side, uint64_t *link,
				    uint64_t *e)
{
	while (!qv_index_same(ix, side, qv_entry(*link), qv_key_tag(side, e), qv_key_src(side, e)))
		link = &qv_links(ix, side, qv_entry(*link))[QV_BUCKET];
	qv_links(ix, side, qv_entry(*link))[QV_PEER] = qv_links(ix, side, e)[QV_PEER];
}

/* Remove entry e, wherever in its list it stands. keyed: 0 if the index is known not to be. */
QV_INLINE void qv_index_remove(const struct qv_index *ix, enum qv_side side, int keyed, uint64_t *e)
{
	uint64_t *l = qv_links(ix, side, e);
	uint64_t *peer = qv_links(ix, side, qv_entry(l[QV_PEER]));
	int is_head = peer[QV_NEXT] != (uintptr_t)e;
	uint64_t *slot;

	if (!is_head) {
		peer[QV_NEXT] = l[QV_NEXT];
		if (l[QV_NEXT]) {
			qv_links(ix, side, qv_entry(l[QV_NEXT]))[QV_PEER] = l[QV_PEER];
			return;
		}
	}
	slot = keyed ? qv_index_slot_of(ix, side, e) : qv_index_quick_slot_of(ix, side, e);
	if (is_head)
		qv_index_remove_head(ix, side, slot, e);
	else
		qv_index_remove_last(ix, side, slot, e);
}

#endif /* QV_INDEX_H */
