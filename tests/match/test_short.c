/* SPDX-License-Identifier: BSD-2-Clause */
/* test_short.c - structure auto: short queues, and lists that are mostly used at their head. */
#include "tests/match/model/auto_kit.h"

enum {
	MESSAGES = 52,
	ROUNDS = 200,
	FEW = 4,
	BURST = 6,
	BURSTS = 5000,
	DEEPER = 5000,
	MANY = 32000
};

/* Messages that are probed for, any source, and taken in order; twice in a round a receive is posted
 * that none of them is for. That walk is no reason to index the list: it stays one. */
static void test_probed(void **state)
{
	struct qv_msg msg[MESSAGES];
	struct qv_recv other[2];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < MESSAGES; i++)
			queue(m, &msg[i], 9, i % 27);
		for (uint32_t i = 0; i < 2; i++)
			post(m, &other[i], 1, 0, QV_SRC_ANY);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			assert_ptr_equal(qv_match_peek(m, 9, 0, QV_SRC_ANY), &msg[i]);
			if (i % 2)
				qv_match_take(m, &msg[i]);
			else
				assert_ptr_equal(post_for(m, 9, 0, msg[i].src), &msg[i]);
		}
		for (uint32_t i = 0; i < 2; i++)
			qv_match_cancel(m, &other[i]);
	}
	assert_int_equal(flips(m), 0);
	qv_match_destroy(m);
}

/* Few messages in HASH, and a receive that their index is of no use for: from the first on, the queue has
 * an order to walk. To look into all slots of the table for each would cost much more. */
static void test_few_of_two_classes(void **state)
{
	struct qv_msg msg[FEW];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	const struct qv_queue *q = &qv_auto_of(m)->unexpected;

	qv_auto_force(m, QV_AUTO_LIST, QV_AUTO_HASH);
	for (uint32_t i = 0; i < FEW; i++)
		queue(m, &msg[i], 9, i);
	for (uint32_t i = 0; i < FEW; i++) {
		const uint32_t src = i % 2 ? i : QV_SRC_ANY;

		assert_ptr_equal(post_for(m, 9, 0, src), &msg[i]);
		assert_true(q->mode == QV_AUTO_LIST || q->active & QV_ORDER_ACTIVE);
	}
	qv_match_destroy(m);
}

/* Receives of one more class than there are indexes, when few messages are left: one index makes room for the
 * order. */
static void test_few_of_five_classes(void **state)
{
	static struct qv_msg msg[DEEPER];
	struct qv_recv other;
	struct heap h;
	struct qv_match *m = create_plain(&h);
	const struct qv_queue *q = &qv_auto_of(m)->unexpected;
	uint32_t left = DEEPER;

	for (uint32_t i = 0; i < DEEPER; i++)
		queue(m, &msg[i], i, i % 27);
	for (uint32_t class = 0; class < 4; class ++)
		for (uint32_t i = 0; i < 4; i++) {
			left--;
			assert_ptr_equal(post_for(m, left, class ? UINT64_C(1) << (35 + class) : 0,
						  left % 27),
					 &msg[left]);
		}
	assert_int_equal(q->n_in_use, 4);
	while (left > 2) {
		left--;
		assert_ptr_equal(post_for(m, left, 0, left % 27), &msg[left]);
	}
	post(m, &other, DEEPER, UINT64_C(1) << 50, 3);
	assert_true(q->mode == QV_AUTO_LIST || q->active & QV_ORDER_ACTIVE);
	for (uint32_t i = 0; i < 2; i++)
		assert_ptr_equal(post_for(m, i, UINT64_C(1) << 50, i), &msg[i]);
	qv_match_destroy(m);
}

/* Receives of two classes in turns, none of which an index serves: not all messages are looked at for each. */
static void test_classes_in_turns(void **state)
{
	static struct qv_msg msg[DEEPER];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	uint64_t before;

	for (uint32_t i = 0; i < DEEPER; i++)
		queue(m, &msg[i], i, i);
	(void)post_for(m, DEEPER - 1, 0, DEEPER - 1);
	before = inspected(m);
	for (uint32_t i = 1; i < 401; i++) {
		const uint32_t k = DEEPER - 1 - i * 7;

		assert_ptr_equal(i % 2 ? post_for(m, k, 0, QV_SRC_ANY)
				       : post_for(m, 0, UINT64_MAX, k),
				 &msg[k]);
	}
	assert_true(inspected(m) - before < 40 * DEEPER);
	qv_match_destroy(m);
}

/* Tables that have grown between two ticks are given back with the last message, too. */
static void test_tables_of_several_classes(void **state)
{
	static struct qv_msg msg[MANY];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	const struct qv_queue *q = &qv_auto_of(m)->unexpected;
	uint32_t left = MANY;

	for (uint32_t i = 0; i < MANY; i++)
		queue(m, &msg[i], i, i);
	for (uint32_t class = 0; class < 3; class ++)
		for (uint32_t i = 0; i < 3; i++) {
			left--;
			assert_ptr_equal(
				post_for(m, left, class ? UINT64_C(1) << (35 + class) : 0, left),
				&msg[left]);
		}
	assert_int_equal(q->n_in_use, 3);
	while (left-- > 0)
		assert_ptr_equal(post_for(m, left, 0, left), &msg[left]);
	for (uint32_t i = 0; i < QV_N_INDEXES; i++)
		assert_null(q->ix[i].slots);
	qv_match_destroy(m);
}

/* Queues that are filled with a few entries and emptied in any order come to rest. */
static void test_small_bursts(void **state)
{
	struct qv_recv r[BURST];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t burst = 0; burst < BURSTS; burst++) {
		const uint32_t first = draw(BURST), step = draw(2) ? 1 : BURST - 1;

		for (uint32_t i = 0; i < BURST; i++)
			post(m, &r[i], 5, 0, i);
		for (uint32_t i = 0; i < BURST; i++) {
			const uint32_t k = (first + i * step) % BURST;

			assert_ptr_equal(qv_match_arrive(m, 5, k), &r[k]);
		}
	}
	assert_in_range(flips(m), 0, 14);
	qv_match_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probed),
		cmocka_unit_test(test_few_of_two_classes),
		cmocka_unit_test(test_few_of_five_classes),
		cmocka_unit_test(test_classes_in_turns),
		cmocka_unit_test(test_tables_of_several_classes),
		cmocka_unit_test(test_small_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
