/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_memory.h - the liar's part in one-sided operations: requests, and answers to those that an
 * endpoint has begun. Words a and b are the string's. */
#ifndef QV_FUZZ_MEMORY_H
#define QV_FUZZ_MEMORY_H

#include "engine/node/internal.h"

/* The endpoint has memory that others reach. */
void fuzz_memory_open(struct qv_node *n);
void fuzz_memory_ask(struct qv_ring *ring, uint32_t number, uint64_t a, uint64_t b);
/* The endpoint begins an operation on the memory of this address. */
void fuzz_memory_begin(struct qv_node *n, uint64_t addr, uint64_t a);
void fuzz_memory_answer(const struct qv_node *n, struct qv_ring *ring, uint32_t number, uint64_t a,
			uint64_t b);
/* The liar has gone: all that was begun has ended, once. */
void fuzz_memory_over(void);

#endif /* QV_FUZZ_MEMORY_H */
