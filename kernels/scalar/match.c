/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels in plain C: the specification of the others. */
#include "kernels/kern.h"

static uint64_t posted_scalar(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
			      int has_any)
{
	const uint32_t key = qv_kern_key((uint32_t)tag, src), high = (uint32_t)(tag >> 32);
	const uint32_t key_any = qv_kern_key((uint32_t)tag, UINT32_MAX);

	for (; lanes; lanes &= lanes - 1) {
		const unsigned int i = (unsigned int)__builtin_ctzll(lanes);
		const uint32_t s = planes[QV_PLANE_SRC][i];
		const uint32_t want = has_any && s == UINT32_MAX ? key_any : key;

		if ((planes[QV_PLANE_KEY][i] ^ want) & ~planes[QV_PLANE_IGNORE][i])
			continue;
		if ((planes[QV_PLANE_HIGH][i] ^ high) & ~planes[QV_PLANE_IGNORE_HIGH][i])
			continue;
		if (s == src || s == UINT32_MAX)
			return UINT64_C(1) << i;
	}
	return 0;
}

static uint64_t unexpected_scalar(const qv_plane *planes, uint64_t lanes, uint64_t tag,
				  uint64_t ignore, uint32_t src)
{
	const uint32_t high = (uint32_t)(tag >> 32);

	for (; lanes; lanes &= lanes - 1) {
		const unsigned int i = (unsigned int)__builtin_ctzll(lanes);
		const uint32_t s = planes[QV_PLANE_SRC][i];
		const uint32_t want = qv_kern_key((uint32_t)tag, src == UINT32_MAX ? s : src);

		if ((planes[QV_PLANE_KEY][i] ^ want) & ~(uint32_t)ignore)
			continue;
		if ((planes[QV_PLANE_HIGH][i] ^ high) & ~(uint32_t)(ignore >> 32))
			continue;
		if (s == src || src == UINT32_MAX)
			return UINT64_C(1) << i;
	}
	return 0;
}

const struct qv_kern_ops qv_kern_scalar = {
	.name = "scalar",
	.posted = posted_scalar,
	.unexpected = unexpected_scalar,
};
