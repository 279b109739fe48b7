/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nomem.h - allocations that fail. The test programs are linked with --wrap=malloc and so on;
 * only code between qv_nomem_enter and qv_nomem_leave is affected: the protocol, not the test.
 */
#ifndef QV_NOMEM_H
#define QV_NOMEM_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now on fails, and `more` after it. 0: none fails. */
void qv_nomem_after(unsigned n, unsigned more);
/* Allocations that have failed since the last qv_nomem_after. */
unsigned qv_nomem_failed(void);

void qv_nomem_enter(void);
void qv_nomem_leave(void);
/* For the transport, which is called from inside: out, and back to what it was. */
bool qv_nomem_pause(void);
void qv_nomem_resume(bool was);

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

#endif /* QV_NOMEM_H */
