/* SPDX-License-Identifier: BSD-2-Clause */
/* refuse.c - the program's own malloc, calloc and realloc stand before the C library's; only what the library
 * itself calls fails. */
#include "refuse.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <quiver/mpi_control.h>

int grant, refuse, refused;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);

/* Whether the library has called, while it shall get nothing. */
static int fails(const void *caller)
{
	Dl_info ours, its;

	if (!refuse || !dladdr((void *)(uintptr_t)&qv_mpi_taken, &ours) || !dladdr(caller, &its) ||
	    ours.dli_fbase != its.dli_fbase)
		return 0;
	if (grant) {
		grant--;
		return 0;
	}
	refuse -= refuse < REFUSE_ALL;
	refused++;
	return 1;
}

QV_API void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

QV_API void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

QV_API void *realloc(void *at, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(at, size);
}
