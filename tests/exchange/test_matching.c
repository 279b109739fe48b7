/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_matching.c - ranks that find groups by talking to each other, words on their way for any
 * time, find those that one finds who takes the first possible one again and again: on random
 * groups, and on grids, where all have as much in common.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/neighbor/neighbor.h"

#include "graph_case.h"

#define RANKS 64
#define WORDS (1 << 16)

struct word {
	uint32_t from, to;
	enum qv_match_word word;
	struct qv_friends group;
};

static struct qv_matching *matchings[RANKS];
static uint32_t numbers[RANKS];
static struct word words[WORDS]; /* on their way, in the order in which they were sent */
static size_t words_n;
static uint32_t drops[RANKS][RANKS];
static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (uint32_t)((state >> 20) % n);
}

static void say(void *context, uint32_t to, enum qv_match_word word, const struct qv_friends *group)
{
	const uint32_t from = *(uint32_t *)context;

	assert_true(words_n < WORDS && to != from);
	words[words_n++] = (struct word){from, to, word, *group};
	if (word == QV_MATCH_DROP)
		assert_int_equal(drops[from][to]++, 0); /* once is enough */
}

/* Some word; from one rank to another they come in order. */
static void deliver(void)
{
	size_t at = draw((uint32_t)words_n);
	struct word w;

	for (size_t i = 0; i < at; i++)
		if (words[i].from == words[at].from && words[i].to == words[at].to)
			at = i;
	w = words[at];
	memmove(&words[at], &words[at + 1], (words_n - at - 1) * sizeof(words[0]));
	words_n--;
	qv_matching_hear(matchings[w.to], w.from, w.word, &w.group);
}

static int has(const struct qv_friends *group, uint32_t k, uint32_t rank)
{
	for (uint32_t i = 0; i < k; i++)
		if (group->ranks[i] == rank)
			return 1;
	return 0;
}

static void open_all(const struct qv_friends_list *list, uint32_t n, uint32_t k)
{
	struct qv_friends *mine = calloc(list->n + 1, sizeof(*mine));

	memset(drops, 0, sizeof(drops));
	words_n = 0;
	for (uint32_t r = 0; r < n; r++) {
		size_t count = 0;

		for (size_t i = 0; i < list->n; i++)
			if (has(&list->at[i], k, r))
				mine[count++] = list->at[i];
		for (size_t i = 1; i < count; i++) { /* in any order */
			const size_t j = draw((uint32_t)i + 1);
			const struct qv_friends was = mine[i];

			mine[i] = mine[j];
			mine[j] = was;
		}
		numbers[r] = r;
		assert_int_equal(
			qv_matching_create(r, k, mine, count, say, &numbers[r], &matchings[r]),
			QV_OK);
	}
	free(mine);
}

static void compare(struct qv_friends_list *list, uint32_t n, uint32_t k)
{
	const struct qv_crowd crowd = {.ranks = n, .k = k};
	struct qv_friends group;
	size_t taken;

	open_all(list, n, k);
	for (uint32_t r = 0; r < n; r++) {
		qv_matching_start(matchings[r]);
		while (words_n && draw(3))
			deliver(); /* some begin late */
	}
	while (words_n)
		deliver();
	assert_int_equal(qv_friends_match(&crowd, list, &taken), QV_OK);
	for (uint32_t r = 0; r < n; r++) {
		const struct qv_friends *want = NULL;
		const int rc = qv_matching_result(matchings[r], &group);

		for (size_t i = 0; i < taken; i++)
			if (has(&list->at[i], k, r))
				want = &list->at[i];
		assert_int_equal(rc, want ? QV_OK : QV_ENOENT);
		if (want)
			assert_int_equal(qv_friends_order(want, &group, k), 0);
		qv_matching_free(matchings[r]);
	}
}

