/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_settings.c - options, hints, profiles, and memory, over all structures: what is taken,
 * what is refused, and that an engine gives everything back, also when its creation fails.
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
#include "engine/match/partners.h"
#include "tests/match/model/settings.h"

#define PROTOCOL UINT64_C(0x6000000000000000)

static int create(const char *structure, struct qv_match **m)
{
	struct qv_match_settings s;

	qv_settings_for(&s, structure);
	return qv_match_create(&s, m);
}

static void test_options(void **state)
{
	static const char *const good[] = {
		"lla:block=2",
		"lla:block=4096",
		"pnp:ll",
		"pnp:llv,t=1,c=64",
		"pnp:fence",
		"pnp:present,median",
		"pnp:lla,block=16",
		"pnp-static:mean,lla",
		"clu:kmeans=1024",
		"clu:strict,llv",
		"col:k=64",
		"col-ll:k=1,llv",
		"col-pnp:t=5,c=2",
		"col-pnp:lla,k=2,mean",
		"clu:strict,strict",
	};
	static const char *const bad[] = {
		"ll:",
		"ll:lla",
		"auto:t=1",
		"lla:",
		"lla:block",
		"lla:block=",
		"lla:block=1",
		"lla:llv",
		"lla:block=4097",
		"lla:block=4294967298",
		"lla:block=-3",
		"lla:block=3x",
		"lla:block=3,",
		"lla:,block=3",
		"lla: block=3",
		"pnp:t=0",
		"pnp:k=3",
		"pnp:medi",
		"pnp:medianx",
		"pnp:lla;t=3",
		"pnp:T=3",
		"clu:t=3",
		"clu:mean",
		"clu:kmeans=0",
		"col:t=3",
		"col-ll:c=1",
		"col-pnp:c=65",
		"pn",
		"pnpx",
		"",
		":",
		":lla",
	};
	struct qv_match *m;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(create(good[i], &m), QV_OK);
		assert_int_equal(strncmp(qv_match_structure(m), good[i], strcspn(good[i], ":")), 0);
		qv_match_destroy(m);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(create(bad[i], &m), QV_EINVAL);
}

/* What a structure needs and does not get. */
static void test_needs(void **state)
{
	static const char *const needy[] = {"pnp-static", "clu", "col", "col-ll", "col-pnp"};
	struct qv_match_settings s;
	struct qv_match *m;

	for (size_t i = 0; i < sizeof(needy) / sizeof(needy[0]); i++) {
		qv_match_settings_default(&s);
		s.structure = needy[i];
		assert_int_equal(qv_match_create(&s, &m), QV_EINVAL);
		qv_settings_for(&s, needy[i]);
		assert_int_equal(qv_match_create(&s, &m), QV_OK);
		qv_match_destroy(m);
	}
}

static int create_with_profile(const char *structure, const char *text)
{
	struct qv_match_settings s;
	struct qv_match *m;
	int err;

	qv_match_settings_default(&s);
	s.structure = structure;
	s.profile = qv_settings_profile(text);
	err = qv_match_create(&s, &m);
	if (!err)
		qv_match_destroy(m);
	return err;
}

static void test_profile(void **state)
{
	static const char *const good[] = {
		"0 0\n",
		"7 3",
		"4294967294 4294967295\n",
		"1 1\r\n",
		"# none\n\n 5\t6 \n",
		"3 1\n1 1\n2 1\n",
		"1 00009\n",
		"1 2 3\n",
		"1 0 4294967295 \n2 5\n",
	};
	static const char *const bad[] = {
		"",
		"# nothing\n",
		"1\n",
		"1 \n",
		"a 1\n",
		"1 b\n",
		"1 2 3 4\n",
		"1 2 b\n",
		"1 2 -3\n",
		"1 2 4294967296\n",
		"1 2 3\n1 3\n",
		"-1 2\n",
		"1 -2\n",
		"+1 2\n",
		"1 2\n1 3\n",
		"1,2\n",
		"0x1 2\n",
		"4294967295 1\n",
		"1 4294967296\n",
		"1 99999999999999999999999\n",
		"1 2 # end\n",
		"1 1.5\n",
	};
	char text[600];

	for (int clu = 0; clu < 2; clu++) {
		const char *name = clu ? "clu" : "pnp-static";

		for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
			assert_int_equal(create_with_profile(name, good[i]), QV_OK);
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			assert_int_equal(create_with_profile(name, bad[i]), QV_EINVAL);
	}
	memset(text, ' ', sizeof(text)); /* a line longer than lines are */
	memcpy(text + sizeof(text) - 6, "1 2\n3", 6);
	assert_int_equal(create_with_profile("clu", text), QV_EINVAL);
}

