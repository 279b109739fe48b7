/* SPDX-License-Identifier: BSD-2-Clause */
/* test_choice.c - which of two ways is taken, by how long each has taken. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/base/choice.h"

#define LEN ((size_t)64 << 10)

enum { READ, ASK };

/* Two ways that take so long. */
struct world {
	struct qv_choice c;
	size_t len; /* of a message */
	uint64_t ns[2];
	uint64_t took; /* in all */
	unsigned taken[2];
};

static void messages(struct world *w, unsigned n)
{
	memset(w->taken, 0, sizeof w->taken);
	w->took = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned way = qv_choice_take(&w->c);

		w->taken[way]++;
		qv_choice_took(&w->c, way, w->len, w->ns[way]);
		w->took += w->ns[way];
	}
}

static struct world begin(uint64_t read, uint64_t ask)
{
	return (struct world){.len = LEN, .ns = {[READ] = read, [ASK] = ask}};
}

/* Who has few messages for another does not have to be looked at. */
static void the_first_are_read(void **state)
{
	struct world w = begin(7000, 5000);

	(void)state;
	messages(&w, 4);
	assert_int_equal(w.taken[READ], 4);
	messages(&w, 1);
	assert_int_equal(w.taken[ASK], 1);
}

/* And the slower one so that it costs little. */
static void the_faster_one_is_taken(void **state)
{
	static const uint64_t ns[][2] = {{5000, 9000}, {9000, 5000},       {5000, 5100},
					 {5000, 1000}, {5000, 1000000000}, {60000, 240000}};

	(void)state;
	for (unsigned i = 0; i < sizeof ns / sizeof *ns; i++) {
		struct world w = begin(ns[i][0], ns[i][1]);
		uint64_t best = ns[i][0] < ns[i][1] ? ns[i][0] : ns[i][1];

		messages(&w, 10);
		messages(&w, 10000);
		assert_in_range(w.took, 10000 * best, 10000 * best / 16 * 17 + 20000);
	}
}

/* The processors move. */
static void a_change_is_noticed(void **state)
{
	struct world w = begin(7000, 5000);

	(void)state;
	messages(&w, 10000);
	w.ns[ASK] = 14000; /* what is in use is slower: at once */
	messages(&w, 20);
	assert_in_range(w.taken[ASK], 1, 4);
	messages(&w, 10000);
	w.ns[ASK] = 5000; /* what is not is faster: when it is tried */
	messages(&w, 200);
	assert_true(w.taken[ASK] > 100);
}

/* Memory that nobody has touched: the first are slow, and say nothing. */
static void slow_at_first(void **state)
{
	struct world w = begin(8000, 250000);

	(void)state;
	messages(&w, 4 + 40);
	assert_int_equal(w.taken[ASK], 40);
	w.ns[ASK] = 5000;
	messages(&w, 1000);
	assert_true(w.taken[ASK] > 900);
}

/* A few long messages have touched all those pages. */
static void few_long_ones_are_tried(void **state)
{
	struct world w = begin(100000, 230000);

	(void)state;
	w.len = (size_t)1 << 20;
	messages(&w, 4 + 40);
	assert_in_range(w.taken[ASK], 4, 8);
	w = begin(100000, 60000);
	w.len = (size_t)1 << 20;
	messages(&w, 4 + 40);
	assert_in_range(w.taken[ASK], 32, 40);
}

/* One that never looks between two messages: the first two that are asked for wait for it. */
static void who_never_looked_is_not_asked(void **state)
{
	struct world w = begin(8000, 10000000);

	(void)state;
	messages(&w, 10000);
	assert_in_range(w.taken[ASK], 1, 4);
}

/* Many begin before the first is over: few of them wait for a sender that may never look. */
static void until_there_is_news_few_are_asked(void **state)
{
	struct world w = begin(8000, 5000);
	unsigned asked = 0;

	(void)state;
	messages(&w, 4);
	for (unsigned i = 0; i < 1000; i++)
		asked += qv_choice_take(&w.c) == ASK;
	assert_in_range(asked, 1, 4);
	qv_choice_took(&w.c, ASK, LEN, 5000);
	messages(&w, 100);
	assert_in_range(w.taken[ASK], 90, 100); /* READ is tried, too */
}

