/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.h - objects of one size from a free list; memory grows in chunks, freed at the end. */
#ifndef QV_POOL_H
#define QV_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

/* Under AddressSanitizer, objects that are not handed out, and some room between them, must not be
 * touched. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QV_POOL_GUARDED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define QV_POOL_GUARDED 1
#endif
#ifdef QV_POOL_GUARDED
#include <sanitizer/asan_interface.h>
#define QV_POOL_FORBID(object, size) ASAN_POISON_MEMORY_REGION(object, size)
#define QV_POOL_ALLOW(object, size)  ASAN_UNPOISON_MEMORY_REGION(object, size)
#define QV_POOL_BETWEEN              64u
#else
#define QV_POOL_FORBID(object, size) ((void)(object), (void)(size))
#define QV_POOL_ALLOW(object, size)  ((void)(object), (void)(size))
#define QV_POOL_BETWEEN              0u
#endif

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

/* The next qv_pool_get will give an object; false: no memory. */
static inline bool qv_pool_reserve(struct qv_pool *pool)
{
	return QV_LIKELY(pool->free != NULL) || qv_pool_grow(pool) == 0;
}

/* An object, uninitialised, or NULL. */
static inline void *qv_pool_get(struct qv_pool *pool)
{
	struct qv_pool_item *item = pool->free;

	if (QV_UNLIKELY(!item)) {
		if (qv_pool_grow(pool))
			return NULL;
		item = pool->free;
	}
	QV_POOL_ALLOW(item, pool->size);
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
	QV_POOL_FORBID(item, pool->size);
}

#endif /* QV_POOL_H */
