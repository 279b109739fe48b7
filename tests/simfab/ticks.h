/* SPDX-License-Identifier: BSD-2-Clause */
/* ticks.h - put before fabric_glue/progress/poll.c: its time stamp counter is the simulated clock. */
#ifndef SF_TICKS_H
#define SF_TICKS_H

#include <stdint.h>

uint64_t sf_ticks(void);
#define __builtin_ia32_rdtsc sf_ticks

#endif /* SF_TICKS_H */
