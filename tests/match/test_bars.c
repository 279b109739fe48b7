/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bars.c - what faithful implementations of the structures from the literature must
 * show, and where it is shown.
 *
 * Each structure gives the oracle's matches, 10^6 random operations and more, wildcards at 0, 10 and
 * 50 %: match.random.* (10^5), match.random-long.* (10^7), match.fuzz.*
 *
 * col: two calls of one operation under way, of different kinds, same source and tag; routing by
 * kind fails, ours does not: test_structs.c, test_col_order (the queue); test_two_calls below (the
 * engine, both queues, all col structures)
 *
 * lla: holes, blocks given back in whatever order entries leave, the scenario of nine slots:
 * test_structs.c, test_lla_holes and test_lla_frees_blocks; llv's blocks: test_llv_frees_blocks below
 *
 * llv: a search begins at a whole vector of entries, 24 in and 8 out: still 0, 10 more out: 16:
 * test_structs.c, test_llv_start
 *
 * pnp: at most c * sqrt(N) partners; col: at most k * sqrt(n) lists, 32, 45 and 64 of them for the
 * root of a gather: test_structs.c, test_pnp_cap, test_pnp_below_threshold, test_col_cap,
 * test_col_levels, test_col_two_operations
 *
 * clu: perfect hash, no false hit, no miss, over all sources: test_profile.c, test_perfect_hash; with
 * several contexts test_perfect_hash_of_contexts below; clusters by the heuristic, how many, how full:
 * test_profile.c, test_heuristic_clusters
 *
 * hash without wildcards and nm with them are the oracle's: match.random.*; a wildcard receive under
 * the hints is refused: test_settings.c, test_hints, and match.fuzz.*; with a line for the user:
 * tests/fabric/objects/assertion.c; hints by the environment: there, and tests/cli/test_settings.py
 *
 * hash and nm: the four paths cost the look-ups that the method says: test_four_paths below; shuffle
 * and burst are right in all structures: test_shuffle_and_burst below. Their times are what
 * `quiver bench match` is for. docs/coverage.md has all of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/match/literature/phash.h"
#include "tests/match/model/settings.h"

#define N 1000

static struct qv_recv recvs[4 * N];
static struct qv_msg msgs[4 * N];

static struct qv_match *create(const char *structure)
{
	struct qv_match_settings s;
	struct qv_match *m;

	qv_settings_for(&s, structure);
	assert_int_equal(qv_match_create(&s, &m), QV_OK);
	return m;
}

static struct qv_msg *post(struct qv_match *m, int i, uint64_t tag, uint32_t src)
{
	struct qv_msg *got = NULL;

	recvs[i] = (struct qv_recv){.tag = tag, .src = src};
	assert_int_equal(qv_match_post(m, &recvs[i], &got), QV_OK);
	return got;
}

static struct qv_recv *arrive(struct qv_match *m, int i, uint64_t tag, uint32_t src)
{
	struct qv_recv *got = qv_match_arrive(m, tag, src);

	msgs[i] = (struct qv_msg){.tag = tag, .src = src};
	if (!got)
		assert_int_equal(qv_match_queue(m, &msgs[i]), QV_OK);
	return got;
}

/* Traffic of one operation that makes a structure give it lists of its own: searches go deep. */
static void give_lists(struct qv_match *m, uint64_t tag)
{
	for (int i = 0; i < N; i++)
		assert_null(arrive(m, i, tag, (uint32_t)i));
	for (int i = N; i-- > 0;)
		assert_ptr_equal(post(m, 0, tag, (uint32_t)i), &msgs[i]);
	for (int i = 0; i < N; i++)
		assert_null(post(m, i, tag, (uint32_t)i));
	for (int i = N; i-- > 0;)
		assert_ptr_equal(arrive(m, 0, tag, (uint32_t)i), &recvs[i]);
}

/*
 * Each call of an operation uses the same tag. Messages of a first and a second call wait, each
 * call of a kind (size, number of ranks) not seen before in turn; the receives must get them in
 * order. The same with receives waiting.
 */
