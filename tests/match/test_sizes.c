/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sizes.c - settings of programs that were compiled with an older or a newer match.h: fields
 * that they do not have get their defaults, fields that the library does not know must be 0.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/match.h>

/* What a later version may have. */
struct newer {
	struct qv_match_settings known;
	uint64_t more[2];
};

static void creates(const struct qv_match_settings *s, const char *structure)
{
	struct qv_match *m;

	assert_int_equal(qv_match_create(s, &m), QV_OK);
	assert_string_equal(qv_match_structure(m), structure);
	qv_match_destroy(m);
}

static void refuses(const struct qv_match_settings *s)
{
	struct qv_match *m = NULL;

	assert_int_equal(qv_match_create(s, &m), QV_EINVAL);
	assert_null(m);
}

static void test_defaults(void **state)
{
	struct qv_match_settings s;

	memset(&s, 0xff, sizeof(s));
	qv_match_settings_default(&s);
	assert_int_equal(s.size, sizeof(s));
	assert_string_equal(s.structure, "auto");
	assert_int_equal(s.isa, QV_ISA_AUTO);
	assert_null(s.profile);
	assert_int_equal(s.collective_op, 0);
	creates(&s, "auto");
	s.structure = "ll";
	creates(&s, "ll");
	creates(NULL, "auto");
}

/* No size: all fields of version 0.1, as an initialiser that names fields leaves it. */
static void test_no_size(void **state)
{
	struct qv_match_settings s = {.structure = "lla"};

	creates(&s, "lla");
	s.hints = 1u << 31;
	refuses(&s);
	refuses(&(struct qv_match_settings){.isa = QV_ISA_AUTO}); /* no structure, as ever */
}

/* What is behind the size is not looked at. */
static void test_older(void **state)
{
	struct qv_match_settings s;

	memset(&s, 0xff, sizeof(s));
	s.size = offsetof(struct qv_match_settings, structure);
	creates(&s, "auto");
	s.size = offsetof(struct qv_match_settings, isa);
	s.structure = "ll";
	creates(&s, "ll");
	s.size = offsetof(struct qv_match_settings, hints);
	s.isa = QV_ISA_SCALAR;
	s.profile = NULL;
	creates(&s, "ll");
	s.size = offsetof(struct qv_match_settings, protocol_bits);
	refuses(&s); /* now with hints that there are not */
}

static void test_newer(void **state)
{
	struct newer n;

	memset(&n, 0xff, sizeof(n));
	qv_match_settings_init(&n.known, sizeof(n));
	assert_int_equal(n.known.size, sizeof(n));
	assert_string_equal(n.known.structure, "auto");
	assert_int_equal(n.more[0] | n.more[1], 0);
	creates(&n.known, "auto");
	n.more[1] = UINT64_C(1) << 63;
	refuses(&n.known);
	n.known.size = sizeof(n.known);
	creates(&n.known, "auto");
}

/* An older program's structure ends earlier: nothing is written behind it. */
static void test_older_defaults(void **state)
{
	struct qv_match_settings s, was;

	memset(&s, 0x5a, sizeof(s));
	memset(&was, 0x5a, sizeof(was));
	qv_match_settings_init(&s, offsetof(struct qv_match_settings, profile));
	assert_string_equal(s.structure, "auto");
	assert_memory_equal(&s.profile, &was.profile,
			    sizeof(s) - offsetof(struct qv_match_settings, profile));
	creates(&s, "auto");
}

static void test_no_such_size(void **state)
{
	struct qv_match_settings s;

	qv_match_settings_default(&s);
	s.size = sizeof(size_t) - 1;
	refuses(&s);
	s.size = SIZE_MAX;
	refuses(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_older),          cmocka_unit_test(test_newer),
		cmocka_unit_test(test_older_defaults), cmocka_unit_test(test_no_such_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
