/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels for AVX-512 with BW, DQ and VL (Skylake-SP, Zen
 * 4 and later). */
#include "match_zmm.h"

static uint64_t posted_avx512(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
			      int has_any)
{
	return has_any ? zmm_posted(planes, lanes, tag, src, 1)
		       : zmm_posted(planes, lanes, tag, src, 0);
}

static uint64_t unexpected_avx512(const qv_plane *planes, uint64_t lanes, uint64_t tag,
				  uint64_t ignore, uint32_t src)
{
	return src == UINT32_MAX ? zmm_unexpected(planes, lanes, tag, ignore, src, 1)
				 : zmm_unexpected(planes, lanes, tag, ignore, src, 0);
}

const struct qv_kern_ops qv_kern_avx512 = {
	.name = "avx512",
	.posted = posted_avx512,
	.unexpected = unexpected_avx512,
};
