/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.cl - element by element reductions, as <quiver/combine.h> defines them, bit by bit.
 *
 * One program per type, by build options: T is the type, and one of
 *     QV_INTEGER   T unsigned, S the type in which elements are compared
 *     QV_REAL      T float or double, B the unsigned integer of its size
 *     QV_COMPLEX   T float2 or double2, P float or double
 * and PER elements for each work-item, one behind the other: on GPUs neighbours share a line of the
 * cache, on CPUs a work-item has a piece of the array (a stride of the whole grid would be 30 times
 * slower there).
 *
 * No contraction: a product is rounded before it is added. The result of min and max is one of the
 * operands, bit by bit: it is chosen as an integer.
 */
#ifdef QV_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#define ARITHMETIC_AND_LOGICAL(X) X(sum) X(prod) X(land) X(lor) X(lxor)

#if defined(QV_INTEGER)
#define sum(a, b)  ((T)(a + b))
#define prod(a, b) ((T)(1u * a * b)) /* as int, 65535 * 65535 would overflow */
#define min_(a, b) ((S)b < (S)a ? b : a)
#define max_(a, b) ((S)b > (S)a ? b : a)
#define land(a, b) ((T)(a && b))
#define lor(a, b)  ((T)(a || b))
#define lxor(a, b) ((T)(!a != !b))
#define band(a, b) ((T)(a & b))
#define bor(a, b)  ((T)(a | b))
#define bxor(a, b) ((T)(a ^ b))
#define ALL(X)     ARITHMETIC_AND_LOGICAL(X) X(min_) X(max_) X(band) X(bor) X(bxor)

#elif defined(QV_REAL)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define BITS(x)    JOIN(as_, B)(x)
#define VALUE(x)   JOIN(as_, T)(x)
#define sum(a, b)  (a + b)
#define prod(a, b) (a * b)
#define min_(a, b) VALUE(b < a ? BITS(b) : BITS(a))
#define max_(a, b) VALUE(b > a ? BITS(b) : BITS(a))
#define land(a, b) ((T)(a != 0 && b != 0))
#define lor(a, b)  ((T)(a != 0 || b != 0))
#define lxor(a, b) ((T)((a != 0) != (b != 0)))
#define ALL(X)     ARITHMETIC_AND_LOGICAL(X) X(min_) X(max_)

#elif defined(QV_COMPLEX)
#define TRUE(v)    (v.x != 0 || v.y != 0)
#define sum(a, b)  (a + b)
#define prod(a, b) ((T)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x))
#define land(a, b) ((T)((P)(TRUE(a) && TRUE(b)), 0))
#define lor(a, b)  ((T)((P)(TRUE(a) || TRUE(b)), 0))
#define lxor(a, b) ((T)((P)(TRUE(a) != TRUE(b)), 0))
#define ALL(X)     ARITHMETIC_AND_LOGICAL(X)
#endif

/* left[i] = left[i] op right[i], and so on with the k - 1 arrays of n elements at right. */
#define KERNEL(op)                                                                          \
	__kernel void combine_##op(__global T *left, __global const T *right, uint k, ulong n) \
	{                                                                                   \
		const ulong first = (ulong)get_global_id(0) * PER;                          \
                                                                                            \
		for (ulong i = first; i < min(first + PER, n); i++) {                       \
			T a = left[i];                                                      \
                                                                                            \
			for (uint j = 0; j < k - 1; j++) {                                  \
				const T b = right[j * n + i];                               \
                                                                                            \
				a = op(a, b);                                               \
			}                                                                   \
			left[i] = a;                                                        \
		}                                                                           \
	}
ALL(KERNEL)
