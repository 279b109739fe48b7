/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.c - combine kernels in plain C: the specification of the others, and the only
 * ones for long double and 128-bit integers. Compiled with -O3: the compiler may use whatever
 * vectors the baseline CPU has.
 *
 * What does not depend on the sign is written for unsigned types, what does not depend on the size
 * for bytes.
 */
#include <float.h>

#include "kernels/combine.h"

/* Iterations are independent: the destination is the same array as a source or does not overlap. */
#if defined(__clang__)
#define EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_ALONE _Pragma("GCC ivdep")
#endif

/* The types as they may lie in a message: anywhere, over anything. */
#define ANYWHERE(name, c_type) typedef c_type name __attribute__((aligned(1), may_alias))
ANYWHERE(i8, int8_t);
ANYWHERE(u8, uint8_t);
ANYWHERE(i16, int16_t);
ANYWHERE(u16, uint16_t);
ANYWHERE(i32, int32_t);
ANYWHERE(u32, uint32_t);
ANYWHERE(i64, int64_t);
ANYWHERE(u64, uint64_t);
__extension__ ANYWHERE(i128, __int128);
__extension__ ANYWHERE(u128, unsigned __int128);
ANYWHERE(f32, float);
ANYWHERE(f64, double);
ANYWHERE(f80, long double);

#define KERNEL(op, t, expression)                                                      \
	static void op##_##t(void *dst, const void *left, const void *right, size_t n) \
	{                                                                              \
		const t *l = left, *r = right;                                         \
		t *d = dst;                                                            \
                                                                                       \
		EACH_ALONE                                                             \
		for (size_t i = 0; i < n; i++) {                                       \
			const t a = l[i], b = r[i];                                    \
                                                                                       \
			d[i] = (t)(expression);                                        \
		}                                                                      \
	}

/* Small types are multiplied as unsigned: as int, 65535 * 65535 would overflow. */
#define INTEGER(t)                  \
	KERNEL(sum, t, a + b)       \
	KERNEL(prod, t, 1u * a * b) \
	KERNEL(land, t, a &&b)      \
	KERNEL(lor, t, a || b)      \
	KERNEL(lxor, t, !a != !b)
INTEGER(u8)
INTEGER(u16)
INTEGER(u32)
INTEGER(u64)
INTEGER(u128)

#define ORDERED(t)                    \
	KERNEL(min, t, b < a ? b : a) \
	KERNEL(max, t, b > a ? b : a)
ORDERED(i8)
ORDERED(u8)
ORDERED(i16)
ORDERED(u16)
ORDERED(i32)
ORDERED(u32)
ORDERED(i64)
ORDERED(u64)
ORDERED(i128)
ORDERED(u128)
ORDERED(f32)
ORDERED(f64)
ORDERED(f80)

#define ARITHMETIC(t)         \
	KERNEL(sum, t, a + b) \
	KERNEL(prod, t, a *b)
#define LOGICAL(t)             \
	KERNEL(land, t, a &&b) \
	KERNEL(lor, t, a || b) \
	KERNEL(lxor, t, !a != !b)
ARITHMETIC(f32)
ARITHMETIC(f64)
ARITHMETIC(f80)
LOGICAL(f32)
LOGICAL(f64)

/* Pairs of t: real part, imaginary part. */
#define COMPLEX_KERNEL(op, t, re, im)                                                    \
	static void op##_c_##t(void *dst, const void *left, const void *right, size_t n) \
	{                                                                                \
		const t *l = left, *r = right;                                           \
		t *d = dst;                                                              \
                                                                                         \
		EACH_ALONE                                                               \
		for (size_t i = 0; i < n; i++) {                                         \
			const t ar = l[2 * i], ai = l[2 * i + 1];                        \
			const t br = r[2 * i], bi = r[2 * i + 1];                        \
                                                                                         \
			d[2 * i] = (t)(re);                                              \
			d[2 * i + 1] = (t)(im);                                          \
		}                                                                        \
	}
#define A_TRUE (ar || ai)
#define B_TRUE (br || bi)
#define COMPLEX_ARITHMETIC(t)                                                    \
	COMPLEX_KERNEL(prod, t, ar *br - ai * bi, ar * bi + ai * br)             \
	static void sum_c_##t(void *dst, const void *a, const void *b, size_t n) \
	{                                                                        \
		sum_##t(dst, a, b, 2 * n);                                       \
	}
#define COMPLEX_LOGICAL(t)                          \
	COMPLEX_KERNEL(land, t, A_TRUE &B_TRUE, 0)  \
	COMPLEX_KERNEL(lor, t, A_TRUE || B_TRUE, 0) \
	COMPLEX_KERNEL(lxor, t, A_TRUE != B_TRUE, 0)
COMPLEX_ARITHMETIC(f32)
COMPLEX_ARITHMETIC(f64)
COMPLEX_ARITHMETIC(f80)
COMPLEX_LOGICAL(f32)
COMPLEX_LOGICAL(f64)

