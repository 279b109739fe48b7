/* SPDX-License-Identifier: BSD-2-Clause */
/* ticks.h - put before fabric_glue/progress/poll.c: its time stamp counter is the simulated clock. */
#ifndef SF_TICKS_H
#define SF_TICKS_H

#include "engine/base/machine.h"

uint64_t sf_ticks(void);
#define qv_ticks      sf_ticks
#define qv_ticks_us() ((uint64_t)2500)

#endif /* SF_TICKS_H */
