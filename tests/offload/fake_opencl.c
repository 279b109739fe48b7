/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_opencl.c - a libOpenCL.so.1 that hands every call to the real one, and fails when told
 * to.
 *
 * QV_FAKE_CL, or qv_fake_set(), is FAULT or FAULT:N, the fault beginning with the Nth call (1) that
 * it could hit:
 *     build     clBuildProgram fails, with a log
 *     alloc     clCreateBuffer: no memory
 *     lost      clEnqueueNDRangeKernel fails for want of resources
 *     gone      clEnqueueNDRangeKernel fails as on a device that is gone
 *     crash     commands end with an error instead of being complete
 *     hang      commands are never complete
 *     wrong     one bit of what is read from the device is another one
 *     stale     what should be read is not written
 *     context   clCreateContext fails
 *     xilinx    the platform's vendor is Xilinx
 *     old       the device has OpenCL 1.1
 *     flush     denormals: the device says that it has none
 */
#include "kernels/opencl/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct qv_cl_api real;
static char fault[32];
static long from, calls;
static int hung; /* what is read from now on is never complete */
static int reading, read_most, builds;

EXPORT void qv_fake_set(const char *text);
/* Since then: how many reads were under way at once at most, how many programs were built. */
EXPORT void qv_fake_count(int *reads, int *programs);

void qv_fake_count(int *reads, int *programs)
{
	*reads = read_most;
	*programs = builds;
}

void qv_fake_set(const char *text)
{
	const char *colon = strchr(text, ':');

	snprintf(fault, sizeof(fault), "%.*s", (int)strcspn(text, ":"), text);
	from = colon ? atol(colon + 1) : 1;
	calls = hung = 0;
	reading = read_most = builds = 0;
}

/* Whether a call fails that this fault hits. */
static int hit(const char *name)
{
	return strcmp(fault, name) == 0 && ++calls >= from;
}

