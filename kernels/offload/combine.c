/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - arrays on the device, and on the CPU what it leaves. */
#include "internal.h"

#include <string.h>

/* Whether the device is to be asked; a call that is not allowed is left to the CPU,
 * which says so. */
static int wanted(struct qv_offload *o, enum qv_op op, enum qv_type type, size_t count)
{
	const size_t item = qv_type_size(type);

	if (o->stats.state == QV_OFFLOAD_OFF || !count || !item || count > PTRDIFF_MAX / item)
		return 0;
	if (count * item < o->set.min_bytes &&
	    !(qv_offload_unknown(o) && o->set.min_bytes == SIZE_MAX &&
	      count * item >= QV_OFFLOAD_AUTO_BYTES))
		return 0;
	if (!qv_offload_ready(o) || count * item < o->set.min_bytes)
		return 0;
	if (count * item <= o->set.ops->caps(o->dev)->max_bytes &&
	    o->set.ops->combines(o->dev, op, type))
		return 1;
	o->stats.refused++;
	return 0;
}

/* The same array, or none of it. */
static int apart(const void *x, const void *y, size_t bytes)
{
	const uintptr_t gap = (uintptr_t)x - (uintptr_t)y;

	return !gap || gap + (bytes - 1) >= 2 * bytes - 1;
}

int qv_offload_combine_many(struct qv_offload *o, const struct qv_combine *combine, enum qv_op op,
			    enum qv_type type, void *dst, const void *const *src, size_t n,
			    size_t count)
{
	const size_t item = qv_type_size(type);
	const void *rest[64];
	size_t done = 0;
	int err;

	if (n < 2 || n > sizeof(rest) / sizeof(rest[0]) || !wanted(o, op, type, count))
		return qv_combine_many(combine, op, type, dst, src, n, count);
	for (size_t i = 0; i < n; i++)
		if (!apart(dst, src[i], count * item))
			return QV_EINVAL;
	err = n == 2 ? o->set.ops->combine(o->dev, op, type, dst, src[0], src[1], count, &done)
		     : o->set.ops->combine_many(o->dev, op, type, dst, src, n, count, &done);
	if (!err) {
		o->stats.arrays++;
		o->stats.bytes += count * item;
		return QV_OK;
	}
	qv_offload_failed(o, err, o->set.ops->why(o->dev));
	for (size_t i = 0; i < n; i++)
		rest[i] = (const char *)src[i] + done * item;
	return qv_combine_many(combine, op, type, (char *)dst + done * item, rest, n, count - done);
}

int qv_offload_combine(struct qv_offload *o, const struct qv_combine *combine, enum qv_op op,
		       enum qv_type type, void *dst, const void *a, const void *b, size_t count)
{
	const void *const src[2] = {a, b};

	return qv_offload_combine_many(o, combine, op, type, dst, src, 2, count);
}

/* Pack. */

/* Bytes of all pieces; 0: none, or too many. */
static size_t packed_bytes(const struct qv_offload_piece *pieces, size_t n, uint64_t most)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (pieces[i].offset > most || pieces[i].bytes > most - pieces[i].offset ||
		    pieces[i].bytes > most - sum)
			return 0;
		sum += pieces[i].bytes;
	}
	return sum;
}

static int pack_wanted(struct qv_offload *o, const struct qv_offload_piece *pieces, size_t n)
{
	const size_t bytes = packed_bytes(pieces, n, PTRDIFF_MAX);

	/* Calibration knows nothing that would gain. */
	if (o->set.calibrate || !bytes || bytes < o->set.min_bytes || !qv_offload_ready(o))
		return 0;
	if (packed_bytes(pieces, n, o->set.ops->caps(o->dev)->max_pack))
		return 1;
	o->stats.refused++;
	return 0;
}

static int on_device(struct qv_offload *o, int err)
{
	if (err)
		qv_offload_failed(o, err, o->set.ops->why(o->dev));
	else
		o->stats.packs++;
	return !err;
}

static int allowed(const struct qv_offload_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pieces[i].bytes)
			return packed_bytes(pieces, n, PTRDIFF_MAX) != 0;
	return 1;
}

int qv_offload_pack(struct qv_offload *o, void *dst, const void *src,
		    const struct qv_offload_piece *pieces, size_t n)
{
	char *to = dst;

	if (!allowed(pieces, n))
		return QV_EINVAL;
	if (pack_wanted(o, pieces, n) &&
	    on_device(o, o->set.ops->pack(o->dev, dst, src, pieces, n)))
		return QV_OK;
	for (size_t i = 0; i < n; to += pieces[i++].bytes)
		memcpy(to, (const char *)src + pieces[i].offset, pieces[i].bytes);
	return QV_OK;
}

int qv_offload_unpack(struct qv_offload *o, void *dst, const void *src,
		      const struct qv_offload_piece *pieces, size_t n)
{
	const char *from = src;

	if (!allowed(pieces, n))
		return QV_EINVAL;
	if (pack_wanted(o, pieces, n) &&
	    on_device(o, o->set.ops->unpack(o->dev, dst, src, pieces, n)))
		return QV_OK;
	for (size_t i = 0; i < n; from += pieces[i++].bytes)
		memcpy((char *)dst + pieces[i].offset, from, pieces[i].bytes);
	return QV_OK;
}
