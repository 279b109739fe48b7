/* SPDX-License-Identifier: BSD-2-Clause */
/* test_burst.c - structure auto: queues that are filled and emptied, buckets of two keys. */
#include "tests/match/model/auto_kit.h"

enum { BURST = 5000, CYCLES = 20, BIG = 70000 };

/* A permutation of 0 .. BURST - 1, another one for each c; in order for 0. */
static uint32_t nth(uint32_t i, uint32_t c)
{
	static const uint32_t steps[] = {1, 7, 1009, 4999, 2003};

	return (uint32_t)((uint64_t)i * steps[c % 5] % BURST);
}

/* The form comes to rest: no more changes than there are bursts in order. */
enum { FLIPS = 2 * (CYCLES / 5) - 1 };

/* Bursts of receives in any order: few comparisons each, and the form comes to rest. */
static void test_posted_bursts(void **state)
{
	static struct qv_recv r[BURST];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t c = 0; c < CYCLES; c++) {
		uint64_t before = inspected(m);

		for (uint32_t i = 0; i < BURST; i++)
			post(m, &r[i], i, 0, i % 61);
		for (uint32_t i = 0; i < BURST; i++) {
			uint32_t k = nth(i, c);

			assert_ptr_equal(qv_match_arrive(m, k, k % 61), &r[k]);
		}
		assert_true(inspected(m) - before < 2 * BURST);
	}
	assert_in_range(flips(m), 1, FLIPS);
	qv_match_destroy(m);
}

/* The same of messages. */
static void test_unexpected_bursts(void **state)
{
	static struct qv_msg msg[BURST];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t c = 0; c < CYCLES; c++) {
		uint64_t before = inspected(m);

		for (uint32_t i = 0; i < BURST; i++)
			queue(m, &msg[i], i, i % 61);
		for (uint32_t i = 0; i < BURST; i++) {
			uint32_t k = nth(i, c);

			assert_ptr_equal(post_for(m, k, 0, k % 61), &msg[k]);
		}
		assert_true(inspected(m) - before < 2 * BURST);
	}
	assert_in_range(flips(m), 1, FLIPS);
	qv_match_destroy(m);
}

/* Bursts whose table is too big to be kept: it goes with the last entry. */
static void test_big_bursts(void **state)
{
	static struct qv_msg msg[BIG];
	static const uint32_t steps[] = {49999, 49999, 1, 1, 49999}; /* 1: in order */
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (size_t c = 0; c < sizeof(steps) / sizeof(steps[0]); c++) {
		uint64_t before = inspected(m);

		for (uint32_t i = 0; i < BIG; i++) {
			queue(m, &msg[i], i, i % 61);
			/* The ring is kept from the last burst. */
			assert_true(i < BIG / 2 || qv_match_memory(m) <= 64 * (size_t)i);
		}
		for (uint32_t i = 0; i < BIG; i++) {
			uint32_t k = (uint32_t)((uint64_t)i * steps[c] % BIG);

			assert_ptr_equal(post_for(m, k, 0, k % 61), &msg[k]);
		}
		assert_true(inspected(m) - before < 2 * BIG);
		assert_true(qv_match_memory(m) < (2u << 20));
	}
	qv_match_destroy(m);
}

/* Receives that are posted while others are matched: that is no burst, and the index stays. */
static void test_no_burst(void **state)
{
	static struct qv_recv r[2 * BURST];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < BURST; i++)
		post(m, &r[i], i, 0, 1);
	for (uint32_t i = 0; i < BURST; i++) {
		uint32_t k = nth(i, 1);

		post(m, &r[BURST + i], BURST + i, 0, 1);
		assert_ptr_equal(qv_match_arrive(m, k, 1), &r[k]);
	}
	for (uint32_t i = 0; i < BURST; i++)
		assert_ptr_equal(qv_match_arrive(m, BURST + nth(i, 2), 1), &r[BURST + nth(i, 2)]);
	assert_int_equal(flips(m), 1);
	qv_match_destroy(m);
}

/* The first `n` tags that share a bucket with tag 1. */
static void same_bucket(const struct qv_queue *q, uint64_t *tag, uint32_t n)
{
	uint64_t *slot = qv_index_quick_slot(q->sole, 1, 1);
	uint64_t t = 1;

	for (uint32_t i = 0; i < n; t++)
		if (qv_index_quick_slot(q->sole, t, 1) == slot)
			tag[i++] = t;
}

enum { KEYS = 3, EACH = 2 };

/* Two receives of each of three keys in one bucket: all orders in which messages may come. */
static void test_posted_bucket(void **state)
{
	static struct qv_recv filler, r[KEYS][EACH];
	uint64_t tag[KEYS];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	post(m, &filler, UINT64_MAX, 0, 1);
	qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
	qv_auto_hold(m);
	same_bucket(&qv_auto_of(m)->posted, tag, KEYS);
	for (uint32_t kinds = 1; kinds <= KEYS; kinds++) {
		for (uint32_t n = 0; n < 1000; n++) {
			uint32_t left[KEYS] = {0}, total = 0;

			assert_null(qv_match_arrive(m, tag[0], 1));
			for (uint32_t i = 0; i < kinds; i++) {
				left[i] = draw(EACH + 1);
				total += left[i];
				for (uint32_t k = 0; k < left[i]; k++)
					post(m, &r[i][k], tag[i], 0, 1);
			}
			for (uint32_t at[KEYS] = {0}; total; total--) {
				uint32_t i = draw(kinds);

				while (at[i] == left[i])
					i = (i + 1) % kinds;
				assert_ptr_equal(qv_match_arrive(m, tag[i], 1), &r[i][at[i]]);
				at[i]++;
				if (at[i] == left[i])
					assert_null(qv_match_arrive(m, tag[i], 1));
			}
		}
	}
	assert_ptr_equal(qv_match_arrive(m, UINT64_MAX, 1), &filler);
	qv_match_destroy(m);
}

/* The same of messages. */
static void test_unexpected_bucket(void **state)
{
	static struct qv_msg filler, msg[KEYS][EACH];
	uint64_t tag[KEYS];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	queue(m, &filler, UINT64_MAX, 1);
	qv_auto_force(m, QV_AUTO_LIST, QV_AUTO_HASH);
	qv_auto_hold(m);
	same_bucket(&qv_auto_of(m)->unexpected, tag, KEYS);
	for (uint32_t kinds = 1; kinds <= KEYS; kinds++) {
		for (uint32_t n = 0; n < 1000; n++) {
			uint32_t left[KEYS] = {0}, total = 0;

			for (uint32_t i = 0; i < kinds; i++) {
				left[i] = draw(EACH + 1);
				total += left[i];
				for (uint32_t k = 0; k < left[i]; k++)
					queue(m, &msg[i][k], tag[i], 1);
			}
			for (uint32_t at[KEYS] = {0}; total; total--) {
				uint32_t i = draw(kinds);

				while (at[i] == left[i])
					i = (i + 1) % kinds;
				assert_ptr_equal(post_for(m, tag[i], 0, 1), &msg[i][at[i]]);
				at[i]++;
			}
		}
	}
	assert_ptr_equal(post_for(m, UINT64_MAX, 0, 1), &filler);
	qv_match_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_posted_bursts), cmocka_unit_test(test_unexpected_bursts),
		cmocka_unit_test(test_big_bursts),    cmocka_unit_test(test_no_burst),
		cmocka_unit_test(test_posted_bucket), cmocka_unit_test(test_unexpected_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
