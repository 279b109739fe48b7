/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_kinds.h - which kernels a wide ISA has, by the size of what they work on, and their
 * place in its table. A file makes each kernel by QV_KINDS_*(macro), macro(name, bytes).
 */
#ifndef QV_COMBINE_KINDS_H
#define QV_COMBINE_KINDS_H

#include "kernels/combine.h"

#define QV_KINDS_INTEGER(X, size, bytes) \
	X(sum_u##size, bytes)            \
	X(prod_u##size, bytes)           \
	X(min_i##size, bytes)            \
	X(min_u##size, bytes)            \
	X(max_i##size, bytes)            \
	X(max_u##size, bytes)            \
	X(land_u##size, bytes)           \
	X(lor_u##size, bytes)            \
	X(lxor_u##size, bytes)

#define QV_KINDS_REAL(X, size, bytes) \
	X(sum_f##size, bytes)         \
	X(prod_f##size, bytes)        \
	X(min_f##size, bytes)         \
	X(max_f##size, bytes)         \
	X(land_f##size, bytes)        \
	X(lor_f##size, bytes)         \
	X(lxor_f##size, bytes)

#define QV_KINDS_COMPLEX(X, size, bytes) \
	X(prod_c_f##size, bytes)         \
	X(land_c_f##size, bytes)         \
	X(lor_c_f##size, bytes)          \
	X(lxor_c_f##size, bytes)

/* Lanes of 8 and 16 bits. */
#define QV_KINDS_SMALL(X)         \
	QV_KINDS_INTEGER(X, 8, 1) \
	QV_KINDS_INTEGER(X, 16, 2)

/* Lanes of 32 and 64 bits, and operations that know no lanes. */
#define QV_KINDS_LARGE(X)          \
	X(band_u8, 1)              \
	X(bor_u8, 1)               \
	X(bxor_u8, 1)              \
	X(sum_u128, 16)            \
	X(land_u128, 16)           \
	X(lor_u128, 16)            \
	X(lxor_u128, 16)           \
	QV_KINDS_INTEGER(X, 32, 4) \
	QV_KINDS_INTEGER(X, 64, 8) \
	QV_KINDS_REAL(X, 32, 4)    \
	QV_KINDS_REAL(X, 64, 8)    \
	QV_KINDS_COMPLEX(X, 32, 8) \
	QV_KINDS_COMPLEX(X, 64, 16)

/* A type as so many items of another: the bits of all types, both parts of a complex sum. */
#define QV_KIND_AS(name, as, times)                                         \
	static void name(void *dst, const void *a, const void *b, size_t n) \
	{                                                                   \
		as(dst, a, b, n *(times));                                  \
	}
#define QV_KIND_BITS(op)                 \
	QV_KIND_AS(op##_u16, op##_u8, 2) \
	QV_KIND_AS(op##_u32, op##_u8, 4) \
	QV_KIND_AS(op##_u64, op##_u8, 8) \
	QV_KIND_AS(op##_u128, op##_u8, 16)
#define QV_KINDS_DERIVED                  \
	QV_KIND_BITS(band)                \
	QV_KIND_BITS(bor)                 \
	QV_KIND_BITS(bxor)                \
	QV_KIND_AS(sum_c_f32, sum_f32, 2) \
	QV_KIND_AS(sum_c_f64, sum_f64, 2)

#define QV_ROW_UNSIGNED(op)                                                                   \
	[QV_TYPE_INT8] = op##_u8, [QV_TYPE_UINT8] = op##_u8, [QV_TYPE_INT16] = op##_u16,      \
	[QV_TYPE_UINT16] = op##_u16, [QV_TYPE_INT32] = op##_u32, [QV_TYPE_UINT32] = op##_u32, \
	[QV_TYPE_INT64] = op##_u64, [QV_TYPE_UINT64] = op##_u64
#define QV_ROW_SIGNED(op)                                                                     \
	[QV_TYPE_INT8] = op##_i8, [QV_TYPE_UINT8] = op##_u8, [QV_TYPE_INT16] = op##_i16,      \
	[QV_TYPE_UINT16] = op##_u16, [QV_TYPE_INT32] = op##_i32, [QV_TYPE_UINT32] = op##_u32, \
	[QV_TYPE_INT64] = op##_i64, [QV_TYPE_UINT64] = op##_u64
#define QV_ROW_REAL(op) [QV_TYPE_FLOAT] = op##_f32, [QV_TYPE_DOUBLE] = op##_f64
#define QV_ROW_COMPLEX(op) \
	[QV_TYPE_FLOAT_COMPLEX] = op##_c_f32, [QV_TYPE_DOUBLE_COMPLEX] = op##_c_f64
#define QV_ROW_128(op) [QV_TYPE_INT128] = op##_u128, [QV_TYPE_UINT128] = op##_u128

/* long double has no vector form, nor have product, min and max of 128-bit integers. */
#define QV_COMBINE_TABLE(isa)                                                                      \
	const struct qv_combine qv_combine_##isa = {                                               \
		.name = #isa,                                                                      \
		.fn = {[QV_OP_SUM] = {QV_ROW_UNSIGNED(sum), QV_ROW_128(sum), QV_ROW_REAL(sum),     \
				      QV_ROW_COMPLEX(sum)},                                        \
		       [QV_OP_PROD] = {QV_ROW_UNSIGNED(prod), QV_ROW_REAL(prod),                   \
				       QV_ROW_COMPLEX(prod)},                                      \
		       [QV_OP_MIN] = {QV_ROW_SIGNED(min), QV_ROW_REAL(min)},                       \
		       [QV_OP_MAX] = {QV_ROW_SIGNED(max), QV_ROW_REAL(max)},                       \
		       [QV_OP_LAND] = {QV_ROW_UNSIGNED(land), QV_ROW_128(land), QV_ROW_REAL(land), \
				       QV_ROW_COMPLEX(land)},                                      \
		       [QV_OP_LOR] = {QV_ROW_UNSIGNED(lor), QV_ROW_128(lor), QV_ROW_REAL(lor),     \
				      QV_ROW_COMPLEX(lor)},                                        \
		       [QV_OP_LXOR] = {QV_ROW_UNSIGNED(lxor), QV_ROW_128(lxor), QV_ROW_REAL(lxor), \
				       QV_ROW_COMPLEX(lxor)},                                      \
		       [QV_OP_BAND] = {QV_ROW_UNSIGNED(band), QV_ROW_128(band)},                   \
		       [QV_OP_BOR] = {QV_ROW_UNSIGNED(bor), QV_ROW_128(bor)},                      \
		       [QV_OP_BXOR] = {QV_ROW_UNSIGNED(bxor), QV_ROW_128(bxor)}},                  \
	}

#endif /* QV_COMBINE_KINDS_H */
