/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build.c - programs and their kernels. A program is built once per open device; that it is
 * not compiled anew in every process is what the runtimes' own caches on disk are for.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int why_not(struct qv_offload_dev *dev, qv_cl_program program, int32_t err)
{
	size_t bytes = 0, most;
	char *log, *line;
	int status;

	if (err != QV_CL_BUILD_PROGRAM_FAILURE)
		return qv_cl_fail(dev, err, "clBuildProgram");
	dev->cl.GetProgramBuildInfo(program, dev->id, QV_CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
	log = calloc(1, bytes + 1);
	if (log)
		dev->cl.GetProgramBuildInfo(program, dev->id, QV_CL_PROGRAM_BUILD_LOG, bytes, log,
					    NULL);
	line = log ? log + strspn(log, "\r\n\t ") : "";
	most = strcspn(line, "\r\n");
	status =
		qv_backend_wrong(dev, QV_EIO, "the kernels cannot be built (OpenCL error %d)%s%.*s",
				 (int)err, *line ? ": " : "", most < 160 ? (int)most : 160, line);
	free(log);
	return status;
}

int qv_cl_build(struct qv_offload_dev *dev, const char *text, const char *options,
		qv_cl_program *program)
{
	int32_t err = 0;
	qv_cl_program p = dev->cl.CreateProgramWithSource(dev->context, 1, &text, NULL, &err);

	if (!p || err)
		return qv_cl_fail(dev, err, "clCreateProgramWithSource");
	err = dev->cl.BuildProgram(p, 1, &dev->id, options, NULL, NULL);
	if (err) {
		const int status = why_not(dev, p, err);

		dev->cl.ReleaseProgram(p);
		return status;
	}
	*program = p;
	return QV_OK;
}

int qv_cl_kernel_of(struct qv_offload_dev *dev, qv_cl_program program, const char *name,
		    qv_cl_kernel *kernel, size_t *group)
{
	int32_t err = 0;
	qv_cl_kernel k = dev->cl.CreateKernel(program, name, &err);
	size_t most = 0;

	if (!k || err)
		return qv_cl_fail(dev, err, name);
	*kernel = k;
	if (!group)
		return QV_OK;
	if (dev->cl.GetKernelWorkGroupInfo(k, dev->id, QV_CL_KERNEL_WORK_GROUP_SIZE, sizeof(most),
					   &most, NULL) ||
	    !most)
		most = 1;
	*group = most < QV_CL_GROUP ? most : QV_CL_GROUP;
	return QV_OK;
}
