/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_x86.h - the words that decide which ISA may run on x86-64; separate from cpuid so that tests
 * inject. */
#ifndef QV_CPU_X86_H
#define QV_CPU_X86_H

#include <stdint.h>

#include <quiver/isa.h>

struct qv_cpu_words {
	uint32_t leaf1_ecx; /* cpuid leaf 1 */
	uint32_t leaf7_ebx; /* cpuid leaf 7, subleaf 0 */
	uint64_t xcr0;      /* what the operating system saves; 0 without OSXSAVE */
};

/* Read them from this CPU. */
void qv_cpu_read(struct qv_cpu_words *w);

/* 1 if a CPU with these words can run isa. */
int qv_cpu_can(const struct qv_cpu_words *w, enum qv_isa isa);

/* The widest that it can run. */
enum qv_isa qv_cpu_best(const struct qv_cpu_words *w);

#endif /* QV_CPU_X86_H */
