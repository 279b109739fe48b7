/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ways.c - structure auto: posted receives of several classes. */
#include "tests/match/model/auto_kit.h"

#define WILD UINT64_C(0xffff) /* ignored by any-tag receives */

static struct qv_recv *arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	return qv_match_arrive(m, tag, src);
}

/* Take one of the n receives and post it again, often enough for the upkeep to see what is going
 * on. Receive i names its tag i << 16 and source i, or ignores the low bits and names no source. */
static void traffic(struct qv_match *m, struct qv_recv *r, uint32_t n, uint32_t wild_from)
{
	for (uint32_t k = 0; k < 40 * QV_TICK; k++) {
		uint32_t i = draw(n);

		assert_ptr_equal(arrive(m, (uint64_t)i << 16, i), &r[i]);
		if (i < wild_from)
			post(m, &r[i], (uint64_t)i << 16, 0, i);
		else
			post(m, &r[i], (uint64_t)i << 16, WILD, QV_SRC_ANY);
	}
}

static struct qv_match *fill(struct heap *h, struct qv_recv *r, uint32_t n, uint32_t wild_from)
{
	struct qv_match *m = create_plain(h);

	qv_auto_hold(m);
	qv_auto_of(m)->posted.policy.apart = UINT32_MAX; /* no index of all classes */
	for (uint32_t i = 0; i < n; i++) {
		if (i < wild_from)
			post(m, &r[i], (uint64_t)i << 16, 0, i);
		else
			post(m, &r[i], (uint64_t)i << 16, WILD, QV_SRC_ANY);
	}
	qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_LIST);
	traffic(m, r, n, wild_from);
	return m;
}

/* Most receives are of one class. When they are gone its index may become that of another. */
static void test_dominant_class(void **state)
{
	enum { N = 200, WILD_FROM = 190, EACH = 6 };
	struct qv_recv r[N], new[EACH * QV_N_CLASSES];
	struct heap h;
	struct qv_match *m = fill(&h, r, N, WILD_FROM);
	uint32_t n = 0;

	for (uint32_t i = 0; i < WILD_FROM; i++)
		assert_ptr_equal(arrive(m, (uint64_t)i << 16, i), &r[i]);
	for (uint32_t c = 1; c <= QV_N_CLASSES; c++) {
		for (uint32_t i = 0; i < EACH; i++, n++)
			post(m, &new[n], UINT64_C(1) << 60 | (uint64_t)n << 8, (1u << c) - 1, 7);
		assert_ptr_equal(arrive(m, UINT64_C(1) << 60 | (uint64_t)(n - 1) << 8 | 1, 7),
				 &new[n - 1]);
	}
	for (uint32_t i = 0; i < n; i++)
		if (i % EACH != EACH - 1)
			assert_ptr_equal(arrive(m, UINT64_C(1) << 60 | (uint64_t)i << 8 | 1, 7),
					 &new[i]);
	for (uint32_t i = WILD_FROM; i < N; i++)
		assert_ptr_equal(arrive(m, (uint64_t)i << 16 | 3, 1), &r[i]);
	assert_null(arrive(m, 0, 0));
	qv_match_destroy(m);
}

/* Many of both classes: what one index has in the key's bucket says nothing of the other. */
static void test_collisions(void **state)
{
	enum { N = 1024 };
	struct qv_recv r[N], twice, sticky;
	struct heap h;
	struct qv_match *m = fill(&h, r, N, N / 2);

	post(m, &twice, UINT64_C(5) << 16, WILD, QV_SRC_ANY); /* the exact one is older */
	assert_ptr_equal(arrive(m, UINT64_C(5) << 16, 5), &r[5]);
	assert_ptr_equal(arrive(m, UINT64_C(5) << 16, 5), &twice);
	assert_null(arrive(m, UINT64_C(5) << 16, 5));
	post(m, &twice, UINT64_C(5) << 16, WILD, QV_SRC_ANY); /* and now younger */
	post(m, &r[5], UINT64_C(5) << 16, 0, 5);
	assert_ptr_equal(arrive(m, UINT64_C(5) << 16, 5), &twice);
	assert_ptr_equal(arrive(m, UINT64_C(5) << 16, 5), &r[5]);
	sticky = (struct qv_recv){.tag = UINT64_C(5) << 16, .src = 5, .flags = QV_RECV_STICKY};
	assert_int_equal(qv_match_post(m, &sticky, &(struct qv_msg *){NULL}), QV_OK);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(arrive(m, UINT64_C(5) << 16, 5), &sticky);
	qv_match_cancel(m, &sticky);
	for (uint32_t i = 0; i < N; i++)
		if (i != 5)
			assert_ptr_equal(arrive(m, (uint64_t)i << 16, i), &r[i]);
	assert_null(arrive(m, 0, 0));
	qv_match_destroy(m);
}

/* n keys: tags count up from 0, each `step` at bit `shift`, and each for as many sources. */
struct keys {
	uint32_t n, sources;
	unsigned int shift;
	uint64_t step;
};

/* Those of them whose bucket of 2^log has one already. */
static uint32_t beside(const struct keys *k, unsigned int log)
{
	const struct qv_index ix = {
		.keep = UINT64_MAX, .src_keep = UINT32_MAX, .shift = (uint16_t)(64 - log)};
	char *used = calloc((size_t)1 << log, 1);
	uint32_t sum = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		uint64_t tag = i / k->sources * k->step << k->shift;
		uint64_t at = qv_index_quick_place(&ix, tag, i % k->sources);

		sum += (uint32_t)used[at];
		used[at] = 1;
	}
	free(used);
	return sum;
}

/* Tags and contexts that count up, in steps or for several sources, share buckets no more often
 * than keys at random. */
static void test_runs_spread(void **state)
{
	static const struct {
		uint32_t n, log, chance; /* of 1000 */
	} sizes[] = {{1000, 11, 213},
		     {5000, 14, 138},
		     {10000, 15, 138},
		     {3333, 13, 176},
		     {1024, 12, 115}};
	static const struct keys kinds[] = {
		{.sources = 1, .shift = 0, .step = 1},  {.sources = 1, .shift = 24, .step = 1},
		{.sources = 1, .shift = 32, .step = 1}, {.sources = 1, .shift = 0, .step = 10},
		{.sources = 4, .shift = 0, .step = 1},  {.sources = 32, .shift = 0, .step = 1},
		{.sources = 256, .shift = 0, .step = 1}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct keys keys = kinds[k];

			keys.n = sizes[i].n;
			assert_in_range(beside(&keys, sizes[i].log), 0,
					keys.n * sizes[i].chance / 1000);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_spread),
		cmocka_unit_test(test_dominant_class),
		cmocka_unit_test(test_collisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
