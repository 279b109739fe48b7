/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - the calls of <quiver/combine.h>: what is asked is checked, then a
 * kernel does it. */
#include <string.h>

#include "kernels/select.h"

/* Bytes of each array that qv_combine_many works on at a time: they stay in
 * the first-level cache. */
#define CHUNK 4096

int qv_combine_open(enum qv_isa isa, const struct qv_combine **combine)
{
	if (!qv_isa_name(isa))
		return QV_EINVAL;
	if (!qv_isa_usable(isa))
		return QV_ENOSYS;
	*combine = qv_kern_combine_select(isa);
	return QV_OK;
}

const char *qv_combine_isa(const struct qv_combine *combine)
{
	return combine->name;
}

/* Arrays that overlap without being the same: less than their length apart, but not 0. */
static int overlap(const void *x, const void *y, size_t bytes)
{
	uintptr_t apart = (uintptr_t)x - (uintptr_t)y;

	return apart + (bytes - 1) < 2 * bytes - 1 && apart;
}

/* Sizes are powers of two: a shift, where a product would need a division to be checked. */
static const uint8_t log2_size[QV_N_TYPES] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 2, 3, 4, 3, 4, 5};

_Static_assert(sizeof(float) == 4 && sizeof(double) == 8 && sizeof(long double) == 16,
	       "log2_size is of these");

/* 1 if there cannot be so many elements: no array is longer than PTRDIFF_MAX. */
static int too_many(enum qv_type type, size_t count)
{
	return count >> (63 - log2_size[type]) != 0;
}

int qv_combine(const struct qv_combine *combine, enum qv_op op, enum qv_type type, void *inout,
	       const void *in, size_t count)
{
	const qv_combine_fn fn = qv_combine_find(combine, op, type);

	if (!fn)
		return QV_EINVAL;
	if (!count)
		return QV_OK;
	if (too_many(type, count) || overlap(inout, in, count << log2_size[type]))
		return QV_EINVAL;
	fn(inout, inout, in, count);
	return QV_OK;
}

int qv_combine_to(const struct qv_combine *combine, enum qv_op op, enum qv_type type, void *dst,
		  const void *a, const void *b, size_t count)
{
	const qv_combine_fn fn = qv_combine_find(combine, op, type);
	size_t bytes;

	if (!fn)
		return QV_EINVAL;
	if (!count)
		return QV_OK;
	bytes = count << log2_size[type];
	if (too_many(type, count) || overlap(dst, a, bytes) || overlap(dst, b, bytes))
		return QV_EINVAL;
	fn(dst, a, b, count);
	return QV_OK;
}

/*
 * n is 3 or more. Partial results are kept apart and the destination is written last, so that it
 * may be any of the sources.
 */
static void chunk_of_many(qv_combine_fn fn, char *dst, const char *const *src, size_t n, size_t at,
			  size_t count)
{
	_Alignas(64) char part[CHUNK];

	fn(part, src[0] + at, src[1] + at, count);
	for (size_t i = 2; i < n - 1; i++)
		fn(part, part, src[i] + at, count);
	fn(dst + at, part, src[n - 1] + at, count);
}

int qv_combine_many(const struct qv_combine *combine, enum qv_op op, enum qv_type type, void *dst,
		    const void *const *src, size_t n, size_t count)
{
	const qv_combine_fn fn = qv_combine_find(combine, op, type);
	size_t bytes, step;

	if (!fn || !n)
		return QV_EINVAL;
	if (!count)
		return QV_OK;
	if (too_many(type, count))
		return QV_EINVAL;
	bytes = count << log2_size[type];
	step = CHUNK >> log2_size[type];
	for (size_t i = 0; i < n; i++)
		if (overlap(dst, src[i], bytes))
			return QV_EINVAL;
	if (n == 1 && dst != src[0])
		memcpy(dst, src[0], bytes);
	if (n == 2)
		fn(dst, src[0], src[1], count);
	for (size_t i = 0; n > 2 && i < count; i += step)
		chunk_of_many(fn, dst, (const char *const *)src, n, i << log2_size[type],
			      count - i < step ? count - i : step);
	return QV_OK;
}
