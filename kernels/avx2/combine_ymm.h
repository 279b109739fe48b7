/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_ymm.h - the combine operations on 256 bits, y_<op>_<type>(a, b), in AVX2 only, and how
 * arrays are walked with them. Used by the AVX2 kernels, and by the AVX-512 ones for the ends of
 * arrays and for what Foundation lacks. All work on __m256i; casts cost nothing.
 */
#ifndef QV_COMBINE_YMM_H
#define QV_COMBINE_YMM_H

#include "engine/base/compiler.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Not every file that includes this needs every operation. */
#define YMM(name) QV_INLINE __attribute__((unused)) __m256i y_##name(__m256i a, __m256i b)

#define PS(x)  _mm256_castsi256_ps(x)
#define PD(x)  _mm256_castsi256_pd(x)
#define IPS(x) _mm256_castps_si256(x)
#define IPD(x) _mm256_castpd_si256(x)

/* One instruction. */

#define YMM_IS(name, intrinsic)                  \
	YMM(name)                                \
	{                                        \
		return _mm256_##intrinsic(a, b); \
	}
YMM_IS(band_u8, and_si256)
YMM_IS(bor_u8, or_si256)
YMM_IS(bxor_u8, xor_si256)
YMM_IS(sum_u8, add_epi8)
YMM_IS(sum_u16, add_epi16)
YMM_IS(sum_u32, add_epi32)
YMM_IS(sum_u64, add_epi64)
YMM_IS(prod_u16, mullo_epi16)
YMM_IS(prod_u32, mullo_epi32)
YMM_IS(min_i8, min_epi8)
YMM_IS(min_u8, min_epu8)
YMM_IS(min_i16, min_epi16)
YMM_IS(min_u16, min_epu16)
YMM_IS(min_i32, min_epi32)
YMM_IS(min_u32, min_epu32)
YMM_IS(max_i8, max_epi8)
YMM_IS(max_u8, max_epu8)
YMM_IS(max_i16, max_epi16)
YMM_IS(max_u16, max_epu16)
YMM_IS(max_i32, max_epi32)
YMM_IS(max_u32, max_epu32)

/* minps x, y is x < y ? x : y, and y where they are equal or one is a NaN; maxps alike. */
#define YMM_REAL(name, intrinsic, l, r)                            \
	YMM(name##_f32)                                            \
	{                                                          \
		return IPS(_mm256_##intrinsic##_ps(PS(l), PS(r))); \
	}                                                          \
	YMM(name##_f64)                                            \
	{                                                          \
		return IPD(_mm256_##intrinsic##_pd(PD(l), PD(r))); \
	}
YMM_REAL(sum, add, a, b)
YMM_REAL(prod, mul, a, b)
YMM_REAL(min, min, b, a)
YMM_REAL(max, max, b, a)

/* Products. */

/* Bytes in pairs: the low one of each product, and the high ones moved to where they belong. */
YMM(prod_u8)
{
	const __m256i low = _mm256_set1_epi16(0x00ff);
	__m256i even = _mm256_mullo_epi16(a, b);
	__m256i odd = _mm256_mullo_epi16(_mm256_andnot_si256(low, a), _mm256_srli_epi16(b, 8));

	return _mm256_or_si256(_mm256_and_si256(even, low), odd);
}

YMM(prod_u64)
{
	__m256i high = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
					_mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));

	return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(high, 32));
}

YMM(prod_c_f32)
{
	__m256 by_re = _mm256_mul_ps(PS(a), _mm256_moveldup_ps(PS(b)));
	__m256 by_im = _mm256_mul_ps(_mm256_permute_ps(PS(a), 0xb1), _mm256_movehdup_ps(PS(b)));

	return IPS(_mm256_addsub_ps(by_re, by_im));
}

YMM(prod_c_f64)
{
	__m256d by_re = _mm256_mul_pd(PD(a), _mm256_movedup_pd(PD(b)));
	__m256d by_im = _mm256_mul_pd(_mm256_permute_pd(PD(a), 0x5), _mm256_permute_pd(PD(b), 0xf));

	return IPD(_mm256_addsub_pd(by_re, by_im));
}

/* 64-bit min and max, 128-bit sum. */

YMM(min_i64)
{
	return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

YMM(max_i64)
{
	return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a));
}

/* Bits: a > b, unsigned. */
YMM(above_u64)
{
	const __m256i sign = _mm256_set1_epi64x(INT64_MIN);

	return _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign));
}

YMM(min_u64)
{
	return _mm256_blendv_epi8(a, b, y_above_u64(a, b));
}

YMM(max_u64)
{
	return _mm256_blendv_epi8(b, a, y_above_u64(a, b));
}

/* The low half carries where the sum is less than an operand. */
YMM(sum_u128)
{
	__m256i sum = _mm256_add_epi64(a, b);

	return _mm256_sub_epi64(sum, _mm256_slli_si256(y_above_u64(a, sum), 8));
}

/* Logical operations. */

