/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_walk.h - how the combine kernels walk arrays. A file includes this behind its vector
 * functions:
 *
 *   vec                        a vector of bytes
 *   load(p), store(p, v)       all of it, from and to anywhere
 *   load_low(p, bytes), store_low(p, v, bytes)
 *                              less of it, a power of two, at the low end; what an operation makes of
 *                              the rest is lost
 */
#ifndef QV_COMBINE_WALK_H
#define QV_COMBINE_WALK_H

#include <stddef.h>

#include "engine/base/compiler.h"

typedef vec (*vec_op)(vec a, vec b);

/* Arrays as bytes; all three move on together. */
struct qv_walk {
	char *d;
	const char *a, *b;
};

QV_INLINE void walk_on(struct qv_walk *w, size_t bytes)
{
	w->d += bytes;
	w->a += bytes;
	w->b += bytes;
}

QV_INLINE void step(struct qv_walk *w, vec_op op)
{
	store(w->d, op(load(w->a), load(w->b)));
	walk_on(w, sizeof(vec));
}

/*
 * One after the other: a store holds the loads behind it back from the compiler, but not from the
 * CPU. Where a compiler ordered the loads itself, arrays in the second-level cache were read at
 * half the rate.
 */
QV_INLINE void step4(struct qv_walk *w, vec_op op)
{
	step(w, op);
	step(w, op);
	step(w, op);
	step(w, op);
}

QV_INLINE void step_low(struct qv_walk *w, size_t bytes, vec_op op)
{
	store_low(w->d, op(load_low(w->a, bytes), load_low(w->b, bytes)), bytes);
	walk_on(w, bytes);
}

/*
 * A few bytes, the last ones in steps that halve. No step touches what another wrote, so that the
 * next operation on the same array finds each store whole. item: bytes of an element.
 */
QV_INLINE void walk_end(char *d, const char *a, const char *b, size_t bytes, size_t item, vec_op op)
{
	struct qv_walk w = {d, a, b};

	for (; bytes >= sizeof(vec); bytes -= sizeof(vec))
		step(&w, op);
	if (sizeof(vec) > 16 && bytes & 16)
		step_low(&w, 16, op);
	if (item <= 8 && bytes & 8)
		step_low(&w, 8, op);
	if (item <= 4 && bytes & 4)
		step_low(&w, 4, op);
	if (item <= 2 && bytes & 2)
		step_low(&w, 2, op);
	if (item <= 1 && bytes & 1)
		step_low(&w, 1, op);
}

#endif /* QV_COMBINE_WALK_H */
