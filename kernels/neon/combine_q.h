/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_q.h - the combine operations on 128 bits, q_<op>_<type>(a, b), in NEON, and how arrays
 * are walked with them. All work on uint8x16_t; casts cost nothing.
 */
#ifndef QV_COMBINE_Q_H
#define QV_COMBINE_Q_H

#include "engine/base/compiler.h"

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8x16_t vec;

#define Q(name) QV_INLINE vec q_##name(vec a, vec b)

/* The lanes of a type, and back. */
#define U8(x)     (x)
#define U16(x)    vreinterpretq_u16_u8(x)
#define U32(x)    vreinterpretq_u32_u8(x)
#define U64(x)    vreinterpretq_u64_u8(x)
#define I8(x)     vreinterpretq_s8_u8(x)
#define I16(x)    vreinterpretq_s16_u8(x)
#define I32(x)    vreinterpretq_s32_u8(x)
#define I64(x)    vreinterpretq_s64_u8(x)
#define F32(x)    vreinterpretq_f32_u8(x)
#define F64(x)    vreinterpretq_f64_u8(x)
#define OF_U8(x)  (x)
#define OF_U16(x) vreinterpretq_u8_u16(x)
#define OF_U32(x) vreinterpretq_u8_u32(x)
#define OF_U64(x) vreinterpretq_u8_u64(x)
#define OF_I8(x)  vreinterpretq_u8_s8(x)
#define OF_I16(x) vreinterpretq_u8_s16(x)
#define OF_I32(x) vreinterpretq_u8_s32(x)
#define OF_F32(x) vreinterpretq_u8_f32(x)
#define OF_F64(x) vreinterpretq_u8_f64(x)

/* One instruction. */

#define Q_IS(name, T, intrinsic)                      \
	Q(name)                                       \
	{                                             \
		return OF_##T(intrinsic(T(a), T(b))); \
	}
Q_IS(band_u8, U8, vandq_u8)
Q_IS(bor_u8, U8, vorrq_u8)
Q_IS(bxor_u8, U8, veorq_u8)
Q_IS(sum_u8, U8, vaddq_u8)
Q_IS(sum_u16, U16, vaddq_u16)
Q_IS(sum_u32, U32, vaddq_u32)
Q_IS(sum_u64, U64, vaddq_u64)
Q_IS(sum_f32, F32, vaddq_f32)
Q_IS(sum_f64, F64, vaddq_f64)
Q_IS(prod_u8, U8, vmulq_u8)
Q_IS(prod_u16, U16, vmulq_u16)
Q_IS(prod_u32, U32, vmulq_u32)
Q_IS(prod_f32, F32, vmulq_f32)
Q_IS(prod_f64, F64, vmulq_f64)
Q_IS(min_i8, I8, vminq_s8)
Q_IS(min_u8, U8, vminq_u8)
Q_IS(min_i16, I16, vminq_s16)
Q_IS(min_u16, U16, vminq_u16)
Q_IS(min_i32, I32, vminq_s32)
Q_IS(min_u32, U32, vminq_u32)
Q_IS(max_i8, I8, vmaxq_s8)
Q_IS(max_u8, U8, vmaxq_u8)
Q_IS(max_i16, I16, vmaxq_s16)
Q_IS(max_u16, U16, vmaxq_u16)
Q_IS(max_i32, I32, vmaxq_s32)
Q_IS(max_u32, U32, vmaxq_u32)

/* b where it wins, else a. fmin would have it otherwise for a NaN, and for zeros of both signs. */
#define Q_WINS(name, T, compare, x, y, of)                      \
	Q(name)                                                 \
	{                                                       \
		return vbslq_u8(of(compare(T(x), T(y))), b, a); \
	}
Q_WINS(min_i64, I64, vcgtq_s64, a, b, OF_U64)
Q_WINS(max_i64, I64, vcgtq_s64, b, a, OF_U64)
Q_WINS(min_u64, U64, vcgtq_u64, a, b, OF_U64)
Q_WINS(max_u64, U64, vcgtq_u64, b, a, OF_U64)
Q_WINS(min_f32, F32, vcltq_f32, b, a, OF_U32)
Q_WINS(max_f32, F32, vcgtq_f32, b, a, OF_U32)
Q_WINS(min_f64, F64, vcltq_f64, b, a, OF_U64)
Q_WINS(max_f64, F64, vcgtq_f64, b, a, OF_U64)

/* Products. */

/* Low by low, and what the halves crosswise add to the high one. */
Q(prod_u64)
{
	const uint32x4_t across = vmulq_u32(U32(a), vrev64q_u32(U32(b)));
	const uint64x2_t high = vshlq_n_u64(vpaddlq_u32(across), 32);

	return OF_U64(vmlal_u32(high, vmovn_u64(U64(a)), vmovn_u64(U64(b))));
}

/* The real parts are differences: what is taken away changes its sign, and is added. */
Q(prod_c_f32)
{
	const float32x4_t by_re = vmulq_f32(F32(a), vtrn1q_f32(F32(b), F32(b)));
	const float32x4_t by_im = vmulq_f32(vrev64q_f32(F32(a)), vtrn2q_f32(F32(b), F32(b)));
	const vec sign = OF_U64(vdupq_n_u64(0x80000000u));

	return OF_F32(vaddq_f32(by_re, F32(veorq_u8(OF_F32(by_im), sign))));
}