/* A count for each queue; one count is of both. */
static void test_profile_columns(void **state)
{
	struct qv_mem mem = {0};
	struct qv_profile p;

	assert_int_equal(qv_profile_read(&p, &mem, qv_settings_profile("9 5\n3 1 0\n6 0 20\n")),
			 QV_OK);
	assert_int_equal(p.n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint64_t want[3][3] = {{3, 1, 0}, {6, 0, 20}, {9, 5, 5}};

		for (int side = 0; side < 2; side++) {
			assert_int_equal(p.v[side][i].src, want[i][0]);
			assert_int_equal(p.v[side][i].count, want[i][1 + side]);
		}
	}
	qv_profile_free(&p, &mem);
	assert_int_equal(mem.bytes, 0);
}

/* What a user is told of a wrong file. */
static void test_profile_where(void **state)
{
	static const struct {
		const char *text;
		uint32_t line, source;
	} wrong[] = {
		{"0 1\n# x\n1 y\n", 3, QV_SRC_ANY},
		{"x", 1, QV_SRC_ANY},
		{"", 0, QV_SRC_ANY},
		{"# only this\n", 0, QV_SRC_ANY},
		{"7 1\n8 1\n7 2\n", 0, 7},
		{"0 1 2\n1 2 z\n", 2, QV_SRC_ANY},
		{"7 1 2\n8 1\n7 2\n", 0, 7},
	};
	struct qv_mem mem = {0};
	struct qv_profile p;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(qv_profile_read(&p, &mem, qv_settings_profile(wrong[i].text)),
				 QV_EINVAL);
		assert_int_equal(p.bad_line, wrong[i].line);
		assert_int_equal(p.bad_source, wrong[i].source);
		assert_int_equal(mem.bytes, 0);
	}
}

static void test_profile_unreadable(void **state)
{
	struct qv_match_settings s;
	struct qv_match *m;

	qv_match_settings_default(&s);
	s.structure = "clu";
	s.profile = "/nonexistent/profile";
	assert_int_equal(qv_match_create(&s, &m), QV_EINVAL);
	s.profile = "/"; /* opens, does not read */
	assert_int_equal(qv_match_create(&s, &m), QV_EINVAL);
}

