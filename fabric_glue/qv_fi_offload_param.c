/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_offload_param.c - what FI_QUIVER_OFFLOAD may be. */
#include "qv_fi.h"

#include <stdio.h>
#include <string.h>

bool qv_fi_offload_parse(const char *text, struct qv_fi_offload_params *out, char *why, size_t size)
{
	if (!strcmp(text, "xrt")) {
		snprintf(why, size, "is not in this version; known: off opencl auto");
		return false;
	}
	out->measure = !strcmp(text, "auto");
	out->on = out->measure || !strcmp(text, "opencl");
	if (out->on || !strcmp(text, "off"))
		return true;
	snprintf(why, size, "is not known; known: off opencl auto");
	return false;
}
