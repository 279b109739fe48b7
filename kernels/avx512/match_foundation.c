/* SPDX-License-Identifier: BSD-2-Clause */
/* match_foundation.c - compare kernels for CPUs with AVX-512 Foundation only (Knights Landing). */
#include "match_zmm.h"

static uint64_t posted_avx512f(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
			       int has_any)
{
	return has_any ? zmm_posted(planes, lanes, tag, src, 1)
		       : zmm_posted(planes, lanes, tag, src, 0);
}

static uint64_t unexpected_avx512f(const qv_plane *planes, uint64_t lanes, uint64_t tag,
				   uint64_t ignore, uint32_t src)
{
	return src == UINT32_MAX ? zmm_unexpected(planes, lanes, tag, ignore, src, 1)
				 : zmm_unexpected(planes, lanes, tag, ignore, src, 0);
}

const struct qv_kern_ops qv_kern_avx512f = {
	.name = "avx512f",
	.posted = posted_avx512f,
	.unexpected = unexpected_avx512f,
};