/* A wildcard receive under the hints is refused and changes nothing; the rest goes on. */
static void check_hints(const char *structure)
{
	static const struct {
		uint64_t ignore;
		uint32_t src, breaks;
	} kinds[] = {
		{0, 1, 0},
		{PROTOCOL, 1, 0},
		{PROTOCOL & -PROTOCOL, 1, 0},
		{0, QV_SRC_ANY, QV_HINT_NO_ANY_SOURCE},
		{1, 1, QV_HINT_NO_ANY_TAG},
		{PROTOCOL | 0xffffffff, 1, QV_HINT_NO_ANY_TAG},
		{UINT64_MAX, QV_SRC_ANY, QV_HINT_NO_ANY_SOURCE | QV_HINT_NO_ANY_TAG},
	};
	struct qv_match_settings s;

	qv_settings_for(&s, structure);
	s.protocol_bits = PROTOCOL;
	for (s.hints = 0; s.hints < 16; s.hints++) {
		struct qv_msg msg = {.tag = 3, .src = 1}, *got;
		struct qv_match *m;

		assert_int_equal(qv_match_create(&s, &m), QV_OK);
		assert_int_equal(qv_match_queue(m, &msg), QV_OK);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			struct qv_recv r = {
				.tag = 3, .ignore = kinds[i].ignore, .src = kinds[i].src};
			int refused = (kinds[i].breaks & s.hints) != 0;

			assert_int_equal(qv_match_allows(m, r.ignore, r.src),
					 refused ? QV_EINVAL : QV_OK);
			assert_ptr_equal(qv_match_peek(m, r.tag, r.ignore, r.src),
					 refused ? NULL : &msg);
			got = NULL;
			assert_int_equal(qv_match_post(m, &r, &got), refused ? QV_EINVAL : QV_OK);
			assert_ptr_equal(got, refused ? NULL : &msg);
			if (got)
				assert_int_equal(qv_match_queue(m, &msg), QV_OK);
			assert_null(qv_match_next_recv(m, NULL));
		}
		qv_match_destroy(m);
	}
	s.hints = 16;
	assert_int_equal(qv_match_create(&s, &(struct qv_match *){NULL}), QV_EINVAL);
}

static void test_hints(void **state)
{
	for (const char *const *name = qv_match_structures(); *name; name++)
		check_hints(*name);
}

/* Memory that fails at the n-th request, and counts what is out. */
struct memory {
	long out, requests, fail_at;
};

static void *get(void *ctx, size_t align, size_t size)
{
	struct memory *mem = ctx;

	if (mem->requests++ == mem->fail_at)
		return NULL;
	mem->out++;
	return aligned_alloc(align, size);
}

static void release(void *ctx, void *p, size_t size)
{
	struct memory *mem = ctx;

	mem->out--;
	free(p);
}

/* Whatever request fails, the creation fails with it and nothing is left behind. */
static void test_create_without_memory(void **state)
{
	for (const char *const *name = qv_match_structures(); *name; name++) {
		struct qv_match_settings s;
		int err = QV_ENOMEM;

		qv_settings_for(&s, *name);
		for (long at = 0; err; at++) {
			struct memory mem = {.fail_at = at};
			struct qv_match_tuning tuning = {.mem = {get, release, &mem, 0}};
			struct qv_match *m;

			err = qv_match_create_tuned(&s, &tuning, &m);
			assert_true(err == QV_OK || err == QV_ENOMEM);
			if (!err)
				qv_match_destroy(m);
			assert_int_equal(mem.out, 0);
			assert_in_range(at, 0, 50);
		}
	}
}

/* An engine that is full gives everything back; the nodes are not touched. */
static void test_destroy_frees(void **state)
{
	enum { N = 3000 };
	static struct qv_recv r[N];
	static struct qv_msg msg[N];

	for (const char *const *name = qv_match_structures(); *name; name++) {
		struct memory mem = {.fail_at = -1};
		struct qv_match_tuning tuning = {.mem = {get, release, &mem, 0}};
		struct qv_match_settings s;
		struct qv_match *m;

		qv_settings_for(&s, *name);
		assert_int_equal(qv_match_create_tuned(&s, &tuning, &m), QV_OK);
		for (int i = 0; i < N; i++) {
			struct qv_msg *got;

			r[i] = (struct qv_recv){.tag = (uint64_t)i << 8 | 4,
						.src = (uint32_t)i % 9};
			msg[i] = (struct qv_msg){.tag = (uint64_t)i << 8 | 5,
						 .src = (uint32_t)i % 9};
			if (i % 10 == 0)
				r[i].src = QV_SRC_ANY;
			assert_int_equal(qv_match_post(m, &r[i], &got), QV_OK);
			assert_null(qv_match_arrive(m, msg[i].tag, msg[i].src));
			assert_int_equal(qv_match_queue(m, &msg[i]), QV_OK);
		}
		assert_ptr_equal(qv_match_next_recv(m, NULL), &r[0]);
		qv_match_destroy(m);
		assert_int_equal(mem.out, 0);
	}
}

