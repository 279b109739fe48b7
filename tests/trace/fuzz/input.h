/* SPDX-License-Identifier: BSD-2-Clause */
/* input.h - a string of bytes as a trace. */
#ifndef QV_FUZZ_TRACE_H
#define QV_FUZZ_TRACE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Read it, follow what waits in its lanes, and end the program where the reader breaks its word. A file
 * of calls is made a trace of matching (calls.h); behind it there may be those of other ranks.
 */
void fuzz_trace(const uint8_t *data, size_t size);

/* Its header, lengths and sums are made right where they can be, so that a reader gets behind them.
 * Returns its size. */
size_t fuzz_trace_mend(uint8_t *data, size_t size);

#endif /* QV_FUZZ_TRACE_H */
