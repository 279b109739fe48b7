/* SPDX-License-Identifier: BSD-2-Clause */
/* test_auto.c - structure auto: bounds on work, memory and changes of form. */
#include "tests/match/model/auto_kit.h"

/* An odd number's inverse modulo 2^64. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a;

	for (int i = 0; i < 6; i++)
		x *= 2 - a * x;
	return x;
}

/* Keys as programs have them, i = 0, 1, ...: communicator above the tag, runs, grids, strides. */
static uint64_t family_tag(int family, uint64_t i)
{
	switch (family) {
	case 0: return i;
	case 1: return i << 32 | i;
	case 2: return i << 34;
	case 3: return i / 64 << 34 | i % 64;
	case 4: return i % 100 << 48 | i / 100;
	case 5: return i << 44;
	case 6: return i * 4096;
	default: return 7;
	}
}

/* The hash spreads them: less than two comparisons for each match. */
static void test_hash_spreads(void **state)
{
	struct qv_recv *r = calloc(DEEP, sizeof(*r));

	for (int family = 0; family < 16; family++) {
		struct heap h;
		struct qv_match *m = create_plain(&h);
		uint64_t before;

		qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
		for (uint32_t i = 0; i < DEEP; i++)
			post(m, &r[i], family_tag(family / 2, i), 0,
			     family >= 14 ? i
			     : family % 2 ? i % 61
					  : 3);
		before = inspected(m);
		for (uint64_t i = 0; i < DEEP; i++) {
			const struct qv_recv *one = &r[i * 7919 % DEEP];

			assert_ptr_equal(qv_match_arrive(m, one->tag, one->src), one);
		}
		assert_true(inspected(m) - before < 2 * DEEP);
		qv_match_destroy(m);
	}
	free(r);
}

/* Tags chosen to share one bucket of any table. */
static void test_flooding(void **state)
{
	uint64_t inv = inverse(QV_MUL_TAG);
	struct qv_recv *r = calloc(DEEP, sizeof(*r));
	struct qv_msg *msg = calloc(DEEP, sizeof(*msg));
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint64_t i = 0; i < DEEP; i++)
		post(m, &r[i], i * inv, 0, 0);
	for (uint64_t i = DEEP; i-- > 0;)
		assert_ptr_equal(qv_match_arrive(m, i * inv, 0), &r[i]);
	/* The list is walked until the debt is due: some lengths of the queue; then a few each. */
	assert_in_range(inspected(m), DEEP, 20 * DEEP);
	for (uint64_t i = 0; i < DEEP; i++)
		queue(m, &msg[i], i * inv, 0);
	for (uint64_t i = DEEP; i-- > 0;)
		assert_ptr_equal(post_for(m, i * inv, 0, 0), &msg[i]);
	assert_in_range(inspected(m), 2 * DEEP, 40 * DEEP);
	qv_match_destroy(m);
	free(r);
	free(msg);
}

/* The same against a queue that is in HASH from the beginning: the hash changes under way. */
static void test_flooding_in_hash(void **state)
{
	enum { N = 2000 };
	uint64_t inv = inverse(QV_MUL_TAG);
	static struct qv_recv r[N];
	static struct qv_msg msg[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_HASH);
	qv_auto_hold(m);
	for (uint64_t i = 0; i < N; i++) {
		post(m, &r[i], i * inv, 0, 0);
		queue(m, &msg[i], i * inv, 1);
	}
	assert_true(inspected(m) < 8 * N);
	for (uint64_t i = N; i-- > 0;) {
		assert_ptr_equal(qv_match_arrive(m, i * inv, 0), &r[i]);
		assert_ptr_equal(post_for(m, i * inv, 0, 1), &msg[i]);
	}
	assert_true(inspected(m) < 16 * N);
	qv_match_destroy(m);
}

/* MPI receives ignore a protocol bit and are exact all the same; any-source and any-tag ones are
 * mixed in. Random order at depth must cost a few comparisons each. */