/* Entries compared by `n` receives that find their messages, last one first. */
static uint64_t cost_of(struct qv_match *m, uint64_t ignore, uint32_t src, int n)
{
	struct qv_match_stats before, after;

	qv_match_get_stats(m, &before);
	while (n-- > 0) {
		struct qv_recv r = {.tag = (uint64_t)n, .ignore = ignore, .src = src};
		struct qv_msg *got = NULL;

		assert_int_equal(qv_match_post(m, &r, &got), QV_OK);
		assert_non_null(got);
	}
	qv_match_get_stats(m, &after);
	return after.inspected - before.inspected;
}

/*
 * Bits that every receive ignores do not keep the hashing structures from hashing, also if messages
 * came before the first receive; and what has no table is still found.
 */
static void test_protocol_bits_are_learned(void **state)
{
	enum { N = 1000 };
	static const char *const hashed[] = {"ucx", "bins", "hash", "nm"};
	static struct qv_msg msg[N];

	for (size_t k = 0; k < sizeof(hashed) / sizeof(hashed[0]); k++) {
		struct qv_match *m;

		assert_int_equal(create(hashed[k], &m), QV_OK);
		for (int round = 0; round < 3; round++) {
			uint64_t ignore = round == 2 ? PROTOCOL >> 1 : PROTOCOL;

			for (int i = 0; i < N; i++) {
				msg[i] = (struct qv_msg){.tag = (uint64_t)i | (i % 2 ? ignore : 0),
							 .src = 1};
				assert_int_equal(qv_match_queue(m, &msg[i]), QV_OK);
			}
			if (round == 2) /* another mask: not while messages are filed by this one */
				assert_true(cost_of(m, ignore, QV_SRC_ANY, 10) >= 10);
			else
				assert_in_range(cost_of(m, ignore, 1, N), N, 6 * N);
			while (qv_match_next_msg(m, NULL))
				qv_match_take(m, qv_match_next_msg(m, NULL));
		}
		qv_match_destroy(m);
	}
}

/* Entries compared by n messages that find their receives, last one first. */
static uint64_t cost_of_arrivals(struct qv_match *m, uint64_t ignore, struct qv_recv *r, int n)
{
	struct qv_match_stats before, after;

	qv_match_get_stats(m, &before);
	for (int i = 0; i < n; i++) {
		struct qv_msg *got = NULL;

		r[i] = (struct qv_recv){.tag = (uint64_t)i, .ignore = ignore, .src = 1};
		assert_int_equal(qv_match_post(m, &r[i], &got), QV_OK);
		assert_null(got);
	}
	for (int i = n; i-- > 0;)
		assert_ptr_equal(qv_match_arrive(m, (uint64_t)i | ignore, 1), &r[i]);
	qv_match_get_stats(m, &after);
	return after.inspected - before.inspected;
}

/* When nothing is queued by the old mask any more, another may take its place. */
static void test_other_bits_are_learned(void **state)
{
	enum { N = 1000 };
	static const char *const hashed[] = {"ucx", "bins", "hash", "nm"};
	static struct qv_recv r[N];

	for (size_t k = 0; k < sizeof(hashed) / sizeof(hashed[0]); k++) {
		struct qv_match *m;

		assert_int_equal(create(hashed[k], &m), QV_OK);
		for (int round = 0; round < 4; round++)
			assert_in_range(cost_of_arrivals(m, PROTOCOL >> round, r, N), N, 6 * N);
		qv_match_destroy(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_profile_columns),
		cmocka_unit_test(test_profile_where),
		cmocka_unit_test(test_profile_unreadable),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_create_without_memory),
		cmocka_unit_test(test_destroy_frees),
		cmocka_unit_test(test_protocol_bits_are_learned),
		cmocka_unit_test(test_other_bits_are_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
