/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_zmm.h - the combine operations on 512 bits, z_<op>_<type>(a, b), for lanes of 32 and
 * 64 bits in Foundation's instructions only; with BW and DQ also for 8 and 16 bits. The ends of
 * arrays are combined by the 256-bit form: a load of 64 bytes from a message of 8 that has just
 * been stored would wait for the store to reach the cache.
 */
#ifndef QV_COMBINE_ZMM_H
#define QV_COMBINE_ZMM_H

#include "kernels/avx2/combine_ymm.h"
#include "engine/base/compiler.h"

#define ZMM(name) QV_INLINE __m512i z_##name(__m512i a, __m512i b)
#define ZPS(x)    _mm512_castsi512_ps(x)
#define ZPD(x)    _mm512_castsi512_pd(x)
#define IZPS(x)   _mm512_castps_si512(x)
#define IZPD(x)   _mm512_castpd_si512(x)

/* One instruction. */

#define ZMM_IS(name, intrinsic)                  \
	ZMM(name)                                \
	{                                        \
		return _mm512_##intrinsic(a, b); \
	}
ZMM_IS(band_u8, and_si512)
ZMM_IS(bor_u8, or_si512)
ZMM_IS(bxor_u8, xor_si512)
ZMM_IS(sum_u32, add_epi32)
ZMM_IS(sum_u64, add_epi64)
ZMM_IS(prod_u32, mullo_epi32)
ZMM_IS(min_i32, min_epi32)
ZMM_IS(min_u32, min_epu32)
ZMM_IS(min_i64, min_epi64)
ZMM_IS(min_u64, min_epu64)
ZMM_IS(max_i32, max_epi32)
ZMM_IS(max_u32, max_epu32)
ZMM_IS(max_i64, max_epi64)
ZMM_IS(max_u64, max_epu64)