static void test_protocol_bits(void **state)
{
	const uint64_t p = UINT64_C(1) << 32, any_tag = p | 0x7fffffff;
	struct qv_recv *r = calloc(DEEP, sizeof(*r));
	struct heap h;
	struct qv_match *m = create_plain(&h);
	uint64_t before;

	for (uint32_t i = 0; i < DEEP; i++) {
		if (i % 10 == 0)
			post(m, &r[i], 0, any_tag, 1000000 + i);
		else
			post(m, &r[i], i, p, i % 10 == 1 ? QV_SRC_ANY : i % 61);
	}
	before = inspected(m);
	for (uint32_t n = 0; n < 5 * DEEP; n++) {
		uint32_t i = draw(DEEP), src = i % 10 ? i % 61 : 1000000 + i;

		assert_ptr_equal(qv_match_arrive(m, i | (n % 2 ? p : 0), src), &r[i]);
		post(m, &r[i], r[i].tag, r[i].ignore, r[i].src);
	}
	assert_true(inspected(m) - before < 3 * 5 * DEEP + 8 * DEEP);
	assert_in_range(flips(m), 1, 3);
	qv_match_destroy(m);
	free(r);
}

/* Masks that hold all indexes with one receive each, then one mask that dominates: it must get an
 * index in the end. */
static void test_popular_mask_comes_late(void **state)
{
	struct qv_recv *r = calloc(DEEP, sizeof(*r)), odd[QV_N_CLASSES];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	uint64_t before = 0;

	for (uint32_t i = 0; i < QV_N_CLASSES; i++)
		post(m, &odd[i], UINT64_MAX, UINT64_C(3) << i, 7);
	qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
	for (uint32_t i = 0; i < DEEP; i++)
		post(m, &r[i], i, UINT64_C(1) << 50, 1);
	for (int round = 0; round < 4; round++) {
		before = inspected(m);
		for (uint32_t n = 0; n < DEEP; n++) {
			uint32_t i = draw(DEEP);

			assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
			post(m, &r[i], r[i].tag, r[i].ignore, r[i].src);
		}
	}
	assert_true(inspected(m) - before < 4 * DEEP);
	for (uint32_t i = 0; i < QV_N_CLASSES; i++)
		assert_ptr_equal(qv_match_arrive(m, UINT64_MAX ^ UINT64_C(3) << i, 7), &odd[i]);
	/* One class is left: before long a receive and its message compare once. */
	for (uint32_t i = 0; i < 8 * QV_TICK; i++) {
		assert_ptr_equal(qv_match_arrive(m, r[0].tag, 1), &r[0]);
		post(m, &r[0], r[0].tag, r[0].ignore, r[0].src);
	}
	before = inspected(m);
	for (uint32_t i = 0; i < QV_TICK; i++) {
		assert_ptr_equal(qv_match_arrive(m, r[0].tag, 1), &r[0]);
		post(m, &r[0], r[0].tag, r[0].ignore, r[0].src);
	}
	assert_int_equal(inspected(m) - before, QV_TICK);
	qv_match_destroy(m);
	free(r);
}

/* A tag that holds i twice, and a mask that ignores one bit of it, in one copy or the other. */
static uint64_t twice(uint64_t i)
{
	return i | i << 12;
}

static uint64_t own_mask(uint64_t i)
{
	return i << 40 | UINT64_C(1) << i % 24;
}

/* Every receive has a mask of its own, and all together compare nothing: no class pays, no index
 * for all of them does; the vectors serve. */
static void test_all_masks_differ(void **state)
{
	enum { N = 3000 };
	struct qv_recv *r = calloc(N, sizeof(*r));
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < N; i++)
		post(m, &r[i], twice(i), own_mask(i), i % 5 ? i : QV_SRC_ANY);
	for (uint32_t n = 0; n < 2 * N; n++) {
		uint32_t i = draw(N);

		assert_ptr_equal(qv_match_arrive(m, twice(i), i), &r[i]);
		post(m, &r[i], r[i].tag, r[i].ignore, r[i].src);
	}
	assert_int_equal(qv_auto_of(m)->posted.mode, QV_AUTO_HASH);
	assert_true(flips(m) < 12);
	qv_match_destroy(m);
	free(r);
}

