/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_match_avx512.c - compare kernels for AVX-512 with VL and DQ (Skylake-SP, Zen 4 and later):
 * eight entries a step, one 512-bit vector of tags and one 256-bit vector of sources, so that a
 * short block costs half a step of the Foundation-only kernel. The tail uses masked loads, which do
 * not fault past entry n. Bit order = entry order.
 */
#include <immintrin.h>

#include "qv_kern.h"

/* (x ^ y) & ~z as a truth table of vpternlog: bit 4*x + 2*y + z. */
#define XOR_ANDNOT 0x14

static inline __mmask8 lanes_left(unsigned int left)
{
	return left >= 8 ? 0xff : (__mmask8)((1u << left) - 1);
}

static uint64_t posted_avx512(const uint64_t *tags, const uint64_t *ignores, const uint32_t *srcs,
			      unsigned int n, uint64_t tag, uint32_t src)
{
	const __m512i vtag = _mm512_set1_epi64((long long)tag);
	const __m256i vsrc = _mm256_set1_epi32((int)src);
	const __m256i vany = _mm256_set1_epi32(-1);
	uint64_t map = 0;

	for (unsigned int i = 0; i < n; i += 8) {
		const __mmask8 live = lanes_left(n - i);
		__m256i s = _mm256_maskz_loadu_epi32(live, srcs + i);
		__mmask8 f = _mm256_mask_cmpeq_epi32_mask(live, s, vsrc) |
			     _mm256_mask_cmpeq_epi32_mask(live, s, vany);
		__m512i differ = _mm512_ternarylogic_epi64(
			_mm512_maskz_loadu_epi64(live, tags + i), vtag,
			_mm512_maskz_loadu_epi64(live, ignores + i), XOR_ANDNOT);

		map |= (uint64_t)_mm512_mask_testn_epi64_mask(f, differ, differ) << i;
	}
	return map;
}

static uint64_t unexpected_avx512(const uint64_t *tags, const uint32_t *srcs, unsigned int n,
				  uint64_t tag, uint64_t ignore, uint32_t src)
{
	const __m512i vtag = _mm512_set1_epi64((long long)tag);
	const __m512i vignore = _mm512_set1_epi64((long long)ignore);
	const __m256i vsrc = _mm256_set1_epi32((int)src);
	const __mmask8 any = src == UINT32_MAX ? 0xff : 0;
	uint64_t map = 0;

	for (unsigned int i = 0; i < n; i += 8) {
		const __mmask8 live = lanes_left(n - i);
		__m256i s = _mm256_maskz_loadu_epi32(live, srcs + i);
		__mmask8 f = (_mm256_cmpeq_epi32_mask(s, vsrc) | any) & live;
		__m512i differ = _mm512_ternarylogic_epi64(_mm512_maskz_loadu_epi64(live, tags + i),
							   vtag, vignore, XOR_ANDNOT);

		map |= (uint64_t)_mm512_mask_testn_epi64_mask(f, differ, differ) << i;
	}
	return map;
}

const struct qv_kern_ops qv_kern_avx512 = {
	.name = "avx512",
	.posted = posted_avx512,
	.unexpected = unexpected_avx512,
};
