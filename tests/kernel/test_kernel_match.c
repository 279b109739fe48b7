/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kernel_match.c - the compare kernels of one ISA against the rule, and the choice of ISA.
 *     test_kernel_match ISA
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

#include "qv_kern_select.h"

#define ANY UINT32_MAX

static const struct qv_kern_ops *kern;
static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Arrays that end at a page that may not be touched. */
struct guarded {
	char *map;
	size_t page;
};

static void guard(struct guarded *g)
{
	g->page = (size_t)sysconf(_SC_PAGESIZE);
	g->map =
		mmap(NULL, 2 * g->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g->map != MAP_FAILED);
	assert_int_equal(mprotect(g->map + g->page, g->page, PROT_NONE), 0);
}

static void *at_end(const struct guarded *g, size_t bytes)
{
	return g->map + g->page - bytes;
}

struct arrays {
	struct guarded g[3];
	uint64_t *tags, *ignores;
	uint32_t *srcs;
};

static void open_arrays(struct arrays *a)
{
	for (int i = 0; i < 3; i++)
		guard(&a->g[i]);
}

static void close_arrays(struct arrays *a)
{
	for (int i = 0; i < 3; i++)
		munmap(a->g[i].map, 2 * a->g[i].page);
}

/* Values from a small set, so that ties are common; some with only the high half different. */
static uint64_t small_word(void)
{
	uint64_t low = draw() % 3;

	return draw() % 4 ? low : low << 63 | low << 32;
}

static void fill_arrays(struct arrays *a, unsigned int n)
{
	a->tags = at_end(&a->g[0], n * sizeof(uint64_t));
	a->ignores = at_end(&a->g[1], n * sizeof(uint64_t));
	a->srcs = at_end(&a->g[2], n * sizeof(uint32_t));
	for (unsigned int i = 0; i < n; i++) {
		a->tags[i] = small_word();
		a->ignores[i] = draw() % 2 ? 0 : draw() % 8 ? small_word() : UINT64_MAX;
		a->srcs[i] = draw() % 3 ? (uint32_t)(draw() % 2) : ANY;
	}
}

/* The rule written differently from any kernel. */
static int tag_fits(uint64_t a, uint64_t b, uint64_t ignore)
{
	return (a | ignore) == (b | ignore);
}

static void check_all(const struct arrays *a, unsigned int n)
{
	uint64_t tag = small_word(), ignore = draw() % 2 ? 0 : small_word(), want = 0;
	uint32_t src = (uint32_t)(draw() % 2), recv_src = draw() % 3 ? src : ANY;

	for (unsigned int i = 0; i < n; i++)
		if (tag_fits(a->tags[i], tag, a->ignores[i]) &&
		    (a->srcs[i] == src || a->srcs[i] == ANY))
			want |= UINT64_C(1) << i;
	assert_int_equal(kern->posted(a->tags, a->ignores, a->srcs, n, tag, src), want);
	want = 0;
	for (unsigned int i = 0; i < n; i++)
		if (tag_fits(a->tags[i], tag, ignore) &&
		    (a->srcs[i] == recv_src || recv_src == ANY))
			want |= UINT64_C(1) << i;
	assert_int_equal(kern->unexpected(a->tags, a->srcs, n, tag, ignore, recv_src), want);
}

static void test_every_length(void **state)
{
	const char *scale = getenv("QV_TEST_SCALE");
	unsigned long rounds = 200 * (scale ? strtoul(scale, NULL, 0) : 1);
	struct arrays a;

	open_arrays(&a);
	for (unsigned int n = 0; n <= QV_KERN_MAX; n++)
		for (unsigned long r = 0; r < rounds; r++) {
			fill_arrays(&a, n);
			check_all(&a, n);
		}
	close_arrays(&a);
}

/* Each single bit of tag and source is compared, in each lane, and each can be ignored. */
static void test_every_bit(void **state)
{
	uint64_t tags[QV_KERN_MAX], ignores[QV_KERN_MAX] = {0};
	uint32_t srcs[QV_KERN_MAX];
	const uint64_t tag = UINT64_C(0x123456789abcdef0);
	const uint32_t src = 0x13579bdf;

	for (int bit = 0; bit < 64; bit++) {
		for (int i = 0; i < QV_KERN_MAX; i++) {
			tags[i] = tag ^ (uint64_t)(i % 2) << bit;
			srcs[i] = bit < 32 ? src ^ (uint32_t)(i % 3 == 2) << bit : src;
			ignores[i] = (uint64_t)(i % 5 == 1) << bit;
		}
		uint64_t posted = 0, unexpected = 0;

		for (int i = 0; i < QV_KERN_MAX; i++) {
			uint64_t src_fits = bit >= 32 || i % 3 != 2;

			posted |= (src_fits && (i % 2 == 0 || i % 5 == 1) ? UINT64_C(1) : 0) << i;
			unexpected |= (src_fits && i % 2 == 0 ? UINT64_C(1) : 0) << i;
		}
		assert_int_equal(kern->posted(tags, ignores, srcs, QV_KERN_MAX, tag, src), posted);
		assert_int_equal(kern->unexpected(tags, srcs, QV_KERN_MAX, tag, 0, src),
				 unexpected);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_every_bit),
	};
	enum qv_isa isa;

	if (argc != 2 || qv_isa_parse(argv[1], &isa) || isa == QV_ISA_AUTO) {
		fprintf(stderr, "usage: %s scalar|avx2|avx512f|avx512\n", argv[0]);
		return 2;
	}
	if (!qv_isa_usable(isa)) {
		printf("this CPU, system or build cannot run %s\n", argv[1]);
		return 77;
	}
	kern = qv_kern_select(isa);
	if (strcmp(kern->name, argv[1])) {
		fprintf(stderr, "asked for %s, got %s\n", argv[1], kern->name);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
