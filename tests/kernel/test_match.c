/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_match.c - the compare kernels of one ISA against the rule, and the choice of ISA.
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

#include "kernels/select.h"

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

/* The planes of a block lie at the end of a page: what is behind the last may not be touched. */
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

static void unguard(struct guarded *g)
{
	munmap(g->map, 2 * g->page);
}

/* What the planes say, as receives or messages have it. */
struct block {
	uint64_t tags[QV_KERN_MAX], ignores[QV_KERN_MAX];
	uint32_t srcs[QV_KERN_MAX];
	int has_any;
};

/* Values from a small set, so that ties are common; some with only the high half different, and some
 * that make the same key with one source as others with another. */
static uint64_t small_word(void)
{
	uint64_t low = draw() % 3;

	switch (draw() % 8) {
	case 0:
	case 1: return low << 63 | low << 32;
	case 2: return low << 16;
	default: return low;
	}
}

static void draw_block(struct block *b, int any_of_ten)
{
	b->has_any = 0;
	for (int i = 0; i < QV_KERN_MAX; i++) {
		b->tags[i] = small_word();
		b->ignores[i] = draw() % 2 ? 0 : draw() % 8 ? small_word() : UINT64_MAX;
		b->srcs[i] = (int)(draw() % 10) < any_of_ten ? ANY : (uint32_t)(draw() % 2);
		b->has_any |= b->srcs[i] == ANY;
	}
}

/* The planes of b at the end of the page. */
static const qv_plane *lay_out(const struct guarded *g, const struct block *b, int n_planes)
{
	qv_plane *planes = (qv_plane *)(g->map + g->page - (size_t)n_planes * sizeof(qv_plane));

	for (int i = 0; i < QV_KERN_MAX; i++) {
		planes[QV_PLANE_KEY][i] = qv_kern_key((uint32_t)b->tags[i], b->srcs[i]);
		planes[QV_PLANE_SRC][i] = b->srcs[i];
		planes[QV_PLANE_HIGH][i] = (uint32_t)(b->tags[i] >> 32);
		if (n_planes == QV_PLANES_MSG)
			continue;
		planes[QV_PLANE_IGNORE][i] = (uint32_t)b->ignores[i];
		planes[QV_PLANE_IGNORE_HIGH][i] = (uint32_t)(b->ignores[i] >> 32);
	}
	return (const qv_plane *)planes;
}

/* The rule written differently from any kernel. */
static int tag_fits(uint64_t a, uint64_t b, uint64_t ignore)
{
	return (a | ignore) == (b | ignore);
}

/* The lowest bit is exact, the others are some of those wanted. */
static void check_map(uint64_t map, uint64_t want)
{
	assert_int_equal(map & -map, want & -want);
	assert_int_equal(map & ~want, 0);
}

static void check_posted(const struct guarded *g, const struct block *b, uint64_t lanes)
{
	const qv_plane *planes = lay_out(g, b, QV_PLANES_RECV);
	uint64_t tag = small_word(), want = 0;
	uint32_t src = (uint32_t)(draw() % 2);

	for (int i = 0; i < QV_KERN_MAX; i++)
		if (tag_fits(b->tags[i], tag, b->ignores[i]) &&
		    (b->srcs[i] == src || b->srcs[i] == ANY))
			want |= UINT64_C(1) << i;
	check_map(kern->posted(planes, lanes, tag, src, b->has_any), want & lanes);
	/* Where there is none it may still be asked for. */
	check_map(kern->posted(planes, lanes, tag, src, 1), want & lanes);
}

static void check_unexpected(const struct guarded *g, const struct block *b, uint64_t lanes)
{
	const qv_plane *planes = lay_out(g, b, QV_PLANES_MSG);
	uint64_t tag = small_word(), ignore = draw() % 2 ? 0 : small_word(), want = 0;
	uint32_t src = draw() % 3 ? (uint32_t)(draw() % 2) : ANY;

	for (int i = 0; i < QV_KERN_MAX; i++)
		if (tag_fits(b->tags[i], tag, ignore) && (b->srcs[i] == src || src == ANY))
			want |= UINT64_C(1) << i;
	check_map(kern->unexpected(planes, lanes, tag, ignore, src), want & lanes);
}

/* Blocks that are full up to an entry, have holes, or only few entries. */
static uint64_t draw_lanes(unsigned int n)
{
	uint64_t lanes = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	switch (draw() % 4) {
	case 0: return lanes;
	case 1: return lanes & draw();
	case 2: return lanes & draw() & draw() & draw();
	default: return n ? lanes & ~((UINT64_C(1) << draw() % n) - 1) : 0;
	}
}

static void test_every_length(void **state)
{
	const char *scale = getenv("QV_TEST_SCALE");
	unsigned long rounds = 200 * (scale ? strtoul(scale, NULL, 0) : 1);
	struct guarded g;
	struct block b;

	guard(&g);
	for (unsigned int n = 0; n <= QV_KERN_MAX; n++)
		for (unsigned long r = 0; r < rounds; r++) {
			draw_block(&b, (int)(r % 3) * 3);
			check_posted(&g, &b, draw_lanes(n));
			draw_block(&b, 0);
			check_unexpected(&g, &b, draw_lanes(n));
		}
	unguard(&g);
}

/* Each single bit of tag and source is compared, in each lane, and each can be ignored. */
static void test_every_bit(void **state)
{
	const uint64_t tag = UINT64_C(0x123456789abcdef0);
	const uint32_t src = 0x13579bdf;
	struct guarded g;
	struct block b = {.has_any = 0};

	guard(&g);
	for (int bit = 0; bit < 96; bit++) {
		for (int i = 0; i < QV_KERN_MAX; i++) {
			uint64_t flip = bit < 64 && i % 2 ? UINT64_C(1) << bit : 0;

			b.tags[i] = tag ^ flip;
			b.srcs[i] = src ^ (bit >= 64 && i % 2 ? UINT32_C(1) << (bit - 64) : 0);
			b.ignores[i] = i % 5 == 1 ? flip : 0;
		}
		for (int i = 0; i < QV_KERN_MAX; i++) {
			const uint64_t lane = UINT64_C(1) << i;
			const int other = i % 2;
			uint64_t ignored = other && i % 5 == 1 && bit < 64 ? lane : 0;

			assert_int_equal(
				kern->posted(lay_out(&g, &b, QV_PLANES_RECV), lane, tag, src, 0),
				other ? ignored : lane);
			assert_int_equal(
				kern->unexpected(lay_out(&g, &b, QV_PLANES_MSG), lane, tag, 0, src),
				other ? 0 : lane);
			assert_int_equal(kern->unexpected(lay_out(&g, &b, QV_PLANES_MSG), lane, tag,
							  bit < 64 ? UINT64_C(1) << bit : 0, src),
					 other && bit >= 64 ? 0 : lane);
		}
	}
	unguard(&g);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_every_bit),
	};
	enum qv_isa isa;

	if (argc != 2 || qv_isa_parse(argv[1], &isa) || isa == QV_ISA_AUTO) {
		fprintf(stderr, "usage: %s ISA\n", argv[0]);
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