#if LDBL_MANT_DIG == 64
/*
 * Comparing long doubles takes the x87 unit longer than looking at their bits: 64 of the mantissa,
 * 15 of the exponent, the sign. 0 is all 0 but for the sign, 1 has the highest bit and a bias.
 */
static u64 is_true_f80(const char *p)
{
	return *(const u64 *)p | (*(const u16 *)(p + 8) & 0x7fff);
}

static u64 is_true_c_f80(const char *p)
{
	return is_true_f80(p) | is_true_f80(p + sizeof(f80));
}

#define F80_KERNEL(op, t, size, truth)                                                 \
	static void op##_##t(void *dst, const void *left, const void *right, size_t n) \
	{                                                                              \
		const char *l = left, *r = right;                                      \
		char *d = dst;                                                         \
                                                                                       \
		for (; n; n--, l += (size), r += (size), d += (size)) {                \
			const u64 a = is_true_##t(l), b = is_true_##t(r);              \
			const u64 one = (truth);                                       \
                                                                                       \
			*(u64 *)d = one << 63;                                         \
			*(u64 *)(d + 8) = one * 0x3fff;                                \
			if ((size) == sizeof(f80))                                     \
				continue;                                              \
			*(u64 *)(d + 16) = *(u64 *)(d + 24) = 0;                       \
		}                                                                      \
	}
#define F80_LOGICAL(t, size)                           \
	F80_KERNEL(land, t, size, (a != 0) & (b != 0)) \
	F80_KERNEL(lor, t, size, (a | b) != 0)         \
	F80_KERNEL(lxor, t, size, (a != 0) ^ (b != 0))
F80_LOGICAL(f80, sizeof(f80))
F80_LOGICAL(c_f80, 2 * sizeof(f80))
#else
LOGICAL(f80)
COMPLEX_LOGICAL(f80)
#endif

KERNEL(band, u8, a &b)
KERNEL(bor, u8, a | b)
KERNEL(bxor, u8, a ^ b)

#define BITS_OF(op, t)                                                          \
	static void op##_##t(void *dst, const void *a, const void *b, size_t n) \
	{                                                                       \
		op##_u8(dst, a, b, n * sizeof(t));                              \
	}
#define BITS(t)          \
	BITS_OF(band, t) \
	BITS_OF(bor, t)  \
	BITS_OF(bxor, t)
BITS(u16)
BITS(u32)
BITS(u64)
BITS(u128)

#define INTEGERS(op)                                                                           \
	[QV_TYPE_INT8] = op##_u8, [QV_TYPE_UINT8] = op##_u8, [QV_TYPE_INT16] = op##_u16,       \
	[QV_TYPE_UINT16] = op##_u16, [QV_TYPE_INT32] = op##_u32, [QV_TYPE_UINT32] = op##_u32,  \
	[QV_TYPE_INT64] = op##_u64, [QV_TYPE_UINT64] = op##_u64, [QV_TYPE_INT128] = op##_u128, \
	[QV_TYPE_UINT128] = op##_u128
#define SIGNED_INTEGERS(op)                                                                    \
	[QV_TYPE_INT8] = op##_i8, [QV_TYPE_UINT8] = op##_u8, [QV_TYPE_INT16] = op##_i16,       \
	[QV_TYPE_UINT16] = op##_u16, [QV_TYPE_INT32] = op##_i32, [QV_TYPE_UINT32] = op##_u32,  \
	[QV_TYPE_INT64] = op##_i64, [QV_TYPE_UINT64] = op##_u64, [QV_TYPE_INT128] = op##_i128, \
	[QV_TYPE_UINT128] = op##_u128
#define REALS(op) \
	[QV_TYPE_FLOAT] = op##_f32, [QV_TYPE_DOUBLE] = op##_f64, [QV_TYPE_LONG_DOUBLE] = op##_f80
#define COMPLEXES(op)                                                                \
	[QV_TYPE_FLOAT_COMPLEX] = op##_c_f32, [QV_TYPE_DOUBLE_COMPLEX] = op##_c_f64, \
	[QV_TYPE_LONG_DOUBLE_COMPLEX] = op##_c_f80

const struct qv_combine qv_combine_scalar = {
	.name = "scalar",
	.fn = {[QV_OP_SUM] = {INTEGERS(sum), REALS(sum), COMPLEXES(sum)},
	       [QV_OP_PROD] = {INTEGERS(prod), REALS(prod), COMPLEXES(prod)},
	       [QV_OP_MIN] = {SIGNED_INTEGERS(min), REALS(min)},
	       [QV_OP_MAX] = {SIGNED_INTEGERS(max), REALS(max)},
	       [QV_OP_LAND] = {INTEGERS(land), REALS(land), COMPLEXES(land)},
	       [QV_OP_LOR] = {INTEGERS(lor), REALS(lor), COMPLEXES(lor)},
	       [QV_OP_LXOR] = {INTEGERS(lxor), REALS(lxor), COMPLEXES(lxor)},
	       [QV_OP_BAND] = {INTEGERS(band)},
	       [QV_OP_BOR] = {INTEGERS(bor)},
	       [QV_OP_BXOR] = {INTEGERS(bxor)}},
};
