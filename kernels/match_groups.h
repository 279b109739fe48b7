/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_groups.h - compare kernels, group by group, for vectors whose comparisons answer with a
 * vector. A file includes this behind its vector functions:
 *
 *   vec                          a vector of 32-bit words
 *   load(p)                      the words at p, which is aligned
 *   broadcast(word)              the low half of a 64-bit word in all words
 *   both(x, y), either(x, y)     bits that are set in both, in one
 *   equal(x, y)                  words that are equal become all ones, others 0
 *   fit(word, want, ignore)      words with ((word ^ want) & ~ignore) == 0 become all ones, others 0
 *   take_out(key, src)           what qv_kern_key(tag, src) made key of: tag
 *   GROUP_OF(compare, planes, i, w)
 *                                compare(planes, i, w) of each vector of the group that begins with
 *                                entry i: arguments for the next two
 *   some(vectors)                whether a bit is set
 *   bits(vectors)                a bit for each word; words are all ones or 0
 */
#ifndef QV_MATCH_GROUPS_H
#define QV_MATCH_GROUPS_H

#include "match_wanted.h"

/* A first look at the entries of a vector from i on: all that fit, and some that do not. */
QV_INLINE vec look_posted(const qv_plane *planes, unsigned int i, const struct wanted *w)
{
	const vec key = load(planes[QV_PLANE_KEY] + i);
	const vec ignore = load(planes[QV_PLANE_IGNORE] + i);
	vec map = fit(key, w->key, ignore);

	if (w->any)
		map = either(map, fit(key, w->key_any, ignore));
	return map;
}

/* Tests for both sources always: it is rare enough. */
QV_INLINE vec check_posted(const qv_plane *planes, unsigned int i, const struct wanted *w)
{
	const vec key = load(planes[QV_PLANE_KEY] + i);
	const vec ignore = load(planes[QV_PLANE_IGNORE] + i);
	const vec src = load(planes[QV_PLANE_SRC] + i);
	const vec named = both(equal(src, w->src), fit(key, w->key, ignore));
	const vec any = both(equal(src, broadcast(UINT32_MAX)), fit(key, w->key_any, ignore));

	return both(either(named, any), fit(load(planes[QV_PLANE_HIGH] + i), w->high,
					    load(planes[QV_PLANE_IGNORE_HIGH] + i)));
}

QV_INLINE vec look_unexpected(const qv_plane *planes, unsigned int i, const struct wanted *w)
{
	vec key = load(planes[QV_PLANE_KEY] + i);

	/* A receive without a source: what was folded into the key is taken out again. */
	if (w->any)
		key = take_out(key, load(planes[QV_PLANE_SRC] + i));
	return fit(key, w->key, w->ignore);
}

QV_INLINE vec check_unexpected(const qv_plane *planes, unsigned int i, const struct wanted *w)
{
	const vec high = fit(load(planes[QV_PLANE_HIGH] + i), w->high, w->ignore_high);
	vec map = both(look_unexpected(planes, i, w), high);

	if (!w->any)
		map = both(map, equal(load(planes[QV_PLANE_SRC] + i), w->src));
	return map;
}

QV_INLINE vec look(const qv_plane *planes, unsigned int i, const struct wanted *w)
{
	return w->posted ? look_posted(planes, i, w) : look_unexpected(planes, i, w);
}

QV_INLINE vec check(const qv_plane *planes, unsigned int i, const struct wanted *w)
{
	return w->posted ? check_posted(planes, i, w) : check_unexpected(planes, i, w);
}

/* The first group with entries that fit, among `lanes`. */
QV_INLINE uint64_t search(const qv_plane *planes, uint64_t lanes, const struct wanted *w)
{
	for (unsigned int i = 0; i < QV_KERN_MAX; i += QV_KERN_GROUP) {
		const unsigned int mine = (unsigned int)(lanes >> i) & 0xffff;
		unsigned int map;

		if (!mine || !some(GROUP_OF(look, planes, i, w)))
			continue;
		map = bits(GROUP_OF(check, planes, i, w)) & mine;
		if (map)
			return (uint64_t)map << i;
	}
	return 0;
}

#endif /* QV_MATCH_GROUPS_H */
