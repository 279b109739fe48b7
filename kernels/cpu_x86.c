/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_x86.c - which instruction sets this CPU and system can run, and their kernels: x86-64. */
#include <cpuid.h>
#include <string.h>
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#define QV_LOADER_KNOWS 1
#endif

#include <quiver/isa.h>

#include "cpu_x86.h"
#include "select.h"

#define LEAF1_OSXSAVE  (1u << 27) /* ecx */
#define LEAF1_AVX      (1u << 28) /* ecx */
#define LEAF1_POPCNT   (1u << 23) /* ecx */
#define LEAF7_BMI1     (1u << 3)  /* ebx, as are all of leaf 7 here */
#define LEAF7_AVX2     (1u << 5)
#define LEAF7_BMI2     (1u << 8)
#define LEAF7_AVX512F  (1u << 16)
#define LEAF7_AVX512DQ (1u << 17)
#define LEAF7_AVX512BW (1u << 30)
#define LEAF7_AVX512VL (1u << 31)
#define XCR0_YMM       0x06u /* SSE and AVX state saved by the system */
#define XCR0_ZMM       0xe6u /* the same, opmask, upper ZMM, high ZMM */

const struct qv_kernels qv_kernels_of[QV_N_ISAS] = {
	[QV_ISA_SCALAR] = {&qv_kern_scalar, &qv_combine_scalar},
	[QV_ISA_AVX2] = {&qv_kern_avx2, &qv_combine_avx2},
	[QV_ISA_AVX512F] = {&qv_kern_avx512f, &qv_combine_avx512f},
#ifndef QV_KNL
	[QV_ISA_AVX512] = {&qv_kern_avx512, &qv_combine_avx512},
#endif
};

/*
 * Each engine asks some ten times, and a virtual machine leaves for its hypervisor at each cpuid:
 * 11 us were measured, a quarter of a millisecond for an endpoint. The loader has asked before.
 */
#ifdef QV_LOADER_KNOWS
static void read_leaves(struct qv_cpu_words *w)
{
	w->leaf1_ecx = __x86_get_cpuid_feature_leaf(CPUID_INDEX_1)->cpuid_array[2];
	w->leaf7_ebx = __x86_get_cpuid_feature_leaf(CPUID_INDEX_7)->cpuid_array[1];
}
#else
static void read_leaves(struct qv_cpu_words *w)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	w->leaf1_ecx = c;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		w->leaf7_ebx = b;
}
#endif

void qv_cpu_read(struct qv_cpu_words *w)
{
	memset(w, 0, sizeof(*w));
	read_leaves(w);
	if (w->leaf1_ecx & LEAF1_OSXSAVE) {
		uint32_t lo, hi;

		__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
		w->xcr0 = (uint64_t)hi << 32 | lo;
	}
}

static int has_all(uint64_t word, uint64_t bits)
{
	return (word & bits) == bits;
}

int qv_cpu_can(const struct qv_cpu_words *w, enum qv_isa isa)
{
	const uint32_t avx2 = LEAF7_AVX2 | LEAF7_BMI1 | LEAF7_BMI2;
	const uint32_t avx512 = LEAF7_AVX512BW | LEAF7_AVX512DQ | LEAF7_AVX512VL;

	switch (isa) {
	case QV_ISA_AUTO:
	case QV_ISA_SCALAR: return 1;
	case QV_ISA_AVX2:
		return has_all(w->leaf1_ecx, LEAF1_OSXSAVE | LEAF1_AVX | LEAF1_POPCNT) &&
		       has_all(w->xcr0, XCR0_YMM) && has_all(w->leaf7_ebx, avx2);
	case QV_ISA_AVX512F:
		return qv_cpu_can(w, QV_ISA_AVX2) && has_all(w->xcr0, XCR0_ZMM) &&
		       has_all(w->leaf7_ebx, LEAF7_AVX512F);
	case QV_ISA_AVX512:
		return qv_kernels_of[isa].match && qv_cpu_can(w, QV_ISA_AVX512F) &&
		       has_all(w->leaf7_ebx, avx512);
	default: return 0;
	}
}

enum qv_isa qv_cpu_best(const struct qv_cpu_words *w)
{
	int isa = QV_ISA_AVX512;

	while (!qv_cpu_can(w, (enum qv_isa)isa))
		isa--;
	return (enum qv_isa)isa;
}

int qv_isa_usable(enum qv_isa isa)
{
	struct qv_cpu_words w;

	qv_cpu_read(&w);
	return qv_cpu_can(&w, isa);
}

enum qv_isa qv_isa_best(void)
{
	struct qv_cpu_words w;

	qv_cpu_read(&w);
	return qv_cpu_best(&w);
}
