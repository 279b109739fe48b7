/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_combine.c - combine on one ISA: every operation on every type against the reference.
 *     test_kernel_combine ISA
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

#include "combine_ref.h"

#define ROOM  ((size_t)1 << 16) /* bytes of an array, and some pages before */
#define FENCE ((char)0xa5)

static const struct qv_combine *combine;

/* Arrays that end where memory may not be touched. */
struct array {
	char *map, *end;
};

static struct array left, right, result;
static char *expected;

static void open_array(struct array *a)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	a->map = mmap(NULL, ROOM + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	assert_true(a->map != MAP_FAILED);
	a->end = a->map + ROOM + page;
	assert_int_equal(mprotect(a->end, page, PROT_NONE), 0);
}

static int open_arrays(void **state)
{
	open_array(&left);
	open_array(&right);
	open_array(&result);
	expected = malloc(ROOM);
	return !expected;
}

static int close_arrays(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	munmap(left.map, ROOM + 2 * page);
	munmap(right.map, ROOM + 2 * page);
	munmap(result.map, ROOM + 2 * page);
	free(expected);
	return 0;
}

static void each_pair(void (*check)(enum qv_op op, enum qv_type type))
{
	for (int op = 0; op < QV_N_OPS; op++)
		for (int type = 0; type < QV_N_TYPES; type++)
			if (qv_combine_defined((enum qv_op)op, (enum qv_type)type))
				check((enum qv_op)op, (enum qv_type)type);
}

static void compare(enum qv_op op, enum qv_type type, const char *got, size_t count)
{
	const size_t size = qv_type_size(type);

	for (size_t i = 0; i < count; i++)
		if (!qv_ref_same(op, type, got + i * size, expected + i * size))
			fail_msg("%s %s: element %zu of %zu is wrong", qv_op_name(op),
				 qv_type_name(type), i, count);
}

/* What dst is: an array of its own, the left one, the right one, or all are the same. */
enum same { OWN, LEFT, RIGHT, BOTH };

/* count elements, each array so many bytes before its end. */
static void run(enum qv_op op, enum qv_type type, size_t count, const size_t before[3],
		enum same same)
{
	const size_t size = qv_type_size(type), bytes = count * size;
	char *a = left.end - before[0] - bytes, *b = right.end - before[1] - bytes;
	char *own = result.end - before[2] - bytes, *dst = same == LEFT || same == BOTH ? a : own;

	if (same == BOTH)
		b = a;
	if (same == RIGHT)
		dst = b;
	memset(dst - 64, FENCE, bytes + 64 + (size_t)(dst == own ? before[2] : 0));
	for (size_t i = 0; i < bytes; i += size) {
		qv_ref_draw(type, a + i);
		qv_ref_draw(type, b + i);
	}
	for (size_t i = 0; i < bytes; i += size)
		qv_ref_combine(op, type, expected + i, a + i, b + i);
	assert_int_equal(qv_combine_to(combine, op, type, dst, a, b, count), QV_OK);
	compare(op, type, dst, count);
	for (size_t i = 1; i <= 64; i++)
		assert_int_equal(*(dst - i), FENCE);
	for (size_t i = 0; dst == own && i < before[2]; i++)
		assert_int_equal(dst[bytes + i], FENCE);
}

/* The arrays end at the end of memory: one byte too many is a fault. */
static void every_length(enum qv_op op, enum qv_type type)
{
	for (size_t count = 0; count <= 300; count++)
		run(op, type, count, (const size_t[]){0, 0, 0}, (enum same)(count % 4));
	for (size_t count = 0; count <= 40; count++)
		for (int same = OWN; same <= BOTH; same++)
			run(op, type, count, (const size_t[]){0, 0, 0}, (enum same)same);
}

/* Every alignment of the destination, others for the sources; as long as several steps. */
static void every_alignment(enum qv_op op, enum qv_type type)
{
	const size_t size = qv_type_size(type);

	for (size_t off = 0; off < 64; off++) {
		const size_t before[] = {off * 7 % 64, off * 13 % 64, off};

		run(op, type, 2100 / size + off % 8, before, OWN);
		run(op, type, 2100 / size + off % 5, before, (enum same)(off % 4));
		run(op, type, 90 / size, before, OWN);
	}
}

