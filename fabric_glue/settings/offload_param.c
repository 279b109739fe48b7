/* SPDX-License-Identifier: BSD-2-Clause */
/* offload_param.c - what FI_QUIVER_OFFLOAD may be. */
#include "fabric_glue/provider.h"

#include <stdio.h>
#include <string.h>

bool qv_fi_offload_parse(const char *text, struct qv_fi_offload_params *out, char *why, size_t size)
{
	out->measure = !strcmp(text, "auto");
	out->xrt = !strcmp(text, "xrt") || (out->measure && out->xclbin);
	out->on = out->measure || out->xrt || !strcmp(text, "opencl");
	if (out->on || !strcmp(text, "off"))
		return true;
	snprintf(why, size, "is not known; known: off opencl xrt auto");
	return false;
}