static void draw_groups(struct qv_friends_list *list, uint32_t n, uint32_t k)
{
	list->n = draw(5 * n);
	for (size_t i = 0; i < list->n; i++) {
		struct qv_friends g = {.weight = 3 + draw(3)};
		uint32_t at = 0;

		for (uint32_t r = 0; r < n && at < k; r++)
			if (draw(n - r) < k - at)
				g.ranks[at++] = r;
		list->at[i] = g;
		for (size_t j = 0; j < i; j++)
			if (!memcmp(list->at[j].ranks, g.ranks, sizeof(g.ranks))) {
				i--; /* it is there */
				list->n--;
				break;
			}
	}
}

static void test_random(void **unused)
{
	struct qv_friends at[400];
	struct qv_friends_list list = {at, 0, 400};

	for (int i = 0; i < 1500; i++) {
		const uint32_t n = 6 + draw(13), k = 2 + draw(3);

		draw_groups(&list, n, k);
		compare(&list, n, k);
	}
}

/* All have the same number of neighbours in common with many. */
static void stencil(uint32_t dims, uint32_t side, uint32_t r, uint32_t k)
{
	struct qv_friends_list list = {0};
	struct qv_graph_case c;
	struct qv_crowd crowd;

	qv_graph_moore(&c, dims, side, r, 1, 0, 16);
	crowd = (struct qv_crowd){.ranks = c.graph.ranks,
				  .k = k,
				  .least = k,
				  .node = c.node,
				  .words = (c.graph.ranks + 63) / 64};
	crowd.active = calloc(crowd.ranks, crowd.words * sizeof(*crowd.active));
	for (uint32_t a = 0; a < crowd.ranks; a++)
		for (uint32_t i = 0; i < c.graph.out_n[a]; i++)
			qv_active(&crowd, a)[c.graph.out[a][i] / 64] |= UINT64_C(1)
									<< c.graph.out[a][i] % 64;
	assert_int_equal(qv_friends_find(&crowd, &list), QV_OK);
	assert_true(list.n > 0);
	for (int i = 0; i < 20; i++) {
		for (size_t j = 0; j < list.n; j++)
			list.at[j].weight = i % 2 ? 7 : list.at[j].weight;
		compare(&list, crowd.ranks, k);
		assert_int_equal(qv_friends_find(&crowd, &list), QV_OK);
	}
	free(list.at);
	free(crowd.active);
	qv_graph_close(&c);
}

static void test_stencils(void **unused)
{
	stencil(2, 8, 2, 2);
	stencil(2, 8, 2, 3);
	stencil(2, 8, 3, 4);
	stencil(1, 40, 6, 2);
	stencil(3, 4, 1, 2);
}

static void test_bad_input(void **unused)
{
	const struct qv_friends others = {1, {2, 3}}, turned = {1, {3, 1}}, good = {1, {1, 3}};
	struct qv_matching *m = NULL;

	assert_int_equal(qv_matching_create(1, 2, &others, 1, say, &numbers[1], &m), QV_EINVAL);
	assert_int_equal(qv_matching_create(1, 2, &turned, 1, say, &numbers[1], &m), QV_EINVAL);
	assert_int_equal(qv_matching_create(1, 1, &good, 1, say, &numbers[1], &m), QV_EINVAL);
	assert_int_equal(qv_matching_create(1, 17, &good, 1, say, &numbers[1], &m), QV_EINVAL);
	assert_null(m);
	numbers[1] = 1;
	assert_int_equal(qv_matching_create(1, 2, &good, 1, say, &numbers[1], &m), QV_OK);
	assert_int_equal(qv_matching_result(m, NULL), QV_EAGAIN);
	/* Of a group that is not ours, or from nobody in it. */
	qv_matching_hear(m, 2, QV_MATCH_REQUEST, &others);
	qv_matching_hear(m, 2, QV_MATCH_REQUEST, &good);
	qv_matching_start(m);
	assert_int_equal(qv_matching_result(m, NULL), QV_EAGAIN);
	qv_matching_hear(m, 3, QV_MATCH_DROP, &others);
	assert_int_equal(qv_matching_result(m, NULL), QV_ENOENT);
	qv_matching_free(m);
	qv_matching_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
					   cmocka_unit_test(test_stencils),
					   cmocka_unit_test(test_bad_input)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
