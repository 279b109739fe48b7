/* SPDX-License-Identifier: BSD-2-Clause */
/* select_case.c - see select_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <cmocka.h>

#include "select_case.h"

const struct qv_network qv_select_case_net = {
	.alpha = 2.66e-6, .beta = 4.8179e-10, .gamma = 1.6654e-10};

struct qv_select *qv_select_case_open(const char *rules)
{
	struct qv_select *s = NULL;
	char why[256] = "";

	if (qv_select_open(rules, why, sizeof(why), &s))
		fail_msg("'%s': %s", rules, why);
	assert_int_equal(qv_select_network(s, &qv_select_case_net), QV_OK);
	return s;
}

double qv_select_case_last(const double *times, uint32_t n)
{
	double last = 0;

	for (uint32_t i = 0; i < n; i++)
		last = fmax(last, times[i]);
	return last;
}
