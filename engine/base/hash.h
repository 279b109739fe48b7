/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h - FNV-1a: bytes into a hash, for names that nobody chooses to collide. */
#ifndef QV_HASH_H
#define QV_HASH_H

#include <stddef.h>
#include <stdint.h>

#define QV_FNV_START 0xcbf29ce484222325u

static inline uint64_t qv_fnv(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3u;
	return hash;
}

#endif /* QV_HASH_H */
