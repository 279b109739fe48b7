/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.h - what is asked of the processor beyond C, and is written for each kind of it: x86-64,
 * arm64, and any other by what the compiler and the C library have. What the instruction sets of
 * the kernels need is in kernels/cpu_*.c.
 */
#ifndef QV_MACHINE_H
#define QV_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#if defined(__x86_64__)

/* Sanitizers do not see what one instruction copies. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 34)
#include <sys/platform/x86.h>
#define QV_MOVES_BYTES_FAST CPU_FEATURE_ACTIVE(FSRM)
#endif
#endif
#ifndef QV_MOVES_BYTES_FAST
#define QV_MOVES_BYTES_FAST false
#endif

/* Does `rep movsb` copy some KiB as fast as vectors do? A few ns to ask. */
QV_INLINE bool qv_moves_bytes_fast(void)
{
	return QV_MOVES_BYTES_FAST;
}

QV_INLINE void qv_move_bytes(void *to, const void *from, size_t len)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}

/* Who looks at memory again and again lets the other threads of the core go first. */
QV_INLINE void qv_pause(void)
{
	__builtin_ia32_pause();
}

/* The line of p will be written. What the compiler has for that needs a flag for more than the
 * baseline CPU, and every CPU takes the instruction. */
QV_INLINE void qv_prefetch_store(const char *p)
{
	__asm__ volatile("prefetchw %0" ::"m"(*p));
}

/* A counter that goes at one rate, cheap to read, and about how far it goes in a microsecond. */
QV_INLINE uint64_t qv_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

QV_INLINE uint64_t qv_ticks_us(void)
{
	return 2400;
}

/* Which thread is this? */
QV_INLINE void *qv_thread(void)
{
	void *self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self;
}

#elif defined(__aarch64__)

QV_INLINE bool qv_moves_bytes_fast(void)
{
	return false;
}

QV_INLINE void qv_move_bytes(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

/* Many CPUs do nothing at a yield; this one keeps them from running ahead for some cycles. */
QV_INLINE void qv_pause(void)
{
	__asm__ volatile("isb");
}

QV_INLINE void qv_prefetch_store(const char *p)
{
	__builtin_prefetch(p, 1);
}

QV_INLINE uint64_t qv_ticks(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

QV_INLINE uint64_t qv_ticks_us(void)
{
	uint64_t hertz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
	return hertz / 1000000;
}

QV_INLINE void *qv_thread(void)
{
	return __builtin_thread_pointer();
}

#else

#include "clock.h"

QV_INLINE bool qv_moves_bytes_fast(void)
{
	return false;
}

QV_INLINE void qv_move_bytes(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

QV_INLINE void qv_pause(void)
{
}

QV_INLINE void qv_prefetch_store(const char *p)
{
	__builtin_prefetch(p, 1);
}

QV_INLINE uint64_t qv_ticks(void)
{
	return qv_clock_ns();
}

QV_INLINE uint64_t qv_ticks_us(void)
{
	return 1000;
}

/* An address that no other thread has. */
QV_INLINE void *qv_thread(void)
{
	static _Thread_local char here;

	return &here;
}

#endif

#endif /* QV_MACHINE_H */
