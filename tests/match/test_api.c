/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_api.c - what match.h promises, case by case, for one structure.
 *     test_match_api STRUCTURE
 * Structure auto runs each case as it comes and once more with both queues forced to HASH.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/match/auto/auto.h"
#include "engine/match/structure.h"
#include "tests/match/model/settings.h"

static const char *structure;
static int hashed; /* auto: force HASH before each step of interest */

static int set_up(void **state)
{
	struct qv_match_settings s;

	qv_settings_for(&s, structure);
	return qv_match_create(&s, (struct qv_match **)state);
}

static int tear_down(void **state)
{
	qv_match_destroy(*state);
	return 0;
}

static void settle(struct qv_match *m)
{
	if (hashed)
		qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_HASH);
}

/* Post and expect to be queued. */
static void post(struct qv_match *m, struct qv_recv *r, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_msg *msg = (void *)r;

	*r = (struct qv_recv){.tag = tag, .ignore = ignore, .src = src};
	assert_int_equal(qv_match_post(m, r, &msg), QV_OK);
	assert_null(msg);
	settle(m);
}

/* Post and say what came. */
static struct qv_msg *post_for(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	static struct qv_recv r;
	struct qv_msg *msg = NULL;

	r = (struct qv_recv){.tag = tag, .ignore = ignore, .src = src};
	assert_int_equal(qv_match_post(m, &r, &msg), QV_OK);
	if (!msg)
		qv_match_cancel(m, &r);
	return msg;
}

static void queue(struct qv_match *m, struct qv_msg *msg, uint64_t tag, uint32_t src)
{
	*msg = (struct qv_msg){.tag = tag, .src = src};
	assert_int_equal(qv_match_queue(m, msg), QV_OK);
	settle(m);
}

static void test_anysource_older(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv any, directed, other;

	post(m, &other, 7, 0, 9);
	post(m, &any, 5, 0, QV_SRC_ANY);
	post(m, &directed, 5, 0, 3);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &any);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &directed);
	assert_null(qv_match_arrive(m, 5, 3));
	assert_ptr_equal(qv_match_arrive(m, 7, 9), &other);
}

static void test_directed_older(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv any, directed, other;

	post(m, &other, 7, 0, 9);
	post(m, &directed, 5, 0, 3);
	post(m, &any, 5, 0, QV_SRC_ANY);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &directed);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &any);
	assert_null(qv_match_arrive(m, 5, 3));
	assert_ptr_equal(qv_match_arrive(m, 7, 9), &other);
}

/* All four classes and a mask of its own accept the same message: age decides. */
static void test_age_decides(void **state)
{
	static const struct {
		uint64_t tag, ignore;
		uint32_t src;
	} kinds[5] = {{5, 0, 3},
		      {5, 0, QV_SRC_ANY},
		      {0, 0xffffffff, 3},
		      {0, 0xffffffff, QV_SRC_ANY},
		      {UINT64_C(0x8000000000000001), UINT64_C(0xc00000000000000f), 3}};
	struct qv_match *m = *state;
	struct qv_recv r[5];

	for (int first = 0; first < 5; first++) {
		for (int i = 0; i < 5; i++) {
			int k = (first + 2 * i) % 5;

			post(m, &r[i], kinds[k].tag, kinds[k].ignore, kinds[k].src);
		}
		for (int i = 0; i < 5; i++)
			assert_ptr_equal(qv_match_arrive(m, 5, 3), &r[i]);
		assert_null(qv_match_arrive(m, 5, 3));
	}
}

static void test_same_key_fifo(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv r[200];
	struct qv_msg msg[200];

	for (int i = 0; i < 200; i++)
		post(m, &r[i], 1, 0, 1);
	for (int i = 10; i < 20; i++)
		qv_match_cancel(m, &r[i]);
	for (int i = 0; i < 200; i++)
		if (i < 10 || i >= 20)
			assert_ptr_equal(qv_match_arrive(m, 1, 1), &r[i]);
	for (int i = 0; i < 200; i++)
		queue(m, &msg[i], 1, 1);
	qv_match_take(m, &msg[199]);
	qv_match_take(m, &msg[0]);
	for (int i = 1; i < 199; i++)
		assert_ptr_equal(post_for(m, 1, i % 3 ? 0 : 1, i % 2 ? 1 : QV_SRC_ANY), &msg[i]);
	assert_null(post_for(m, 1, 0, 1));
}

static void test_sticky(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv sticky, older, younger;
	struct qv_msg *msg;

	post(m, &older, 5, 0, 3);
	sticky = (struct qv_recv){.ignore = UINT64_MAX, .src = QV_SRC_ANY};
	sticky.flags = QV_RECV_STICKY;
	assert_int_equal(qv_match_post(m, &sticky, &msg), QV_OK);
	post(m, &younger, 5, 0, 3);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &older);
	for (int i = 0; i < 100; i++)
		assert_ptr_equal(qv_match_arrive(m, 5, 3), &sticky);
	assert_ptr_equal(qv_match_next_recv(m, NULL), &sticky);
	settle(m);
	qv_match_cancel(m, &sticky);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &younger);
	assert_null(qv_match_next_recv(m, NULL));
}

