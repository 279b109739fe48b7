/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * api.h - what we use of XRT's C interface, written from its manual, so that quiver is built
 * without XRT's headers and runs without its library. test_xrt_api.c compares it with the headers.
 */
#ifndef QV_XRT_API_H
#define QV_XRT_API_H

#include <stddef.h>
#include <stdint.h>

enum {
	QV_XRT_TO_DEVICE = 0,
	QV_XRT_FROM_DEVICE = 1,

	/* States of a run. */
	QV_XRT_COMPLETED = 4,
	QV_XRT_ERROR = 5,
	QV_XRT_ABORT = 6,
	QV_XRT_SKERROR = 10,
	QV_XRT_SKCRASHED = 11,
};

/* The functions, found by name: QV_XRT_FUNCTIONS(X) makes X(name, result, arguments) of each. */
#define QV_XRT_FUNCTIONS(X)                                                                  \
	X(DeviceOpen, void *, (unsigned index))                                              \
	X(DeviceClose, int, (void *device))                                                  \
	X(DeviceLoadXclbinFile, int, (void *device, const char *file))                       \
	X(DeviceGetXclbinUUID, int, (void *device, unsigned char *uuid))                     \
	X(PLKernelOpen, void *, (void *device, const unsigned char *uuid, const char *name)) \
	X(KernelClose, int, (void *kernel))                                                  \
	X(KernelArgGroupId, int, (void *kernel, int argument))                               \
	X(BOAlloc, void *, (void *device, size_t bytes, uint64_t flags, uint32_t group))     \
	X(BOFree, int, (void *bo))                                                           \
	X(BOMap, void *, (void *bo))                                                         \
	X(BOSync, int, (void *bo, int direction, size_t bytes, size_t offset))               \
	X(RunOpen, void *, (void *kernel))                                                   \
	X(RunSetArg, int, (void *run, int argument, ...))                                    \
	X(RunStart, int, (void *run))                                                        \
	X(RunWaitFor, int, (void *run, unsigned ms))                                         \
	X(RunClose, int, (void *run))

#define QV_XRT_MEMBER(name, result, arguments) result(*name) arguments;
struct qv_xrt_api {
	void *library;
	QV_XRT_FUNCTIONS(QV_XRT_MEMBER)
};
#undef QV_XRT_MEMBER

#endif /* QV_XRT_API_H */
