/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c - memory of the card, and runs that are waited for no longer than allowed. */
#include "internal.h"

#include <string.h>

/* Slots. */

int qv_xrt_slot_open(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, void *kernel)
{
	slot->kernel = kernel;
	slot->run = dev->xrt.RunOpen(kernel);
	if (!slot->run)
		return qv_backend_wrong(dev, QV_EIO, "xrtRunOpen failed");
	for (int i = 0; i < 3; i++) {
		const int group = dev->xrt.KernelArgGroupId(kernel, i);

		if (group < 0)
			return qv_backend_wrong(dev, QV_EIO, "xrtKernelArgGroupId(%d) failed", i);
		slot->group[i] = (uint32_t)group;
	}
	return QV_OK;
}

void qv_xrt_slot_close(struct qv_offload_dev *dev, struct qv_xrt_slot *slot)
{
	if (slot->run)
		dev->xrt.RunClose(slot->run);
	for (int i = 0; i < 3; i++)
		if (slot->bo[i].bo)
			dev->xrt.BOFree(slot->bo[i].bo);
	memset(slot, 0, sizeof(*slot));
}

int qv_xrt_room(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, int i, size_t bytes)
{
	struct qv_xrt_bo bo = {.bytes = qv_backend_grown(bytes)};

	if (bytes <= slot->bo[i].bytes)
		return QV_OK;
	bo.bo = dev->xrt.BOAlloc(dev->device, bo.bytes, 0, slot->group[i]);
	if (!bo.bo)
		return qv_backend_wrong(dev, QV_ENOMEM, "xrtBOAlloc of %zu bytes failed", bo.bytes);
	bo.map = dev->xrt.BOMap(bo.bo);
	if (!bo.map) {
		dev->xrt.BOFree(bo.bo);
		return qv_backend_wrong(dev, QV_ENOMEM, "xrtBOMap of %zu bytes failed", bo.bytes);
	}
	if (slot->bo[i].bo)
		dev->xrt.BOFree(slot->bo[i].bo);
	slot->bo[i] = bo;
	return QV_OK;
}

int qv_xrt_sync(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, int i, int direction,
		size_t bytes)
{
	if (bytes && dev->xrt.BOSync(slot->bo[i].bo, direction, bytes, 0))
		return qv_backend_wrong(dev, QV_EIO, "xrtBOSync of %zu bytes failed", bytes);
	return QV_OK;
}

/* Runs. */

int qv_xrt_start(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, const uint32_t number[3])
{
	int err = 0;

	for (int i = 0; i < 3 && !err; i++)
		err = dev->xrt.RunSetArg(slot->run, i, slot->bo[i].bo);
	for (int i = 0; i < 3 && !err; i++)
		err = dev->xrt.RunSetArg(slot->run, 3 + i, number[i]);
	if (err)
		return qv_backend_wrong(dev, QV_EIO, "xrtRunSetArg failed (%d)", err);
	err = dev->xrt.RunStart(slot->run);
	if (err)
		return qv_backend_wrong(dev, QV_EIO, "xrtRunStart failed (%d)", err);
	slot->running = true;
	return QV_OK;
}

int qv_xrt_wait(struct qv_offload_dev *dev, struct qv_xrt_slot *slot)
{
	int state;

	if (!slot->running)
		return QV_OK;
	slot->running = false;
	state = dev->xrt.RunWaitFor(slot->run, dev->head.timeout_ms);
	switch (state) {
	case QV_XRT_COMPLETED: return QV_OK;
	case QV_XRT_ERROR:
	case QV_XRT_ABORT:
	case QV_XRT_SKERROR:
	case QV_XRT_SKCRASHED:
		return qv_backend_wrong(dev, QV_EIO, "a run failed (state %d)", state);
	default:
		return qv_backend_wrong(dev, QV_EPEER, "no answer within %u ms (state %d)",
					dev->head.timeout_ms, state);
	}
}
