/* SPDX-License-Identifier: BSD-2-Clause */
/* test_table.c - numbers by a key, against a plain array. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/base/random.h"
#include "tools/trace/table.h"

enum { KEYS = 300 };

/* Small numbers, and some that differ in high bits only. */
static uint64_t key_at(size_t i)
{
	return i % 2 ? (uint64_t)i << 40 : i;
}

static void check_all(const struct qv_table *table, const uint64_t *numbers)
{
	size_t n = 0;

	for (size_t i = 0; i < KEYS; i++) {
		assert_int_equal(qv_table_find(table, key_at(i)), numbers[i]);
		n += numbers[i] != 0;
	}
	assert_int_equal(table->n, n);
}

/* Now mostly put, now mostly removed: the table is empty and nearly full by turns. */
static void put_and_remove(void **state)
{
	uint64_t numbers[KEYS] = {0}, seed = 1;
	struct qv_table table = {.slots = NULL};

	for (int turn = 0; turn < 200; turn++) {
		for (int step = 0; step < 500; step++) {
			const size_t i = qv_random_below(&seed, KEYS);

			if (qv_random_percent(&seed, turn % 2 ? 20 : 80)) {
				numbers[i] = 1 + qv_random_below(&seed, UINT64_MAX);
				assert_true(qv_table_put(&table, key_at(i), numbers[i]));
			} else if (numbers[i]) {
				qv_table_remove(&table, key_at(i));
				numbers[i] = 0;
			}
		}
		check_all(&table, numbers);
	}
	qv_table_free(&table);
	assert_int_equal(qv_table_find(&table, 0), 0);
}

/* Another number for a key needs no memory, however full the table is. */
static void change_in_place(void **state)
{
	struct qv_table table = {.slots = NULL};

	for (uint64_t key = 0; key < 1000; key++) {
		struct qv_table before;

		assert_true(qv_table_put(&table, key, 1));
		before = table;
		assert_true(qv_table_put(&table, key, 2));
		assert_ptr_equal(table.slots, before.slots);
		assert_int_equal(table.room, before.room);
		assert_int_equal(table.n, key + 1);
		assert_int_equal(qv_table_find(&table, key), 2);
	}
	qv_table_free(&table);
}

static void numbers_in_order(void **state)
{
	struct qv_table table = {.slots = NULL};
	uint64_t number;

	for (int again = 0; again < 2; again++)
		for (uint64_t i = 0; i < KEYS; i++) {
			assert_true(qv_table_number(&table, key_at(KEYS - 1 - i), &number));
			assert_int_equal(number, i);
		}
	qv_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_and_remove),
		cmocka_unit_test(change_in_place),
		cmocka_unit_test(numbers_in_order),
	};

	return cmocka_run_group_tests_name("trace.table", tests, NULL, NULL);
}
