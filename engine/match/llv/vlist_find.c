/* SPDX-License-Identifier: BSD-2-Clause */
/* vlist_find.c - search in a list of vector blocks: the oldest entry that is accepted. */
#include "vlist.h"

/* Stores older than these many appends have left the store buffer. */
#define FRESH_MAX 8u

/* What is looked for: a message (receives are searched) or a receive (messages are). */
struct probe {
	uint64_t tag;
	uint64_t ignore;
	uint32_t src;
};

/* As a kernel, for one entry. */
QV_INLINE int fits(const struct qv_vblock *b, uint32_t i, const struct probe *p, enum qv_side side)
{
	uint32_t src = b->planes[QV_PLANE_SRC][i];
	uint64_t ignore = p->ignore;
	uint64_t tag = qv_kern_key(b->planes[QV_PLANE_KEY][i], src) |
		       (uint64_t)b->planes[QV_PLANE_HIGH][i] << 32;

	if (side == QV_UNEXPECTED)
		return qv_accepts(p->tag, ignore, p->src, tag, src);
	ignore = b->planes[QV_PLANE_IGNORE][i] | (uint64_t)b->planes[QV_PLANE_IGNORE_HIGH][i] << 32;
	return qv_accepts(tag, ignore, src, p->tag, p->src);
}

QV_INLINE uint64_t compare(const struct qv_vlist *v, const struct qv_kern_ops *kern,
			   const struct qv_vblock *b, uint64_t lanes, const struct probe *p,
			   enum qv_side side)
{
	if (side == QV_POSTED)
		return kern->posted(b->planes, lanes, p->tag, p->src, v->has_any != 0);
	return kern->unexpected(b->planes, lanes, p->tag, p->ignore, p->src);
}

/* The last block: groups that have been written to just now one by one. */
QV_INLINE uint64_t search_last(struct qv_vlist *v, const struct qv_vblock *b, const struct probe *p,
			       enum qv_side side)
{
	uint32_t fresh = v->fresh < FRESH_MAX ? v->fresh : FRESH_MAX;
	uint32_t sealed = b->used;
	uint64_t lanes = b->live, map = 0;

	if (!fresh)
		return compare(v, v->kern, b, lanes, p, side);
	v->fresh = 0;
	sealed = fresh < sealed ? (sealed - fresh) & ~(QV_KERN_GROUP - 1u) : 0;
	if (sealed) {
		map = compare(v, v->kern, b, lanes & (((uint64_t)1 << sealed) - 1), p, side);
		lanes = lanes >> sealed << sealed;
	}
	return map ? map : compare(v, &qv_kern_scalar, b, lanes, p, side);
}

/* Entries of b that a search compared which found the ones in map, or nothing. */
QV_INLINE uint64_t compared(const struct qv_vblock *b, uint64_t map)
{
	uint32_t from = (uint32_t)__builtin_ctzll(b->live) & ~(QV_KERN_GROUP - 1u);
	uint32_t to = b->used;

	if (map)
		to = ((uint32_t)__builtin_ctzll(map) | (QV_KERN_GROUP - 1u)) + 1;
	return (to < b->used ? to : b->used) - from;
}

QV_INLINE uint64_t *find(struct qv_vlist *v, const struct probe *p, enum qv_side side,
			 uint64_t *inspected, struct qv_vplace *at)
{
	struct qv_vblock *b = v->head, *last = v->tail;
	uint64_t seen = 0, map;
	uint32_t i;

	if (!v->count)
		return NULL;
	i = (uint32_t)__builtin_ctzll(b->live);
	if (fits(b, i, p, side)) {
		++*inspected;
		*at = (struct qv_vplace){b, i};
		return b->entry[i];
	}
	for (map = 0; b != last; b = b->next) {
		map = compare(v, v->kern, b, b->live, p, side);
		seen += compared(b, map);
		if (map)
			break;
	}
	if (!map) {
		map = search_last(v, b, p, side);
		seen += compared(b, map);
	}
	*inspected += seen;
	if (!map)
		return NULL;
	i = (uint32_t)__builtin_ctzll(map);
	*at = (struct qv_vplace){b, i};
	return b->entry[i];
}

uint64_t *qv_vlist_find_recv_at(struct qv_vlist *v, uint64_t tag, uint32_t src, uint64_t *inspected,
				struct qv_vplace *at)
{
	const struct probe p = {.tag = tag, .src = src};

	return find(v, &p, QV_POSTED, inspected, at);
}

uint64_t *qv_vlist_find_recv(struct qv_vlist *v, uint64_t tag, uint32_t src, uint64_t *inspected)
{
	struct qv_vplace at;

	return qv_vlist_find_recv_at(v, tag, src, inspected, &at);
}

uint64_t *qv_vlist_find_msg_at(struct qv_vlist *v, uint64_t tag, uint64_t ignore, uint32_t src,
			       uint64_t *inspected, struct qv_vplace *at)
{
	const struct probe p = {.tag = tag, .ignore = ignore, .src = src};

	return find(v, &p, QV_UNEXPECTED, inspected, at);
}

uint64_t *qv_vlist_find_msg(struct qv_vlist *v, uint64_t tag, uint64_t ignore, uint32_t src,
			    uint64_t *inspected)
{
	struct qv_vplace at;

	return qv_vlist_find_msg_at(v, tag, ignore, src, inspected, &at);
}
