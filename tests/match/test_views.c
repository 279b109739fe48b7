/* SPDX-License-Identifier: BSD-2-Clause */
/* test_views.c - structure auto: which indexes the unexpected queue has. */
#include "tests/match/model/auto_kit.h"

/* Wildcard receives of three classes on a deep unexpected queue: indexes, not scans. */
static void test_wildcards_on_unexpected(void **state)
{
	struct qv_msg *msg = calloc(DEEP, sizeof(*msg));
	struct heap h;
	struct qv_match *m = create_plain(&h);
	uint64_t before;

	for (uint32_t i = 0; i < DEEP; i++)
		queue(m, &msg[i], (uint64_t)i << 32 | i, i);
	for (int round = 0; round < 3; round++) {
		before = inspected(m);
		for (uint32_t n = 0; n < DEEP; n++) {
			uint32_t i = draw(DEEP), k = draw(3);
			uint64_t tag = (uint64_t)i << 32 | i;
			struct qv_msg *got = k == 0   ? post_for(m, tag, 0, i)
					     : k == 1 ? post_for(m, tag, 0, QV_SRC_ANY)
						      : post_for(m, tag, 0xffffffff, i);

			assert_ptr_equal(got, &msg[i]);
			queue(m, &msg[i], tag, i);
		}
	}
	assert_true(inspected(m) - before < 4 * DEEP);
	qv_match_destroy(m);
	free(msg);
}

/* An index that no receive uses any more costs each message: it goes. */
static void test_idle_index_goes(void **state)
{
	enum { N = 200 };
	struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	struct qv_queue *q = &qv_auto_of(m)->unexpected;

	qv_auto_hold(m);

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i, i);
	qv_auto_force(m, QV_AUTO_LIST, QV_AUTO_HASH);
	for (uint32_t n = 0; n < 20; n++) {
		assert_ptr_equal(post_for(m, n, 0, QV_SRC_ANY), &msg[n]);
		queue(m, &msg[n], n, n);
	}
	assert_int_equal(__builtin_popcount(q->active & QV_INDEXES), 2);
	for (uint32_t n = 0; n < 2048 + 16 * N; n++) {
		uint32_t i = draw(N);

		assert_ptr_equal(post_for(m, i, 0, i), &msg[i]);
		queue(m, &msg[i], i, i);
	}
	assert_int_equal(q->mode, QV_AUTO_HASH);
	assert_int_equal(__builtin_popcount(q->active & QV_INDEXES), 1);
	for (uint32_t i = 0; i < N; i++)
		assert_ptr_equal(post_for(m, i, 0, QV_SRC_ANY), &msg[i]);
	qv_match_destroy(m);
}

/* An index of a wider class in which no two messages share a key makes a narrower one a burden: it
 * goes, and comes back when keys are shared. */
static void test_spare_index_goes(void **state)
{
	enum { N = 64, ROUNDS = 64 * N };
	struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	struct qv_queue *q = &qv_auto_of(m)->unexpected;

	qv_auto_hold(m);
	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i, i);
	qv_auto_force(m, QV_AUTO_LIST, QV_AUTO_HASH);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);

		assert_ptr_equal(post_for(m, i, 0, n % 2 ? i : QV_SRC_ANY), &msg[i]);
		queue(m, &msg[i], i, i);
	}
	assert_int_equal(q->mode, QV_AUTO_HASH);
	assert_int_equal(__builtin_popcount(q->active & QV_INDEXES), 1);
	for (uint32_t i = 0; i < N; i++)
		assert_ptr_equal(post_for(m, i, 0, i), &msg[i]);
	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], 5, i);
	qv_auto_force(m, QV_AUTO_LIST, QV_AUTO_HASH);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);

		assert_ptr_equal(post_for(m, 5, 0, i), &msg[i]);
		queue(m, &msg[i], 5, i);
	}
	assert_true(inspected(m) < 6 * ROUNDS);
	qv_match_destroy(m);
}

/* Receives of many classes by turns, each too rare for an index: the answers are right. */
static void test_rare_classes(void **state)
{
	enum { N = 1000, ROUNDS = 20 * QV_TICK };
	static struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i, 1);
	qv_auto_force(m, QV_AUTO_LIST, QV_AUTO_HASH);
	qv_auto_hold(m);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);

		assert_ptr_equal(post_for(m, i, 0, 1), &msg[i]);
		queue(m, &msg[i], i, 1);
		if (n % 10 == 0)
			assert_null(qv_match_peek(m, N << 16, UINT64_C(0xff) << n / 10 % 8, 1));
	}
	qv_match_destroy(m);
}

/* Where an index of a rare class would have one key, a short queue is walked in order instead. */
static void test_short_queue_in_order(void **state)
{
	enum { N = 8, ROUNDS = 20000 };
	struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	struct qv_queue *q = &qv_auto_of(m)->unexpected;
	int ordered = 0;

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i, i);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);

		if (n % 10) {
			assert_ptr_equal(post_for(m, i, 0, i), &msg[i]);
			queue(m, &msg[i], i, i);
		} else { /* takes the oldest, which goes to the end */
			struct qv_msg *got = post_for(m, 0, UINT64_MAX, QV_SRC_ANY);

			queue(m, got, got->tag, got->src);
		}
		ordered += (q->active & QV_ORDER_ACTIVE) != 0;
	}
	assert_in_range(ordered, ROUNDS / 2, ROUNDS);
	assert_true(inspected(m) < 3 * ROUNDS);
	qv_match_destroy(m);
}

