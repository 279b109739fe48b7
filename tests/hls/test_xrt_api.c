/* SPDX-License-Identifier: BSD-2-Clause */
/* test_xrt_api.c - our own declarations of XRT against its headers: it compiles, or they differ. */
#include "hls/host/api.h"

#include <ert.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

/* A state is an enum there and an int here; the registers hold the same. */
#define SAME(name, ours) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&xrt##name), ours), #name)
SAME(DeviceOpen, void *(*)(unsigned));
SAME(DeviceClose, int (*)(void *));
SAME(DeviceLoadXclbinFile, int (*)(void *, const char *));
SAME(DeviceGetXclbinUUID, int (*)(void *, unsigned char *));
SAME(PLKernelOpen, void *(*)(void *, const unsigned char *, const char *));
SAME(KernelClose, int (*)(void *));
SAME(KernelArgGroupId, int (*)(void *, int));
SAME(BOAlloc, void *(*)(void *, size_t, uint64_t, uint32_t));
SAME(BOFree, int (*)(void *));
SAME(BOMap, void *(*)(void *));
SAME(BOSync, int (*)(void *, enum xclBOSyncDirection, size_t, size_t));
SAME(RunOpen, void *(*)(void *));
SAME(RunSetArg, int (*)(void *, int, ...));
SAME(RunStart, int (*)(void *));
SAME(RunWaitFor, enum ert_cmd_state (*)(void *, unsigned));
SAME(RunClose, int (*)(void *));

_Static_assert(sizeof(enum ert_cmd_state) == sizeof(int) &&
		       sizeof(enum xclBOSyncDirection) == sizeof(int),
	       "enums are ints");
_Static_assert((int)XCL_BO_SYNC_BO_TO_DEVICE == QV_XRT_TO_DEVICE &&
		       (int)XCL_BO_SYNC_BO_FROM_DEVICE == QV_XRT_FROM_DEVICE &&
		       (int)ERT_CMD_STATE_COMPLETED == QV_XRT_COMPLETED &&
		       (int)ERT_CMD_STATE_ERROR == QV_XRT_ERROR &&
		       (int)ERT_CMD_STATE_ABORT == QV_XRT_ABORT &&
		       (int)ERT_CMD_STATE_SKERROR == QV_XRT_SKERROR &&
		       (int)ERT_CMD_STATE_SKCRASHED == QV_XRT_SKCRASHED,
	       "numbers");
