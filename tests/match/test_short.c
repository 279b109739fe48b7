/* SPDX-License-Identifier: BSD-2-Clause */
/* test_short.c - structure auto: short queues, and lists that are mostly used at their head. */
#include "tests/match/model/auto_kit.h"

enum { MESSAGES = 52, ROUNDS = 200, FEW = 4, BURST = 6, BURSTS = 5000 };

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
		cmocka_unit_test(test_small_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