/* vminps x, y is x < y ? x : y, and y where they are equal or one is a NaN; vmaxps alike. */
#define ZMM_REAL(name, intrinsic, l, r)                               \
	ZMM(name##_f32)                                               \
	{                                                             \
		return IZPS(_mm512_##intrinsic##_ps(ZPS(l), ZPS(r))); \
	}                                                             \
	ZMM(name##_f64)                                               \
	{                                                             \
		return IZPD(_mm512_##intrinsic##_pd(ZPD(l), ZPD(r))); \
	}
ZMM_REAL(sum, add, a, b)
ZMM_REAL(prod, mul, a, b)
ZMM_REAL(min, min, b, a)
ZMM_REAL(max, max, b, a)

/* Products. */

#ifdef __AVX512DQ__
ZMM_IS(prod_u64, mullo_epi64)
#else
ZMM(prod_u64)
{
	__m512i high = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(a, 32), b),
					_mm512_mul_epu32(a, _mm512_srli_epi64(b, 32)));

	return _mm512_add_epi64(_mm512_mul_epu32(a, b), _mm512_slli_epi64(high, 32));
}
#endif

/* Real parts are in the even lanes: there the products are subtracted. */
ZMM(prod_c_f32)
{
	__m512 by_re = _mm512_mul_ps(ZPS(a), _mm512_moveldup_ps(ZPS(b)));
	__m512 by_im = _mm512_mul_ps(_mm512_permute_ps(ZPS(a), 0xb1), _mm512_movehdup_ps(ZPS(b)));

	return IZPS(_mm512_mask_sub_ps(_mm512_add_ps(by_re, by_im), 0x5555, by_re, by_im));
}

ZMM(prod_c_f64)
{
	__m512d by_re = _mm512_mul_pd(ZPD(a), _mm512_movedup_pd(ZPD(b)));
	__m512d by_im =
		_mm512_mul_pd(_mm512_permute_pd(ZPD(a), 0x55), _mm512_permute_pd(ZPD(b), 0xff));

	return IZPD(_mm512_mask_sub_pd(_mm512_add_pd(by_re, by_im), 0x55, by_re, by_im));
}

/* As y_sum_u128. */
ZMM(sum_u128)
{
	__m512i sum = _mm512_add_epi64(a, b);
	unsigned int carry = _mm512_cmplt_epu64_mask(sum, a) & 0x55u;

	return _mm512_mask_add_epi64(sum, (__mmask8)(carry << 1), sum, _mm512_set1_epi64(1));
}

/* Logical operations. */

/* truth(x): a mask of the lanes that are not 0; one(mask): 1 in the type where the mask is set. */
#define ZMM_LOGICAL(t, truth, one)                        \
	ZMM(land_##t)                                     \
	{                                                 \
		return one(truth(a) & truth(b));          \
	}                                                 \
	ZMM(lor_##t)                                      \
	{                                                 \
		return one(truth(_mm512_or_si512(a, b))); \
	}                                                 \
	ZMM(lxor_##t)                                     \
	{                                                 \
		return one(truth(a) ^ truth(b));          \
	}
#define Z_TRUE_U32(x)  _mm512_test_epi32_mask(x, x)
#define Z_TRUE_U64(x)  _mm512_test_epi64_mask(x, x)
#define Z_TRUE_F32(x)  _mm512_test_epi32_mask(x, _mm512_set1_epi32(INT32_MAX))
#define Z_TRUE_F64(x)  _mm512_test_epi64_mask(x, _mm512_set1_epi64(INT64_MAX))
#define Z_TRUE_CF32(x) _mm512_test_epi64_mask(x, _mm512_set1_epi32(INT32_MAX))
#define Z_HALVES(x)    _mm512_or_si512(x, _mm512_shuffle_epi32(x, 0x4e))
#define Z_TRUE_CF64(x) Z_TRUE_F64(Z_HALVES(x))
#define Z_TRUE_U128(x) Z_TRUE_U64(Z_HALVES(x))
#define Z_ONE_U32(m)   _mm512_maskz_set1_epi32(m, 1)
#define Z_ONE_U64(m)   _mm512_maskz_set1_epi64(m, 1)
#define Z_ONE_F32(m)   _mm512_maskz_set1_epi32(m, 0x3f800000)
#define Z_ONE_F64(m)   _mm512_maskz_set1_epi64(m, 0x3ff0000000000000)
#define Z_ONE_CF32(m)  _mm512_maskz_set1_epi64(m, 0x3f800000)
#define Z_ONE_U128(m)  Z_ONE_U64((m)&0x55)
#define Z_ONE_CF64(m)  Z_ONE_F64((m)&0x55)

ZMM_LOGICAL(u32, Z_TRUE_U32, Z_ONE_U32)
ZMM_LOGICAL(u64, Z_TRUE_U64, Z_ONE_U64)
ZMM_LOGICAL(u128, Z_TRUE_U128, Z_ONE_U128)
ZMM_LOGICAL(f32, Z_TRUE_F32, Z_ONE_F32)
ZMM_LOGICAL(f64, Z_TRUE_F64, Z_ONE_F64)
ZMM_LOGICAL(c_f32, Z_TRUE_CF32, Z_ONE_CF32)
ZMM_LOGICAL(c_f64, Z_TRUE_CF64, Z_ONE_CF64)

/* Lanes of 8 and 16 bits. */

#ifdef __AVX512BW__
ZMM_IS(sum_u8, add_epi8)
ZMM_IS(sum_u16, add_epi16)
ZMM_IS(prod_u16, mullo_epi16)
ZMM_IS(min_i8, min_epi8)
ZMM_IS(min_u8, min_epu8)
ZMM_IS(min_i16, min_epi16)
ZMM_IS(min_u16, min_epu16)
ZMM_IS(max_i8, max_epi8)
ZMM_IS(max_u8, max_epu8)
ZMM_IS(max_i16, max_epi16)
ZMM_IS(max_u16, max_epu16)

/* As y_prod_u8. */
ZMM(prod_u8)
{
	const __m512i low = _mm512_set1_epi16(0x00ff);
	__m512i even = _mm512_mullo_epi16(a, b);
	__m512i odd = _mm512_mullo_epi16(_mm512_andnot_si512(low, a), _mm512_srli_epi16(b, 8));

	return _mm512_mask_mov_epi8(even, 0xaaaaaaaaaaaaaaaa, odd);
}

#define Z_TRUE_U8(x)  _mm512_test_epi8_mask(x, x)
#define Z_TRUE_U16(x) _mm512_test_epi16_mask(x, x)
#define Z_ONE_U8(m)   _mm512_maskz_set1_epi8(m, 1)
#define Z_ONE_U16(m)  _mm512_maskz_set1_epi16(m, 1)
ZMM_LOGICAL(u8, Z_TRUE_U8, Z_ONE_U8)
ZMM_LOGICAL(u16, Z_TRUE_U16, Z_ONE_U16)
#endif

/* Arrays. */

typedef __m512i (*z_op)(__m512i a, __m512i b);

QV_INLINE __m512i z_load(const char *p)
{
	return _mm512_loadu_si512(p);
}

QV_INLINE void z_step(struct qv_walk *w, z_op op)
{
	_mm512_storeu_si512(w->d, op(z_load(w->a), z_load(w->b)));
	walk_on(w, 64);
}

/* As step4. */
QV_INLINE void z_step4(struct qv_walk *w, z_op op)
{
	z_step(w, op);
	z_step(w, op);
	z_step(w, op);
	z_step(w, op);
}

/*
 * Of less than this, 512-bit vectors would touch two cache lines each, or what has just been stored
 * in smaller pieces.
 */
#define Z_FROM 256

QV_INLINE void z_run(void *dst, const void *a, const void *b, size_t bytes, size_t item, z_op op,
		     qv_end_fn end)
{
	struct qv_walk w = {dst, a, b};
	size_t head;

	if (bytes < Z_FROM) {
		end(dst, a, b, bytes);
		return;
	}
	head = qv_before_aligned(w.d, 64, item);
	if (head) {
		end(w.d, w.a, w.b, head);
		walk_on(&w, head);
		bytes -= head;
	}
	for (; bytes >= 256; bytes -= 256)
		z_step4(&w, op);
	for (; bytes >= 64; bytes -= 64)
		z_step(&w, op);
	if (bytes)
		end(w.d, w.a, w.b, bytes);
}

#define QV_KERNEL_ZMM(name, item) QV_KERNEL_WIDE(name, item, z_run, z_##name)

#endif /* QV_COMBINE_ZMM_H */
