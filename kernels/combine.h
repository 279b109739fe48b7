/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.h - the contract of the combine kernels, and the table of each ISA. */
#ifndef QV_KERN_COMBINE_H
#define QV_KERN_COMBINE_H

#include <quiver/combine.h>

/*
 * dst[i] = a[i] op b[i] for n elements, as <quiver/combine.h> defines op. No alignment; dst is a,
 * or b, or overlaps neither.
 */
typedef void (*qv_combine_fn)(void *dst, const void *a, const void *b, size_t n);

/* NULL: not defined, or, in the tables of the wide ISAs, no faster than in scalar. */
struct qv_combine {
	const char *name;
	qv_combine_fn fn[QV_N_OPS][QV_N_TYPES];
};

extern const struct qv_combine qv_combine_scalar; /* all that is defined */
extern const struct qv_combine qv_combine_avx2;
extern const struct qv_combine qv_combine_avx512f;
extern const struct qv_combine qv_combine_avx512;
extern const struct qv_combine qv_combine_neon;

/* The kernel for a pair, NULL if it is not defined. */
static inline qv_combine_fn qv_combine_find(const struct qv_combine *combine, enum qv_op op,
					    enum qv_type type)
{
	qv_combine_fn fn;

	if ((unsigned int)op >= QV_N_OPS || (unsigned int)type >= QV_N_TYPES)
		return NULL;
	fn = combine->fn[op][type];
	return fn ? fn : qv_combine_scalar.fn[op][type];
}

#endif /* QV_KERN_COMBINE_H */
