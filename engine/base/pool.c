/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.c - see pool.h. A chunk's first 64 bytes link the chunks. */
#include "pool.h"

#include <quiver/types.h>

#include <stdlib.h>

#define CHUNK_BYTES 65536u
#define LINE        64u

void qv_pool_init(struct qv_pool *pool, size_t size)
{
	pool->free = NULL;
	pool->chunks = NULL;
	pool->size = (size + LINE - 1) / LINE * LINE;
	pool->live = 0;
}

void qv_pool_fini(struct qv_pool *pool)
{
	while (pool->chunks) {
		struct qv_pool_item *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	pool->free = NULL;
}

int qv_pool_grow(struct qv_pool *pool)
{
	size_t step = pool->size + QV_POOL_BETWEEN, n = (CHUNK_BYTES - LINE) / step;
	char *chunk;

	if (n == 0)
		n = 1;
	chunk = aligned_alloc(LINE, LINE + n * step);
	if (!chunk)
		return QV_ENOMEM;
	((struct qv_pool_item *)chunk)->next = pool->chunks;
	pool->chunks = (struct qv_pool_item *)chunk;
	while (n--) { /* lowest address first out */
		struct qv_pool_item *item = (void *)(chunk + LINE + n * step);

		item->next = pool->free;
		pool->free = item;
		QV_POOL_FORBID(item, step);
	}
	return QV_OK;
}
