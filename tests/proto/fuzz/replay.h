/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.h - strings that a fuzzer has found, without the fuzzer. */
#ifndef QV_REPLAY_H
#define QV_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#define QV_REPLAY_LONGEST 4096u

typedef void (*qv_replay_string)(const uint8_t *data, size_t size);

/* Each file of the directory, then it with more and more single bytes changed, variants times.
 * Returns how many files there were. */
unsigned int qv_replay(const char *directory, unsigned int variants, uint64_t *random_state,
		       qv_replay_string string);
/* From QV_SEED, or else the time; printed. */
uint64_t qv_replay_seed(void);

#endif /* QV_REPLAY_H */
