/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.c - the loops that one would write, compiled with -O3 whatever the build: what
 * combine has to beat.
 */
#include "combine.h"

typedef void (*loop_fn)(void *inout, const void *in, size_t count);

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
typedef long double ldouble;

#define LOOP(op, t, expression)                                         \
	static void op##_##t(void *inout, const void *in, size_t count) \
	{                                                               \
		t *x = inout;                                           \
		const t *y = in;                                        \
                                                                        \
		for (size_t i = 0; i < count; i++)                      \
			x[i] = (t)(expression);                         \
	}
#define LOGICAL(t)                  \
	LOOP(land, t, x[i] && y[i]) \
	LOOP(lor, t, x[i] || y[i])  \
	LOOP(lxor, t, !x[i] != !y[i])
#define ORDERED(t)                              \
	LOOP(min, t, y[i] < x[i] ? y[i] : x[i]) \
	LOOP(max, t, y[i] > x[i] ? y[i] : x[i])
/* u: the unsigned type in which nothing overflows */
#define INTEGER(t, u)                    \
	LOOP(sum, t, (u)x[i] + (u)y[i])  \
	LOOP(prod, t, (u)x[i] * (u)y[i]) \
	LOOP(band, t, x[i] & y[i])       \
	LOOP(bor, t, x[i] | y[i])        \
	LOOP(bxor, t, x[i] ^ y[i])       \
	ORDERED(t)                       \
	LOGICAL(t)
INTEGER(int8_t, uint32_t)
INTEGER(uint8_t, uint32_t)
INTEGER(int16_t, uint32_t)
INTEGER(uint16_t, uint32_t)
INTEGER(int32_t, uint32_t)
INTEGER(uint32_t, uint32_t)
INTEGER(int64_t, uint64_t)
INTEGER(uint64_t, uint64_t)
INTEGER(int128, uint128)
INTEGER(uint128, uint128)

#define REAL(t)                    \
	LOOP(sum, t, x[i] + y[i])  \
	LOOP(prod, t, x[i] * y[i]) \
	ORDERED(t)                 \
	LOGICAL(t)
REAL(float)
REAL(double)
REAL(ldouble)

/* Parts by hand: C's own product looks for infinities, which costs several times as much. */
#define COMPLEX_LOOP(op, t, first, second)                               \
	static void op##_c##t(void *inout, const void *in, size_t count) \
	{                                                                \
		struct c##t *x = inout;                                  \
		const struct c##t *y = in;                               \
                                                                         \
		for (size_t i = 0; i < count; i++)                       \
			x[i] = (struct c##t){(t)(first), (t)(second)};   \
	}
#define X_TRUE (x[i].re || x[i].im)
#define Y_TRUE (y[i].re || y[i].im)
#define COMPLEX(t)                                                  \
	struct c##t {                                               \
		t re, im;                                           \
	};                                                          \
	COMPLEX_LOOP(sum, t, x[i].re + y[i].re, x[i].im + y[i].im)  \
	COMPLEX_LOOP(prod, t, x[i].re *y[i].re - x[i].im * y[i].im, \
		     x[i].re * y[i].im + x[i].im * y[i].re)         \
	COMPLEX_LOOP(land, t, X_TRUE &&Y_TRUE, 0)                   \
	COMPLEX_LOOP(lor, t, X_TRUE || Y_TRUE, 0)                   \
	COMPLEX_LOOP(lxor, t, X_TRUE != Y_TRUE, 0)
COMPLEX(float)
COMPLEX(double)
COMPLEX(ldouble)

#define OF_INTEGERS(op)                                                                      \
	op##_int8_t, op##_uint8_t, op##_int16_t, op##_uint16_t, op##_int32_t, op##_uint32_t, \
		op##_int64_t, op##_uint64_t, op##_int128, op##_uint128
#define OF_REALS(op)     op##_float, op##_double, op##_ldouble
#define OF_COMPLEXES(op) op##_cfloat, op##_cdouble, op##_cldouble

static const loop_fn loops[QV_N_OPS][QV_N_TYPES] = {
	[QV_OP_SUM] = {OF_INTEGERS(sum), OF_REALS(sum), OF_COMPLEXES(sum)},
	[QV_OP_PROD] = {OF_INTEGERS(prod), OF_REALS(prod), OF_COMPLEXES(prod)},
	[QV_OP_MIN] = {OF_INTEGERS(min), OF_REALS(min)},
	[QV_OP_MAX] = {OF_INTEGERS(max), OF_REALS(max)},
	[QV_OP_LAND] = {OF_INTEGERS(land), OF_REALS(land), OF_COMPLEXES(land)},
	[QV_OP_LOR] = {OF_INTEGERS(lor), OF_REALS(lor), OF_COMPLEXES(lor)},
	[QV_OP_LXOR] = {OF_INTEGERS(lxor), OF_REALS(lxor), OF_COMPLEXES(lxor)},
	[QV_OP_BAND] = {OF_INTEGERS(band)},
	[QV_OP_BOR] = {OF_INTEGERS(bor)},
	[QV_OP_BXOR] = {OF_INTEGERS(bxor)},
};

int qv_bc_loop(const struct qv_combine *unused, enum qv_op op, enum qv_type type, void *inout,
	       const void *in, size_t count)
{
	const loop_fn loop = loops[op][type];

	if (!loop)
		return -1;
	loop(inout, in, count);
	return 0;
}
