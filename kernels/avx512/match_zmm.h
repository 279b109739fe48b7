/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_zmm.h - compare kernels for AVX-512, sixteen entries a step, written with Foundation
 * instructions only and compiled twice: for Knights Landing, and with BW, DQ and VL, where the
 * compiler has better ways to put masks together.
 */
#ifndef QV_MATCH_ZMM_H
#define QV_MATCH_ZMM_H

#include <immintrin.h>

#include "kernels/kern.h"
#include "engine/base/compiler.h"

typedef __m512i vec;

/* (x ^ y) & ~z as a truth table of vpternlog: bit 4*x + 2*y + z. */
#define XOR_ANDNOT 0x14

QV_INLINE vec load(const qv_plane *planes, int plane, unsigned int g)
{
	return _mm512_load_si512(planes[plane] + (size_t)QV_KERN_GROUP * g);
}

/* Lanes become zero where word is what is wanted. */
QV_INLINE vec differ(vec word, vec want, vec ignore)
{
	return _mm512_ternarylogic_epi32(word, want, ignore, XOR_ANDNOT);
}

/* Bits: lanes that are zero. */
QV_INLINE uint32_t zeros(vec v)
{
	return _mm512_testn_epi32_mask(v, v);
}

QV_INLINE vec broadcast(uint64_t word)
{
	return _mm512_set1_epi32((int)(uint32_t)word);
}

#include "kernels/match_wanted.h"

/* A first look at group g: lanes are zero of all that fit, and of some that do not. */
QV_INLINE vec look_posted(const qv_plane *planes, unsigned int g, const struct wanted *w)
{
	const vec key = load(planes, QV_PLANE_KEY, g);
	const vec ignore = load(planes, QV_PLANE_IGNORE, g);
	vec d = differ(key, w->key, ignore);

	if (w->any)
		d = _mm512_min_epu32(d, differ(key, w->key_any, ignore));
	return d;
}

QV_INLINE uint32_t check_posted(const qv_plane *planes, unsigned int g, const struct wanted *w)
{
	const vec key = load(planes, QV_PLANE_KEY, g);
	const vec ignore = load(planes, QV_PLANE_IGNORE, g);
	const vec src = load(planes, QV_PLANE_SRC, g);
	uint32_t map = _mm512_cmpeq_epi32_mask(src, w->src) & zeros(differ(key, w->key, ignore));

	if (w->any)
		map |= _mm512_cmpeq_epi32_mask(src, _mm512_set1_epi32(-1)) &
		       zeros(differ(key, w->key_any, ignore));
	return map & zeros(differ(load(planes, QV_PLANE_HIGH, g), w->high,
				  load(planes, QV_PLANE_IGNORE_HIGH, g)));
}

QV_INLINE vec look_unexpected(const qv_plane *planes, unsigned int g, const struct wanted *w)
{
	vec key = load(planes, QV_PLANE_KEY, g);

	/* A receive without a source: what was folded into the key is taken out again. */
	if (w->any)
		key = _mm512_xor_si512(key, _mm512_rol_epi32(load(planes, QV_PLANE_SRC, g), 16));
	return differ(key, w->key, w->ignore);
}

QV_INLINE uint32_t check_unexpected(const qv_plane *planes, unsigned int g, const struct wanted *w)
{
	uint32_t map = zeros(look_unexpected(planes, g, w)) &
		       zeros(differ(load(planes, QV_PLANE_HIGH, g), w->high, w->ignore_high));

	if (!w->any)
		map &= _mm512_cmpeq_epi32_mask(load(planes, QV_PLANE_SRC, g), w->src);
	return map;
}

QV_INLINE vec look(const qv_plane *planes, unsigned int g, const struct wanted *w)
{
	return w->posted ? look_posted(planes, g, w) : look_unexpected(planes, g, w);
}

QV_INLINE uint64_t check(const qv_plane *planes, uint64_t lanes, unsigned int g,
			 const struct wanted *w)
{
	const uint32_t map =
		w->posted ? check_posted(planes, g, w) : check_unexpected(planes, g, w);

	return (uint64_t)map << (QV_KERN_GROUP * g) & lanes;
}

/*
 * Which group it is is a matter of branches, not of addresses computed from what was found: so the
 * next search can begin while this one, whose removal changes the lanes, is not complete.
 */
QV_INLINE uint64_t search_all(const qv_plane *planes, uint64_t lanes, const struct wanted *w)
{
	const vec d0 = look(planes, 0, w), d1 = look(planes, 1, w);
	const vec d2 = look(planes, 2, w), d3 = look(planes, 3, w);
	uint64_t map = 0;

	if (!zeros(_mm512_min_epu32(_mm512_min_epu32(d0, d1), _mm512_min_epu32(d2, d3))))
		return 0;
	if (zeros(d0))
		map = check(planes, lanes, 0, w);
	if (!map && zeros(d1))
		map = check(planes, lanes, 1, w);
	if (!map && zeros(d2))
		map = check(planes, lanes, 2, w);
	if (!map && zeros(d3))
		map = check(planes, lanes, 3, w);
	return map;
}

QV_INLINE uint64_t search(const qv_plane *planes, uint64_t lanes, const struct wanted *w)
{
	uint64_t map = 0;

	if (lanes >> (3 * QV_KERN_GROUP))
		return search_all(planes, lanes, w);
	for (unsigned int g = 0; !map && lanes >> (QV_KERN_GROUP * g); g++)
		if (zeros(look(planes, g, w)))
			map = check(planes, lanes, g, w);
	return map;
}

#endif /* QV_MATCH_ZMM_H */
