/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_cl_combine.c - combine on the device, a chunk at a time through two slots: while one chunk is
 * computed, the next is on its way there or the last on its way back.
 *
 * A result is looked at before the caller's array is written: some elements of each chunk are
 * computed on the CPU as well. Long double and 128-bit integers do not exist in OpenCL.
 */
#include "qv_cl.h"
#include "kernels/samples/qv_samples.h"

#include <stdio.h>
#include <string.h>

#define WORK_BYTES 16 /* of the array that a work-item has; as PER below */

/* Options with which combine.cl is compiled for each type; NULL: it cannot be. */
static const char *const options[QV_N_TYPES] = {
	[QV_TYPE_INT8] = "-DQV_INTEGER -DT=uchar -DS=char -DPER=16",
	[QV_TYPE_UINT8] = "-DQV_INTEGER -DT=uchar -DS=uchar -DPER=16",
	[QV_TYPE_INT16] = "-DQV_INTEGER -DT=ushort -DS=short -DPER=8",
	[QV_TYPE_UINT16] = "-DQV_INTEGER -DT=ushort -DS=ushort -DPER=8",
	[QV_TYPE_INT32] = "-DQV_INTEGER -DT=uint -DS=int -DPER=4",
	[QV_TYPE_UINT32] = "-DQV_INTEGER -DT=uint -DS=uint -DPER=4",
	[QV_TYPE_INT64] = "-DQV_INTEGER -DT=ulong -DS=long -DPER=2",
	[QV_TYPE_UINT64] = "-DQV_INTEGER -DT=ulong -DS=ulong -DPER=2",
	[QV_TYPE_FLOAT] = "-DQV_REAL -DT=float -DB=uint -DPER=4",
	[QV_TYPE_DOUBLE] = "-DQV_REAL -DQV_DOUBLE -DT=double -DB=ulong -DPER=2",
	[QV_TYPE_FLOAT_COMPLEX] = "-DQV_COMPLEX -DT=float2 -DP=float -DPER=2",
	[QV_TYPE_DOUBLE_COMPLEX] = "-DQV_COMPLEX -DQV_DOUBLE -DT=double2 -DP=double -DPER=1",
};

static const char *const kernel_names[QV_N_OPS] = {
	"sum", "prod", "min_", "max_", "land", "lor", "lxor", "band", "bor", "bxor",
};

int qv_cl_combines(const struct qv_offload_dev *dev, enum qv_op op, enum qv_type type)
{
	if (!qv_combine_defined(op, type) || !options[type])
		return 0;
	if (type == QV_TYPE_FLOAT || type == QV_TYPE_FLOAT_COMPLEX)
		return dev->float_ok;
	if (type == QV_TYPE_DOUBLE || type == QV_TYPE_DOUBLE_COMPLEX)
		return dev->double_ok;
	return 1;
}

/* Kernels. */

static int build(struct qv_offload_dev *dev, enum qv_type type)
{
	struct qv_cl_combine *c = &dev->combine[type];
	char all[128];
	int err;

	if (c->program)
		return QV_OK;
	if (c->failed)
		return qv_cl_wrong(dev, QV_ENOSYS, "the kernels for %s could not be built",
				   qv_type_name(type));
	snprintf(all, sizeof(all), "-cl-std=CL1.2 %s", options[type]);
	err = qv_cl_build(dev, qv_cl_text_combine, all, &c->program);
	c->failed = err != QV_OK;
	return err;
}

static int find_kernel(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type,
		       qv_cl_kernel *out)
{
	struct qv_cl_combine *c = &dev->combine[type];
	char name[32];
	int err = build(dev, type);

	snprintf(name, sizeof(name), "combine_%s", kernel_names[op]);
	if (!err && !c->kernel[op])
		err = qv_cl_kernel_of(dev, c->program, name, &c->kernel[op], NULL);
	*out = c->kernel[op];
	return err;
}

void qv_cl_combine_close(struct qv_offload_dev *dev)
{
	for (int type = 0; type < QV_N_TYPES; type++) {
		struct qv_cl_combine *c = &dev->combine[type];

		for (int op = 0; op < QV_N_OPS; op++)
			if (c->kernel[op])
				dev->cl.ReleaseKernel(c->kernel[op]);
		if (c->program)
			dev->cl.ReleaseProgram(c->program);
	}
}

/* A call. */

struct job {
	struct qv_offload_dev *dev;
	struct qv_samples_arrays arrays;
	size_t item;
	char *dst;
	qv_cl_kernel kernel;
	size_t done;
};