/* A short queue that receives of many classes search is better walked; the form comes to rest. */
static void test_short_queue_is_walked(void **state)
{
	enum { N = 8, ROUNDS = 100000 };
	static const uint64_t ignore[4] = {0, 0, 0xffff, 0xffff};
	struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], (uint64_t)i << 32 | i, i);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N), k = draw(4);
		uint64_t tag = (uint64_t)i << 32 | i;

		assert_ptr_equal(post_for(m, tag, ignore[k], k % 2 ? QV_SRC_ANY : i), &msg[i]);
		queue(m, &msg[i], tag, i);
	}
	assert_in_range(flips(m), 1, 60);
	qv_match_destroy(m);
}

/* The same for two classes, one of which has one key for half the messages. */
static void test_two_classes_of_few(void **state)
{
	enum { N = 8, ROUNDS = 60000 };
	struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	uint32_t walked = 0;

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i % 2 ? i : (uint64_t)(i + 1) << 32, i);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);
		uint64_t tag = i % 2 ? i : (uint64_t)(i + 1) << 32;

		assert_ptr_equal(post_for(m, tag, i % 2 ? 0 : UINT32_MAX, i % 2 ? i : QV_SRC_ANY),
				 &msg[i]);
		queue(m, &msg[i], tag, i);
		walked += qv_auto_of(m)->unexpected.mode == QV_AUTO_LIST;
	}
	assert_in_range(walked, ROUNDS * 3 / 4, ROUNDS);
	assert_in_range(flips(m), 1, 20);
	qv_match_destroy(m);
}

/* To try the list costs what indexing all messages does: that is seldom where they are many. */
static void test_trials_are_rare(void **state)
{
	enum { N = 1000, ROUNDS = 60 * N };
	static struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i, i);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);

		assert_ptr_equal(post_for(m, i, 0, i), &msg[i]);
		queue(m, &msg[i], i, i);
	}
	assert_in_range(flips(m), 1, 2);
	qv_match_destroy(m);
}

/* The oldest of a few messages that fits, or none, wherever in the ring they are. */
static void test_few_are_scanned(void **state)
{
	enum { N = QV_FEW, ROUNDS = 20000 };
	struct qv_msg msg[N], *at[N], *got;
	struct qv_recv r;
	struct heap h;
	struct qv_match *m = create_plain(&h);
	struct qv_queue *q = &qv_auto_of(m)->unexpected;
	uint32_t n = 0, misses = 0;

	q->policy.cost_shift = QV_COST_SHIFT_MAX;
	for (uint32_t i = 0; i < N; i++)
		at[i] = &msg[i];
	for (uint32_t k = 0; k < ROUNDS; k++) {
		uint32_t tag = draw(6), src = draw(4), pos = 0;

		if (n < N && draw(2)) {
			queue(m, at[n++], tag, src);
			continue;
		}
		r = (struct qv_recv){
			.tag = tag, .ignore = draw(2), .src = draw(2) ? src : QV_SRC_ANY};
		assert_int_equal(qv_match_post(m, &r, &got), QV_OK);
		while (pos < n && (((at[pos]->tag ^ tag) & ~r.ignore) ||
				   (r.src != QV_SRC_ANY && at[pos]->src != src)))
			pos++;
		assert_ptr_equal(got, pos < n ? at[pos] : NULL);
		if (!got) {
			misses++;
			qv_match_cancel(m, &r);
			continue;
		}
		n--;
		memmove(&at[pos], &at[pos + 1], (n - pos) * sizeof(at[0]));
		at[n] = got;
	}
	assert_in_range(misses, ROUNDS / 50, ROUNDS);
	assert_int_equal(q->mode, QV_AUTO_LIST);
	qv_match_destroy(m);
}

/* Of two indexes the first goes: the one that is left has links of its own, not the first one's. */
static void test_second_index_stays(void **state)
{
	enum { N = 1000, ROUNDS = 100000 };
	static struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < N; i++)
		queue(m, &msg[i], i, i % 61);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t i = draw(N);
		uint64_t ignore = draw(2) ? UINT64_C(0xffff00000000) : 0;

		assert_ptr_equal(post_for(m, i, ignore, i % 61), &msg[i]);
		queue(m, &msg[i], i, i % 61);
	}
	qv_match_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wildcards_on_unexpected),
		cmocka_unit_test(test_idle_index_goes),
		cmocka_unit_test(test_rare_classes),
		cmocka_unit_test(test_spare_index_goes),
		cmocka_unit_test(test_short_queue_in_order),
		cmocka_unit_test(test_short_queue_is_walked),
		cmocka_unit_test(test_two_classes_of_few),
		cmocka_unit_test(test_few_are_scanned),
		cmocka_unit_test(test_trials_are_rare),
		cmocka_unit_test(test_second_index_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
