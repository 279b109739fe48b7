/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels for NEON: a group of sixteen entries is four vectors. */
#include <arm_neon.h>
#include <stdint.h>

#include "engine/base/compiler.h"

typedef uint32x4_t vec;

#define GROUP_OF(compare, planes, i, w)                                                  \
	compare(planes, i, w), compare(planes, (i) + 4, w), compare(planes, (i) + 8, w), \
		compare(planes, (i) + 12, w)

QV_INLINE vec load(const uint32_t *p)
{
	return vld1q_u32(p);
}

QV_INLINE vec broadcast(uint64_t word)
{
	return vdupq_n_u32((uint32_t)word);
}

QV_INLINE vec both(vec x, vec y)
{
	return vandq_u32(x, y);
}

QV_INLINE vec either(vec x, vec y)
{
	return vorrq_u32(x, y);
}

QV_INLINE vec equal(vec x, vec y)
{
	return vceqq_u32(x, y);
}

QV_INLINE vec fit(vec word, vec want, vec ignore)
{
	return vceqzq_u32(vbicq_u32(veorq_u32(word, want), ignore));
}

QV_INLINE vec take_out(vec key, vec src)
{
	return veorq_u32(key, vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(src))));
}

QV_INLINE int some(vec a, vec b, vec c, vec d)
{
	return vmaxvq_u32(either(either(a, b), either(c, d))) != 0;
}

QV_INLINE unsigned int bits(vec a, vec b, vec c, vec d)
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

#include "kernels/match_groups.h"

QV_MATCH_KERNELS(neon);
