/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_cl_load.c - the OpenCL library, opened when it is needed. */
#include "qv_cl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int qv_cl_load(struct qv_cl_api *cl, const char *library, char *why, size_t room)
{
	const char *file = library ? library : "libOpenCL.so.1";
	const char *error;

	cl->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!cl->library) {
		error = dlerror();
		snprintf(why, room, "no OpenCL here (%s)", error ? error : file);
		return QV_ENOENT;
	}
/* A function's address comes as a pointer to data. */
#define FIND(name, result, arguments)                                       \
	{                                                                   \
		void *address = dlsym(cl->library, "cl" #name);             \
                                                                            \
		if (!address) {                                             \
			snprintf(why, room, "%s has no cl%s", file, #name); \
			qv_cl_unload(cl);                                   \
			return QV_ENOENT;                                   \
		}                                                           \
		memcpy(&cl->name, &address, sizeof(address));               \
	}
	QV_CL_FUNCTIONS(FIND)
	return QV_OK;
}

/* Runtimes keep threads and handlers: what was used once stays. dlclose only counts. */
void qv_cl_unload(struct qv_cl_api *cl)
{
	if (cl->library)
		dlclose(cl->library);
	cl->library = NULL;
}
