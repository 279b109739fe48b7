/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_match_avx512f.c - compare kernels for CPUs with AVX-512 Foundation only (Knights Landing):
 * sixteen entries a step, since 32-bit lanes can be compared to a mask in 512 bits only (256 bits
 * need VL). The tail uses masked loads, which do not fault past entry n. Bit order = entry order.
 */
#include <immintrin.h>

#include "qv_kern.h"

/* (x ^ y) & ~z as a truth table of vpternlog: bit 4*x + 2*y + z. */
#define XOR_ANDNOT 0x14

/* Lanes of a step of 16 entries that exist. */
static inline unsigned int lanes_left(unsigned int left)
{
	return left >= 16 ? 0xffff : (1u << left) - 1;
}

/* Bits: lanes with ((tag ^ vtag) & ~ignore) == 0. */
static inline unsigned int tags_fit(__m512i tag, __m512i vtag, __m512i ignore)
{
	__m512i differ = _mm512_ternarylogic_epi64(tag, vtag, ignore, XOR_ANDNOT);

	return _mm512_testn_epi64_mask(differ, differ);
}

static uint64_t posted_avx512f(const uint64_t *tags, const uint64_t *ignores, const uint32_t *srcs,
			       unsigned int n, uint64_t tag, uint32_t src)
{
	const __m512i vtag = _mm512_set1_epi64((long long)tag);
	const __m512i vsrc = _mm512_set1_epi32((int)src);
	const __m512i vany = _mm512_set1_epi32(-1);
	uint64_t map = 0;

	for (unsigned int i = 0; i < n; i += 16) {
		const unsigned int live = lanes_left(n - i);
		const __mmask8 k0 = (__mmask8)live, k1 = (__mmask8)(live >> 8);
		__m512i s = _mm512_maskz_loadu_epi32((__mmask16)live, srcs + i);
		unsigned int f =
			_mm512_cmpeq_epi32_mask(s, vsrc) | _mm512_cmpeq_epi32_mask(s, vany);
		unsigned int t = tags_fit(_mm512_maskz_loadu_epi64(k0, tags + i), vtag,
					  _mm512_maskz_loadu_epi64(k0, ignores + i));

		if (k1)
			t |= tags_fit(_mm512_maskz_loadu_epi64(k1, tags + i + 8), vtag,
				      _mm512_maskz_loadu_epi64(k1, ignores + i + 8))
			     << 8;
		map |= (uint64_t)(t & f & live) << i;
	}
	return map;
}

static uint64_t unexpected_avx512f(const uint64_t *tags, const uint32_t *srcs, unsigned int n,
				   uint64_t tag, uint64_t ignore, uint32_t src)
{
	const __m512i vtag = _mm512_set1_epi64((long long)tag);
	const __m512i vignore = _mm512_set1_epi64((long long)ignore);
	const __m512i vsrc = _mm512_set1_epi32((int)src);
	const unsigned int any = src == UINT32_MAX ? 0xffff : 0;
	uint64_t map = 0;

	for (unsigned int i = 0; i < n; i += 16) {
		const unsigned int live = lanes_left(n - i);
		const __mmask8 k0 = (__mmask8)live, k1 = (__mmask8)(live >> 8);
		__m512i s = _mm512_maskz_loadu_epi32((__mmask16)live, srcs + i);
		unsigned int f = _mm512_cmpeq_epi32_mask(s, vsrc) | any;
		unsigned int t = tags_fit(_mm512_maskz_loadu_epi64(k0, tags + i), vtag, vignore);

		if (k1)
			t |= tags_fit(_mm512_maskz_loadu_epi64(k1, tags + i + 8), vtag, vignore)
			     << 8;
		map |= (uint64_t)(t & f & live) << i;
	}
	return map;
}

const struct qv_kern_ops qv_kern_avx512f = {
	.name = "avx512f",
	.posted = posted_avx512f,
	.unexpected = unexpected_avx512f,
};
