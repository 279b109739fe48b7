/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_vlist_find.c - search in a list of vector blocks: the oldest entry that is accepted. */
#include "match/qv_vlist.h"

/* Entries that are compared in one vector step by the widest kernel. */
#define STEP 8u

/* What is looked for: a message (receives are searched) or a receive (messages are). */
struct probe {
	uint64_t tag;
	uint64_t ignore;
	uint32_t src;
};

QV_INLINE int fits(const struct qv_vblock *b, uint32_t i, const struct probe *p, enum qv_side side)
{
	if (side == QV_POSTED)
		return qv_accepts(b->tags[i], b->ignores[i], b->srcs[i], p->tag, p->src);
	return qv_accepts(p->tag, p->ignore, p->src, b->tags[i], b->srcs[i]);
}

QV_INLINE uint64_t compare(const struct qv_kern_ops *kern, const struct qv_vblock *b,
			   uint32_t start, uint32_t n, const struct probe *p, enum qv_side side)
{
	uint64_t map;

	if (side == QV_POSTED)
		map = kern->posted(b->tags + start, b->ignores + start, b->srcs + start, n, p->tag,
				   p->src);
	else
		map = kern->unexpected(b->tags + start, b->srcs + start, n, p->tag, p->ignore,
				       p->src);
	return map << start;
}

/*
 * Bitmap of the entries of b from `start` on that fit: whole steps by vector, the newest few of the
 * last block one by one. At most the lowest bit is exact in the scalar part.
 */
QV_INLINE uint64_t scan_block(const struct qv_vlist *v, const struct qv_vblock *b, uint32_t start,
			      const struct probe *p, enum qv_side side)
{
	uint32_t sealed = b->next ? b->used : b->used & ~(STEP - 1);
	uint64_t map = 0;

	if (sealed > start)
		map = compare(v->kern, b, start, sealed - start, p, side) & b->live;
	for (uint32_t i = sealed > start ? sealed : start; !map && i < b->used; i++)
		if (b->live >> i & 1 && fits(b, i, p, side))
			map = (uint64_t)1 << i;
	return map;
}

QV_INLINE uint64_t *find(const struct qv_vlist *v, const struct probe *p, enum qv_side side,
			 uint64_t *inspected)
{
	const struct qv_vblock *b = v->head;
	uint64_t seen = 0, map = 0;

	if (!v->count)
		return NULL;
	map = b->live & -b->live;
	if (fits(b, (uint32_t)__builtin_ctzll(map), p, side)) {
		++*inspected;
		return b->entry[__builtin_ctzll(map)];
	}
	for (map = 0; b && !map; b = map ? b : b->next) {
		uint32_t start = (uint32_t)__builtin_ctzll(b->live) & ~(STEP - 1);

		map = scan_block(v, b, start, p, side);
		seen += b->used - start;
	}
	*inspected += seen;
	return map ? b->entry[__builtin_ctzll(map)] : NULL;
}

uint64_t *qv_vlist_find_recv(const struct qv_vlist *v, uint64_t tag, uint32_t src,
			     uint64_t *inspected)
{
	const struct probe p = {.tag = tag, .src = src};

	return find(v, &p, QV_POSTED, inspected);
}

uint64_t *qv_vlist_find_msg(const struct qv_vlist *v, uint64_t tag, uint64_t ignore, uint32_t src,
			    uint64_t *inspected)
{
	const struct probe p = {.tag = tag, .ignore = ignore, .src = src};

	return find(v, &p, QV_UNEXPECTED, inspected);
}