static void long_ones(enum qv_op op, enum qv_type type)
{
	const size_t size = qv_type_size(type);

	run(op, type, ROOM / size, (const size_t[]){0, 0, 0}, LEFT);
	run(op, type, 40000 / size - 1, (const size_t[]){1, 0, 3}, OWN);
	run(op, type, 33333 / size, (const size_t[]){0, 5, 0}, RIGHT);
}

/* Each hard value with each other, at changing places in the vector. */
static void hard_values(enum qv_op op, enum qv_type type)
{
	const size_t size = qv_type_size(type), n = qv_ref_hard_n(type);
	char *a = left.map, *b = right.map, *dst = result.map;

	for (size_t shift = 0; shift < n; shift++) {
		for (size_t i = 0; i < n; i++) {
			qv_ref_hard(type, i, a + i * size);
			qv_ref_hard(type, (i + shift) % n, b + i * size);
			qv_ref_combine(op, type, expected + i * size, a + i * size, b + i * size);
		}
		assert_int_equal(qv_combine_to(combine, op, type, dst, a, b, n), QV_OK);
		compare(op, type, dst, n);
		assert_int_equal(qv_combine(combine, op, type, a, b, n), QV_OK);
		compare(op, type, a, n);
	}
}

/* From left to right, whatever the destination is. */
static void many(enum qv_op op, enum qv_type type)
{
	const size_t size = qv_type_size(type), count = 4096 / size + 37, room = count * size + 3;
	char *arrays = malloc(11 * room);
	const void *src[10];

	assert_non_null(arrays);
	for (size_t n = 1; n <= 10; n += n < 5 ? 1 : 5) {
		/* Into an array of its own, then into each of the sources. */
		for (size_t into = 0; into <= n; into++) {
			char *dst = arrays + (into ? into - 1 : 10) * room;

			for (size_t k = 0; k < n; k++) {
				src[k] = arrays + k * room;
				for (size_t i = 0; i < count; i++)
					qv_ref_draw(type, arrays + k * room + i * size);
			}
			memcpy(expected, src[0], count * size);
			for (size_t k = 1; k < n; k++)
				for (size_t i = 0; i < count * size; i += size)
					qv_ref_combine(op, type, expected + i, expected + i,
						       (const char *)src[k] + i);
			assert_int_equal(qv_combine_many(combine, op, type, dst, src, n, count),
					 QV_OK);
			compare(op, type, dst, count);
		}
	}
	free(arrays);
}

#define TEST_OF_EACH(check)                    \
	static void test_##check(void **state) \
	{                                      \
		each_pair(check);              \
	}
TEST_OF_EACH(every_length)
TEST_OF_EACH(every_alignment)
TEST_OF_EACH(long_ones)
TEST_OF_EACH(hard_values)
TEST_OF_EACH(many)

static void test_undefined_pairs(void **state)
{
	char a[64] = {1}, b[64] = {2}, was[64];
	const void *src[] = {a, b};
	size_t undefined = 0;

	memcpy(was, a, sizeof(a));
	for (int op = -1; op <= QV_N_OPS; op++)
		for (int type = -1; type <= QV_N_TYPES; type++) {
			if (qv_combine_defined((enum qv_op)op, (enum qv_type)type))
				continue;
			undefined++;
			assert_int_equal(
				qv_combine(combine, (enum qv_op)op, (enum qv_type)type, a, b, 1),
				QV_EINVAL);
			assert_int_equal(qv_combine_many(combine, (enum qv_op)op,
							 (enum qv_type)type, a, src, 2, 1),
					 QV_EINVAL);
		}
	/* 3 x 6 bitwise, 2 x 3 min and max, and a frame of what does not exist. */
	assert_int_equal(undefined, 18 + 6 + 2 * (QV_N_OPS + QV_N_TYPES + 2));
	assert_memory_equal(a, was, sizeof(a));
}

