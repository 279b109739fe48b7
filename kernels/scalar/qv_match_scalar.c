/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_match_scalar.c - compare kernels in plain C: the specification of the others. */
#include "qv_kern.h"

static uint64_t posted_scalar(const uint64_t *tags, const uint64_t *ignores, const uint32_t *srcs,
			      unsigned int n, uint64_t tag, uint32_t src)
{
	uint64_t map = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t tag_fits = ((tags[i] ^ tag) & ~ignores[i]) == 0;
		uint64_t src_fits = srcs[i] == src || srcs[i] == UINT32_MAX;

		map |= (tag_fits & src_fits) << i;
	}
	return map;
}

static uint64_t unexpected_scalar(const uint64_t *tags, const uint32_t *srcs, unsigned int n,
				  uint64_t tag, uint64_t ignore, uint32_t src)
{
	uint64_t map = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t tag_fits = ((tags[i] ^ tag) & ~ignore) == 0;
		uint64_t src_fits = srcs[i] == src || src == UINT32_MAX;

		map |= (tag_fits & src_fits) << i;
	}
	return map;
}

const struct qv_kern_ops qv_kern_scalar = {
	.name = "scalar",
	.posted = posted_scalar,
	.unexpected = unexpected_scalar,
};
