/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_opencl.c - the OpenCL backend: opening, closing, and its table of calls. */
#include "qv_opencl.h"
#include "qv_cl.h"
#include "kernels/samples/qv_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_MS 2000

static int opencl_probe(const struct qv_offload_config *config, struct qv_offload_caps *caps,
			char *why, size_t room)
{
	struct qv_cl_api cl = {.library = NULL};
	struct qv_offload_config c;
	qv_cl_device id;
	int err = qv_config_read(config, &c, why, room);

	if (err)
		return err;
	err = qv_cl_load(&cl, c.library, why, room);
	if (!err)
		err = qv_cl_find(&cl, &c, &id, caps, why, room);
	qv_cl_unload(&cl);
	return err;
}

/* Opening. */

static uint64_t number(const struct qv_offload_dev *dev, uint32_t what)
{
	uint64_t value = 0;

	dev->cl.GetDeviceInfo(dev->id, what, sizeof(value), &value, NULL);
	return value;
}

static void learn(struct qv_offload_dev *dev)
{
	const uint64_t ieee = QV_CL_FP_DENORM | QV_CL_FP_INF_NAN | QV_CL_FP_NEAREST;

	dev->local_bytes = number(dev, QV_CL_DEVICE_LOCAL_MEM_SIZE);
	dev->alloc_bytes = number(dev, QV_CL_DEVICE_MAX_MEM_ALLOC_SIZE);
	dev->float_ok = (number(dev, QV_CL_DEVICE_SINGLE_FP_CONFIG) & ieee) == ieee;
	dev->double_ok = (number(dev, QV_CL_DEVICE_DOUBLE_FP_CONFIG) & ieee) == ieee;
}

static int open_queues(struct qv_offload_dev *dev)
{
	const uint64_t properties = dev->profile ? QV_CL_QUEUE_PROFILING : 0;
	int32_t err = 0;

	dev->context = dev->cl.CreateContext(NULL, 1, &dev->id, NULL, NULL, &err);
	if (!dev->context || err)
		return qv_cl_fail(dev, err, "clCreateContext");
	for (int i = 0; i < QV_CL_SLOTS; i++) {
		dev->slot[i].queue =
			dev->cl.CreateCommandQueue(dev->context, dev->id, properties, &err);
		if (!dev->slot[i].queue || err)
			return qv_cl_fail(dev, err, "clCreateCommandQueue");
	}
	return QV_OK;
}

static void close_slot(struct qv_offload_dev *dev, struct qv_cl_slot *s)
{
	const qv_cl_mem mems[] = {s->in.mem, s->out.mem, s->work.mem, s->bits.mem};

	for (size_t i = 0; i < sizeof(mems) / sizeof(mems[0]); i++)
		if (mems[i])
			dev->cl.ReleaseMemObject(mems[i]);
	if (s->queue)
		dev->cl.ReleaseCommandQueue(s->queue);
	if (!s->dirty)
		free(s->host);
}

static void opencl_close(struct qv_offload_dev *dev)
{
	if (!dev)
		return;
	if (dev->lost) {
		/* Its commands may still run: not a call more, and not a byte of theirs freed. */
		free(dev);
		return;
	}
	qv_cl_match_close(dev);
	qv_cl_combine_close(dev);
	if (dev->pieces)
		dev->cl.ReleaseKernel(dev->pieces);
	if (dev->pack)
		dev->cl.ReleaseProgram(dev->pack);
	for (int i = 0; i < QV_CL_SLOTS; i++)
		close_slot(dev, &dev->slot[i]);
	if (dev->context)
		dev->cl.ReleaseContext(dev->context);
	qv_cl_unload(&dev->cl);
	free(dev);
}

static int opencl_open(const struct qv_offload_config *config, struct qv_offload_dev **out,
		       char *why, size_t room)
{
	struct qv_offload_config c;
	struct qv_offload_dev *dev;
	int err = qv_config_read(config, &c, why, room);

	if (err)
		return err;
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		snprintf(why, room, "no memory");
		return QV_ENOMEM;
	}
	dev->timeout_ms = c.timeout_ms ? c.timeout_ms : DEFAULT_TIMEOUT_MS;
	dev->profile = c.profile;
	qv_combine_open(QV_ISA_SCALAR, &dev->cpu);
	qv_cl_draw_secret(dev);
	err = qv_cl_load(&dev->cl, c.library, dev->why, sizeof(dev->why));
	if (!err)
		err = qv_cl_find(&dev->cl, &c, &dev->id, &dev->caps, dev->why, sizeof(dev->why));
	if (!err) {
		learn(dev);
		err = open_queues(dev);
	}
	if (!err)
		err = qv_cl_match_open(dev);
	if (!err)
		err = qv_cl_selftest(dev);
	if (err) {
		snprintf(why, room, "%s", dev->why);
		opencl_close(dev);
		return err;
	}
	*out = dev;
	return QV_OK;
}

/* Small calls. */

static const struct qv_offload_caps *opencl_caps(const struct qv_offload_dev *dev)
{
	return &dev->caps;
}

static const char *opencl_why(const struct qv_offload_dev *dev)
{
	return dev->why;
}

static uint64_t opencl_kernel_ns(const struct qv_offload_dev *dev)
{
	return dev->kernel_ns;
}

void qv_opencl_force(struct qv_offload_dev *dev, enum qv_opencl_way way)
{
	dev->force = way;
}

void qv_opencl_secret(struct qv_offload_dev *dev, const uint64_t secret[2])
{
	memcpy(dev->secret, secret, sizeof(dev->secret));
	dev->unindexed = dev->unindexed_next = 0;
}

void qv_opencl_exact(struct qv_offload_dev *dev)
{
	dev->exact = true;
}

void qv_opencl_count(const struct qv_offload_dev *dev, struct qv_opencl_ways *ways)
{
	*ways = dev->ways;
}

const struct qv_offload_ops qv_opencl_ops = {
	.name = "opencl",
	.probe = opencl_probe,
	.open = opencl_open,
	.close = opencl_close,
	.caps = opencl_caps,
	.why = opencl_why,
	.kernel_ns = opencl_kernel_ns,
	.match_batch = qv_cl_match_batch,
	.combines = qv_cl_combines,
	.combine = qv_cl_combine,
	.combine_many = qv_cl_combine_many,
	.pack = qv_cl_pack,
	.unpack = qv_cl_unpack,
};