static void test_overlap(void **state)
{
	char a[256] = {0}, was[256];
	const void *src[] = {a, a + 128};

	for (size_t i = 0; i < sizeof(a); i++)
		was[i] = a[i] = (char)i;
	for (size_t by = 1; by < 64; by++) {
		const int want = by % 64 ? QV_EINVAL : QV_OK;

		assert_int_equal(qv_combine(combine, QV_OP_SUM, QV_TYPE_INT32, a + by, a, 16),
				 want);
		assert_int_equal(qv_combine(combine, QV_OP_SUM, QV_TYPE_INT32, a, a + by, 16),
				 want);
		src[1] = a + 128 - by;
		assert_int_equal(
			qv_combine_many(combine, QV_OP_SUM, QV_TYPE_INT32, a + 128, src, 2, 16),
			want);
	}
	assert_memory_equal(a, was, sizeof(a));
	assert_int_equal(qv_combine(combine, QV_OP_BXOR, QV_TYPE_INT32, a, a + 64, 16), QV_OK);
	assert_int_equal(a[0], 64);
	/* Sources may overlap each other. */
	assert_int_equal(qv_combine_to(combine, QV_OP_BXOR, QV_TYPE_UINT8, a, was, was + 1, 64),
			 QV_OK);
	assert_int_equal(a[1], 1 ^ 2);
}

static void test_counts(void **state)
{
	char a[16] = {1}, b[16] = {1};
	const void *src[] = {a};

	assert_int_equal(qv_combine(combine, QV_OP_SUM, QV_TYPE_INT8, NULL, NULL, 0), QV_OK);
	assert_int_equal(qv_combine_many(combine, QV_OP_SUM, QV_TYPE_INT8, NULL, src, 1, 0), QV_OK);
	assert_int_equal(qv_combine_many(combine, QV_OP_SUM, QV_TYPE_INT8, b, src, 0, 1),
			 QV_EINVAL);
	assert_int_equal(qv_combine(combine, QV_OP_SUM, QV_TYPE_INT64, a, b, SIZE_MAX / 8 + 2),
			 QV_EINVAL);
	assert_int_equal(qv_combine(combine, QV_OP_SUM, QV_TYPE_INT8, a, b, SIZE_MAX), QV_EINVAL);
	assert_int_equal(a[0], 1);
}

static void test_names(void **state)
{
	enum qv_op op = QV_OP_MAX;
	enum qv_type type = QV_TYPE_FLOAT;
	const struct qv_combine *other = NULL;

	for (int i = 0; i < QV_N_OPS; i++) {
		assert_int_equal(qv_op_parse(qv_op_name((enum qv_op)i), &op), QV_OK);
		assert_int_equal(op, i);
	}
	for (int i = 0; i < QV_N_TYPES; i++) {
		assert_int_equal(qv_type_parse(qv_type_name((enum qv_type)i), &type), QV_OK);
		assert_int_equal(type, i);
		assert_true(qv_type_size((enum qv_type)i) > 0);
	}
	assert_int_equal(qv_op_parse("minus", &op), QV_EINVAL);
	assert_int_equal(qv_type_parse("int", &type), QV_EINVAL);
	assert_null(qv_op_name((enum qv_op)QV_N_OPS));
	assert_null(qv_type_name((enum qv_type)QV_N_TYPES));
	assert_int_equal(qv_type_size((enum qv_type) - 1), 0);
	assert_int_equal(qv_combine_open((enum qv_isa)99, &other), QV_EINVAL);
	assert_null(other);
	assert_int_equal(qv_combine_open(QV_ISA_AUTO, &other), QV_OK);
	assert_string_equal(qv_combine_isa(other), qv_isa_name(qv_isa_best()));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_undefined_pairs),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_hard_values),
		cmocka_unit_test(test_every_alignment),
		cmocka_unit_test(test_long_ones),
		cmocka_unit_test(test_many),
	};
	enum qv_isa isa;
	int rc;

	if (argc != 2 || qv_isa_parse(argv[1], &isa) || isa == QV_ISA_AUTO) {
		fprintf(stderr, "usage: %s ISA\n", argv[0]);
		return 2;
	}
	rc = qv_combine_open(isa, &combine);
	if (rc == QV_ENOSYS) {
		printf("this CPU, system or build cannot run %s\n", argv[1]);
		return 77;
	}
	if (rc || strcmp(qv_combine_isa(combine), argv[1])) {
		fprintf(stderr, "asked for %s, got %s\n", argv[1],
			rc ? qv_strerror(rc) : qv_combine_isa(combine));
		return 1;
	}
	return cmocka_run_group_tests(tests, open_arrays, close_arrays) ? 1 : 0;
}
