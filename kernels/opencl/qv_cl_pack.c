/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_cl_pack.c - gather and scatter on the device. The data comes from the host and goes back to
 * it, so that this does not pay unless the device is nearer to the memory than the CPU is.
 */
#include "qv_cl.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (3 * sizeof(uint64_t))

struct shape {
	size_t packed; /* bytes of all pieces */
	size_t span;   /* up to the end of the last */
};

static int measure(struct qv_offload_dev *dev, const struct qv_offload_piece *pieces, size_t n,
		   struct shape *shape)
{
	const uint64_t most = dev->caps.max_pack;

	*shape = (struct shape){0, 0};
	if (!n || n > UINT32_MAX / PIECE_BYTES)
		return qv_cl_wrong(dev, QV_EINVAL, "%zu pieces", n);
	for (size_t i = 0; i < n; i++) {
		const struct qv_offload_piece *p = &pieces[i];

		if (p->offset > most || p->bytes > most - p->offset ||
		    p->bytes > most - shape->packed)
			return qv_cl_wrong(dev, QV_EINVAL, "pieces beyond %llu bytes",
					   (unsigned long long)most);
		shape->packed += p->bytes;
		if (p->offset + p->bytes > shape->span)
			shape->span = p->offset + p->bytes;
	}
	return QV_OK;
}

/* Where each piece comes from and goes to. */
static void put_table(uint64_t *to, const struct qv_offload_piece *pieces, size_t n, bool gather)
{
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		to[3 * i] = gather ? pieces[i].offset : at;
		to[3 * i + 1] = gather ? at : pieces[i].offset;
		to[3 * i + 2] = pieces[i].bytes;
		at += pieces[i].bytes;
	}
}

/* `in` bytes from src; the result, `out` bytes, is then at slot->host. */
static int copy(struct qv_offload_dev *dev, struct qv_cl_slot *s, const void *src, size_t in,
		size_t out, const struct qv_offload_piece *pieces, uint32_t n, bool gather)
{
	const size_t data = in > out ? in : out, table = (data + 7) / 8 * 8;
	const size_t all[2] = {(size_t)n * 64, 1};
	int err = qv_cl_host_room(dev, s, table + n * PIECE_BYTES), waited;

	if (!err)
		err = qv_cl_room(dev, &s->in, in);
	if (!err)
		err = qv_cl_room(dev, &s->out, out);
	if (!err)
		err = qv_cl_room(dev, &s->work, n * PIECE_BYTES);
	if (err)
		return err;

	const struct qv_cl_arg args[] = {QV_CL_ARG(s->out.mem), QV_CL_ARG(s->in.mem),
					 QV_CL_ARG(s->work.mem), QV_CL_ARG(n)};
	char *host = s->host;

	memcpy(host, src, in);
	put_table((uint64_t *)(host + table), pieces, n, gather);
	err = qv_cl_write(dev, s, s->in.mem, 0, host, in);
	if (!err)
		err = qv_cl_write(dev, s, s->work.mem, 0, host + table, n * PIECE_BYTES);
	if (!err)
		err = qv_cl_args(dev, dev->pieces, args, 4);
	if (!err)
		err = qv_cl_launch(dev, s, dev->pieces, all, 64);
	if (!err)
		err = qv_cl_read(dev, s, s->out.mem, host, out);
	waited = qv_cl_wait(dev, s);
	return err ? err : waited;
}

/* The ends of every piece, which are cheap to compare. */
static int look(struct qv_offload_dev *dev, const char *sparse, const char *packed,
		const struct qv_offload_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *p = sparse + pieces[i].offset;
		const size_t bytes = pieces[i].bytes, ends = bytes < 8 ? bytes : 8;

		if (memcmp(p, packed, ends) ||
		    memcmp(p + bytes - ends, packed + bytes - ends, ends))
			return qv_cl_wrong(dev, QV_EIO, "a wrong answer: piece %zu", i);
		packed += bytes;
	}
	return QV_OK;
}

static int start(struct qv_offload_dev *dev, const struct qv_offload_piece *pieces, size_t n,
		 struct shape *shape)
{
	int err;

	dev->kernel_ns = 0;
	if (dev->lost)
		return QV_EPEER;
	err = measure(dev, pieces, n, shape);
	if (!err && !dev->pack)
		err = qv_cl_build(dev, qv_cl_text_pack, "-cl-std=CL1.2", &dev->pack);
	if (!err && !dev->pieces)
		err = qv_cl_kernel_of(dev, dev->pack, "copy_pieces", &dev->pieces, NULL);
	return err;
}

int qv_cl_pack(struct qv_offload_dev *dev, void *dst, const void *src,
	       const struct qv_offload_piece *pieces, size_t n)
{
	struct qv_cl_slot *s = &dev->slot[0];
	struct shape shape;
	int err = start(dev, pieces, n, &shape);

	if (err || !shape.packed)
		return err;
	err = copy(dev, s, src, shape.span, shape.packed, pieces, (uint32_t)n, true);
	if (!err)
		err = look(dev, src, s->host, pieces, n);
	if (!err)
		memcpy(dst, s->host, shape.packed);
	return err;
}

int qv_cl_unpack(struct qv_offload_dev *dev, void *dst, const void *src,
		 const struct qv_offload_piece *pieces, size_t n)
{
	struct qv_cl_slot *s = &dev->slot[0];
	struct shape shape;
	int err = start(dev, pieces, n, &shape);

	if (err || !shape.packed)
		return err;
	err = copy(dev, s, src, shape.packed, shape.span, pieces, (uint32_t)n, false);
	if (!err)
		err = look(dev, s->host, src, pieces, n);
	/* What lies between the pieces came back as it happened to be: it is not taken over. */
	for (size_t i = 0; !err && i < n; i++)
		memcpy((char *)dst + pieces[i].offset, (const char *)s->host + pieces[i].offset,
		       pieces[i].bytes);
	return err;
}
