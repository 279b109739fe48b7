/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_ref.c - the definition of combine written once more: integers of all sizes in 128
 * bits, floating-point types part by part.
 */
#include "combine_ref.h"

#include <float.h>
#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 wide_signed;

uint64_t qv_ref_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int is_integer(enum qv_type type)
{
	return type <= QV_TYPE_UINT128;
}

static int is_signed(enum qv_type type)
{
	return type % 2 == 0;
}

static int is_complex(enum qv_type type)
{
	return type >= QV_TYPE_FLOAT_COMPLEX;
}

/* Of which floating-point type the parts are. */
static enum qv_type part_type(enum qv_type type)
{
	return is_complex(type) ? type - QV_TYPE_FLOAT_COMPLEX + QV_TYPE_FLOAT : type;
}

static size_t part_size(enum qv_type type)
{
	return qv_type_size(part_type(type));
}

/* Integers. */

static wide get_integer(enum qv_type type, const void *p)
{
	const size_t unused = 128 - 8 * qv_type_size(type);
	wide value = 0;

	memcpy(&value, p, qv_type_size(type));
	value <<= unused;
	return is_signed(type) ? (wide)((wide_signed)value >> unused) : value >> unused;
}

static int less(enum qv_type type, wide a, wide b)
{
	return is_signed(type) ? (wide_signed)a < (wide_signed)b : a < b;
}

static wide of_integers(enum qv_op op, enum qv_type type, wide a, wide b)
{
	switch (op) {
	case QV_OP_SUM: return a + b;
	case QV_OP_PROD: return a * b;
	case QV_OP_MIN: return less(type, b, a) ? b : a;
	case QV_OP_MAX: return less(type, a, b) ? b : a;
	case QV_OP_LAND: return a && b;
	case QV_OP_LOR: return a || b;
	case QV_OP_LXOR: return !a != !b;
	case QV_OP_BAND: return a & b;
	case QV_OP_BOR: return a | b;
	case QV_OP_BXOR: return a ^ b;
	}
	return 0;
}

/* Floating point: each operation in its own precision and rounded to memory. */

#define PARTS(t, name)                                                                     \
	static void name(enum qv_op op, void *out, const void *left, const void *right)    \
	{                                                                                  \
		volatile t a, b, result = 0;                                               \
                                                                                           \
		memcpy((void *)&a, left, sizeof(a));                                       \
		memcpy((void *)&b, right, sizeof(b));                                      \
		if (op == QV_OP_MIN || op == QV_OP_MAX) {                                  \
			int right_wins = op == QV_OP_MIN ? isless(b, a) : isgreater(b, a); \
                                                                                           \
			memcpy(out, right_wins ? right : left, sizeof(t));                 \
			return;                                                            \
		}                                                                          \
		if (op == QV_OP_SUM)                                                       \
			result = a + b;                                                    \
		else if (op == QV_OP_PROD)                                                 \
			result = a * b;                                                    \
		else if (op == QV_OP_BXOR) /* stands for a difference */                   \
			result = a - b;                                                    \
		memcpy(out, (const void *)&result, sizeof(t));                             \
	}
PARTS(float, of_floats)
PARTS(double, of_doubles)
PARTS(long double, of_long_doubles)

static void of_parts(enum qv_op op, enum qv_type type, void *out, const void *a, const void *b)
{
	switch (part_type(type)) {
	case QV_TYPE_FLOAT: of_floats(op, out, a, b); break;
	case QV_TYPE_DOUBLE: of_doubles(op, out, a, b); break;
	default: of_long_doubles(op, out, a, b); break;
	}
}

static long double get_part(enum qv_type type, const void *p)
{
	float f;
	double d;
	long double l;

	switch (part_type(type)) {
	case QV_TYPE_FLOAT: return memcpy(&f, p, sizeof(f)), (long double)f;
	case QV_TYPE_DOUBLE: return memcpy(&d, p, sizeof(d)), (long double)d;
	default: return memcpy(&l, p, sizeof(l)), l;
	}
}

static void put_part(enum qv_type type, void *p, long double value)
{
	float f = (float)value;
	double d = (double)value;

	switch (part_type(type)) {
	case QV_TYPE_FLOAT: memcpy(p, &f, sizeof(f)); break;
	case QV_TYPE_DOUBLE: memcpy(p, &d, sizeof(d)); break;
	default: memcpy(p, &value, sizeof(value)); break;
	}
}

static int is_true(enum qv_type type, const char *p)
{
	return get_part(type, p) != 0 ||
	       (is_complex(type) && get_part(type, p + part_size(type)) != 0);
}

static void complex_product(enum qv_type type, char *out, const char *a, const char *b)
{
	const size_t part = part_size(type);
	char re[2][QV_REF_ITEM], im[2][QV_REF_ITEM];

	of_parts(QV_OP_PROD, type, re[0], a, b);
	of_parts(QV_OP_PROD, type, re[1], a + part, b + part);
	of_parts(QV_OP_PROD, type, im[0], a, b + part);
	of_parts(QV_OP_PROD, type, im[1], a + part, b);
	of_parts(QV_OP_BXOR, type, out, re[0], re[1]);
	of_parts(QV_OP_SUM, type, out + part, im[0], im[1]);
}

static void of_reals(enum qv_op op, enum qv_type type, char *out, const char *a, const char *b)
{
	const int truth = op == QV_OP_LAND  ? is_true(type, a) && is_true(type, b)
			  : op == QV_OP_LOR ? is_true(type, a) || is_true(type, b)
					    : is_true(type, a) != is_true(type, b);

	if (op == QV_OP_LAND || op == QV_OP_LOR || op == QV_OP_LXOR) {
		put_part(type, out, truth);
		if (is_complex(type))
			put_part(type, out + part_size(type), 0);
	} else if (op == QV_OP_PROD && is_complex(type)) {
		complex_product(type, out, a, b);
	} else {
		for (size_t at = 0; at < qv_type_size(type); at += part_size(type))
			of_parts(op, type, out + at, a + at, b + at);
	}
}

