/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_wanted.h - what the compare kernels of a wide ISA look for, and their table. A file includes
 * this behind vec, a vector of 32-bit words, and broadcast(word), the low half of a 64-bit word in
 * all of them. It defines search, and makes its kernels by QV_MATCH_KERNELS(isa).
 */
#ifndef QV_MATCH_WANTED_H
#define QV_MATCH_WANTED_H

#include "kernels/kern.h"
#include "engine/base/compiler.h"

/* In vectors; what kind it is is known when this is compiled. */
struct wanted {
	int posted; /* a message among receives, or the other way round */
	int any;    /* one of the receives, or the receive, has any source */
	vec key, key_any, high, src, ignore, ignore_high;
};

/* As posted and unexpected of qv_kern_ops. */
QV_INLINE uint64_t search(const qv_plane *planes, uint64_t lanes, const struct wanted *w);

QV_INLINE uint64_t search_posted(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
				 int any)
{
	const struct wanted w = {
		.posted = 1,
		.any = any,
		.key = broadcast(qv_kern_key((uint32_t)tag, src)),
		.key_any = broadcast(qv_kern_key((uint32_t)tag, UINT32_MAX)),
		.high = broadcast(tag >> 32),
		.src = broadcast(src),
	};

	return search(planes, lanes, &w);
}

QV_INLINE uint64_t search_unexpected(const qv_plane *planes, uint64_t lanes, uint64_t tag,
				     uint64_t ignore, uint32_t src, int any)
{
	const struct wanted w = {
		.any = any,
		.key = broadcast(any ? (uint32_t)tag : qv_kern_key((uint32_t)tag, src)),
		.high = broadcast(tag >> 32),
		.src = broadcast(src),
		.ignore = broadcast(ignore),
		.ignore_high = broadcast(ignore >> 32),
	};

	return search(planes, lanes, &w);
}

#define QV_MATCH_KERNELS(isa)                                                                     \
	static uint64_t posted_##isa(const qv_plane *planes, uint64_t lanes, uint64_t tag,        \
				     uint32_t src, int has_any)                                   \
	{                                                                                         \
		return has_any ? search_posted(planes, lanes, tag, src, 1)                        \
			       : search_posted(planes, lanes, tag, src, 0);                       \
	}                                                                                         \
	static uint64_t unexpected_##isa(const qv_plane *planes, uint64_t lanes, uint64_t tag,    \
					 uint64_t ignore, uint32_t src)                           \
	{                                                                                         \
		return src == UINT32_MAX ? search_unexpected(planes, lanes, tag, ignore, src, 1)  \
					 : search_unexpected(planes, lanes, tag, ignore, src, 0); \
	}                                                                                         \
	const struct qv_kern_ops qv_kern_##isa = {                                                \
		.name = #isa,                                                                     \
		.posted = posted_##isa,                                                           \
		.unexpected = unexpected_##isa,                                                   \
	}

#endif /* QV_MATCH_WANTED_H */
