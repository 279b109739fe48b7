/* SPDX-License-Identifier: BSD-2-Clause */
/* combine_ref.h - what combine must give, one element at a time, and values that are hard. */
#ifndef QV_COMBINE_REF_H
#define QV_COMBINE_REF_H

#include <float.h>

#include <quiver/combine.h>

#define QV_REF_ITEM 32 /* bytes of the largest element */
/* Bytes of a long double that are not padding. */
#define QV_REF_LONG_DOUBLE (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

/* *out = *a op *b. The pair must be defined. */
void qv_ref_combine(enum qv_op op, enum qv_type type, void *out, const void *a, const void *b);

/* The same result: the same bits, but for the padding of a long double and the bits of a NaN that
 * sum or prod made. */
int qv_ref_same(enum qv_op op, enum qv_type type, const void *x, const void *y);

/* Extreme values of a type: element i of qv_ref_hard_n(type). */
size_t qv_ref_hard_n(enum qv_type type);
void qv_ref_hard(enum qv_type type, size_t i, void *out);

/* Any value, every second time a hard one. */
void qv_ref_draw(enum qv_type type, void *out);

uint64_t qv_ref_random(void);

#endif /* QV_COMBINE_REF_H */
