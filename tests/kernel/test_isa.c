/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_isa.c - names of ISAs, and which of them can be run here.
 *     test_isa ISA...    those that this build may have kernels for, the widest last
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/select.h"

static char **built;
static int n_built;

static int place_of(const char *name)
{
	for (int i = 0; i < n_built; i++)
		if (!strcmp(built[i], name))
			return i;
	return -1;
}

/* Whoever can run an ISA can run those before it; kernels are there and have the name. */
static void test_this_cpu(void **state)
{
	const int best = place_of(qv_isa_name(qv_isa_best()));

	assert_true(best >= 0);
	if (place_of("neon") >= 0) /* every arm64 CPU has it */
		assert_int_equal(qv_isa_best(), QV_ISA_NEON);
	for (int isa = QV_ISA_SCALAR; qv_isa_name((enum qv_isa)isa); isa++) {
		const char *name = qv_isa_name((enum qv_isa)isa);
		const int place = place_of(name);

		assert_int_equal(qv_isa_usable((enum qv_isa)isa), place >= 0 && place <= best);
		if (!qv_isa_usable((enum qv_isa)isa))
			continue;
		assert_string_equal(qv_kern_select((enum qv_isa)isa)->name, name);
		assert_string_equal(qv_kern_combine_select((enum qv_isa)isa)->name, name);
	}
	assert_true(qv_isa_usable(QV_ISA_AUTO));
	assert_ptr_equal(qv_kern_select(QV_ISA_AUTO), qv_kern_select(qv_isa_best()));
	assert_false(qv_isa_usable((enum qv_isa)99));
}

static void test_names(void **state)
{
	enum qv_isa isa;

	for (int i = QV_ISA_AUTO; qv_isa_name((enum qv_isa)i); i++) {
		assert_int_equal(qv_isa_parse(qv_isa_name((enum qv_isa)i), &isa), QV_OK);
		assert_int_equal(isa, i);
	}
	assert_string_equal(qv_isa_name(QV_ISA_NEON), "neon");
	assert_null(qv_isa_name((enum qv_isa)99));
	isa = QV_ISA_SCALAR;
	assert_int_equal(qv_isa_parse("avx3", &isa), QV_EINVAL);
	assert_int_equal(qv_isa_parse("", &isa), QV_EINVAL);
	assert_int_equal(isa, QV_ISA_SCALAR);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_cpu),
		cmocka_unit_test(test_names),
	};

	built = argv + 1;
	n_built = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
