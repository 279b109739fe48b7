/* SPDX-License-Identifier: BSD-2-Clause */
/* update.c - the arithmetic of fi_atomic(3), on memory that no other endpoint of the domain works
 * on: the reductions are those of collectives. */
#include "node.h"

#include "fabric_glue/data.h"

#include <complex.h>
#include <string.h>

/* compare OP there, of one element. */
typedef bool hits_fn(enum fi_op op, const void *compare, const void *there);

#define ORDERED(x, y, op)                    \
	switch (op) {                        \
	case FI_CSWAP: return (x) == (y);    \
	case FI_CSWAP_NE: return (x) != (y); \
	case FI_CSWAP_LE: return (x) <= (y); \
	case FI_CSWAP_LT: return (x) < (y);  \
	case FI_CSWAP_GE: return (x) >= (y); \
	default: return (x) > (y);           \
	}
#define UNORDERED(x, y, op) return ((x) == (y)) == ((op) == FI_CSWAP)
#define HITS(name, T, RELATION)                                                 \
	static bool name(enum fi_op op, const void *compare, const void *there) \
	{                                                                       \
		T x, y;                                                         \
                                                                                \
		memcpy(&x, compare, sizeof x);                                  \
		memcpy(&y, there, sizeof y);                                    \
		RELATION(x, y, op);                                             \
	}

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

HITS(hits_int8, int8_t, ORDERED)
HITS(hits_uint8, uint8_t, ORDERED)
HITS(hits_int16, int16_t, ORDERED)
HITS(hits_uint16, uint16_t, ORDERED)
HITS(hits_int32, int32_t, ORDERED)
HITS(hits_uint32, uint32_t, ORDERED)
HITS(hits_int64, int64_t, ORDERED)
HITS(hits_uint64, uint64_t, ORDERED)
HITS(hits_int128, int128, ORDERED)
HITS(hits_uint128, uint128, ORDERED)
HITS(hits_float, float, ORDERED)
HITS(hits_double, double, ORDERED)
HITS(hits_long_double, long double, ORDERED)
HITS(hits_float_complex, float complex, UNORDERED)
HITS(hits_double_complex, double complex, UNORDERED)
HITS(hits_long_double_complex, long double complex, UNORDERED)

static hits_fn *const hits[] = {
	[QV_TYPE_INT8] = hits_int8,
	[QV_TYPE_UINT8] = hits_uint8,
	[QV_TYPE_INT16] = hits_int16,
	[QV_TYPE_UINT16] = hits_uint16,
	[QV_TYPE_INT32] = hits_int32,
	[QV_TYPE_UINT32] = hits_uint32,
	[QV_TYPE_INT64] = hits_int64,
	[QV_TYPE_UINT64] = hits_uint64,
	[QV_TYPE_INT128] = hits_int128,
	[QV_TYPE_UINT128] = hits_uint128,
	[QV_TYPE_FLOAT] = hits_float,
	[QV_TYPE_DOUBLE] = hits_double,
	[QV_TYPE_LONG_DOUBLE] = hits_long_double,
	[QV_TYPE_FLOAT_COMPLEX] = hits_float_complex,
	[QV_TYPE_DOUBLE_COMPLEX] = hits_double_complex,
	[QV_TYPE_LONG_DOUBLE_COMPLEX] = hits_long_double_complex,
};

static enum fi_op op_of(uint16_t what)
{
	return what & 0xff;
}

bool qv_fi_node_can_update(uint16_t what, size_t operands, bool result)
{
	const enum fi_op op = op_of(what);
	enum qv_type type;
	enum qv_op reduce;

	if (!qv_fi_type(what >> 8, &type))
		return false;
	switch (op) {
	case FI_ATOMIC_READ: return result && !operands;
	case FI_ATOMIC_WRITE: return operands == 1;
	case FI_CSWAP:
	case FI_CSWAP_NE: return result && operands == 2;
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT: return result && operands == 2 && qv_combine_defined(QV_OP_MIN, type);
	case FI_MSWAP: return result && operands == 2 && qv_combine_defined(QV_OP_BAND, type);
	default: return operands == 1 && qv_fi_op(op, &reduce) && qv_combine_defined(reduce, type);
	}
}

static void swap_bits(char *memory, const char *operand, const char *mask, size_t len)
{
	for (size_t i = 0; i < len; i++)
		memory[i] = (char)((operand[i] & mask[i]) | (memory[i] & ~mask[i]));
}

static void swap_some(enum fi_op op, enum qv_type type, char *memory, const char *operand,
		      const char *compare, size_t len)
{
	const size_t size = qv_type_size(type);

	for (size_t i = 0; i < len; i += size)
		if (hits[type](op, compare + i, memory + i))
			memcpy(memory + i, operand + i, size);
}

void qv_fi_node_update(const struct qv_combine *combine, uint16_t what, void *memory,
		       const char *operands, size_t len)
{
	const enum fi_op op = op_of(what);
	enum qv_op reduce;
	enum qv_type type;

	if (op == FI_ATOMIC_READ || !qv_fi_type(what >> 8, &type))
		return;
	if (op == FI_ATOMIC_WRITE)
		memcpy(memory, operands, len);
	else if (op == FI_MSWAP)
		swap_bits(memory, operands, operands + len, len);
	else if (qv_fi_op(op, &reduce))
		(void)qv_combine(combine, reduce, type, memory, operands, len / qv_type_size(type));
	else
		swap_some(op, type, memory, operands, operands + len, len);
}
