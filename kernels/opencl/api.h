/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * api.h - what we use of OpenCL 1.2, written from its specification, so that quiver is built
 * without OpenCL's headers and runs without its library. test_opencl_api.c compares the numbers
 * with the headers.
 */
#ifndef QV_CL_API_H
#define QV_CL_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct qv_cl_platform *qv_cl_platform;
typedef struct qv_cl_device *qv_cl_device;
typedef struct qv_cl_context *qv_cl_context;
typedef struct qv_cl_queue *qv_cl_queue;
typedef struct qv_cl_mem *qv_cl_mem;
typedef struct qv_cl_program *qv_cl_program;
typedef struct qv_cl_kernel *qv_cl_kernel;
typedef struct qv_cl_event *qv_cl_event;

enum {
	QV_CL_SUCCESS = 0,
	QV_CL_DEVICE_NOT_FOUND = -1,
	QV_CL_DEVICE_NOT_AVAILABLE = -2,
	QV_CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
	QV_CL_OUT_OF_RESOURCES = -5,
	QV_CL_OUT_OF_HOST_MEMORY = -6,
	QV_CL_BUILD_PROGRAM_FAILURE = -11,
	QV_CL_INVALID_DEVICE = -33,
	QV_CL_INVALID_CONTEXT = -34,
	QV_CL_INVALID_COMMAND_QUEUE = -36,
	QV_CL_INVALID_BUFFER_SIZE = -61,
	QV_CL_PLATFORM_NOT_FOUND = -1001, /* of the loader, when there is no platform */

	QV_CL_PLATFORM_NAME = 0x0902,
	QV_CL_PLATFORM_VENDOR = 0x0903,

	QV_CL_DEVICE_TYPE = 0x1000,
	QV_CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
	QV_CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
	QV_CL_DEVICE_SINGLE_FP_CONFIG = 0x101b,
	QV_CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
	QV_CL_DEVICE_ENDIAN_LITTLE = 0x1026,
	QV_CL_DEVICE_AVAILABLE = 0x1027,
	QV_CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
	QV_CL_DEVICE_NAME = 0x102b,
	QV_CL_DRIVER_VERSION = 0x102d,
	QV_CL_DEVICE_VERSION = 0x102f,
	QV_CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,

	QV_CL_PROGRAM_BUILD_LOG = 0x1183,
	QV_CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
	QV_CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3,
	QV_CL_PROFILING_COMMAND_START = 0x1282,
	QV_CL_PROFILING_COMMAND_END = 0x1283,
	QV_CL_COMPLETE = 0,
};

#define QV_CL_DEVICE_TYPE_CPU ((uint64_t)1 << 1)
#define QV_CL_DEVICE_TYPE_GPU ((uint64_t)1 << 2)
#define QV_CL_DEVICE_TYPE_ALL ((uint64_t)0xffffffff)
#define QV_CL_FP_DENORM       ((uint64_t)1 << 0)
#define QV_CL_FP_INF_NAN      ((uint64_t)1 << 1)
#define QV_CL_FP_NEAREST      ((uint64_t)1 << 2)
#define QV_CL_MEM_READ_WRITE  ((uint64_t)1 << 0)
#define QV_CL_QUEUE_PROFILING ((uint64_t)1 << 1)

/* The functions, found by name: QV_CL_FUNCTIONS(X) makes X(name, result, arguments) of each. */
#define QV_CL_FUNCTIONS(X)                                                                        \
	X(GetPlatformIDs, int32_t, (uint32_t room, qv_cl_platform * out, uint32_t * n))           \
	X(GetPlatformInfo, int32_t,                                                               \
	  (qv_cl_platform p, uint32_t what, size_t room, void *out, size_t *size))                \
	X(GetDeviceIDs, int32_t,                                                                  \
	  (qv_cl_platform p, uint64_t type, uint32_t room, qv_cl_device * out, uint32_t * n))     \
	X(GetDeviceInfo, int32_t,                                                                 \
	  (qv_cl_device d, uint32_t what, size_t room, void *out, size_t *size))                  \
	X(CreateContext, qv_cl_context,                                                           \
	  (const intptr_t *properties, uint32_t n, const qv_cl_device *devices,                   \
	   void (*notify)(const char *, const void *, size_t, void *), void *user, int32_t *err)) \
	X(ReleaseContext, int32_t, (qv_cl_context c))                                             \
	X(CreateCommandQueue, qv_cl_queue,                                                        \
	  (qv_cl_context c, qv_cl_device d, uint64_t properties, int32_t * err))                  \
	X(ReleaseCommandQueue, int32_t, (qv_cl_queue q))                                          \
	X(CreateProgramWithSource, qv_cl_program,                                                 \
	  (qv_cl_context c, uint32_t n, const char **text, const size_t *lengths, int32_t *err))  \
	X(BuildProgram, int32_t,                                                                  \
	  (qv_cl_program p, uint32_t n, const qv_cl_device *devices, const char *options,         \
	   void (*notify)(qv_cl_program, void *), void *user))                                    \
	X(GetProgramBuildInfo, int32_t,                                                           \
	  (qv_cl_program p, qv_cl_device d, uint32_t what, size_t room, void *out, size_t *size)) \
	X(ReleaseProgram, int32_t, (qv_cl_program p))                                             \
	X(CreateKernel, qv_cl_kernel, (qv_cl_program p, const char *name, int32_t *err))          \
	X(ReleaseKernel, int32_t, (qv_cl_kernel k))                                               \
	X(SetKernelArg, int32_t, (qv_cl_kernel k, uint32_t i, size_t size, const void *value))    \
	X(GetKernelWorkGroupInfo, int32_t,                                                        \
	  (qv_cl_kernel k, qv_cl_device d, uint32_t what, size_t room, void *out, size_t *size))  \
	X(CreateBuffer, qv_cl_mem,                                                                \
	  (qv_cl_context c, uint64_t flags, size_t bytes, void *host, int32_t *err))              \
	X(ReleaseMemObject, int32_t, (qv_cl_mem m))                                               \
	X(EnqueueWriteBuffer, int32_t,                                                            \
	  (qv_cl_queue q, qv_cl_mem m, uint32_t blocking, size_t offset, size_t bytes,            \
	   const void *from, uint32_t n, const qv_cl_event *after, qv_cl_event *event))           \
	X(EnqueueReadBuffer, int32_t,                                                             \
	  (qv_cl_queue q, qv_cl_mem m, uint32_t blocking, size_t offset, size_t bytes, void *to,  \
	   uint32_t n, const qv_cl_event *after, qv_cl_event *event))                             \
	X(EnqueueNDRangeKernel, int32_t,                                                          \
	  (qv_cl_queue q, qv_cl_kernel k, uint32_t dimensions, const size_t *offset,              \
	   const size_t *global, const size_t *local, uint32_t n, const qv_cl_event *after,       \
	   qv_cl_event *event))                                                                   \
	X(Flush, int32_t, (qv_cl_queue q))                                                        \
	X(GetEventInfo, int32_t,                                                                  \
	  (qv_cl_event e, uint32_t what, size_t room, void *out, size_t *size))                   \
	X(GetEventProfilingInfo, int32_t,                                                         \
	  (qv_cl_event e, uint32_t what, size_t room, void *out, size_t *size))                   \
	X(ReleaseEvent, int32_t, (qv_cl_event e))

#define QV_CL_MEMBER(name, result, arguments) result(*name) arguments;
struct qv_cl_api {
	void *library;
	QV_CL_FUNCTIONS(QV_CL_MEMBER)
};
#undef QV_CL_MEMBER

#endif /* QV_CL_API_H */
