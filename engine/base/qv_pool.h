/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_pool.h - objects of one size from a free list; memory grows in chunks, freed at the end. */
#ifndef QV_POOL_H
#define QV_POOL_H

#include <stddef.h>
#include <stdint.h>

struct qv_pool_item {
	struct qv_pool_item *next;
};

struct qv_pool {
	struct qv_pool_item *free;
	struct qv_pool_item *chunks;
	size_t size; /* of one object, a multiple of 64 */
	size_t live; /* objects handed out */
};

void qv_pool_init(struct qv_pool *pool, size_t size);
void qv_pool_fini(struct qv_pool *pool);
int qv_pool_grow(struct qv_pool *pool); /* QV_OK or QV_ENOMEM */

/* An object, uninitialised, or NULL. */
static inline void *qv_pool_get(struct qv_pool *pool)
{
	struct qv_pool_item *item = pool->free;

	if (__builtin_expect(!item, 0)) {
		if (qv_pool_grow(pool))
			return NULL;
		item = pool->free;
	}
	pool->free = item->next;
	pool->live++;
	return item;
}

static inline void qv_pool_put(struct qv_pool *pool, void *object)
{
	struct qv_pool_item *item = object;

	item->next = pool->free;
	pool->free = item;
	pool->live--;
}

#endif /* QV_POOL_H */
