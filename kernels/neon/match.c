/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels for NEON: a group of sixteen entries is four vectors. */
#include <arm_neon.h>

#include "kernels/kern.h"
#include "engine/base/compiler.h"

#define QUARTER 4

QV_INLINE uint32x4_t load(const qv_plane *planes, int plane, unsigned int i)
{
	return vld1q_u32(planes[plane] + i);
}

/* Lanes with ((word ^ want) & ~ignore) == 0 become all ones. */
QV_INLINE uint32x4_t fit(uint32x4_t word, uint32x4_t want, uint32x4_t ignore)
{
	return vceqzq_u32(vbicq_u32(veorq_u32(word, want), ignore));
}

QV_INLINE uint32x4_t broadcast(uint64_t word)
{
	return vdupq_n_u32((uint32_t)word);
}

/* A bit for each of the sixteen lanes of a, b, c and d, which are all ones or 0. */
QV_INLINE unsigned int bits(uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d)
{
	static const uint8_t place[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	const uint16x8_t low = vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
	const uint16x8_t high = vuzp1q_u16(vreinterpretq_u16_u32(c), vreinterpretq_u16_u32(d));
	uint8x16_t all = vuzp1q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high));

	all = vandq_u8(all, vld1q_u8(place));
	all = vpaddq_u8(all, all);
	all = vpaddq_u8(all, all);
	all = vpaddq_u8(all, all);
	return vgetq_lane_u16(vreinterpretq_u16_u8(all), 0);
}

/* What is looked for, in vectors. */
struct wanted {
	uint32x4_t key, key_any, high, src, ignore, ignore_high;
};

/* A first look at four entries from i on: all that fit, and some that do not. */
QV_INLINE uint32x4_t look_posted(const qv_plane *planes, unsigned int i, const struct wanted *w,
				 int has_any)
{
	const uint32x4_t key = load(planes, QV_PLANE_KEY, i);
	const uint32x4_t ignore = load(planes, QV_PLANE_IGNORE, i);
	uint32x4_t map = fit(key, w->key, ignore);

	if (has_any)
		map = vorrq_u32(map, fit(key, w->key_any, ignore));
	return map;
}

QV_INLINE uint32x4_t check_posted(const qv_plane *planes, unsigned int i, const struct wanted *w,
				  int has_any)
{
	const uint32x4_t key = load(planes, QV_PLANE_KEY, i);
	const uint32x4_t ignore = load(planes, QV_PLANE_IGNORE, i);
	const uint32x4_t src = load(planes, QV_PLANE_SRC, i);
	const uint32x4_t named = vandq_u32(vceqq_u32(src, w->src), fit(key, w->key, ignore));
	const uint32x4_t any =
		vandq_u32(vceqq_u32(src, vdupq_n_u32(UINT32_MAX)), fit(key, w->key_any, ignore));
	const uint32x4_t high =
		fit(load(planes, QV_PLANE_HIGH, i), w->high, load(planes, QV_PLANE_IGNORE_HIGH, i));

	(void)has_any; /* rare enough to test both always */
	return vandq_u32(vorrq_u32(named, any), high);
}

/*
 * The first group with entries that fit, among `lanes`. look and check, one of the two pairs here,
 * are inlined; any: what they take as their last argument.
 */
typedef uint32x4_t compare_fn(const qv_plane *planes, unsigned int i, const struct wanted *w,
			      int any);

QV_INLINE uint64_t search(const qv_plane *planes, uint64_t lanes, const struct wanted *w, int any,
			  compare_fn *look, compare_fn *check)
{
	for (unsigned int i = 0; i < QV_KERN_MAX; i += QV_KERN_GROUP) {
		const unsigned int mine = (unsigned int)(lanes >> i) & 0xffff;
		unsigned int map;
		uint32x4_t some;

		if (!mine)
			continue;
		some = vorrq_u32(
			vorrq_u32(look(planes, i, w, any), look(planes, i + QUARTER, w, any)),
			vorrq_u32(look(planes, i + 2 * QUARTER, w, any),
				  look(planes, i + 3 * QUARTER, w, any)));
		if (!vmaxvq_u32(some))
			continue;
		map = bits(check(planes, i, w, any), check(planes, i + QUARTER, w, any),
			   check(planes, i + 2 * QUARTER, w, any),
			   check(planes, i + 3 * QUARTER, w, any));
		if (map & mine)
			return (uint64_t)(map & mine) << i;
	}
	return 0;
}

static uint64_t posted_neon(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
			    int has_any)
{
	const struct wanted w = {.key = broadcast(qv_kern_key((uint32_t)tag, src)),
				 .key_any = broadcast(qv_kern_key((uint32_t)tag, UINT32_MAX)),
				 .high = broadcast(tag >> 32),
				 .src = broadcast(src)};

	return has_any ? search(planes, lanes, &w, 1, look_posted, check_posted)
		       : search(planes, lanes, &w, 0, look_posted, check_posted);
}

/* any: the receive has no source, and what was folded into the key is taken out again. */
QV_INLINE uint32x4_t look_unexpected(const qv_plane *planes, unsigned int i, const struct wanted *w,
				     int any)
{
	uint32x4_t key = load(planes, QV_PLANE_KEY, i);

	if (any) {
		const uint16x8_t src = vreinterpretq_u16_u32(load(planes, QV_PLANE_SRC, i));

		key = veorq_u32(key, vreinterpretq_u32_u16(vrev32q_u16(src)));
	}
	return fit(key, w->key, w->ignore);
}

QV_INLINE uint32x4_t check_unexpected(const qv_plane *planes, unsigned int i,
				      const struct wanted *w, int any)
{
	const uint32x4_t high = fit(load(planes, QV_PLANE_HIGH, i), w->high, w->ignore_high);
	uint32x4_t map = vandq_u32(look_unexpected(planes, i, w, any), high);

	if (!any)
		map = vandq_u32(map, vceqq_u32(load(planes, QV_PLANE_SRC, i), w->src));
	return map;
}

static uint64_t unexpected_neon(const qv_plane *planes, uint64_t lanes, uint64_t tag,
				uint64_t ignore, uint32_t src)
{
	const int any = src == UINT32_MAX;
	const struct wanted w = {
		.key = broadcast(any ? (uint32_t)tag : qv_kern_key((uint32_t)tag, src)),
		.high = broadcast(tag >> 32),
		.src = broadcast(src),
		.ignore = broadcast(ignore),
		.ignore_high = broadcast(ignore >> 32)};

	return any ? search(planes, lanes, &w, 1, look_unexpected, check_unexpected)
		   : search(planes, lanes, &w, 0, look_unexpected, check_unexpected);
}

const struct qv_kern_ops qv_kern_neon = {
	.name = "neon",
	.posted = posted_neon,
	.unexpected = unexpected_neon,
};