/* Two classes that hardly share keys are in one index; when keys are shared they part. */
static void test_one_index_for_two_classes(void **state)
{
	enum { N = 200 };
	struct qv_recv r[N];
	struct heap h;
	struct qv_match *m = create_plain(&h);
	uint64_t before;

	for (uint32_t i = 0; i < N; i++)
		post(m, &r[i], i, i % 2 ? 0 : UINT32_MAX, i);
	assert_ptr_equal(qv_match_arrive(m, N - 1, N - 1), &r[N - 1]);
	for (uint32_t n = 0; n < 20 * N; n++) { /* the same source twice, and more and more often */
		uint32_t i = draw(N - 1);

		assert_ptr_equal(qv_match_arrive(m, r[i].tag, r[i].src), &r[i]);
		post(m, &r[i], i % 2 ? n : 0, r[i].ignore, i % 2 ? 1000 : i);
	}
	before = inspected(m);
	for (uint32_t n = 0; n < N - 1; n++) {
		assert_ptr_equal(qv_match_arrive(m, r[n].tag, r[n].src), &r[n]);
		post(m, &r[n], r[n].tag, r[n].ignore, r[n].src);
	}
	assert_true(inspected(m) - before < 4 * N);
	qv_match_destroy(m);
}

/* Half of the matches at the head, half anywhere: the form must come to rest. */
static void test_no_flip_flop(void **state)
{
	enum { DEPTH = 100, OPS = 200000 };
	struct qv_recv r[DEPTH];
	uint32_t order[DEPTH];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < DEPTH; i++) {
		order[i] = i;
		post(m, &r[i], i, 0, 1);
	}
	for (uint32_t n = 0; n < OPS; n++) {
		uint32_t k = n % 2 ? 0 : draw(DEPTH), i = order[k];

		assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
		memmove(order + k, order + k + 1, (DEPTH - 1 - k) * sizeof(*order));
		order[DEPTH - 1] = i;
		post(m, &r[i], i, 0, 1);
	}
	assert_in_range(flips(m), 1, 40);
	qv_match_destroy(m);
}

/* Traffic that needs the index and then does not: the list comes back. */
static void test_list_comes_back(void **state)
{
	struct qv_recv r[64];
	struct heap h;
	struct qv_match *m = create_plain(&h);

	for (uint32_t i = 0; i < 64; i++)
		post(m, &r[i], i, 0, 1);
	for (uint32_t n = 0; n < 1000; n++) {
		uint32_t i = draw(64);

		assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
		post(m, &r[i], i, 0, 1);
	}
	assert_int_equal(qv_auto_of(m)->posted.mode, QV_AUTO_HASH);
	for (uint32_t i = 0; i < 64; i++)
		assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
	for (uint32_t n = 0; n < 10000; n++) {
		post(m, &r[0], 5, 0, 1);
		assert_ptr_equal(qv_match_arrive(m, 5, 1), &r[0]);
	}
	assert_int_equal(qv_auto_of(m)->posted.mode, QV_AUTO_LIST);
	qv_match_destroy(m);
}

/* Memory follows the length of the queue, up and down; steady traffic allocates nothing. */
static void test_memory(void **state)
{
	enum { N = 100000 };
	struct qv_recv *r = calloc(N, sizeof(*r));
	struct heap h;
	struct qv_match *m = create_plain(&h);
	unsigned long calls;
	size_t empty = qv_match_memory(m);

	assert_true(empty < 8192);
	for (uint32_t i = 0; i < N; i++)
		post(m, &r[i], i, 0, 1);
	qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
	assert_true(qv_match_memory(m) - empty < (size_t)N * 64);
	for (uint32_t i = 0; i < N; i++)
		assert_ptr_equal(qv_match_arrive(m, (i * 7919ul) % N, 1), &r[(i * 7919ul) % N]);
	for (uint32_t n = 0; n < 4 * N; n++) {
		post(m, &r[0], n, 0, 1);
		assert_ptr_equal(qv_match_arrive(m, n, 1), &r[0]);
	}
	assert_true(qv_match_memory(m) < 64 * 1024);
	/* The same where the queue stays in HASH. */
	for (uint32_t i = 0; i < N; i++)
		post(m, &r[i], i, 0, 1);
	qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
	for (uint32_t i = 32; i < N; i++)
		assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
	for (uint32_t n = 0; n < 4 * N; n++) {
		uint32_t i = draw(32);

		assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
		post(m, &r[i], i, 0, 1);
		if (n % 1024 == 0)
			qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
	}
	assert_true(qv_match_memory(m) < 64 * 1024);
	for (uint32_t i = 0; i < 32; i++)
		assert_ptr_equal(qv_match_arrive(m, i, 1), &r[i]);
	for (uint32_t n = 0; n < 4 * N; n++) {
		post(m, &r[0], n, 0, 1);
		assert_ptr_equal(qv_match_arrive(m, n, 1), &r[0]);
	}
	calls = h.calls;
	for (uint32_t n = 0; n < N; n++) {
		post(m, &r[0], n, 0, 1);
		assert_ptr_equal(qv_match_arrive(m, n, 1), &r[0]);
	}
	assert_int_equal(h.calls, calls);
	qv_match_destroy(m);
	free(r);
}

