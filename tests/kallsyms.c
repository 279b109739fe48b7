/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kallsyms.c - libfabric without its look at the kernel's symbols.
 *
 * As root, providers for hardware read 5 MB of /proc/kallsyms twice when libfabric starts, to see
 * whether a module for device memory is loaded: longer than most cases take. Where this is part of
 * the program, or preloaded, there is no such file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Exported, for libfabric is to call this one. */
__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
	union {
		void *address;
		FILE *(*call)(const char *path, const char *mode);
	} next;

	if (!strcmp(path, "/proc/kallsyms")) {
		errno = ENOENT;
		return NULL;
	}
	next.address = dlsym(RTLD_NEXT, "fopen");
	return next.call(path, mode);
}
