/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - what the provider allocates, and what of that fails. */
#include "memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/types.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

bool watched, none;
unsigned countdown;
static void *blocks[1024]; /* its blocks, NULL: a free place */

static bool is_providers(const void *caller)
{
	Dl_info info;

	return watched && dladdr(caller, &info) && strstr(info.dli_fname, "libquiver-fi");
}

static bool fails(const void *caller)
{
	return is_providers(caller) && (none || (countdown && !--countdown));
}

static void *note(const void *caller, void *p)
{
	unsigned i = 0;

	if (!p || !is_providers(caller))
		return p;
	while (blocks[i])
		if (++i == sizeof blocks / sizeof *blocks)
			abort();
	blocks[i] = p;
	return p;
}

static void forget(const void *p)
{
	for (unsigned i = 0; p && i < sizeof blocks / sizeof *blocks; i++)
		if (blocks[i] == p)
			blocks[i] = NULL;
}

unsigned left(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++)
		n += blocks[i] != NULL;
	return n;
}

#define CALLER __builtin_return_address(0)

QV_API void *malloc(size_t size)
{
	return fails(CALLER) ? NULL : note(CALLER, __libc_malloc(size));
}

QV_API void *calloc(size_t count, size_t size)
{
	return fails(CALLER) ? NULL : note(CALLER, __libc_calloc(count, size));
}

QV_API void *realloc(void *old, size_t size)
{
	if (fails(CALLER))
		return NULL;
	forget(old);
	return note(CALLER, __libc_realloc(old, size));
}

QV_API void *aligned_alloc(size_t align, size_t size)
{
	return fails(CALLER) ? NULL : note(CALLER, __libc_memalign(align, size));
}

QV_API void free(void *p)
{
	forget(p);
	__libc_free(p);
}
