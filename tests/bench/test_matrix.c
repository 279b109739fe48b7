/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_matrix.c - the made matrices of `quiver bench exchange` have the character of those that they
 * are like: as many nonzeros, symmetric, near the diagonal or not, rows alike or of a power law.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/coll/exchange_matrix.h"

struct character {
	unsigned nonzeros, least, most; /* in all, in a row */
	unsigned width;                 /* the farthest from the diagonal */
	uint32_t sum;                   /* over all elements in order */
};

static struct character of(enum qv_bx_matrix matrix, unsigned rows)
{
	struct character c = {.least = rows};

	for (unsigned row = 0; row < rows; row++) {
		unsigned n = 0;

		for (unsigned column = 0; column < rows; column++) {
			const int v = qv_bx_element(matrix, rows, row, column);

			assert_in_range(v, row == column, 9);
			assert_int_equal(v, qv_bx_element(matrix, rows, column, row));
			c.sum = c.sum * 31 + (uint32_t)v;
			if (v && column > row && column - row > c.width)
				c.width = column - row;
			n += v != 0;
		}
		c.nonzeros += n;
		c.least = n < c.least ? n : c.least;
		c.most = n > c.most ? n : c.most;
	}
	print_message("%u: %u rows, %u nonzeros, %u to %u a row, %u wide, sum %u\n", matrix, rows,
		      c.nonzeros, c.least, c.most, c.width, c.sum);
	return c;
}

/* As many as in the real one, within 5 %; the same elements in every process. */
static void hold(struct character c, unsigned nonzeros, uint32_t sum)
{
	assert_in_range(c.nonzeros, nonzeros * 95 / 100, nonzeros * 105 / 100);
	assert_int_equal(c.sum, sum);
}

static void survey(void **state)
{
	struct character c = of(QV_BX_SURVEY, 292);

	hold(c, 2208, 621051416);
	assert_int_equal(c.width, 19); /* a row of points, and one */
	assert_in_range(c.most, 8, 9);
	c = of(QV_BX_SURVEY, 2048); /* larger ones have longer rows of points, no more links */
	assert_in_range(c.nonzeros, 2048 * 7, 2048 * 8);
	assert_int_equal(c.width, 47);
}

static void structure(void **state)
{
	const struct character c = of(QV_BX_STRUCTURE, 193);

	hold(c, 3493, 3407884725);
	assert_int_equal(c.width, 29);
	assert_int_equal(c.most, 21);
}

static void journals(void **state)
{
	const struct character c = of(QV_BX_JOURNALS, 124);

	hold(c, 12068, 3051221917);
	assert_true(c.width > 100 && c.least > 124 / 2);
}

/* A fourteenth of the real one's rows, and as dense. */
static void genes(void **state)
{
	const struct character c = of(QV_BX_GENES, 1024);

	hold(c, (unsigned)(1024 * 1024 * (18068388.0 / (14340.0 * 14340.0))), 2861599261);
	assert_true(c.most > 6 * c.nonzeros / 1024 && c.least < c.nonzeros / 1024 / 2);
}

/* One row is the least that a rank has. */
static void small(void **state)
{
	for (int m = 0; m < QV_BX_MATRICES; m++)
		assert_int_equal(of((enum qv_bx_matrix)m, 1).nonzeros, 1);
}

static void names(void **state)
{
	assert_int_equal(qv_bx_matrix_find("survey", 6), QV_BX_SURVEY);
	assert_int_equal(qv_bx_matrix_find("genes-allgather", 5), QV_BX_GENES);
	assert_int_equal(qv_bx_matrix_find("genes", 4), QV_BX_MATRICES);
	assert_int_equal(qv_bx_matrix_find("mesh", 4), QV_BX_MATRICES);
	assert_int_equal(qv_bx_matrix_find("", 0), QV_BX_MATRICES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(survey),   cmocka_unit_test(structure),
					   cmocka_unit_test(journals), cmocka_unit_test(genes),
					   cmocka_unit_test(small),    cmocka_unit_test(names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
