/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unguarded.c - segmented schedules built without the rule that a segment is not
 * passed on in the round in which a contribution to it arrives: the check must find what is lost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_case.h"

#define QV_SEGMENTED_GUARD 0
#define qv_build_segmented qv_build_segmented_unguarded
#include "engine/schedule/families/segmented.c"

/* As qv_schedule_build_all does with the other one. */
static void build_unguarded(const struct qv_schedule_spec *spec, struct qv_schedule **all)
{
	struct qv_builder b[32] = {{0}};
	const uint32_t P = spec->ranks;

	for (uint32_t r = 0; r < P; r++) {
		assert_int_equal(qv_schedule_build(spec, r, &all[r]), QV_OK);
		all[r]->n = 2; /* the copy and its fence */
		b[r] = (struct qv_builder){.spec = spec, .s = all[r], .rank = r};
		b[r].sent = calloc(P, 2 * sizeof(*b[r].sent));
		assert_non_null(b[r].sent);
		b[r].received = b[r].sent + P;
	}
	qv_build_segmented_unguarded(b, P);
	for (uint32_t r = 0; r < P; r++) {
		assert_false(b[r].failed);
		free(b[r].sent);
	}
}

static void test_guard(void **unused)
{
	uint32_t refused = 0, all_of_them = 0;

	for (uint32_t P = 8; P <= 32; P += 4)
		for (uint32_t N = 4; N <= 16; N += 3) {
			const struct qv_schedule_spec spec = {
				.algorithm = QV_ALG_SEGMENTED, .ranks = P, .segments = N};
			struct qv_schedule *all[32];

			build_unguarded(&spec, all);
			refused += qv_schedule_check(&spec, all, NULL, 0) == QV_EINVAL;
			all_of_them++;
			for (uint32_t r = 0; r < P; r++)
				qv_schedule_free(all[r]);
		}
	print_message("%u of %u refused\n", refused, all_of_them);
	assert_true(refused > all_of_them / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_guard)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