__attribute__((constructor)) static void find_real(void)
{
	const char *text = getenv("QV_FAKE_CL");

	real.library = dlopen(QV_REAL_OPENCL, RTLD_NOW | RTLD_LOCAL);
	if (!real.library)
		return;
#define FIND(name, result, arguments)                            \
	{                                                        \
		void *address = dlsym(real.library, "cl" #name); \
                                                                 \
		memcpy(&real.name, &address, sizeof(address));   \
	}
	QV_CL_FUNCTIONS(FIND)
	qv_fake_set(text ? text : "");
}

/* Calls that can fail. */

#define DECLARE(name, result, arguments) EXPORT result cl##name arguments;
QV_CL_FUNCTIONS(DECLARE)

int32_t clGetPlatformIDs(uint32_t room, qv_cl_platform *out, uint32_t *n)
{
	if (real.library)
		return real.GetPlatformIDs(room, out, n);
	return QV_CL_PLATFORM_NOT_FOUND;
}

int32_t clGetPlatformInfo(qv_cl_platform p, uint32_t what, size_t room, void *out, size_t *size)
{
	if (what == QV_CL_PLATFORM_VENDOR && hit("xilinx")) {
		snprintf(out, room, "Xilinx");
		return QV_CL_SUCCESS;
	}
	return real.GetPlatformInfo(p, what, room, out, size);
}

int32_t clGetDeviceInfo(qv_cl_device d, uint32_t what, size_t room, void *out, size_t *size)
{
	const int32_t err = real.GetDeviceInfo(d, what, room, out, size);

	if (what == QV_CL_DEVICE_VERSION && hit("old"))
		snprintf(out, room, "OpenCL 1.1 fake");
	if (what == QV_CL_DEVICE_SINGLE_FP_CONFIG && hit("flush"))
		*(uint64_t *)out &= ~QV_CL_FP_DENORM;
	return err;
}

qv_cl_context clCreateContext(const intptr_t *properties, uint32_t n, const qv_cl_device *devices,
			      void (*notify)(const char *, const void *, size_t, void *),
			      void *user, int32_t *err)
{
	if (!hit("context"))
		return real.CreateContext(properties, n, devices, notify, user, err);
	*err = QV_CL_OUT_OF_RESOURCES;
	return NULL;
}

int32_t clBuildProgram(qv_cl_program p, uint32_t n, const qv_cl_device *devices,
		       const char *options, void (*notify)(qv_cl_program, void *), void *user)
{
	builds++;
	if (hit("build"))
		return QV_CL_BUILD_PROGRAM_FAILURE;
	return real.BuildProgram(p, n, devices, options, notify, user);
}

int32_t clGetProgramBuildInfo(qv_cl_program p, qv_cl_device d, uint32_t what, size_t room,
			      void *out, size_t *size)
{
	if (strcmp(fault, "build"))
		return real.GetProgramBuildInfo(p, d, what, room, out, size);
	/* Longer than most buffers, and not from its first line on. */
	if (size)
		*size = 10000;
	if (room && room < 10000)
		return -30; /* CL_INVALID_VALUE */
	if (room)
		snprintf(out, room, "\n\na fault was asked for\nand %9900s", "more");
	return QV_CL_SUCCESS;
}

qv_cl_mem clCreateBuffer(qv_cl_context c, uint64_t flags, size_t bytes, void *host, int32_t *err)
{
	if (!hit("alloc"))
		return real.CreateBuffer(c, flags, bytes, host, err);
	*err = QV_CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return NULL;
}

int32_t clEnqueueNDRangeKernel(qv_cl_queue q, qv_cl_kernel k, uint32_t dimensions,
			       const size_t *offset, const size_t *global, const size_t *local,
			       uint32_t n, const qv_cl_event *after, qv_cl_event *event)
{
	if (hit("lost"))
		return QV_CL_OUT_OF_RESOURCES;
	if (hit("gone"))
		return QV_CL_INVALID_COMMAND_QUEUE;
	return real.EnqueueNDRangeKernel(q, k, dimensions, offset, global, local, n, after, event);
}

int32_t clEnqueueReadBuffer(qv_cl_queue q, qv_cl_mem m, uint32_t blocking, size_t offset,
			    size_t bytes, void *to, uint32_t n, const qv_cl_event *after,
			    qv_cl_event *event)
{
	void *kept;
	int32_t err;

	hung = hit("hang");
	if (++reading > read_most)
		read_most = reading;
	if (hit("stale")) {
		kept = malloc(bytes);
		memcpy(kept, to, bytes);
		err = real.EnqueueReadBuffer(q, m, 1, offset, bytes, to, n, after, event);
		memcpy(to, kept, bytes);
		free(kept);
		return err;
	}
	if (hit("wrong")) {
		err = real.EnqueueReadBuffer(q, m, 1, offset, bytes, to, n, after, event);
		((char *)to)[calls % 3 ? 0 : bytes - 1] ^= 1;
		return err;
	}
	return real.EnqueueReadBuffer(q, m, blocking, offset, bytes, to, n, after, event);
}

int32_t clGetEventInfo(qv_cl_event e, uint32_t what, size_t room, void *out, size_t *size)
{
	const int32_t err = real.GetEventInfo(e, what, room, out, size);

	/* Whoever waits asks until it is complete, and no more. */
	if (what == QV_CL_EVENT_COMMAND_EXECUTION_STATUS && *(int32_t *)out == QV_CL_COMPLETE)
		reading--;
	if (what == QV_CL_EVENT_COMMAND_EXECUTION_STATUS && hung)
		*(int32_t *)out = 1; /* CL_RUNNING */
	if (what == QV_CL_EVENT_COMMAND_EXECUTION_STATUS && *(int32_t *)out == QV_CL_COMPLETE &&
	    hit("crash"))
		*(int32_t *)out = QV_CL_OUT_OF_RESOURCES;
	return err;
}

/* The others. */

int32_t clGetDeviceIDs(qv_cl_platform p, uint64_t type, uint32_t room, qv_cl_device *out,
		       uint32_t *n)
{
	return real.GetDeviceIDs(p, type, room, out, n);
}

int32_t clReleaseContext(qv_cl_context c)
{
	return real.ReleaseContext(c);
}

qv_cl_queue clCreateCommandQueue(qv_cl_context c, qv_cl_device d, uint64_t properties, int32_t *err)
{
	return real.CreateCommandQueue(c, d, properties, err);
}

int32_t clReleaseCommandQueue(qv_cl_queue q)
{
	return real.ReleaseCommandQueue(q);
}

qv_cl_program clCreateProgramWithSource(qv_cl_context c, uint32_t n, const char **text,
					const size_t *lengths, int32_t *err)
{
	return real.CreateProgramWithSource(c, n, text, lengths, err);
}

int32_t clReleaseProgram(qv_cl_program p)
{
	return real.ReleaseProgram(p);
}

qv_cl_kernel clCreateKernel(qv_cl_program p, const char *name, int32_t *err)
{
	return real.CreateKernel(p, name, err);
}

int32_t clReleaseKernel(qv_cl_kernel k)
{
	return real.ReleaseKernel(k);
}

int32_t clSetKernelArg(qv_cl_kernel k, uint32_t i, size_t size, const void *value)
{
	return real.SetKernelArg(k, i, size, value);
}

int32_t clGetKernelWorkGroupInfo(qv_cl_kernel k, qv_cl_device d, uint32_t what, size_t room,
				 void *out, size_t *size)
{
	return real.GetKernelWorkGroupInfo(k, d, what, room, out, size);
}

int32_t clReleaseMemObject(qv_cl_mem m)
{
	return real.ReleaseMemObject(m);
}

int32_t clEnqueueWriteBuffer(qv_cl_queue q, qv_cl_mem m, uint32_t blocking, size_t offset,
			     size_t bytes, const void *data, uint32_t n, const qv_cl_event *after,
			     qv_cl_event *event)
{
	return real.EnqueueWriteBuffer(q, m, blocking, offset, bytes, data, n, after, event);
}

int32_t clFlush(qv_cl_queue q)
{
	return real.Flush(q);
}

int32_t clGetEventProfilingInfo(qv_cl_event e, uint32_t what, size_t room, void *out, size_t *size)
{
	return real.GetEventProfilingInfo(e, what, room, out, size);
}

int32_t clReleaseEvent(qv_cl_event e)
{
	return real.ReleaseEvent(e);
}
