/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.h - what is to happen in virtual time, the earliest first. */
#ifndef QV_SCHEDULE_HEAP_H
#define QV_SCHEDULE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first member of each item. */
struct qv_when {
	double time;
	uint64_t order; /* of those at the same time */
};

static inline int qv_is_before(const void *item, const void *other)
{
	const struct qv_when *a = item, *b = other;

	if (a->time < b->time || a->time > b->time)
		return a->time < b->time;
	return a->order < b->order;
}

/* There is room for one more than these n. */
static inline void qv_heap_put(void *heap, size_t *n, size_t size, const void *item)
{
	char *items = heap;
	size_t at = (*n)++;

	for (; at && qv_is_before(item, items + (at - 1) / 2 * size); at = (at - 1) / 2)
		memcpy(items + at * size, items + (at - 1) / 2 * size, size);
	memcpy(items + at * size, item, size);
}

/* Take the earliest; there is one. */
static inline void qv_heap_pop(void *heap, size_t *n, size_t size, void *earliest)
{
	char *items = heap;
	const char *last = items + --*n * size;
	size_t at = 0;

	memcpy(earliest, items, size);
	for (size_t child = 1; child < *n; child = 2 * at + 1) {
		if (child + 1 < *n &&
		    qv_is_before(items + (child + 1) * size, items + child * size))
			child++;
		if (!qv_is_before(items + child * size, last))
			break;
		memcpy(items + at * size, items + child * size, size);
		at = child;
	}
	if (at < *n)
		memcpy(items + at * size, last, size);
}

#endif /* QV_SCHEDULE_HEAP_H */
