/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_match_avx2.c - compare kernels for AVX2: eight entries a step (two vectors of tags, one of
 * sources), the last n % 8 in scalar since AVX2 has no cheap masked load. Bit order = entry order.
 */
#include <immintrin.h>

#include "qv_kern.h"

/* Bits 0..3: lanes that are zero. */
static inline unsigned int zero_lanes(__m256i v)
{
	return (unsigned int)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpeq_epi64(v, _mm256_setzero_si256())));
}

static inline unsigned int lanes32(__m256i v)
{
	return (unsigned int)_mm256_movemask_ps(_mm256_castsi256_ps(v));
}

static inline __m256i load(const void *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

static uint64_t posted_avx2(const uint64_t *tags, const uint64_t *ignores, const uint32_t *srcs,
			    unsigned int n, uint64_t tag, uint32_t src)
{
	const __m256i vtag = _mm256_set1_epi64x((long long)tag);
	const __m256i vsrc = _mm256_set1_epi32((int)src);
	const __m256i vany = _mm256_set1_epi32(-1);
	uint64_t map = 0;
	unsigned int i = 0;

	for (; i + 8 <= n; i += 8) {
		__m256i lo = _mm256_xor_si256(load(tags + i), vtag);
		__m256i hi = _mm256_xor_si256(load(tags + i + 4), vtag);
		__m256i s = load(srcs + i);
		unsigned int t = zero_lanes(_mm256_andnot_si256(load(ignores + i), lo)) |
				 zero_lanes(_mm256_andnot_si256(load(ignores + i + 4), hi)) << 4;
		unsigned int f = lanes32(
			_mm256_or_si256(_mm256_cmpeq_epi32(s, vsrc), _mm256_cmpeq_epi32(s, vany)));

		map |= (uint64_t)(t & f) << i;
	}
	for (; i < n; i++) {
		uint64_t src_fits = srcs[i] == src || srcs[i] == UINT32_MAX;

		map |= (uint64_t)(((tags[i] ^ tag) & ~ignores[i]) == 0 && src_fits) << i;
	}
	return map;
}

static uint64_t unexpected_avx2(const uint64_t *tags, const uint32_t *srcs, unsigned int n,
				uint64_t tag, uint64_t ignore, uint32_t src)
{
	const __m256i vtag = _mm256_set1_epi64x((long long)tag);
	const __m256i vignore = _mm256_set1_epi64x((long long)ignore);
	const __m256i vsrc = _mm256_set1_epi32((int)src);
	const unsigned int any = src == UINT32_MAX ? 0xff : 0;
	uint64_t map = 0;
	unsigned int i = 0;

	for (; i + 8 <= n; i += 8) {
		__m256i lo = _mm256_xor_si256(load(tags + i), vtag);
		__m256i hi = _mm256_xor_si256(load(tags + i + 4), vtag);
		unsigned int t = zero_lanes(_mm256_andnot_si256(vignore, lo)) |
				 zero_lanes(_mm256_andnot_si256(vignore, hi)) << 4;
		unsigned int f = lanes32(_mm256_cmpeq_epi32(load(srcs + i), vsrc)) | any;

		map |= (uint64_t)(t & f) << i;
	}
	for (; i < n; i++) {
		uint64_t src_fits = srcs[i] == src || any;

		map |= (uint64_t)(((tags[i] ^ tag) & ~ignore) == 0 && src_fits) << i;
	}
	return map;
}

const struct qv_kern_ops qv_kern_avx2 = {
	.name = "avx2",
	.posted = posted_avx2,
	.unexpected = unexpected_avx2,
};
