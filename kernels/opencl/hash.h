/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h - the keyed hash of match.cl's tables. */
#ifndef QV_CL_HASH_H
#define QV_CL_HASH_H

#include <stdint.h>

static inline uint64_t qv_cl_mix(uint64_t a, uint64_t b)
{
	const unsigned __int128 r = (unsigned __int128)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* The top bits of the result are the place in a table. */
static inline uint64_t qv_cl_hash(const uint64_t secret[2], uint64_t tag, uint64_t src)
{
	const uint64_t once = qv_cl_mix(tag ^ secret[0], src ^ secret[1]);

	return qv_cl_mix(once ^ secret[1], secret[0]);
}

#endif /* QV_CL_HASH_H */
