/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h - the clocks of clock_gettime(2) as numbers. */
#ifndef QV_CLOCK_H
#define QV_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t qv_clock_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, ns. All processes of a machine share it. */
static inline uint64_t qv_clock_ns(void)
{
	return qv_clock_of(CLOCK_MONOTONIC);
}

/* CLOCK_MONOTONIC, s. */
static inline double qv_clock_seconds(void)
{
	return 1e-9 * (double)qv_clock_ns();
}

/* For how long this thread has had a CPU, ns. */
static inline uint64_t qv_clock_cpu_ns(void)
{
	return qv_clock_of(CLOCK_THREAD_CPUTIME_ID);
}

#endif /* QV_CLOCK_H */
