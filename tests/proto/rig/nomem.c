/* SPDX-License-Identifier: BSD-2-Clause */
/* nomem.c - see nomem.h. */
#include "nomem.h"

static bool inside;
static unsigned good = 1; /* allocations that still succeed, 1 + */
static unsigned bad;      /* that fail then */
static unsigned failed;

void qv_nomem_after(unsigned n, unsigned more)
{
	good = n;
	bad = n ? 1 + more : 0;
	failed = 0;
}

unsigned qv_nomem_failed(void)
{
	return failed;
}

void qv_nomem_enter(void)
{
	inside = true;
}

void qv_nomem_leave(void)
{
	inside = false;
}

bool qv_nomem_pause(void)
{
	bool was = inside;

	inside = false;
	return was;
}

void qv_nomem_resume(bool was)
{
	inside = was;
}

static bool fails(void)
{
	if (!inside || !bad)
		return false;
	if (good > 1) {
		good--;
		return false;
	}
	bad--;
	failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(align, size);
}
