/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels for AVX2: a group of sixteen entries is two vectors. */
#include <immintrin.h>
#include <stdint.h>

#include "engine/base/compiler.h"

typedef __m256i vec;

#define GROUP_OF(compare, planes, i, w) compare(planes, i, w), compare(planes, (i) + 8, w)

QV_INLINE vec load(const uint32_t *p)
{
	return _mm256_load_si256((const vec *)p);
}

QV_INLINE vec broadcast(uint64_t word)
{
	return _mm256_set1_epi32((int)(uint32_t)word);
}

QV_INLINE vec both(vec x, vec y)
{
	return _mm256_and_si256(x, y);
}

QV_INLINE vec either(vec x, vec y)
{
	return _mm256_or_si256(x, y);
}

QV_INLINE vec equal(vec x, vec y)
{
	return _mm256_cmpeq_epi32(x, y);
}

QV_INLINE vec fit(vec word, vec want, vec ignore)
{
	return equal(_mm256_andnot_si256(ignore, _mm256_xor_si256(word, want)),
		     _mm256_setzero_si256());
}

QV_INLINE vec take_out(vec key, vec src)
{
	return _mm256_xor_si256(key,
				either(_mm256_slli_epi32(src, 16), _mm256_srli_epi32(src, 16)));
}

QV_INLINE int some(vec a, vec b)
{
	return _mm256_movemask_epi8(either(a, b));
}

QV_INLINE unsigned int bits(vec a, vec b)
{
	return (unsigned int)_mm256_movemask_ps(_mm256_castsi256_ps(a)) |
	       (unsigned int)_mm256_movemask_ps(_mm256_castsi256_ps(b)) << 8;
}

#include "kernels/match_groups.h"

QV_MATCH_KERNELS(avx2);
