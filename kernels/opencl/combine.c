/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.c - combine on the device. Long double and 128-bit integers do not exist in OpenCL.
 */
#include "internal.h"

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
		return qv_backend_wrong(dev, QV_ENOSYS, "the kernels for %s could not be built",
					qv_type_name(type));
	snprintf(all, sizeof(all), "-cl-std=CL1.2 %s", options[type]);
	err = qv_cl_build(dev, qv_cl_text_combine, all, &c->program);
	c->failed = err != QV_OK;
	return err;
}

int qv_cl_combine_prepare(struct qv_backend_job *job)
{
	struct qv_cl_combine *c = &job->dev->combine[job->type];
	char name[32];
	int err = build(job->dev, job->type);

	snprintf(name, sizeof(name), "combine_%s", kernel_names[job->op]);
	if (!err && !c->kernel[job->op])
		err = qv_cl_kernel_of(job->dev, c->program, name, &c->kernel[job->op],
				      &c->group[job->op]);
	job->step = 2 * QV_CL_CHUNK / job->k / job->item;
	job->step += !job->step;
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

/* A chunk. */

static int launch(struct qv_backend_job *job, struct qv_cl_slot *slot, size_t count)
{
	struct qv_offload_dev *dev = job->dev;
	const uint64_t n = count;
	const uint32_t k = (uint32_t)job->k;
	const struct qv_cl_arg args[] = {QV_CL_ARG(slot->in.mem), QV_CL_ARG(slot->work.mem),
					 QV_CL_ARG(k), QV_CL_ARG(n)};
	const size_t items[2] = {(count * job->item + WORK_BYTES - 1) / WORK_BYTES, 1};
	const struct qv_cl_combine *c = &dev->combine[job->type];
	const size_t most = c->group[job->op];
	const int err = qv_cl_args(dev, c->kernel[job->op], args, 4);

	return err ? err
		   : qv_cl_launch(dev, slot, c->kernel[job->op], items,
				  most < dev->group ? most : dev->group);
}

/* The left operand, and all others behind each other. */
int qv_cl_combine_begin(struct qv_backend_job *job, unsigned turn)
{
	struct qv_offload_dev *dev = job->dev;
	struct qv_cl_slot *slot = &dev->slot[turn];
	const size_t first = job->slot[turn].first, count = job->slot[turn].count;
	const size_t bytes = count * job->item;
	char *host;
	int err = qv_cl_host_room(dev, slot, job->k * bytes);

	if (!err)
		err = qv_cl_room(dev, &slot->in, bytes);
	if (!err)
		err = qv_cl_room(dev, &slot->work, (job->k - 1) * bytes);
	if (err)
		return err;
	host = slot->host;
	for (size_t j = 0; j < job->k; j++)
		memcpy(host + j * bytes, job->src[j] + first * job->item, bytes);
	err = qv_cl_write(dev, slot, slot->in.mem, 0, host, bytes);
	if (!err)
		err = qv_cl_write(dev, slot, slot->work.mem, 0, host + bytes, (job->k - 1) * bytes);
	if (!err)
		err = launch(job, slot, count);
	return err ? err : qv_cl_read(dev, slot, slot->in.mem, host, bytes);
}

int qv_cl_combine_end(struct qv_backend_job *job, unsigned turn, const char **results)
{
	struct qv_cl_slot *slot = &job->dev->slot[turn];

	*results = slot->host;
	return qv_cl_wait(job->dev, slot);
}
