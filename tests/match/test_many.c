/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_many.c - many posts and arrivals in one call do what the same calls one by one do.
 *     test_match_many STRUCTURE
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/match/structure.h"
#include "tests/match/model/settings.h"

#define N 3000

static const char *structure;

/* One engine that is called one by one, one that is not, and their nodes. */
struct side {
	struct qv_match *m;
	struct qv_recv r[N];
	struct qv_msg msg[N];
	struct qv_msg *got[N];
	struct qv_recv *found[N];
};

static void set_up_side(struct side *s, int first)
{
	struct qv_match_settings settings;

	qv_settings_for(&settings, structure);
	assert_int_equal(qv_match_create(&settings, &s->m), QV_OK);
	for (int i = 0; i < N; i++) {
		uint32_t x = (uint32_t)(i + first) * 2654435761u >> 8;

		s->r[i] = (struct qv_recv){.tag = x % 97, .src = x / 97 % 5};
		if (x % 11 == 0)
			s->r[i].src = QV_SRC_ANY;
		if (x % 13 == 0)
			s->r[i].ignore = 0xff;
		x = (uint32_t)(i + first) * 40503u >> 3;
		s->msg[i] = (struct qv_msg){.tag = x % 97, .src = x / 97 % 5};
	}
}

static void post_each(struct side *s, int from, int n)
{
	for (int i = from; i < from + n; i++)
		assert_int_equal(qv_match_post(s->m, &s->r[i], &s->got[i]), QV_OK);
}

static void arrive_each(struct side *s, int from, int n)
{
	for (int i = from; i < from + n; i++) {
		s->found[i] = qv_match_arrive(s->m, s->msg[i].tag, s->msg[i].src);
		if (!s->found[i])
			assert_int_equal(qv_match_queue(s->m, &s->msg[i]), QV_OK);
	}
}

static void post_many(struct side *s, int from, int n)
{
	struct qv_recv *list[N];

	for (int i = 0; i < n; i++)
		list[i] = &s->r[from + i];
	assert_int_equal(qv_match_post_many(s->m, list, (size_t)n, s->got + from), n);
}

static void arrive_many(struct side *s, int from, int n)
{
	struct qv_msg *list[N];

	for (int i = 0; i < n; i++)
		list[i] = &s->msg[from + i];
	assert_int_equal(qv_match_arrive_many(s->m, list, (size_t)n, s->found + from), n);
}

static void test_same_results(void **state)
{
	static struct side one, many;
	int from = 0, n;

	set_up_side(&one, 1);
	set_up_side(&many, 1);
	for (int round = 0; from + (n = round * 37 % 211) <= N; round++, from += n) {
		if (round % 3) {
			post_each(&one, from, n);
			post_many(&many, from, n);
			arrive_each(&one, from, n);
			arrive_many(&many, from, n);
		} else {
			arrive_each(&one, from, n);
			arrive_many(&many, from, n);
			post_each(&one, from, n);
			post_many(&many, from, n);
		}
	}
	for (int i = 0; i < from; i++) {
		assert_int_equal(many.got[i] ? many.got[i] - many.msg : -1,
				 one.got[i] ? one.got[i] - one.msg : -1);
		assert_int_equal(many.found[i] ? many.found[i] - many.r : -1,
				 one.found[i] ? one.found[i] - one.r : -1);
	}
	qv_match_destroy(one.m);
	qv_match_destroy(many.m);
}

/* The first that fails ends it; what came before it is done, it and the rest are not. */
static void test_stops_at_failure(void **state)
{
	struct qv_match_settings s;
	struct qv_recv r[5] = {{.tag = 1, .src = 1},
			       {.tag = 2, .src = 1},
			       {.tag = 3, .src = QV_SRC_ANY},
			       {.tag = 4, .src = 1},
			       {.tag = 5, .src = 1}};
	struct qv_recv *list[5] = {&r[0], &r[1], &r[2], &r[3], &r[4]};
	struct qv_msg msg = {.tag = 2, .src = 1}, *got[5] = {NULL};
	struct qv_match *m;

	qv_settings_for(&s, structure);
	s.hints = QV_HINT_NO_ANY_SOURCE;
	assert_int_equal(qv_match_create(&s, &m), QV_OK);
	assert_int_equal(qv_match_queue(m, &msg), QV_OK);
	assert_int_equal(qv_match_post_many(m, list, 5, got), 2);
	assert_null(got[0]);
	assert_ptr_equal(got[1], &msg);
	assert_int_equal(qv_match_post(m, list[2], &got[2]), QV_EINVAL);
	assert_ptr_equal(qv_match_next_recv(m, NULL), &r[0]);
	assert_null(qv_match_next_recv(m, &r[0]));
	assert_int_equal(qv_match_post_many(m, list + 3, 2, got + 3), 2);
	assert_int_equal(qv_match_post_many(m, list, 0, got), 0);
	qv_match_destroy(m);
}

/* So many that what they will touch is fetched ahead. */
static void test_deep(void **state)
{
	enum { DEEP = 70000, STEP = 7919, BATCH = 100 };
	struct qv_recv *r = calloc(DEEP, sizeof(*r));
	struct qv_msg *msg = calloc(BATCH, sizeof(*msg));
	struct qv_match_settings s;
	struct qv_match *m;

	assert_true(r && msg);
	qv_settings_for(&s, structure);
	assert_int_equal(qv_match_create(&s, &m), QV_OK);
	for (int i = 0; i < DEEP; i += BATCH) {
		struct qv_recv *list[BATCH];
		struct qv_msg *got[BATCH];

		for (int k = 0; k < BATCH; k++) {
			r[i + k] = (struct qv_recv){.tag = (uint64_t)(i + k), .src = 3};
			list[k] = &r[i + k];
		}
		assert_int_equal(qv_match_post_many(m, list, BATCH, got), BATCH);
		for (int k = 0; k < BATCH; k++)
			assert_null(got[k]);
	}
	for (int i = 0; i < DEEP; i += BATCH) {
		struct qv_msg *list[BATCH];
		struct qv_recv *found[BATCH];

		for (int k = 0; k < BATCH; k++) {
			msg[k].tag = (uint64_t)(i + k) * STEP % DEEP;
			msg[k].src = 3;
			list[k] = &msg[k];
		}
		assert_int_equal(qv_match_arrive_many(m, list, BATCH, found), BATCH);
		for (int k = 0; k < BATCH; k++)
			assert_ptr_equal(found[k], &r[msg[k].tag]);
	}
	assert_null(qv_match_next_recv(m, NULL));
	qv_match_destroy(m);
	free(msg);
	free(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_results),
		cmocka_unit_test(test_stops_at_failure),
		cmocka_unit_test(test_deep),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s STRUCTURE\n", argv[0]);
		return 2;
	}
	structure = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
