/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.c - an array through a device, a chunk at a time through two slots: while one chunk is
 * computed, the next is on its way there or the last on its way back. A result is looked at before
 * the caller's array is written.
 */
#include "backend.h"

#include <math.h>
#include <string.h>

#define ITEM_BYTES 16 /* the largest element */

/* Samples. */

/* Whether a part of an element is a NaN; its size. */
static bool is_nan(enum qv_type type, const char *p, size_t *part)
{
	float f;
	double d;

	*part = type == QV_TYPE_FLOAT || type == QV_TYPE_FLOAT_COMPLEX ? sizeof(f) : sizeof(d);
	if (*part == sizeof(f))
		return memcpy(&f, p, sizeof(f)), isnan(f);
	return memcpy(&d, p, sizeof(d)), isnan(d);
}

/* The same bits; where a sum or a product is a NaN, any other is as good. */
static bool same(const struct qv_backend_job *job, const char *x, const char *y)
{
	size_t part;

	if (!memcmp(x, y, job->item))
		return true;
	if (job->type < QV_TYPE_FLOAT || (job->op != QV_OP_SUM && job->op != QV_OP_PROD))
		return false;
	is_nan(job->type, x, &part);
	for (size_t at = 0; at < job->item; at += part)
		if (memcmp(x + at, y + at, part) &&
		    !(is_nan(job->type, x + at, &part) && is_nan(job->type, y + at, &part)))
			return false;
	return true;
}

/* Whether some of the results for elements first .. first + count, the first and the last among
 * them, are what the CPU makes of these. */
static bool is_right(const struct qv_backend_job *job, size_t first, size_t count,
		     const char *results)
{
	const struct qv_combine *cpu = ((struct qv_backend_head *)job->dev)->cpu;
	char x[ITEM_BYTES];

	for (size_t i = 0; i < 8; i++) {
		const size_t at = i == 7 ? count - 1 : i * 0x9e3779b9u % count;

		memcpy(x, job->src[0] + (first + at) * job->item, job->item);
		for (size_t j = 1; j < job->k; j++)
			qv_combine(cpu, job->op, job->type, x,
				   job->src[j] + (first + at) * job->item, 1);
		if (!same(job, x, results + at * job->item))
			return false;
	}
	return true;
}

/* Chunks. */

/* What is under way in a slot comes back, or fails. */
static int finish(const struct qv_backend *backend, struct qv_backend_job *job, unsigned slot)
{
	const size_t first = job->slot[slot].first, count = job->slot[slot].count;
	const char *results;
	int err;

	if (!count)
		return QV_OK;
	err = backend->end(job, slot, &results);
	if (!err && !is_right(job, first, count, results))
		err = qv_backend_wrong(job->dev, QV_EIO, "a wrong answer: %s of %s",
				       qv_op_name(job->op), qv_type_name(job->type));
	if (!err) {
		memcpy(job->dst + first * job->item, results, count * job->item);
		job->done = first + count;
	}
	job->slot[slot].count = 0;
	return err;
}

/* The first status that is not QV_OK, but QV_EPEER before any other. Nothing is under way then, unless the
 * device is lost. */
static int run(const struct qv_backend_head *head, struct qv_backend_job *job, size_t count)
{
	const struct qv_backend *backend = head->backend;
	unsigned turn = 0;
	int err = QV_OK;

	for (size_t at = 0; at < count && !err; at += job->step, turn ^= 1) {
		err = finish(backend, job, turn);
		if (err)
			continue;
		job->slot[turn].first = at;
		job->slot[turn].count = count - at < job->step ? count - at : job->step;
		err = backend->begin(job, turn);
	}
	/* The older one first. After an error nothing more is taken over, only waited for. */
	for (int i = 0; i < QV_BACKEND_SLOTS; i++, turn ^= 1) {
		if (!err)
			err = finish(backend, job, turn);
		else if (!head->lost && backend->drop(job->dev, turn) == QV_EPEER)
			err = QV_EPEER;
	}
	return err;
}

int qv_backend_combine_many(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
			    const void *const *src, size_t k, size_t count, size_t *done)
{
	struct qv_backend_head *head = (struct qv_backend_head *)dev;
	struct qv_backend_job job = {.dev = dev,
				     .op = op,
				     .type = type,
				     .item = qv_type_size(type),
				     .dst = dst,
				     .src = (const char *const *)src,
				     .k = k};
	int err;

	head->kernel_ns = 0;
	*done = 0;
	if (head->lost)
		return QV_EPEER;
	if (k < 2 || k > UINT32_MAX || !count || count > head->caps.max_bytes / job.item)
		return qv_backend_wrong(dev, QV_EINVAL, "%zu arrays of %zu elements", k, count);
	if (!head->backend->ops->combines(dev, op, type))
		return qv_backend_wrong(dev, QV_ENOSYS, "not done on this %s", head->backend->noun);
	err = head->backend->prepare(&job);
	if (!err)
		err = run(head, &job, count);
	*done = job.done;
	return err;
}

int qv_backend_combine(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		       const void *a, const void *b, size_t count, size_t *done)
{
	const void *const src[2] = {a, b};

	return qv_backend_combine_many(dev, op, type, dst, src, 2, count, done);
}
