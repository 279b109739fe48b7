/* SPDX-License-Identifier: BSD-2-Clause */
/* isa.c - names of the instruction sets, and which of them this CPU and system can run. */
#include <cpuid.h>
#include <string.h>
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#define QV_LOADER_KNOWS 1
#endif

#include <quiver/isa.h>

#include "cpu.h"

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

#ifdef QV_KNL
#define QV_HAS_AVX512_KERNELS 0
#else
#define QV_HAS_AVX512_KERNELS 1
#endif

static const char *const isa_names[] = {"auto", "scalar", "avx2", "avx512f", "avx512"};

#define N_ISA ((int)(sizeof(isa_names) / sizeof(isa_names[0])))

const char *qv_isa_name(enum qv_isa isa)
{
	if ((int)isa < 0 || (int)isa >= N_ISA)
		return NULL;
	return isa_names[isa];
}

int qv_isa_parse(const char *name, enum qv_isa *isa)
{
	for (int i = 0; i < N_ISA; i++) {
		if (!strcmp(name, isa_names[i])) {
			*isa = (enum qv_isa)i;
			return QV_OK;
		}
	}
	return QV_EINVAL;
}

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
		return QV_HAS_AVX512_KERNELS && qv_cpu_can(w, QV_ISA_AVX512F) &&
		       has_all(w->leaf7_ebx, avx512);
	}
	return 0;
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
