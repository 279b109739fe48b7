/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.h - element by element reductions of two or more arrays: the arithmetic of collectives.
 *
 * Operations and types are those that libfabric's fi_atomic(3) and MPI define for reductions. The
 * result is the same bits on every instruction set, and does not depend on alignment or length:
 *     sum, prod    of integers wrap around; of floating-point types one rounding per operation, no
 *                  fused multiply-add. A complex product is (ar*br - ai*bi, ar*bi + ai*br), without
 *                  C's recovery of infinities. Where the result is a NaN, which one is not defined.
 *     min          (b < a) ? b : a, so that a stays where they compare equal (-0.0 and 0.0) and
 *     max          (b > a) ? b : a    where one is a NaN
 *     land, lor, lxor   1 or 0 in the type of the operands; an element is true unless it compares
 *                  equal to 0, so a NaN is true, and a complex number is false if both parts are 0
 *     band, bor, bxor   of integers only
 * where a is the operand on the left.
 *
 * Arrays need no alignment. The destination may be the same array as a source; it may not overlap
 * one in any other way, which is refused. Padding bytes of a long double are not defined.
 *
 * Nothing is allocated, there is no state: a struct qv_combine may be used by any number of
 * threads.
 */
#ifndef QUIVER_COMBINE_H
#define QUIVER_COMBINE_H

#include <quiver/isa.h>
#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum qv_op {
	QV_OP_SUM = 0,
	QV_OP_PROD = 1,
	QV_OP_MIN = 2,
	QV_OP_MAX = 3,
	QV_OP_LAND = 4, /* logical: true or false */
	QV_OP_LOR = 5,
	QV_OP_LXOR = 6,
	QV_OP_BAND = 7, /* bit by bit */
	QV_OP_BOR = 8,
	QV_OP_BXOR = 9,
};

#define QV_N_OPS 10

enum qv_type {
	QV_TYPE_INT8 = 0,
	QV_TYPE_UINT8 = 1,
	QV_TYPE_INT16 = 2,
	QV_TYPE_UINT16 = 3,
	QV_TYPE_INT32 = 4,
	QV_TYPE_UINT32 = 5,
	QV_TYPE_INT64 = 6,
	QV_TYPE_UINT64 = 7,
	QV_TYPE_INT128 = 8,
	QV_TYPE_UINT128 = 9,
	QV_TYPE_FLOAT = 10,
	QV_TYPE_DOUBLE = 11,
	QV_TYPE_LONG_DOUBLE = 12,
	QV_TYPE_FLOAT_COMPLEX = 13, /* complex: real part, then imaginary part */
	QV_TYPE_DOUBLE_COMPLEX = 14,
	QV_TYPE_LONG_DOUBLE_COMPLEX = 15,
};

#define QV_N_TYPES 16

/* The kernels of one instruction set; constant, in static storage. */
struct qv_combine;

/*
 * The kernels of an instruction set. This asks the CPU, which takes microseconds in a virtual
 * machine: call it once and keep the answer. There is nothing to close.
 *   isa      which; QV_ISA_AUTO: the widest that runs here
 *   combine  out: the kernels
 * QV_EINVAL: no such ISA; QV_ENOSYS: this CPU or build lacks it.
 */
QV_API int qv_combine_open(enum qv_isa isa, const struct qv_combine **combine);

/* The instruction set of these kernels, as in qv_isa_name, never "auto"; static storage. */
QV_API const char *qv_combine_isa(const struct qv_combine *combine);

/*
 * Whether an operation is defined. All are on integers, the bitwise ones on nothing else; complex
 * numbers have no min and max.
 *   op, type  any numbers
 * Returns 1 if op is defined on type, else 0, also if there is no such op or type.
 */
QV_API int qv_combine_defined(enum qv_op op, enum qv_type type);

/* Bytes of one element; 0 if there is no such type. */
QV_API size_t qv_type_size(enum qv_type type);

/* "sum", "prod", "min", ...: as in the enum, in lower case; static storage. NULL if there is no
 * such operation. */
QV_API const char *qv_op_name(enum qv_op op);

/* "int8", "uint64", "long_double_complex", ...; static storage. NULL if there is no such type. */
QV_API const char *qv_type_name(enum qv_type type);

/*
 * Parse such a name.
 *   name      text, in lower case
 *   op, type  out: what it names
 * QV_EINVAL: it is none of them.
 */
QV_API int qv_op_parse(const char *name, enum qv_op *op);
QV_API int qv_type_parse(const char *name, enum qv_type *type);

/*
 * inout[i] = inout[i] op in[i], as MPI_Reduce_local(3), but for which operand is on the left.
 *   combine  from qv_combine_open
 *   op, type what is done, on elements of what
 *   inout    left operand and destination
 *   in       right operand; may be the same array
 *   count    elements; with 0 the pointers are not looked at
 * QV_EINVAL: op is not defined on type, the arrays overlap without being the same, or count
 * elements do not fit into memory. Then nothing has been written.
 */
QV_API int qv_combine(const struct qv_combine *combine, enum qv_op op, enum qv_type type,
		      void *inout, const void *in, size_t count);

/*
 * dst[i] = a[i] op b[i]; for a destination that is the right operand, or neither.
 *   combine  from qv_combine_open
 *   op, type what is done, on elements of what
 *   dst      destination; may be the same array as a, b or both
 *   a, b     left and right operand; they may overlap each other in any way
 *   count    elements; with 0 the pointers are not looked at
 * QV_EINVAL as qv_combine.
 */
QV_API int qv_combine_to(const struct qv_combine *combine, enum qv_op op, enum qv_type type,
			 void *dst, const void *a, const void *b, size_t count);

/*
 * dst[i] = ((src[0][i] op src[1][i]) op src[2][i]) op ...: any number of arrays, from left to
 * right, each of them read once.
 *   combine  from qv_combine_open
 *   op, type what is done, on elements of what
 *   dst      destination; may be the same array as any of the sources
 *   src      n arrays of count elements, read during the call; they may overlap each other
 *   n        how many, 1 or more; one array alone is copied
 *   count    elements of each array; with 0 the arrays are not looked at
 * QV_EINVAL as qv_combine, or n is 0.
 */
QV_API int qv_combine_many(const struct qv_combine *combine, enum qv_op op, enum qv_type type,
			   void *dst, const void *const *src, size_t n, size_t count);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_COMBINE_H */