/* Sticky and other receives with one key: their common list keeps the order. */
static void test_sticky_same_key(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv sticky = {.tag = 5, .src = 3, .flags = QV_RECV_STICKY}, older, younger;
	struct qv_msg *msg;

	post(m, &older, 5, 0, 3);
	assert_int_equal(qv_match_post(m, &sticky, &msg), QV_OK);
	post(m, &younger, 5, 0, 3);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &older);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(qv_match_arrive(m, 5, 3), &sticky);
	settle(m);
	qv_match_cancel(m, &younger);
	assert_ptr_equal(qv_match_arrive(m, 5, 3), &sticky);
	qv_match_cancel(m, &sticky);
	assert_null(qv_match_arrive(m, 5, 3));
}

/* A sticky receive that finds a message at once is not queued, like any other. */
static void test_sticky_finds_at_once(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv r = {.tag = 1, .src = 2, .flags = QV_RECV_STICKY};
	struct qv_msg msg, *got;

	queue(m, &msg, 1, 2);
	assert_int_equal(qv_match_post(m, &r, &got), QV_OK);
	assert_ptr_equal(got, &msg);
	assert_null(qv_match_arrive(m, 1, 2));
}

static void test_peek_and_take(void **state)
{
	struct qv_match *m = *state;
	struct qv_msg msg[3];

	assert_null(qv_match_peek(m, 0, UINT64_MAX, QV_SRC_ANY));
	queue(m, &msg[0], 10, 1);
	queue(m, &msg[1], 11, 2);
	queue(m, &msg[2], 10, 2);
	assert_ptr_equal(qv_match_peek(m, 0, UINT64_MAX, QV_SRC_ANY), &msg[0]);
	assert_ptr_equal(qv_match_peek(m, 0, UINT64_MAX, 2), &msg[1]);
	assert_ptr_equal(qv_match_peek(m, 10, 0, 2), &msg[2]);
	assert_null(qv_match_peek(m, 11, 0, 1));
	assert_ptr_equal(qv_match_peek(m, 10, 0, QV_SRC_ANY), &msg[0]);
	qv_match_take(m, &msg[0]);
	settle(m);
	assert_ptr_equal(qv_match_peek(m, 10, 0, QV_SRC_ANY), &msg[2]);
	assert_ptr_equal(post_for(m, 0, UINT64_MAX, 2), &msg[1]);
	assert_ptr_equal(post_for(m, 10, 0, 2), &msg[2]);
	assert_null(qv_match_next_msg(m, NULL));
}

/* Tags differ in one bit each: all 64 are compared, and each can be ignored. */
static void test_all_tag_bits(void **state)
{
	struct qv_match *m = *state;
	struct qv_msg msg[64];

	for (int i = 0; i < 64; i++)
		queue(m, &msg[i], UINT64_C(1) << i, 1);
	for (int i = 63; i > 0; i--) {
		assert_null(post_for(m, 0, 0, 1));
		assert_ptr_equal(post_for(m, 0, UINT64_C(1) << i, 1), &msg[i]);
	}
	assert_ptr_equal(post_for(m, 1, 0, QV_SRC_ANY), &msg[0]);
}

static void test_iteration(void **state)
{
	struct qv_match *m = *state;
	struct qv_recv r[300], *at = NULL;
	struct qv_msg msg[300], *mat = NULL;

	for (int i = 0; i < 300; i++) {
		post(m, &r[i], (uint64_t)i, i % 7 == 0, i % 5 ? 1 : QV_SRC_ANY);
		queue(m, &msg[i], (uint64_t)i + 1000, 1);
	}
	for (int i = 0; i < 300; i += 3) {
		qv_match_cancel(m, &r[i]);
		qv_match_take(m, &msg[i]);
		settle(m);
	}
	for (int i = 0; i < 300; i++) {
		if (i % 3 == 0)
			continue;
		at = qv_match_next_recv(m, at);
		assert_ptr_equal(at, &r[i]);
		mat = qv_match_next_msg(m, mat);
		assert_ptr_equal(mat, &msg[i]);
	}
	assert_null(qv_match_next_recv(m, at));
	assert_null(qv_match_next_msg(m, mat));
}