static void test_two_calls(void **state)
{
	static const char *const structures[] = {"col", "col-ll", "col-pnp", "col:llv,k=1",
						 "col-pnp:lla,t=8,k=2"};
	/* Collective bit, and one operation of qv_settings_for. */
	const uint64_t tag = UINT64_C(1) << 40 | UINT64_C(1) << 41;

	for (size_t k = 0; k < sizeof(structures) / sizeof(structures[0]); k++) {
		struct qv_match *m = create(structures[k]);

		for (int kind = 0; kind < 4; kind++) {
			for (int call = 0; call < 3; call++)
				for (int src = 0; src < 40 << kind; src++)
					assert_null(arrive(m, call * N + src, tag, (uint32_t)src));
			for (int call = 0; call < 3; call++)
				for (int src = (40 << kind) - 1; src >= 0; src--)
					assert_ptr_equal(post(m, 0, tag, (uint32_t)src),
							 &msgs[call * N + src]);
			for (int call = 0; call < 3; call++)
				for (int src = 0; src < 40 << kind; src++)
					assert_null(post(m, call * N + src, tag, (uint32_t)src));
			for (int call = 0; call < 3; call++)
				for (int src = (40 << kind) - 1; src >= 0; src--)
					assert_ptr_equal(arrive(m, 0, tag, (uint32_t)src),
							 &recvs[call * N + src]);
		}
		/* And with messages of a call from before the lists were there. */
		for (int src = 0; src < 40; src++)
			assert_null(arrive(m, 2 * N + src, tag, (uint32_t)src));
		give_lists(m, tag | UINT64_C(1) << 42);
		for (int src = 0; src < 40; src++)
			assert_null(arrive(m, 3 * N + src, tag, (uint32_t)src));
		for (int call = 2; call < 4; call++)
			for (int src = 39; src >= 0; src--)
				assert_ptr_equal(post(m, 0, tag, (uint32_t)src),
						 &msgs[call * N + src]);
		qv_match_destroy(m);
	}
}

static int next_to_remove(int how, int i, int n)
{
	switch (how) {
	case 0: return i;
	case 1: return n - 1 - i;
	case 2: return i % 2 ? (n + i) / 2 : (n - 1 - i) / 2; /* from the middle outward */
	default: return (int)((long)i * 7919 % n);
	}
}

/* However entries leave, the blocks of llv go with them: half of the entries never hold more than
 * all did, a few of them no more than a few blocks. */
static void test_llv_frees_blocks(void **state)
{
	for (int how = 0; how < 4; how++) {
		struct qv_match *m = create("llv");
		size_t empty = qv_match_memory(m), block, full;

		assert_null(post(m, 0, 0, 1));
		block = qv_match_memory(m) - empty;
		for (int i = 1; i < N; i++)
			assert_null(post(m, i, (uint64_t)i, 1));
		full = qv_match_memory(m);
		assert_in_range(full - empty, N / 64 * block, (N / 64 + 2) * block);
		for (int i = 0; i < N; i++) {
			qv_match_cancel(m, &recvs[next_to_remove(how, i, N)]);
			assert_true(qv_match_memory(m) <= full + block);
			/* Blocks are merged below three quarters of one in two. */
			if (i == N * 9 / 10)
				assert_true(qv_match_memory(m) - empty <= 8 * block);
		}
		assert_null(qv_match_next_recv(m, NULL));
		assert_true(qv_match_memory(m) - empty <= 2 * block);
		qv_match_destroy(m);
	}
}

/* Sources of several contexts: source + N * context, of which every seventh is in the set. */
static void test_perfect_hash_of_contexts(void **state)
{
	enum { SOURCES = 1024, CONTEXTS = 5, STEP = 7 };
	static struct qv_phash_cell v[SOURCES * CONTEXTS / STEP + 1];
	struct qv_mem mem = {0};
	struct qv_phash h;
	uint32_t n = 0;

	for (uint32_t key = 3; key < SOURCES * CONTEXTS; key += STEP)
		v[n++] = (struct qv_phash_cell){key, key * 2};
	assert_int_equal(qv_phash_build(&h, &mem, v, n), QV_OK);
	for (uint32_t key = 0; key < SOURCES * CONTEXTS; key++)
		assert_int_equal(qv_phash_get(&h, key, 1), key % STEP == 3 ? key * 2 : 1);
	qv_phash_free(&h, &mem);
	assert_int_equal(mem.bytes, 0);
}

