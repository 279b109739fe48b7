/* SPDX-License-Identifier: BSD-2-Clause */
/* compiler.h - what the compiler is told beyond C. */
#ifndef QV_COMPILER_H
#define QV_COMPILER_H

#include <stddef.h>

#define QV_LIKELY(x)   __builtin_expect(!!(x), 1)
#define QV_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define QV_INLINE      static inline __attribute__((always_inline))
/* A slow path: its registers are not saved where the fast one runs. */
#define QV_NOINLINE __attribute__((noinline))
/* And hardly ever taken. */
#define QV_COLD __attribute__((noinline, cold))
/* The structure of this type that ptr is the field of. */
#define QV_CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

#endif /* QV_COMPILER_H */