/* A sender that looks rarely from now on: each message that is asked for waits for it. */
static void who_does_not_look_is_not_asked(void **state)
{
	struct world w = begin(7000, 5000);

	(void)state;
	messages(&w, 10000);
	w.ns[ASK] = 1000000000;
	messages(&w, 10000);
	assert_in_range(w.taken[ASK], 1, 8);
}

/* The faster one meets a processor that does something else, and then memory that nobody has touched:
 * it is taken again when that is over. */
static void what_made_it_slow_is_over(void **state)
{
	struct world w = begin(10000, 7000);
	unsigned cold = 32;

	(void)state;
	messages(&w, 1000);
	w.ns[ASK] = 2000000;
	messages(&w, 3);
	w.ns[ASK] = 500000;
	for (unsigned i = 0; cold && i < 10000; i++) {
		messages(&w, 1);
		cold -= w.taken[ASK];
	}
	assert_int_equal(cold, 0);
	w.ns[ASK] = 7000;
	messages(&w, 2000);
	assert_true(w.taken[ASK] > 1500);
}

/* Then it is the other one that is slow, and it was not faster but for that while. */
static void what_was_faster_for_a_while_is_not_tried_soon(void **state)
{
	struct world w = begin(10000, 7000);

	(void)state;
	messages(&w, 1000);
	w.ns[ASK] = 2000000;
	messages(&w, 3);
	w.ns[ASK] = 7000;
	messages(&w, 2000);
	assert_true(w.taken[ASK] > 1500);
	w.ns[READ] = 1000000;
	messages(&w, 8000);
	assert_in_range(w.taken[READ], 1, 8);
}

/* Of many at once the first few that are asked for are quick, since nobody has used the staging area for
 * a while. That does not make it the faster way. */
static void what_is_quick_at_first_is_not_tried_for_long(void **state)
{
	enum { AT_ONCE = 64, ROUNDS = 500 };
	unsigned way[AT_ONCE], in_a_row = 0, asked = 0;
	struct qv_choice c = {0};

	(void)state;
	for (unsigned r = 0; r < ROUNDS; r++) {
		for (unsigned i = 0; i < AT_ONCE; i++)
			way[i] = qv_choice_take(&c);
		for (unsigned i = 0; i < AT_ONCE; i++) {
			in_a_row = way[i] == ASK ? in_a_row + 1 : 0;
			asked += way[i] == ASK;
			qv_choice_took(&c, way[i], LEN,
				       way[i] == READ  ? 7300
				       : in_a_row <= 4 ? 6500
						       : 16000);
		}
	}
	assert_in_range(asked, 4, AT_ONCE * ROUNDS / 10);
}

static void a_way_that_is_closed(void **state)
{
	struct world w = begin(3000, 5000);

	(void)state;
	messages(&w, 10);
	qv_choice_took(&w.c, READ, LEN, QV_CHOICE_NEVER);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(qv_choice_take(&w.c), ASK);
		qv_choice_took(&w.c, ASK, LEN, 5000);
	}
}

static void lengths_and_times_of_any_size(void **state)
{
	static const uint64_t ns[] = {
		0, 1, 1000000, UINT32_MAX, UINT64_MAX / 16384, UINT64_MAX - 1};
	static const size_t len[] = {1, 16383, 16384, 32767, 32768, 1u << 20, SIZE_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof len / sizeof *len; i++) {
		for (unsigned k = 0; k < sizeof ns / sizeof *ns; k++) {
			struct qv_choice c = {0};

			qv_choice_took(&c, ASK, len[i], ns[k]);
			assert_true(c.ns[ASK] > 0);
			qv_choice_took(&c, ASK, len[i], ns[k]);
			qv_choice_took(&c, ASK, len[i], UINT64_MAX - 1);
			assert_true(c.ns[ASK] > 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_are_read),
		cmocka_unit_test(the_faster_one_is_taken),
		cmocka_unit_test(a_change_is_noticed),
		cmocka_unit_test(slow_at_first),
		cmocka_unit_test(few_long_ones_are_tried),
		cmocka_unit_test(who_never_looked_is_not_asked),
		cmocka_unit_test(until_there_is_news_few_are_asked),
		cmocka_unit_test(who_does_not_look_is_not_asked),
		cmocka_unit_test(what_made_it_slow_is_over),
		cmocka_unit_test(what_was_faster_for_a_while_is_not_tried_soon),
		cmocka_unit_test(what_is_quick_at_first_is_not_tried_for_long),
		cmocka_unit_test(a_way_that_is_closed),
		cmocka_unit_test(lengths_and_times_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
