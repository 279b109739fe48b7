/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_kern.h - the contract of the compare kernels: flat arrays in, bitmap out. */
#ifndef QV_KERN_H
#define QV_KERN_H

#include <stdint.h>

/* Entries of one call at most, so that a bitmap is one word. */
#define QV_KERN_MAX 64

/*
 * Both calls look at entries 0 .. n-1 (n <= QV_KERN_MAX, oldest first), return a bitmap in which
 * bit i says that entry i is accepted, and read nothing at or past entry n. No alignment needed.
 * The lowest bit set is the oldest; the caller masks out holes. `any` below is UINT32_MAX.
 */
struct qv_kern_ops {
	const char *name;

	/* Receives that accept message (tag, src):
	 * ((tags[i] ^ tag) & ~ignores[i]) == 0 && (srcs[i] == src || srcs[i] == any) */
	uint64_t (*posted)(const uint64_t *tags, const uint64_t *ignores, const uint32_t *srcs,
			   unsigned int n, uint64_t tag, uint32_t src);

	/* Messages that receive (tag, ignore, src) accepts:
	 * ((tags[i] ^ tag) & ~ignore) == 0 && (srcs[i] == src || src == any) */
	uint64_t (*unexpected)(const uint64_t *tags, const uint32_t *srcs, unsigned int n,
			       uint64_t tag, uint64_t ignore, uint32_t src);
};

extern const struct qv_kern_ops qv_kern_scalar;
extern const struct qv_kern_ops qv_kern_avx2;
extern const struct qv_kern_ops qv_kern_avx512f;
extern const struct qv_kern_ops qv_kern_avx512;

#endif /* QV_KERN_H */
