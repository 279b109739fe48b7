/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.c - XRT's library, and what must hold before it is called.
 *
 * XRT 2.13 looks for the library of the card's driver at its first call, and ends the process by an
 * exception that nobody can catch if it finds none: XILINX_XRT not set, or without that library. So
 * what it will look for is looked for, and opened, here before.
 */
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of the driver's library that XCL_EMULATION_MODE chooses; NULL: no such mode. */
static const char *driver(const char *mode)
{
	static const char *const known[][2] = {
		{"", "core"}, {"noop", "noop"}, {"sw_emu", "swemu"}, {"hw_emu", "hwemu"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(mode, known[i][0]))
			return known[i][1];
	return NULL;
}

static int check_driver(char *why, size_t room)
{
	const char *xrt = getenv("XILINX_XRT"), *mode = getenv("XCL_EMULATION_MODE");
	const char *name = driver(mode ? mode : "");
	const char *error;
	char file[4096];

	if (!xrt || !*xrt) {
		snprintf(why, room, "XILINX_XRT is not set: source XRT's setup.sh");
		return QV_ENOENT;
	}
	if (!name) {
		snprintf(why, room, "XCL_EMULATION_MODE=%s is none of XRT's", mode);
		return QV_ENOENT;
	}
	if (snprintf(file, sizeof(file), "%s/lib/libxrt_%s.so.2", xrt, name) >= (int)sizeof(file) ||
	    !dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
		error = dlerror();
		snprintf(why, room,
			 "XILINX_XRT=%.100s has no lib/libxrt_%s.so.2 that can be used (%s)", xrt,
			 name, error ? error : "too long");
		return QV_ENOENT;
	}
	return QV_OK;
}

#define NAME(name, result, arguments) "xrt" #name,
static const char *const names[] = {QV_XRT_FUNCTIONS(NAME)};
#define NAMES (sizeof(names) / sizeof(names[0]))

_Static_assert(sizeof(struct qv_xrt_api) == (1 + NAMES) * sizeof(void *),
	       "as qv_backend_load fills it");

int qv_xrt_load(struct qv_xrt_api *xrt, const char *library, char *why, size_t room)
{
	/* XRT crashes when a process uses it through OpenCL and directly (issue 7226). */
	if (dlopen("libxilinxopencl.so.2", RTLD_NOW | RTLD_NOLOAD)) {
		snprintf(why, room, "this process uses XRT through OpenCL already");
		return QV_ENOENT;
	}
	if (check_driver(why, room))
		return QV_ENOENT;
	return qv_backend_load(xrt, "XRT", library ? library : "libxrt_coreutil.so.2", names, NAMES,
			       why, room);
}
