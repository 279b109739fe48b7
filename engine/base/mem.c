/* SPDX-License-Identifier: BSD-2-Clause */
/* mem.c - counted, aligned memory of one engine. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mem.h"

#define LINE ((size_t)64)
#define HUGE ((size_t)2 << 20)

static size_t round_up(size_t size, size_t align)
{
	return (size + align - 1) & ~(align - 1);
}

static void *get_aligned(struct qv_mem *mem, size_t align, size_t size)
{
	void *p;

	if (mem->get)
		p = mem->get(mem->ctx, align, round_up(size, align));
	else
		p = aligned_alloc(align, round_up(size, align));
	if (p)
		mem->bytes += size;
	return p;
}

void *qv_mem_get(struct qv_mem *mem, size_t size)
{
	return get_aligned(mem, LINE, size);
}

void *qv_mem_get_table(struct qv_mem *mem, size_t size)
{
	void *p = get_aligned(mem, size >= HUGE ? HUGE : LINE, size);

	if (!p)
		return NULL;
	/* A wish only: without huge pages the table works, with more TLB misses. */
	if (size >= HUGE)
		(void)madvise(p, size, MADV_HUGEPAGE);
	return memset(p, 0, size);
}

void qv_mem_put(struct qv_mem *mem, void *p, size_t size)
{
	if (!p)
		return;
	mem->bytes -= size;
	if (mem->release)
		mem->release(mem->ctx, p, size);
	else
		free(p);
}
