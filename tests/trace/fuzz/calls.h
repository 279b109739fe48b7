/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h - strings of bytes as files of calls. */
#ifndef QV_FUZZ_CALLS_H
#define QV_FUZZ_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a trace begins here that is a file of calls. */
bool fuzz_is_calls(const uint8_t *data, size_t size);

/* Where in the data the next file begins, which has a header of its own, or size. */
size_t fuzz_next_file(const uint8_t *data, size_t size);

/*
 * The files are the ranks of a job: `quiver trace arrivals` makes a trace of them, or says why it does
 * not. A trace that it makes is read by fuzz_trace.
 */
void fuzz_calls(const uint8_t *data, size_t size);

#endif /* QV_FUZZ_CALLS_H */
