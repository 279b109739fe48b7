/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c - buffers, commands, and waiting for them no longer than allowed. */
#include "internal.h"
#include "engine/base/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* For so long a wait gives the CPU away but does not sleep; then it sleeps in steps. */
#define AWAKE_NS ((uint64_t)300000)
#define NAP_NS   50000

static int status_of(int32_t err)
{
	switch (err) {
	case QV_CL_MEM_OBJECT_ALLOCATION_FAILURE:
	case QV_CL_OUT_OF_HOST_MEMORY:
	case QV_CL_INVALID_BUFFER_SIZE: return QV_ENOMEM;
	case QV_CL_DEVICE_NOT_AVAILABLE: /* it is gone, and what was made for it */
	case QV_CL_INVALID_DEVICE:
	case QV_CL_INVALID_CONTEXT:
	case QV_CL_INVALID_COMMAND_QUEUE: return QV_EPEER;
	default: return QV_EIO;
	}
}

int qv_cl_fail(struct qv_offload_dev *dev, int32_t err, const char *what)
{
	return qv_backend_wrong(dev, status_of(err), "%s failed (OpenCL error %d)", what, (int)err);
}

/* Memory. */

int qv_cl_room(struct qv_offload_dev *dev, struct qv_cl_buffer *buffer, size_t bytes)
{
	const size_t room = dev->exact ? bytes : qv_backend_grown(bytes);
	int32_t err = 0;
	qv_cl_mem mem;

	if (bytes <= buffer->bytes && (!dev->exact || bytes == buffer->bytes))
		return QV_OK;
	mem = dev->cl.CreateBuffer(dev->context, QV_CL_MEM_READ_WRITE, room, NULL, &err);
	if (!mem || err)
		return qv_cl_fail(dev, err, "clCreateBuffer");
	if (buffer->mem)
		dev->cl.ReleaseMemObject(buffer->mem);
	buffer->mem = mem;
	buffer->bytes = room;
	return QV_OK;
}

int qv_cl_host_room(struct qv_offload_dev *dev, struct qv_cl_slot *slot, size_t bytes)
{
	const size_t room = qv_backend_grown(bytes);
	void *host;

	if (bytes <= slot->host_bytes && !slot->dirty)
		return QV_OK;
	host = aligned_alloc(4096, room);
	if (!host)
		return qv_backend_wrong(dev, QV_ENOMEM, "no memory for %zu bytes", room);
	if (!slot->dirty) /* else it is left to the device */
		free(slot->host);
	slot->dirty = false;
	slot->host = host;
	slot->host_bytes = room;
	return QV_OK;
}

/* Commands. */

int qv_cl_write(struct qv_offload_dev *dev, struct qv_cl_slot *slot, qv_cl_mem to, size_t offset,
		const void *from, size_t bytes)
{
	const int32_t err =
		dev->cl.EnqueueWriteBuffer(slot->queue, to, 0, offset, bytes, from, 0, NULL, NULL);

	slot->dirty = true;
	return err ? qv_cl_fail(dev, err, "clEnqueueWriteBuffer") : QV_OK;
}

int qv_cl_args(struct qv_offload_dev *dev, qv_cl_kernel kernel, const struct qv_cl_arg *args,
	       unsigned n)
{
	int32_t err = 0;

	for (unsigned i = 0; i < n && !err; i++)
		err = dev->cl.SetKernelArg(kernel, i, args[i].size, args[i].value);
	return err ? qv_cl_fail(dev, err, "clSetKernelArg") : QV_OK;
}

/* Work-groups are whole: the kernels look whether there is work for an item. */
int qv_cl_launch(struct qv_offload_dev *dev, struct qv_cl_slot *slot, qv_cl_kernel kernel,
		 const size_t global[2], size_t group)
{
	const size_t all[2] = {(global[0] + group - 1) / group * group, global[1]};
	const size_t local[2] = {group, 1};
	qv_cl_event *event = dev->profile && slot->kernels_n < QV_CL_LAUNCHES
				     ? &slot->kernels[slot->kernels_n]
				     : NULL;
	const int32_t err = dev->cl.EnqueueNDRangeKernel(slot->queue, kernel, global[1] > 1 ? 2 : 1,
							 NULL, all, local, 0, NULL, event);

	if (err)
		return qv_cl_fail(dev, err, "clEnqueueNDRangeKernel");
	slot->kernels_n += event != NULL;
	return QV_OK;
}

int qv_cl_read(struct qv_offload_dev *dev, struct qv_cl_slot *slot, qv_cl_mem from, void *to,
	       size_t bytes)
{
	int32_t err =
		dev->cl.EnqueueReadBuffer(slot->queue, from, 0, 0, bytes, to, 0, NULL, &slot->last);

	if (err) {
		slot->last = NULL;
		return qv_cl_fail(dev, err, "clEnqueueReadBuffer");
	}
	err = dev->cl.Flush(slot->queue);
	return err ? qv_cl_fail(dev, err, "clFlush") : QV_OK;
}

/* Waiting. */

/* OpenCL has no wait with an end: look, give the CPU to whoever computes, look again. */
static int wait_for(struct qv_offload_dev *dev, qv_cl_event event)
{
	const uint64_t start = qv_clock_ns();
	const struct timespec nap = {.tv_nsec = NAP_NS};
	int32_t state = 1, err;

	for (;;) {
		err = dev->cl.GetEventInfo(event, QV_CL_EVENT_COMMAND_EXECUTION_STATUS,
					   sizeof(state), &state, NULL);
		if (err || state < 0)
			return qv_cl_fail(dev, err ? err : state, "a command");
		if (state == QV_CL_COMPLETE)
			return QV_OK;
		if (qv_clock_ns() - start > (uint64_t)dev->head.timeout_ms * 1000000u)
			return qv_backend_wrong(dev, QV_EPEER, "no answer within %u ms",
						dev->head.timeout_ms);
		if (qv_clock_ns() - start < AWAKE_NS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

static void add_times(struct qv_offload_dev *dev, struct qv_cl_slot *slot, bool good)
{
	for (unsigned i = 0; i < slot->kernels_n; i++) {
		uint64_t start = 0, end = 0;

		if (good &&
		    !dev->cl.GetEventProfilingInfo(slot->kernels[i], QV_CL_PROFILING_COMMAND_START,
						   sizeof(start), &start, NULL) &&
		    !dev->cl.GetEventProfilingInfo(slot->kernels[i], QV_CL_PROFILING_COMMAND_END,
						   sizeof(end), &end, NULL))
			dev->head.kernel_ns += end - start;
		dev->cl.ReleaseEvent(slot->kernels[i]);
	}
	slot->kernels_n = 0;
}

int qv_cl_wait(struct qv_offload_dev *dev, struct qv_cl_slot *slot)
{
	int err = QV_OK;

	if (slot->last) {
		err = wait_for(dev, slot->last);
		dev->cl.ReleaseEvent(slot->last);
		slot->last = NULL;
		slot->dirty = err != QV_OK;
	}
	add_times(dev, slot, !err);
	return err;
}

int qv_cl_finish(struct qv_offload_dev *dev, struct qv_cl_slot *slot, int err)
{
	const int waited = dev->head.lost ? QV_EPEER : qv_cl_wait(dev, slot);

	return waited == QV_EPEER || !err ? waited : err;
}