static uint64_t inspected(const struct qv_match *m)
{
	struct qv_match_stats s;

	qv_match_get_stats(m, &s);
	return s.inspected;
}

/* Contexts, tags and sources as in the paper: even, no wildcards, each key once. */
static uint64_t path_tag(int i)
{
	return (uint64_t)(i % 101) << 32 | (uint64_t)i * 7 % 101;
}

static uint32_t path_src(int i)
{
	return (uint32_t)i * 3 % 501;
}

/*
 * Receives that miss, messages that hit, messages that miss, receives that hit: how many entries
 * each path compares, on average. One table: nothing, or the one that fits; a little more where two
 * keys share a bucket. Four tables: a message that misses meets an older one in the table in which
 * all keys are equal, and those that share its source or its tag.
 */
static void check_four_paths(const char *structure, double hit, double post_miss,
			     double arrive_miss, int tables)
{
	struct qv_match *m = create(structure);
	uint64_t at[5];

	at[0] = inspected(m);
	for (int i = 0; i < N; i++)
		assert_null(post(m, i, path_tag(i), path_src(i)));
	at[1] = inspected(m);
	for (int i = 0; i < N; i++)
		assert_ptr_equal(arrive(m, 0, path_tag(i), path_src(i)), &recvs[i]);
	at[2] = inspected(m);
	for (int i = 0; i < N; i++)
		assert_null(arrive(m, i, path_tag(i), path_src(i)));
	at[3] = inspected(m);
	for (int i = 0; i < N; i++)
		assert_ptr_equal(post(m, 0, path_tag(i), path_src(i)), &msgs[i]);
	at[4] = inspected(m);
	assert_true((double)(at[1] - at[0]) <= post_miss * N);
	assert_true((double)(at[2] - at[1]) <= hit * N);
	assert_true((double)(at[3] - at[2]) <= arrive_miss * N);
	assert_true((double)(at[4] - at[3]) <= hit * N);
	/* A message that is put into a table of one key for all meets the head of its list. */
	assert_true(tables < 4 || at[3] - at[2] >= N - 1);
	/* A hit compares what it takes. */
	assert_true(at[2] - at[1] >= N && at[4] - at[3] >= N);
	qv_match_destroy(m);
}

static void test_four_paths(void **state)
{
	check_four_paths("hash", 1.5, 0.5, 0.5, 1);
	check_four_paths("nm", 1.5, 0.5, 3.5, 4);
	check_four_paths("auto", 1.5, 0.5, 0.5, 1); /* in order, its head test is enough */
}

/* Receives with tags 0 to N-1, messages in the same order and in another; then the other way. */
static void test_shuffle_and_burst(void **state)
{
	for (const char *const *name = qv_match_structures(); *name; name++) {
		struct qv_match *m = create(*name);

		for (int shuffle = 0; shuffle < 2; shuffle++) {
			long step = shuffle ? 7919 : 1;

			for (int i = 0; i < N; i++)
				assert_null(post(m, i, (uint64_t)i, 1));
			for (int i = 0; i < N; i++)
				assert_ptr_equal(arrive(m, 0, (uint64_t)(i * step % N), 1),
						 &recvs[i * step % N]);
			for (int i = 0; i < N; i++)
				assert_null(arrive(m, i, (uint64_t)i, 1));
			for (int i = 0; i < N; i++)
				assert_ptr_equal(post(m, 0, (uint64_t)(i * step % N), 1),
						 &msgs[i * step % N]);
		}
		qv_match_destroy(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_calls),
		cmocka_unit_test(test_llv_frees_blocks),
		cmocka_unit_test(test_perfect_hash_of_contexts),
		cmocka_unit_test(test_four_paths),
		cmocka_unit_test(test_shuffle_and_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
