/* SPDX-License-Identifier: BSD-2-Clause */
/* mem.h - counted, aligned memory of one engine; tests replace the source to make it fail. */
#ifndef QV_MEM_H
#define QV_MEM_H

#include <stddef.h>

struct qv_mem {
	/* NULL: the C library. Both get ctx; sizes passed to release are those of get. */
	void *(*get)(void *ctx, size_t align, size_t size);
	void (*release)(void *ctx, void *p, size_t size);
	void *ctx;
	size_t bytes; /* held now */
};

/* Memory aligned to a cache line, contents undefined, or NULL. size > 0. */
void *qv_mem_get(struct qv_mem *mem, size_t size);

/* The same, zeroed, and on huge pages where it is large: for tables that are hit at random. */
void *qv_mem_get_table(struct qv_mem *mem, size_t size);

/* Give it back. size as it was asked for; p may be NULL. */
void qv_mem_put(struct qv_mem *mem, void *p, size_t size);

#endif /* QV_MEM_H */