/* A floating-point number is 0 if all bits but the sign are. `one` is 1 in the type. */
#define YMM_LOGICAL(t, cmpeq, bits, one)                                                \
	YMM(land_##t)                                                                   \
	{                                                                               \
		const __m256i zero = _mm256_setzero_si256();                            \
		__m256i fa = cmpeq(bits(a), zero), fb = cmpeq(bits(b), zero);           \
                                                                                        \
		return _mm256_andnot_si256(_mm256_or_si256(fa, fb), one);               \
	}                                                                               \
	YMM(lor_##t)                                                                    \
	{                                                                               \
		__m256i either = bits(_mm256_or_si256(a, b));                           \
                                                                                        \
		return _mm256_andnot_si256(cmpeq(either, _mm256_setzero_si256()), one); \
	}                                                                               \
	YMM(lxor_##t)                                                                   \
	{                                                                               \
		const __m256i zero = _mm256_setzero_si256();                            \
		__m256i fa = cmpeq(bits(a), zero), fb = cmpeq(bits(b), zero);           \
                                                                                        \
		return _mm256_and_si256(_mm256_xor_si256(fa, fb), one);                 \
	}
#define Y_ALL(x)     (x)
#define Y_BUT_32(x)  _mm256_and_si256(x, _mm256_set1_epi32(INT32_MAX))
#define Y_BUT_64(x)  _mm256_and_si256(x, _mm256_set1_epi64x(INT64_MAX))
#define Y_ONE_F32    IPS(_mm256_set1_ps(1))
#define Y_ONE_F64    IPD(_mm256_set1_pd(1))
#define Y_ONE_C_F32  IPS(_mm256_setr_ps(1, 0, 1, 0, 1, 0, 1, 0))
#define Y_ONE_C_F64  IPD(_mm256_setr_pd(1, 0, 1, 0))
#define Y_BOTH_64(x) y_halves(Y_BUT_64(x))
#define Y_ONE_U128   _mm256_setr_epi64x(1, 0, 1, 0)

/* The bits of both halves, in both. */
QV_INLINE __m256i y_halves(__m256i x)
{
	return _mm256_or_si256(x, _mm256_shuffle_epi32(x, 0x4e));
}

YMM_LOGICAL(u8, _mm256_cmpeq_epi8, Y_ALL, _mm256_set1_epi8(1))
YMM_LOGICAL(u16, _mm256_cmpeq_epi16, Y_ALL, _mm256_set1_epi16(1))
YMM_LOGICAL(u32, _mm256_cmpeq_epi32, Y_ALL, _mm256_set1_epi32(1))
YMM_LOGICAL(u64, _mm256_cmpeq_epi64, Y_ALL, _mm256_set1_epi64x(1))
YMM_LOGICAL(u128, _mm256_cmpeq_epi64, y_halves, Y_ONE_U128)
YMM_LOGICAL(f32, _mm256_cmpeq_epi32, Y_BUT_32, Y_ONE_F32)
YMM_LOGICAL(f64, _mm256_cmpeq_epi64, Y_BUT_64, Y_ONE_F64)
YMM_LOGICAL(c_f32, _mm256_cmpeq_epi64, Y_BUT_32, Y_ONE_C_F32)
YMM_LOGICAL(c_f64, _mm256_cmpeq_epi64, Y_BOTH_64, Y_ONE_C_F64)

/* Arrays. */

typedef __m256i vec;

QV_INLINE vec load(const char *p)
{
	return _mm256_loadu_si256((const vec *)p);
}

QV_INLINE void store(char *p, vec v)
{
	_mm256_storeu_si256((vec *)p, v);
}

QV_INLINE vec load_low(const char *p, size_t bytes)
{
	uint32_t word = 0;

	if (bytes == 16)
		return _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
	if (bytes == 8)
		return _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)p));
	memcpy(&word, p, bytes < sizeof(word) ? bytes : sizeof(word));
	return _mm256_castsi128_si256(_mm_cvtsi32_si128((int)word));
}

QV_INLINE void store_low(char *p, vec v, size_t bytes)
{
	__m128i low = _mm256_castsi256_si128(v);
	uint32_t word = (uint32_t)_mm_cvtsi128_si32(low);

	if (bytes == 16)
		_mm_storeu_si128((__m128i *)p, low);
	else if (bytes == 8)
		_mm_storel_epi64((__m128i *)p, low);
	else
		memcpy(p, &word, bytes < sizeof(word) ? bytes : sizeof(word));
}

#include "kernels/combine_walk.h"

/* A function of its own per kernel, since it is needed twice. */
typedef void (*qv_end_fn)(char *d, const char *a, const char *b, size_t bytes);

/* From here on it pays to let the stores begin at a full vector. */
#define Y_ALIGN_FROM 1024

/* Bytes before the first one of p at a multiple of `vector` bytes; 0 if no element begins there. */
QV_INLINE size_t qv_before_aligned(const char *p, size_t vector, size_t item)
{
	size_t bytes = -(uintptr_t)p & (vector - 1);

	return bytes % item ? 0 : bytes;
}

QV_INLINE void y_run(void *dst, const void *a, const void *b, size_t bytes, size_t item, vec_op op,
		     qv_end_fn end)
{
	struct qv_walk w = {dst, a, b};

	if (bytes < 32) {
		end(dst, a, b, bytes);
		return;
	}
	if (bytes >= Y_ALIGN_FROM) {
		size_t head = qv_before_aligned(w.d, 32, item);

		end(w.d, w.a, w.b, head);
		walk_on(&w, head);
		bytes -= head;
	}
	for (; bytes >= 128; bytes -= 128)
		step4(&w, op);
	for (; bytes >= 32; bytes -= 32)
		step(&w, op);
	if (bytes)
		end(w.d, w.a, w.b, bytes);
}

/* A kernel, and its ends, which are combined by 256-bit vectors at the most. */
#define QV_KERNEL_WIDE(name, item, run, op)                                                     \
	static QV_NOINLINE void end_##name(char *d, const char *a, const char *b, size_t bytes) \
	{                                                                                       \
		walk_end(d, a, b, bytes, item, y_##name);                                       \
	}                                                                                       \
	static void name(void *dst, const void *a, const void *b, size_t n)                     \
	{                                                                                       \
		run(dst, a, b, n *(item), item, op, end_##name);                                \
	}
#define QV_KERNEL_YMM(name, item) QV_KERNEL_WIDE(name, item, y_run, y_##name)

#endif /* QV_COMBINE_YMM_H */