/* Nodes are unmapped the moment they have left: nothing may touch them again. */
static void test_node_is_gone(void **state)
{
	enum { N = 300 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct qv_match *m = *state;
	char *map =
		mmap(NULL, N * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	for (int i = 0; i < N; i++)
		post(m, (struct qv_recv *)(map + (size_t)i * page), (uint64_t)i % 50, 0,
		     i % 4 ? 1 : QV_SRC_ANY);
	for (int i = 0, left = N; left; i = (i + 7) % 50) {
		struct qv_recv *r = qv_match_arrive(m, (uint64_t)i, 1);

		if (!r)
			continue;
		munmap(r, page);
		left--;
		settle(m);
	}
	assert_null(qv_match_next_recv(m, NULL));
}

/* Depth: unique keys, found in an order unlike that of posting. */
static void test_deep(void **state)
{
	enum { N = 20000, STEP = 7919 };
	struct qv_match *m = *state;
	struct qv_recv *r = calloc(N, sizeof(*r));
	int n = strcmp(structure, "ll") ? N : N / 10;

	assert_non_null(r);
	for (int i = 0; i < n; i++) {
		struct qv_msg *msg;

		r[i] = (struct qv_recv){.tag = (uint64_t)i, .src = (uint32_t)i % 61};
		assert_int_equal(qv_match_post(m, &r[i], &msg), QV_OK);
	}
	for (int i = 0; i < n; i++) {
		int k = (int)((long)i * STEP % n);

		assert_ptr_equal(qv_match_arrive(m, (uint64_t)k, (uint32_t)k % 61), &r[k]);
	}
	assert_null(qv_match_next_recv(m, NULL));
	free(r);
}

static void test_stats(void **state)
{
	struct qv_match *m = *state;
	struct qv_match_stats s;
	struct qv_recv r[3];
	struct qv_msg msg[2];

	for (int i = 0; i < 3; i++)
		post(m, &r[i], (uint64_t)i, 0, 1);
	queue(m, &msg[0], 8, 1);
	queue(m, &msg[1], 9, 1);
	assert_ptr_equal(qv_match_arrive(m, 1, 1), &r[1]);
	assert_null(qv_match_arrive(m, 77, 1));
	qv_match_cancel(m, &r[0]);
	assert_ptr_equal(post_for(m, 9, 0, 1), &msg[1]);
	qv_match_get_stats(m, &s);
	assert_int_equal(s.posted, 4);
	assert_int_equal(s.arrived, 2);
	assert_int_equal(s.matched, 2);
	assert_int_equal(s.unexpected, 2);
	assert_int_equal(s.posted_now, 1);
	assert_int_equal(s.posted_max, 3);
	assert_int_equal(s.unexpected_now, 1);
	assert_int_equal(s.unexpected_max, 2);
	assert_in_range(s.inspected, 2, 40);
	assert_true(qv_match_memory(m) >= sizeof(struct qv_match));
	assert_string_equal(qv_match_structure(m), structure);
	assert_int_equal(qv_match_isa(m), qv_isa_best());
}

static void test_create_errors(void **state)
{
	struct qv_match_settings s;
	struct qv_match *m = (void *)&s;

	qv_settings_for(&s, structure);
	s.structure = "no such";
	assert_int_equal(qv_match_create(&s, &m), QV_EINVAL);
	s.structure = NULL;
	assert_int_equal(qv_match_create(&s, &m), QV_EINVAL);
	s.structure = structure;
	s.isa = (enum qv_isa)77;
	assert_int_equal(qv_match_create(&s, &m), QV_EINVAL);
	for (int isa = QV_ISA_SCALAR; qv_isa_name(isa); isa++) {
		s.isa = (enum qv_isa)isa;
		if (!qv_isa_usable(s.isa)) {
			assert_int_equal(qv_match_create(&s, &m), QV_ENOSYS);
			continue;
		}
		assert_int_equal(qv_match_create(&s, &m), QV_OK);
		assert_int_equal(qv_match_isa(m), isa);
		qv_match_destroy(m);
	}
	qv_match_destroy(NULL);
}

static void test_names(void **state)
{
	const char *const *names = qv_match_structures();
	struct qv_match_settings s;
	struct qv_match *m;
	int found = 0;

	qv_match_settings_default(&s);
	assert_string_equal(s.structure, "auto");
	assert_int_equal(s.isa, QV_ISA_AUTO);
	for (; *names; names++) {
		qv_settings_for(&s, *names);
		assert_int_equal(qv_match_create(&s, &m), QV_OK);
		assert_string_equal(qv_match_structure(m), *names);
		qv_match_destroy(m);
		found += !strcmp(*names, structure);
	}
	assert_int_equal(found, 1);
	assert_int_equal(qv_match_create(NULL, &m), QV_OK);
	assert_string_equal(qv_match_structure(m), "auto");
	qv_match_destroy(m);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(test_anysource_older),
		CASE(test_directed_older),
		CASE(test_age_decides),
		CASE(test_same_key_fifo),
		CASE(test_sticky),
		CASE(test_sticky_same_key),
		CASE(test_sticky_finds_at_once),
		CASE(test_peek_and_take),
		CASE(test_all_tag_bits),
		CASE(test_iteration),
		CASE(test_node_is_gone),
		CASE(test_deep),
		CASE(test_stats),
		cmocka_unit_test(test_create_errors),
		cmocka_unit_test(test_names),
	};
	int failed;

	if (argc != 2) {
		fprintf(stderr, "usage: %s STRUCTURE\n", argv[0]);
		return 2;
	}
	structure = argv[1];
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!strcmp(structure, "auto")) {
		hashed = 1;
		failed += cmocka_run_group_tests_name("forced to HASH", tests, NULL, NULL);
	}
	return failed ? 1 : 0;
}