/* A chunk has come back, or fails. */
static int finish(void *p, unsigned turn)
{
	struct job *job = p;
	struct qv_cl_slot *slot = &job->dev->slot[turn];
	int err;

	if (!slot->count)
		return QV_OK;
	err = qv_cl_wait(job->dev, slot);
	if (!err && !qv_samples_right(&job->arrays, slot->first, slot->count, slot->host))
		err = qv_cl_wrong(job->dev, QV_EIO, "a wrong answer: %s of %s",
				  qv_op_name(job->arrays.op), qv_type_name(job->arrays.type));
	if (!err) {
		memcpy(job->dst + slot->first * job->item, slot->host, slot->count * job->item);
		job->done = slot->first + slot->count;
	}
	slot->count = 0;
	return err;
}

static int launch(struct job *job, struct qv_cl_slot *slot, size_t bytes)
{
	const uint64_t n = slot->count;
	const uint32_t k = (uint32_t)job->arrays.k;
	const struct qv_cl_arg args[] = {QV_CL_ARG(slot->in.mem), QV_CL_ARG(slot->work.mem),
					 QV_CL_ARG(k), QV_CL_ARG(n)};
	const size_t items[2] = {(bytes + WORK_BYTES - 1) / WORK_BYTES, 1};
	const int err = qv_cl_args(job->dev, job->kernel, args, 4);

	return err ? err : qv_cl_launch(job->dev, slot, job->kernel, items, job->dev->group);
}

/* Send elements first .. first + count: the left operand, and all others behind each other. */
static int begin(void *p, unsigned turn, size_t first, size_t count)
{
	struct job *job = p;
	struct qv_cl_slot *slot = &job->dev->slot[turn];
	const size_t bytes = count * job->item;
	char *host;
	int err = qv_cl_host_room(job->dev, slot, job->arrays.k * bytes);

	if (!err)
		err = qv_cl_room(job->dev, &slot->in, bytes);
	if (!err)
		err = qv_cl_room(job->dev, &slot->work, (job->arrays.k - 1) * bytes);
	if (err)
		return err;
	host = slot->host;
	for (size_t j = 0; j < job->arrays.k; j++)
		memcpy(host + j * bytes, job->arrays.src[j] + first * job->item, bytes);
	slot->first = first;
	slot->count = count;
	err = qv_cl_write(job->dev, slot, slot->in.mem, 0, host, bytes);
	if (!err)
		err = qv_cl_write(job->dev, slot, slot->work.mem, 0, host + bytes,
				  (job->arrays.k - 1) * bytes);
	if (!err)
		err = launch(job, slot, bytes);
	return err ? err : qv_cl_read(job->dev, slot, slot->in.mem, host, bytes);
}

static int drop(void *p, unsigned turn)
{
	struct job *job = p;
	struct qv_cl_slot *slot = &job->dev->slot[turn];

	slot->count = 0;
	return job->dev->lost ? QV_OK : qv_cl_wait(job->dev, slot);
}

static const struct qv_chunks_calls calls = {begin, finish, drop};

/* Elements of a chunk, of k arrays. */
static size_t chunk(size_t k, size_t item)
{
	const size_t step = 2 * QV_CL_CHUNK / k / item;

	return step ? step : 1;
}

int qv_cl_combine_many(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		       const void *const *src, size_t k, size_t count, size_t *done)
{
	struct job job = {.dev = dev,
			  .arrays = {dev->cpu, op, type, (const char *const *)src, k},
			  .item = qv_type_size(type),
			  .dst = dst};
	int err;

	dev->kernel_ns = 0;
	*done = 0;
	if (dev->lost)
		return QV_EPEER;
	if (k < 2 || k > UINT32_MAX || !count || count > dev->caps.max_bytes / job.item)
		return qv_cl_wrong(dev, QV_EINVAL, "%zu arrays of %zu elements", k, count);
	if (!qv_cl_combines(dev, op, type))
		return qv_cl_wrong(dev, QV_ENOSYS, "not done on this device");
	err = find_kernel(dev, op, type, &job.kernel);
	if (!err)
		err = qv_chunks_run(&calls, &job, count, chunk(k, job.item));
	*done = job.done;
	return err;
}

int qv_cl_combine(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		  const void *a, const void *b, size_t count, size_t *done)
{
	const void *const src[2] = {a, b};

	return qv_cl_combine_many(dev, op, type, dst, src, 2, count, done);
}