/* Memory runs out at the k-th allocation, for each k, and stays out: what has been queued is still
 * matched in order, and what is refused is left as it was. */
static void run_out_at(unsigned long k, enum qv_auto_mode mode)
{
	enum { N = 700 };
	static struct qv_recv r[N];
	static struct qv_msg msg[N];
	static const uint64_t masks[3] = {0, 0xff, UINT64_C(1) << 40};
	struct heap h;
	struct qv_match *m = create_plain(&h);
	int recvs = 0, msgs = 0;

	h.fail_from = h.calls + k;
	for (int i = 0; i < N; i++) {
		struct qv_msg *got = (void *)m;

		r[recvs] = (struct qv_recv){.tag = (uint64_t)recvs << 8,
					    .ignore = masks[recvs % 3] | (uint64_t)recvs << 48,
					    .src = 1};
		if (qv_match_post(m, &r[recvs], &got) == QV_OK)
			recvs++;
		else
			assert_ptr_equal(got, m); /* outputs only on success */
		msg[msgs] = (struct qv_msg){.tag = (uint64_t)msgs << 8 | 1, .src = 2};
		if (qv_match_queue(m, &msg[msgs]) == QV_OK)
			msgs++;
		if (i % 100 == 0)
			qv_auto_force(m, mode, mode);
	}
	assert_in_range(recvs, 1, N); /* in HASH each new class needs memory */
	assert_in_range(msgs, 64, N);
	for (int i = recvs - 1; i > 0; i -= 2)
		assert_ptr_equal(qv_match_arrive(m, (uint64_t)i << 8, 1), &r[i]);
	for (int i = 0; i < msgs; i++)
		assert_ptr_equal(qv_match_peek(m, (uint64_t)i << 8, i % 2 ? 1 : 3, 2), &msg[i]);
	for (struct qv_msg *at = NULL, *want = msg; want < msg + msgs; want++) {
		at = qv_match_next_msg(m, at);
		assert_ptr_equal(at, want);
	}
	qv_match_destroy(m);
}

static void test_out_of_memory(void **state)
{
	for (unsigned long k = 1; k < 40; k++) {
		run_out_at(k, QV_AUTO_LIST);
		run_out_at(k, QV_AUTO_HASH);
	}
}

static void test_create_out_of_memory(void **state)
{
	struct qv_match_tuning t = {.first_seq = 0};
	struct heap h;
	struct qv_match *m;

	qv_match_destroy(create(&h, &t));
	for (unsigned long k = 1, needed = h.calls; k <= needed; k++) {
		memset(&h, 0, sizeof(h));
		h.fail_from = k;
		assert_int_equal(qv_match_create_tuned(NULL, &t, &m), QV_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_spreads),
		cmocka_unit_test(test_flooding),
		cmocka_unit_test(test_flooding_in_hash),
		cmocka_unit_test(test_protocol_bits),
		cmocka_unit_test(test_popular_mask_comes_late),
		cmocka_unit_test(test_all_masks_differ),
		cmocka_unit_test(test_one_index_for_two_classes),
		cmocka_unit_test(test_no_flip_flop),
		cmocka_unit_test(test_list_comes_back),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_create_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
