/* SPDX-License-Identifier: BSD-2-Clause */
/* opencl.c - the OpenCL backend: opening, closing, and its table of calls. */
#include "opencl.h"
#include "internal.h"
#include "kernels/backend/config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The library. */

#define NAME(name, result, arguments) "cl" #name,
static const char *const names[] = {QV_CL_FUNCTIONS(NAME)};
#define NAMES (sizeof(names) / sizeof(names[0]))

_Static_assert(sizeof(struct qv_cl_api) == (1 + NAMES) * sizeof(void *),
	       "as qv_backend_load fills it");

static int load(struct qv_cl_api *cl, const char *library, char *why, size_t room)
{
	return qv_backend_load(cl, "OpenCL", library ? library : "libOpenCL.so.1", names, NAMES,
			       why, room);
}

/* It stays in memory all the same: qv_backend_load. */
static void unload(struct qv_cl_api *cl)
{
	if (cl->library)
		dlclose(cl->library);
	cl->library = NULL;
}

static int opencl_probe(const struct qv_offload_config *config, struct qv_offload_caps *caps,
			char *why, size_t room)
{
	struct qv_cl_api cl = {.library = NULL};
	struct qv_offload_config c;
	qv_cl_device id;
	int err = qv_config_read(config, &c, why, room);

	if (err)
		return err;
	err = load(&cl, c.library, why, room);
	if (!err)
		err = qv_cl_find(&cl, &c, &id, caps, why, room);
	unload(&cl);
	return err;
}

/* Opening. */

static void learn(struct qv_offload_dev *dev)
{
	const uint64_t ieee = QV_CL_FP_DENORM | QV_CL_FP_INF_NAN | QV_CL_FP_NEAREST;

	dev->local_bytes = qv_cl_number(&dev->cl, dev->id, QV_CL_DEVICE_LOCAL_MEM_SIZE);
	dev->alloc_bytes = qv_cl_number(&dev->cl, dev->id, QV_CL_DEVICE_MAX_MEM_ALLOC_SIZE);
	dev->float_ok =
		(qv_cl_number(&dev->cl, dev->id, QV_CL_DEVICE_SINGLE_FP_CONFIG) & ieee) == ieee;
	dev->double_ok =
		(qv_cl_number(&dev->cl, dev->id, QV_CL_DEVICE_DOUBLE_FP_CONFIG) & ieee) == ieee;
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
	if (dev->head.lost) {
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
	unload(&dev->cl);
	free(dev);
}

/* Before a device is believed: batches with wildcards and with keys that are all alike, each way. */
static int test(struct qv_offload_dev *dev)
{
	uint64_t state = 1;
	int err = QV_OK;

	for (uint32_t round = 0; round < 8 && !err; round++) {
		const bool wild = round < 4;
		bool right;

		dev->force = QV_OPENCL_SMALL + round % 4;
		err = qv_backend_try(dev, wild ? 9 : 1, wild, &state, &right);
		if (!err && !right)
			err = qv_backend_wrong(dev, QV_EIO,
					       "the device fails a test of its kernels (way %d)",
					       (int)dev->force);
	}
	dev->force = QV_OPENCL_AUTO;
	memset(&dev->ways, 0, sizeof(dev->ways));
	return err;
}

static int drop(struct qv_offload_dev *dev, unsigned slot)
{
	return qv_cl_wait(dev, &dev->slot[slot]);
}

static int start(struct qv_offload_dev *dev, const struct qv_offload_config *config)
{
	char *const why = dev->head.why;
	int err;

	dev->profile = config->profile;
	qv_cl_draw_secret(dev);
	err = load(&dev->cl, config->library, why, sizeof(dev->head.why));
	if (!err)
		err = qv_cl_find(&dev->cl, config, &dev->id, &dev->head.caps, why,
				 sizeof(dev->head.why));
	if (!err) {
		learn(dev);
		err = open_queues(dev);
	}
	if (!err)
		err = qv_cl_match_open(dev);
	return err ? err : test(dev);
}

static const struct qv_backend backend = {
	.bytes = sizeof(struct qv_offload_dev),
	.noun = "device",
	.ops = &qv_opencl_ops,
	.start = start,
	.prepare = qv_cl_combine_prepare,
	.begin = qv_cl_combine_begin,
	.end = qv_cl_combine_end,
	.drop = drop,
};

static int opencl_open(const struct qv_offload_config *config, struct qv_offload_dev **dev,
		       char *why, size_t room)
{
	return qv_backend_open(&backend, config, dev, why, room);
}

/* For tests. */

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
	.caps = qv_backend_caps,
	.why = qv_backend_why,
	.kernel_ns = qv_backend_kernel_ns,
	.match_batch = qv_cl_match_batch,
	.combines = qv_cl_combines,
	.combine = qv_backend_combine,
	.combine_many = qv_backend_combine_many,
	.pack = qv_cl_pack,
	.unpack = qv_cl_unpack,
};