Q(prod_c_f64)
{
	const float64x2_t by_re = vmulq_f64(F64(a), vdupq_laneq_f64(F64(b), 0));
	const float64x2_t by_im =
		vmulq_f64(vextq_f64(F64(a), F64(a), 1), vdupq_laneq_f64(F64(b), 1));
	const vec sign = OF_U64(vcombine_u64(vcreate_u64(UINT64_C(1) << 63), vcreate_u64(0)));

	return OF_F64(vaddq_f64(by_re, F64(veorq_u8(OF_F64(by_im), sign))));
}

/* The low half carries where the sum is less than an operand. */
Q(sum_u128)
{
	const uint64x2_t sum = vaddq_u64(U64(a), U64(b));
	const uint64x2_t carry = vcgtq_u64(U64(a), sum);

	return OF_U64(vsubq_u64(sum, vextq_u64(vdupq_n_u64(0), carry, 1)));
}

/* Logical operations. */

/* Bits: the item is 0. A floating-point number is 0 if all bits but the sign are. */
#define Q_BUT_32(x) vbicq_u32(U32(x), vdupq_n_u32(0x80000000u))
#define Q_BUT_64(x) vbicq_u64(U64(x), vdupq_n_u64(UINT64_C(1) << 63))
#define Q_NOT(t, zero)                 \
	QV_INLINE vec q_not_##t(vec x) \
	{                              \
		return zero;           \
	}
Q_NOT(u8, vceqzq_u8(x))
Q_NOT(u16, OF_U16(vceqzq_u16(U16(x))))
Q_NOT(u32, OF_U32(vceqzq_u32(U32(x))))
Q_NOT(u64, OF_U64(vceqzq_u64(U64(x))))
Q_NOT(u128, OF_U64(vceqzq_u64(vorrq_u64(U64(x), vextq_u64(U64(x), U64(x), 1)))))
Q_NOT(f32, OF_U32(vceqzq_u32(Q_BUT_32(x))))
Q_NOT(f64, OF_U64(vceqzq_u64(Q_BUT_64(x))))
Q_NOT(c_f32, OF_U64(vceqzq_u64(vreinterpretq_u64_u32(Q_BUT_32(x)))))
Q_NOT(c_f64, q_not_u128(OF_U64(Q_BUT_64(x))))

/* `one` is 1 in the type. */
#define Q_LOGICAL(t, one)                                                   \
	Q(land_##t)                                                         \
	{                                                                   \
		return vbicq_u8(one, vorrq_u8(q_not_##t(a), q_not_##t(b))); \
	}                                                                   \
	Q(lor_##t)                                                          \
	{                                                                   \
		return vbicq_u8(one, q_not_##t(vorrq_u8(a, b)));            \
	}                                                                   \
	Q(lxor_##t)                                                         \
	{                                                                   \
		return vandq_u8(one, veorq_u8(q_not_##t(a), q_not_##t(b))); \
	}
/* 1 in the low half of each 128 bits. */
#define Q_LOW_64(one) OF_U64(vcombine_u64(vcreate_u64(one), vcreate_u64(0)))
#define BITS_1_F32    0x3f800000u
#define BITS_1_F64    UINT64_C(0x3ff0000000000000)

Q_LOGICAL(u8, vdupq_n_u8(1))
Q_LOGICAL(u16, OF_U16(vdupq_n_u16(1)))
Q_LOGICAL(u32, OF_U32(vdupq_n_u32(1)))
Q_LOGICAL(u64, OF_U64(vdupq_n_u64(1)))
Q_LOGICAL(u128, Q_LOW_64(1))
Q_LOGICAL(f32, OF_U32(vdupq_n_u32(BITS_1_F32)))
Q_LOGICAL(f64, OF_U64(vdupq_n_u64(BITS_1_F64)))
Q_LOGICAL(c_f32, OF_U64(vdupq_n_u64(BITS_1_F32)))
Q_LOGICAL(c_f64, Q_LOW_64(BITS_1_F64))

/* Arrays. */

QV_INLINE vec load(const char *p)
{
	return vld1q_u8((const uint8_t *)p);
}

QV_INLINE void store(char *p, vec v)
{
	vst1q_u8((uint8_t *)p, v);
}

QV_INLINE vec load_low(const char *p, size_t bytes)
{
	uint64_t word = 0;

	memcpy(&word, p, bytes);
	return OF_U64(vdupq_n_u64(word));
}

QV_INLINE void store_low(char *p, vec v, size_t bytes)
{
	const uint64_t word = vgetq_lane_u64(U64(v), 0);

	memcpy(p, &word, bytes);
}

#include "kernels/combine_walk.h"

QV_INLINE void q_run(void *dst, const void *a, const void *b, size_t bytes, size_t item, vec_op op)
{
	struct qv_walk w = {dst, a, b};

	for (; bytes >= 4 * sizeof(vec); bytes -= 4 * sizeof(vec))
		step4(&w, op);
	walk_end(w.d, w.a, w.b, bytes, item, op);
}

/* A kernel of 128-bit vectors. */
#define QV_KERNEL_Q(name, item)                                             \
	static void name(void *dst, const void *a, const void *b, size_t n) \
	{                                                                   \
		q_run(dst, a, b, n *(item), item, q_##name);                \
	}

#endif /* QV_COMBINE_Q_H */
