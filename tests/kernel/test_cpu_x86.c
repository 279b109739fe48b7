/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cpu_x86.c - the instruction set that the words of known x86-64 CPUs lead to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <cpuid.h>

#include "kernels/cpu_x86.h"

/* Leaf 1 ecx, leaf 7 ebx and XCR0 as those CPUs give them under Linux. */
static const struct qv_cpu_words nehalem = {0x009ce3bd, 0, 0};
static const struct qv_cpu_words sandy_bridge = {0x1fbae3ff, 0, 0x7};
static const struct qv_cpu_words haswell = {0x7ffafbff, 0x000027ab, 0x7};
static const struct qv_cpu_words knights_landing = {0x7ff8f3bf, 0x1c0d23ab, 0xe7};
static const struct qv_cpu_words skylake_sp = {0x7ffefbff, 0xd39ffffb, 0xe7};
static const struct qv_cpu_words zen3 = {0x7efa320b, 0x219c97a9, 0x207};
static const struct qv_cpu_words zen4 = {0x7efa320b, 0xf1bf97a9, 0x2e7};

#ifdef QV_KNL
#define WIDEST QV_ISA_AVX512F
#else
#define WIDEST QV_ISA_AVX512
#endif

static void test_known_cpus(void **state)
{
	assert_int_equal(qv_cpu_best(&nehalem), QV_ISA_SCALAR);
	assert_int_equal(qv_cpu_best(&sandy_bridge), QV_ISA_SCALAR);
	assert_int_equal(qv_cpu_best(&haswell), QV_ISA_AVX2);
	assert_int_equal(qv_cpu_best(&knights_landing), QV_ISA_AVX512F);
	assert_int_equal(qv_cpu_best(&skylake_sp), WIDEST);
	assert_int_equal(qv_cpu_best(&zen3), QV_ISA_AVX2);
	assert_int_equal(qv_cpu_best(&zen4), WIDEST);
}

/* A CPU that could, under a system that saves less. */
static void test_system_does_not_save(void **state)
{
	struct qv_cpu_words w = skylake_sp;

	w.xcr0 = 0x7; /* no opmask, no ZMM */
	assert_int_equal(qv_cpu_best(&w), QV_ISA_AVX2);
	w.xcr0 = 0x67; /* opmask and low ZMM, not the high registers */
	assert_int_equal(qv_cpu_best(&w), QV_ISA_AVX2);
	w.xcr0 = 0x3; /* SSE only */
	assert_int_equal(qv_cpu_best(&w), QV_ISA_SCALAR);
	w = skylake_sp;
	w.leaf1_ecx &= ~(1u << 27); /* no OSXSAVE: xgetbv may not even be run */
	assert_int_equal(qv_cpu_best(&w), QV_ISA_SCALAR);
}

/* Each missing feature takes away exactly the ISAs that use it. */
static void test_missing_features(void **state)
{
	static const struct {
		uint32_t leaf7;
		enum qv_isa best;
	} cases[] = {
		{1u << 3, QV_ISA_SCALAR},   /* BMI1 */
		{1u << 5, QV_ISA_SCALAR},   /* AVX2 */
		{1u << 16, QV_ISA_AVX2},    /* AVX512F */
		{1u << 17, QV_ISA_AVX512F}, /* AVX512DQ */
		{1u << 30, QV_ISA_AVX512F}, /* AVX512BW */
		{1u << 31, QV_ISA_AVX512F}, /* AVX512VL */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct qv_cpu_words w = skylake_sp;

		w.leaf7_ebx &= ~cases[i].leaf7;
		assert_int_equal(qv_cpu_best(&w), cases[i].best);
	}
}

/* Wherever the words come from, they are this CPU's. */
static void test_words(void **state)
{
	struct qv_cpu_words w;
	unsigned int a, b = 0, c = 0, d;

	qv_cpu_read(&w);
	(void)__get_cpuid(1, &a, &b, &c, &d);
	assert_int_equal(w.leaf1_ecx, c);
	b = 0;
	(void)__get_cpuid_count(7, 0, &a, &b, &c, &d);
	assert_int_equal(w.leaf7_ebx, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_cpus),
		cmocka_unit_test(test_system_does_not_save),
		cmocka_unit_test(test_missing_features),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
