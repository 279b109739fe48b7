/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem.c - memory of simulated processes. malloc and its relatives are wrapped at link time: each
 * block belongs to the process that is being simulated, fails when it is to fail, and goes when its
 * process dies.
 */
#include "sf.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x51766d656d5f7366u

/* In front of the memory. */
struct sf_block {
	struct sf_block *next, **at;
	struct sf_proc *proc;
	void *base; /* what the C library gave */
	size_t size;
	void *caller;
	uint64_t magic;
} __attribute__((aligned(64)));

void *__real_malloc(size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);

/* The simulator's own. */

void *sf_alloc(size_t size)
{
	void *p = __real_malloc(size);

	if (!p)
		abort();
	return memset(p, 0, size);
}

void *sf_grow(void *old, size_t size)
{
	void *p = __real_realloc(old, size);

	if (!p)
		abort();
	return p;
}

void sf_free(void *p)
{
	__real_free(p);
}

/* The processes'. */

static bool fails(void)
{
	return sf.nomem && sf.self != &sf.nobody && sf_strikes(SF_NOMEM, sf.nomem);
}

static void *get(size_t align, size_t size, void *caller)
{
	struct sf_proc *proc = sf.self;
	struct sf_block *b;
	char *base;

	if (align < sizeof *b)
		align = sizeof *b;
	if (fails() || size > SIZE_MAX / 2)
		return NULL;
	base = __real_aligned_alloc(align, (size + 2 * align - 1) / align * align);
	if (!base)
		return NULL;
	b = (struct sf_block *)(base + align) - 1;
	*b = (struct sf_block){proc->blocks, &proc->blocks, proc, base, size, caller, MAGIC};
	if (b->next)
		b->next->at = &b->next;
	proc->blocks = b;
	proc->bytes += size;
	if (proc->bytes > proc->bytes_max)
		proc->bytes_max = proc->bytes;
	return b + 1;
}

static struct sf_block *block_of(void *p)
{
	struct sf_block *b = (struct sf_block *)p - 1;

	if (b->magic != MAGIC)
		sf_broken("memory that is nobody's is given back");
	return b;
}

static void put(struct sf_block *b)
{
	*b->at = b->next;
	if (b->next)
		b->next->at = b->at;
	b->proc->bytes -= b->size;
	b->magic = 0;
#ifndef __SANITIZE_ADDRESS__ /* which knows better, and pools have parts that nobody may touch */
	memset(b + 1, 0xdf, b->size < 256 ? b->size : 256); /* who still looks sees nonsense */
#endif
	__real_free(b->base);
}

void sf_mem_release(struct sf_proc *proc)
{
	while (proc->blocks)
		put(proc->blocks);
}

void sf_mem_list(const struct sf_proc *proc)
{
	unsigned n = 0;

	for (const struct sf_block *b = proc->blocks; b && n < 20; b = b->next, n++)
		printf("  %zu bytes, asked for at %p\n", b->size, b->caller);
}

void *__wrap_malloc(size_t size)
{
	return get(1, size, __builtin_return_address(0));
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *p = size && count > SIZE_MAX / size
			  ? NULL
			  : get(1, count * size, __builtin_return_address(0));

	return p ? memset(p, 0, count * size) : NULL;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return get(align, size, __builtin_return_address(0));
}

void *__wrap_realloc(void *old, size_t size)
{
	void *p = get(1, size, __builtin_return_address(0));
	struct sf_block *b;

	if (!p || !old)
		return p;
	b = block_of(old);
	memcpy(p, old, b->size < size ? b->size : size);
	put(b);
	return p;
}

char *__wrap_strdup(const char *text)
{
	char *p = get(1, strlen(text) + 1, __builtin_return_address(0));

	return p ? strcpy(p, text) : NULL;
}

void __wrap_free(void *p)
{
	if (p)
		put(block_of(p));
}
