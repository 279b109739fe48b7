/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels for AVX2: a group of sixteen entries is two vectors. */
#include <immintrin.h>

#include "kernels/kern.h"
#include "engine/base/compiler.h"

#define HALF 8

QV_INLINE __m256i load(const qv_plane *planes, int plane, unsigned int i)
{
	return _mm256_load_si256((const __m256i *)(planes[plane] + i));
}

/* Lanes with ((word ^ want) & ~ignore) == 0 become all ones. */
QV_INLINE __m256i fit(__m256i word, __m256i want, __m256i ignore)
{
	return _mm256_cmpeq_epi32(_mm256_andnot_si256(ignore, _mm256_xor_si256(word, want)),
				  _mm256_setzero_si256());
}

QV_INLINE __m256i broadcast(uint64_t word)
{
	return _mm256_set1_epi32((int)(uint32_t)word);
}

QV_INLINE unsigned int bits(__m256i lanes)
{
	return (unsigned int)_mm256_movemask_ps(_mm256_castsi256_ps(lanes));
}

/* What is looked for, in vectors. */
struct wanted {
	__m256i key, key_any, high, src, ignore, ignore_high;
};

/* A first look at eight entries from i on: all that fit, and some that do not. */
QV_INLINE __m256i look_posted(const qv_plane *planes, unsigned int i, const struct wanted *w,
			      int has_any)
{
	const __m256i key = load(planes, QV_PLANE_KEY, i);
	const __m256i ignore = load(planes, QV_PLANE_IGNORE, i);
	__m256i map = fit(key, w->key, ignore);

	if (has_any)
		map = _mm256_or_si256(map, fit(key, w->key_any, ignore));
	return map;
}

QV_INLINE __m256i check_posted(const qv_plane *planes, unsigned int i, const struct wanted *w,
			       int has_any)
{
	const __m256i key = load(planes, QV_PLANE_KEY, i);
	const __m256i ignore = load(planes, QV_PLANE_IGNORE, i);
	const __m256i src = load(planes, QV_PLANE_SRC, i);
	const __m256i named =
		_mm256_and_si256(_mm256_cmpeq_epi32(src, w->src), fit(key, w->key, ignore));
	const __m256i any = _mm256_and_si256(_mm256_cmpeq_epi32(src, _mm256_set1_epi32(-1)),
					     fit(key, w->key_any, ignore));
	const __m256i high =
		fit(load(planes, QV_PLANE_HIGH, i), w->high, load(planes, QV_PLANE_IGNORE_HIGH, i));

	(void)has_any; /* rare enough to test both always */
	return _mm256_and_si256(_mm256_or_si256(named, any), high);
}

/*
 * The first group with entries that fit, among `lanes`. look and check, one of the two pairs here,
 * are inlined; any: what they take as their last argument.
 */
typedef __m256i compare_fn(const qv_plane *planes, unsigned int i, const struct wanted *w, int any);

QV_INLINE uint64_t search(const qv_plane *planes, uint64_t lanes, const struct wanted *w, int any,
			  compare_fn *look, compare_fn *check)
{
	for (unsigned int i = 0; i < QV_KERN_MAX; i += QV_KERN_GROUP) {
		const unsigned int mine = (unsigned int)(lanes >> i) & 0xffff;
		unsigned int map;
		__m256i a, b;

		if (!mine)
			continue;
		a = look(planes, i, w, any);
		b = look(planes, i + HALF, w, any);
		if (!_mm256_movemask_epi8(_mm256_or_si256(a, b)))
			continue;
		map = bits(check(planes, i, w, any)) | bits(check(planes, i + HALF, w, any))
							       << HALF;
		if (map & mine)
			return (uint64_t)(map & mine) << i;
	}
	return 0;
}

static uint64_t posted_avx2(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
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
QV_INLINE __m256i look_unexpected(const qv_plane *planes, unsigned int i, const struct wanted *w,
				  int any)
{
	__m256i key = load(planes, QV_PLANE_KEY, i);

	if (any) {
		const __m256i src = load(planes, QV_PLANE_SRC, i);

		key = _mm256_xor_si256(key, _mm256_or_si256(_mm256_slli_epi32(src, 16),
							    _mm256_srli_epi32(src, 16)));
	}
	return fit(key, w->key, w->ignore);
}

QV_INLINE __m256i check_unexpected(const qv_plane *planes, unsigned int i, const struct wanted *w,
				   int any)
{
	const __m256i high = fit(load(planes, QV_PLANE_HIGH, i), w->high, w->ignore_high);
	__m256i map = _mm256_and_si256(look_unexpected(planes, i, w, any), high);

	if (!any)
		map = _mm256_and_si256(map,
				       _mm256_cmpeq_epi32(load(planes, QV_PLANE_SRC, i), w->src));
	return map;
}

static uint64_t unexpected_avx2(const qv_plane *planes, uint64_t lanes, uint64_t tag,
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

const struct qv_kern_ops qv_kern_avx2 = {
	.name = "avx2",
	.posted = posted_avx2,
	.unexpected = unexpected_avx2,
};