void qv_ref_combine(enum qv_op op, enum qv_type type, void *out, const void *a, const void *b)
{
	char result[QV_REF_ITEM] = {0};

	if (is_integer(type)) {
		wide value = of_integers(op, type, get_integer(type, a), get_integer(type, b));

		memcpy(result, &value, sizeof(value));
	} else {
		of_reals(op, type, result, a, b);
	}
	memcpy(out, result, qv_type_size(type));
}

int qv_ref_same(enum qv_op op, enum qv_type type, const void *x, const void *y)
{
	const size_t size = qv_type_size(type), part = is_integer(type) ? size : part_size(type);
	const size_t used = part_type(type) == QV_TYPE_LONG_DOUBLE ? QV_REF_LONG_DOUBLE : part;
	const char *p = x, *q = y;

	for (size_t at = 0; at < size; at += part) {
		if (!memcmp(p + at, q + at, used))
			continue;
		if (is_integer(type) || (op != QV_OP_SUM && op != QV_OP_PROD) ||
		    !isnan(get_part(type, p + at)) || !isnan(get_part(type, q + at)))
			return 0;
	}
	return 1;
}

/* Values. */

#define HARD_INTEGERS 12
#define HARD_PARTS    20

static wide hard_integer(enum qv_type type, size_t i)
{
	const wide top = (wide)1 << (8 * qv_type_size(type) - 1), all = top | (top - 1);
	const wide values[HARD_INTEGERS] = {
		0,       1,         2,    all, top, top - 1, top + 1, all - 1, (wide)1 << 31,
		all / 3, all / 255, 0x80,
	};

	return values[i];
}

/* x87: the mantissa with its highest bit, and the exponent behind it; or IEEE 754's 128 bits. */
static void put_long_nan(char *p, int quiet, unsigned int number, int sign)
{
	const uint64_t head = (uint64_t)(0x7fff | sign << 15);
	const uint64_t x87[2] = {0x8000000000000000u | (uint64_t)quiet << 62 | number, head};
	const uint64_t quad[2] = {number, head << 48 | (uint64_t)quiet << 47};

	memcpy(p, LDBL_MANT_DIG == 64 ? x87 : quad, QV_REF_LONG_DOUBLE);
}

/* The bits of a NaN of each type: quiet or not, a number, the sign. */
static void put_nan(enum qv_type type, char *p, int quiet, unsigned int number, int sign)
{
	uint32_t f = 0x7f800000u | (uint32_t)quiet << 22 | number | (uint32_t)sign << 31;
	uint64_t d = 0x7ff0000000000000u | (uint64_t)quiet << 51 | number | (uint64_t)sign << 63;

	switch (part_type(type)) {
	case QV_TYPE_FLOAT: memcpy(p, &f, sizeof(f)); break;
	case QV_TYPE_DOUBLE: memcpy(p, &d, sizeof(d)); break;
	default: put_long_nan(p, quiet, number, sign); break;
	}
}

static void hard_part(enum qv_type type, size_t i, char *p)
{
	static const long double f[] = {FLT_TRUE_MIN, FLT_MIN, FLT_MAX, FLT_EPSILON};
	static const long double d[] = {DBL_TRUE_MIN, DBL_MIN, DBL_MAX, DBL_EPSILON};
	static const long double l[] = {LDBL_TRUE_MIN, LDBL_MIN, LDBL_MAX, LDBL_EPSILON};
	const enum qv_type part = part_type(type);
	const long double *of = part == QV_TYPE_FLOAT ? f : part == QV_TYPE_DOUBLE ? d : l;
	const long double values[] = {0,     1,     HUGE_VALL, of[0],
				      of[1], of[2], 1 + of[3], of[1] - of[0]};
	const size_t n = sizeof(values) / sizeof(values[0]);

	if (i < 2 * n)
		put_part(type, p, i % 2 ? -values[i / 2] : values[i / 2]);
	else
		put_nan(type, p, i % 2, 1 + (unsigned int)i, i / 2 % 2);
}

size_t qv_ref_hard_n(enum qv_type type)
{
	return is_integer(type) ? HARD_INTEGERS : is_complex(type) ? HARD_PARTS * 7 : HARD_PARTS;
}

void qv_ref_hard(enum qv_type type, size_t i, void *out)
{
	char *p = out;

	memset(p, 0, qv_type_size(type));
	if (is_integer(type)) {
		wide value = hard_integer(type, i);

		memcpy(p, &value, qv_type_size(type));
		return;
	}
	hard_part(type, i % HARD_PARTS, p);
	if (is_complex(type)) /* with the real parts in another order */
		hard_part(type, (i * 3 + i / HARD_PARTS) % HARD_PARTS, p + part_size(type));
}

void qv_ref_draw(enum qv_type type, void *out)
{
	char *p = out;

	if (qv_ref_random() % 2) {
		qv_ref_hard(type, qv_ref_random() % qv_ref_hard_n(type), out);
		return;
	}
	/* Any bits are a number, but not as a long double. */
	for (size_t at = 0; at < qv_type_size(type); at++)
		p[at] = (char)(qv_ref_random() >> 32);
	for (size_t at = 0; part_type(type) == QV_TYPE_LONG_DOUBLE && at < qv_type_size(type);
	     at += sizeof(long double)) {
		const int exponent = (int)(qv_ref_random() % 33000) - 16500;

		put_part(type, p + at, ldexpl((long double)(int64_t)qv_ref_random(), exponent));
	}
}
