/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.c - gather and scatter on the device. The data comes from the host and goes back to
 * it, so that this does not pay unless the device is nearer to the memory than the CPU is.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (3 * sizeof(uint64_t))
/* A work-group copies so much: of longer pieces there are several on the device. */
#define PART  ((uint64_t)16 << 10)
#define GROUP 64

struct shape {
	size_t packed; /* bytes of all pieces */
	size_t span;   /* up to the end of the last */
	size_t parts;
};

/* A call: from src to dst, packed to sparse or the other way. */
struct job {
	struct qv_offload_dev *dev;
	const struct qv_offload_piece *pieces;
	size_t n;
	bool gather;
	struct shape shape;
};

static int measure(struct job *job)
{
	const uint64_t most = job->dev->head.caps.max_pack;
	struct shape *shape = &job->shape;

	for (size_t i = 0; i < job->n; i++) {
		const struct qv_offload_piece *p = &job->pieces[i];

		if (p->offset > most || p->bytes > most - p->offset ||
		    p->bytes > most - shape->packed)
			return qv_backend_wrong(job->dev, QV_EINVAL, "pieces beyond %llu bytes",
						(unsigned long long)most);
		shape->packed += p->bytes;
		shape->parts += (p->bytes + PART - 1) / PART;
		if (p->offset + p->bytes > shape->span)
			shape->span = p->offset + p->bytes;
	}
	if (!job->n || shape->parts > UINT32_MAX / PIECE_BYTES)
		return qv_backend_wrong(job->dev, QV_EINVAL, "%zu pieces", job->n);
	return QV_OK;
}

/* Where each part comes from and goes to. */
static void put_table(const struct job *job, uint64_t *to)
{
	uint64_t packed = 0;

	for (size_t i = 0; i < job->n; i++) {
		uint64_t sparse = job->pieces[i].offset, left = job->pieces[i].bytes;

		while (left) {
			const uint64_t bytes = left < PART ? left : PART;

			*to++ = job->gather ? sparse : packed;
			*to++ = job->gather ? packed : sparse;
			*to++ = bytes;
			packed += bytes;
			sparse += bytes;
			left -= bytes;
		}
	}
}

/* The result is then at slot->host. */
static int copy(const struct job *job, struct qv_cl_slot *s, const void *src)
{
	const struct shape *shape = &job->shape;
	const size_t in = job->gather ? shape->span : shape->packed;
	const size_t out = job->gather ? shape->packed : shape->span;
	const size_t data = in > out ? in : out, table = (data + 7) / 8 * 8;
	struct qv_offload_dev *dev = job->dev;
	const size_t all[2] = {shape->parts * dev->pieces_group, 1};
	const uint32_t n = (uint32_t)shape->parts;
	int err = qv_cl_host_room(dev, s, table + n * PIECE_BYTES);

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
	put_table(job, (uint64_t *)(host + table));
	err = qv_cl_write(dev, s, s->in.mem, 0, host, in);
	if (!err)
		err = qv_cl_write(dev, s, s->work.mem, 0, host + table, n * PIECE_BYTES);
	if (!err)
		err = qv_cl_args(dev, dev->pieces, args, 4);
	if (!err)
		err = qv_cl_launch(dev, s, dev->pieces, all, dev->pieces_group);
	if (!err)
		err = qv_cl_read(dev, s, s->out.mem, host, out);
	return qv_cl_finish(dev, s, err);
}

/* The ends of every piece, which are cheap to compare. */
static int look(const struct job *job, const char *sparse, const char *packed)
{
	for (size_t i = 0; i < job->n; i++) {
		const char *p = sparse + job->pieces[i].offset;
		const size_t bytes = job->pieces[i].bytes, ends = bytes < 8 ? bytes : 8;

		if (memcmp(p, packed, ends) ||
		    memcmp(p + bytes - ends, packed + bytes - ends, ends))
			return qv_backend_wrong(job->dev, QV_EIO, "a wrong answer: piece %zu", i);
		packed += bytes;
	}
	return QV_OK;
}

/* What lies between the pieces came back as it happened to be: it is not taken over. */
static void take(const struct job *job, char *dst, const char *host)
{
	if (job->gather) {
		memcpy(dst, host, job->shape.packed);
		return;
	}
	for (size_t i = 0; i < job->n; i++)
		memcpy(dst + job->pieces[i].offset, host + job->pieces[i].offset,
		       job->pieces[i].bytes);
}

static int run(struct job *job, void *dst, const void *src)
{
	struct qv_offload_dev *dev = job->dev;
	struct qv_cl_slot *s = &dev->slot[0];
	int err;

	dev->head.kernel_ns = 0;
	if (dev->head.lost)
		return QV_EPEER;
	err = measure(job);
	if (!err && !dev->pack)
		err = qv_cl_build(dev, qv_cl_text_pack, "-cl-std=CL1.2", &dev->pack);
	if (!err && !dev->pieces)
		err = qv_cl_kernel_of(dev, dev->pack, "copy_pieces", &dev->pieces,
				      &dev->pieces_group);
	/* Pieces are short. */
	dev->pieces_group = dev->pieces_group < GROUP ? dev->pieces_group : GROUP;
	if (err || !job->shape.packed)
		return err;
	err = copy(job, s, src);
	if (!err)
		err = look(job, job->gather ? src : s->host, job->gather ? s->host : src);
	if (!err)
		take(job, dst, s->host);
	return err;
}

int qv_cl_pack(struct qv_offload_dev *dev, void *dst, const void *src,
	       const struct qv_offload_piece *pieces, size_t n)
{
	struct job job = {.dev = dev, .pieces = pieces, .n = n, .gather = true};

	return run(&job, dst, src);
}

int qv_cl_unpack(struct qv_offload_dev *dev, void *dst, const void *src,
		 const struct qv_offload_piece *pieces, size_t n)
{
	struct job job = {.dev = dev, .pieces = pieces, .n = n};

	return run(&job, dst, src);
}
