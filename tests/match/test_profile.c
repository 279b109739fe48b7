/* SPDX-License-Identifier: BSD-2-Clause */
/* test_profile.c - what is made of a profile: partners, clusters, and the perfect hash. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/match/literature/mapped.h"
#include "tests/match/model/settings.h"

static struct qv_mem mem;

/* Sets of sources, from runs to scattered numbers. */
static uint32_t key_of(int kind, uint32_t i)
{
	switch (kind) {
	case 0: return i;
	case 1: return 3 * i + 1;
	case 2: return i * 64;
	case 3: return 1000000 + i;
	default: return (uint32_t)((i + 1) * UINT64_C(2654435761) % 4294967291u);
	}
}

static int compare_cells(const void *a, const void *b)
{
	const struct qv_phash_cell *x = a, *y = b;

	return (x->src > y->src) - (x->src < y->src);
}

/* No source of the set is missed, none outside of it is found. */
static void test_perfect_hash(void **state)
{
	static const uint32_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 1000, 4097};
	static struct qv_phash_cell v[4097];
	struct qv_phash h;

	for (int kind = 0; kind < 5; kind++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			uint32_t n = sizes[k], hits = 0;

			for (uint32_t i = 0; i < n; i++)
				v[i] = (struct qv_phash_cell){key_of(kind, i), i};
			qsort(v, n, sizeof(v[0]), compare_cells);
			assert_int_equal(qv_phash_build(&h, &mem, v, n), QV_OK);
			for (uint32_t i = 0; i < n; i++)
				assert_int_equal(qv_phash_get(&h, v[i].src, UINT32_MAX),
						 v[i].value);
			for (uint32_t src = 0; src < 300000; src++)
				hits += qv_phash_get(&h, src, UINT32_MAX) != UINT32_MAX;
			for (uint32_t i = 0; i < n; i++)
				hits -= v[i].src < 300000;
			assert_int_equal(hits, 0);
			assert_int_equal(qv_phash_get(&h, QV_SRC_ANY - 1, 77), 77);
			qv_phash_free(&h, &mem);
			assert_int_equal(mem.bytes, 0);
		}
	}
}

#define MAX_ROW 2048

struct row {
	struct qv_source_count v[MAX_ROW];
	struct qv_phash_cell cell[MAX_ROW];
	struct qv_mapping map;
	uint32_t n;
};

static void cluster(struct row *r, uint32_t population, uint32_t kmeans, int strict)
{
	struct qv_options o = {.kmeans = kmeans, .strict = strict != 0};

	qv_counts_by_count(r->v, r->n);
	memset(&r->map, 0, sizeof(r->map));
	r->map.cell = r->cell;
	qv_map_clusters(&r->map, r->v, r->n, population, &o);
	assert_int_equal(r->map.n, r->n);
	for (uint32_t i = 0; i < r->n; i++)
		assert_true(r->cell[i].value < r->map.n_lists);
}

/* Kind 0: all equal; 1: one hot; 2: rising; 3: few values; 4: any. */
static void fill(struct row *r, int kind, uint32_t n)
{
	uint64_t x = 88172645463325252u;

	r->n = n;
	for (uint32_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		r->v[i].src = i;
		r->v[i].count = kind == 0   ? 100
				: kind == 1 ? (i == n / 2) * (uint64_t)100000
				: kind == 2 ? i
				: kind == 3 ? x % 4 * 10
					    : x % 1000;
	}
}

/* By bisection: sqrt would need libm. */
static double square_root(double x)
{
	double low = 0, high = x > 1 ? x : 1;

	for (int i = 0; i < 200; i++) {
		double mid = (low + high) / 2;

		if (mid * mid > x)
			high = mid;
		else
			low = mid;
	}
	return low;
}

static void check_clusters(const struct row *r, int strict)
{
	double sum = 0, squares = 0, limit, total[MAX_ROW] = {0}, largest[MAX_ROW] = {0};

	for (uint32_t i = 0; i < r->n; i++) {
		double count = (double)r->v[i].count;
		uint32_t k = r->cell[i].value;

		sum += count;
		squares += count * count;
		total[k] += count;
		if (count > largest[k])
			largest[k] = count;
	}
	limit = sum / r->n;
	limit += square_root(squares / r->n - limit * limit);
	for (uint32_t k = 0; k < r->map.n_lists; k++) {
		/* Only the source that crosses the limit may lie beyond it. */
		if (strict)
			assert_true(total[k] <= limit * 1.000001 || total[k] == largest[k]);
		else
			assert_true(total[k] - largest[k] <= limit * 1.000001);
	}
	if (!strict && sum > 0)
		assert_true(r->map.n_lists <= sum / limit + 1.000001);
}

static void test_heuristic_clusters(void **state)
{
	static struct row r;

	for (int kind = 0; kind < 5; kind++) {
		for (uint32_t n = 1; n <= MAX_ROW; n = n * 3 + 1) {
			for (int strict = 0; strict < 2; strict++) {
				fill(&r, kind, n);
				cluster(&r, n, 0, strict);
				check_clusters(&r, strict);
			}
		}
	}
	fill(&r, 0, 1000); /* equal ones: two make a cluster */
	cluster(&r, 1000, 0, 0);
	assert_int_equal(r.map.n_lists, 500);
	fill(&r, 1, 1000); /* one hot source: alone, or with those that send nothing */
	cluster(&r, 1000, 0, 0);
	assert_in_range(r.map.n_lists, 1, 2);
}

/* Counts in three heaps: K-means finds them, in order; sources that are not there
 * join the lowest. */
static void test_kmeans_clusters(void **state)
{
	static struct row r;

	r.n = 300;
	for (uint32_t i = 0; i < r.n; i++)
		r.v[i] = (struct qv_source_count){i, (i % 3 == 0   ? 10
						      : i % 3 == 1 ? 1000
								   : 50000) +
							     i % 7};
	cluster(&r, 300, 3, 0);
	assert_int_equal(r.map.n_lists, 3);
	for (uint32_t i = 0; i < r.n; i++)
		assert_int_equal(r.cell[i].value, r.cell[i].src % 3);
	assert_int_equal(r.map.other, 0);
	cluster(&r, 5000, 4, 0);
	assert_int_equal(r.map.n_lists, 4);
	assert_int_equal(r.map.other, 0);
	fill(&r, 0, 100); /* as many clusters as there are different counts */
	cluster(&r, 100, 16, 0);
	assert_int_equal(r.map.n_lists, 1);
	cluster(&r, 101, 16, 0);
	assert_int_equal(r.map.n_lists, 2);
	fill(&r, 2, 64);
	cluster(&r, 64, 64, 0);
	assert_int_equal(r.map.n_lists, 64);
}

enum { EACH = 50 };

/* Entries inspected by a message from src, or by a receive for it, that finds nothing. */
static uint64_t misses(struct qv_match *m, enum qv_side side, uint32_t src)
{
	struct qv_match_stats before, after;

	qv_match_get_stats(m, &before);
	if (side == QV_POSTED)
		assert_null(qv_match_arrive(m, 3, src));
	else
		assert_null(qv_match_peek(m, 3, 0, src));
	qv_match_get_stats(m, &after);
	return after.inspected - before.inspected;
}

/* In both queues EACH entries of source 1, 2 * EACH of source 2 and none of 3. want: how many a
 * source inspects that finds nothing, by queue, in EACH. */
static void check_queues(const char *structure, const char *profile, const uint64_t want[2][3])
{
	static struct qv_recv recvs[3 * EACH];
	static struct qv_msg msgs[3 * EACH];
	struct qv_match_settings s;
	struct qv_match *m;
	struct qv_msg *msg;

	qv_match_settings_default(&s);
	s.structure = structure;
	s.profile = qv_settings_profile(profile);
	assert_int_equal(qv_match_create(&s, &m), QV_OK);
	for (uint32_t i = 0; i < 3 * EACH; i++) {
		uint32_t src = i % 3 ? 2 : 1;

		recvs[i] = (struct qv_recv){.tag = 1, .src = src};
		msgs[i] = (struct qv_msg){.tag = 2, .src = src};
		assert_int_equal(qv_match_post(m, &recvs[i], &msg), QV_OK);
		assert_int_equal(qv_match_queue(m, &msgs[i]), QV_OK);
	}
	for (int side = 0; side < 2; side++)
		for (uint32_t src = 1; src <= 3; src++)
			assert_int_equal(misses(m, (enum qv_side)side, src),
					 want[side][src - 1] * EACH);
	qv_match_destroy(m);
}

/* Each queue has its lists by its own counts; one count is of both. Source 3 shares a list with those
 * that add little to the queue. */
static void test_queues_apart(void **state)
{
	static const char *const structures[] = {"pnp-static", "clu:kmeans=2"};
	static const char *const apart = "1 1000 0\n2 0 1000\n3 0 0\n";
	static const char *const alike = "1 1000\n2 0\n3 0\n";

	for (int i = 0; i < 2; i++) {
		check_queues(structures[i], apart, (const uint64_t[2][3]){{1, 2, 2}, {1, 2, 1}});
		check_queues(structures[i], alike, (const uint64_t[2][3]){{1, 2, 2}, {1, 2, 2}});
	}
}

/* Mean, median and upper quartile, of the sources seen and of all. */
static void test_edges(void **state)
{
	const struct qv_source_count v[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 10}};
	struct qv_options o = {.metric = QV_METRIC_MEAN};

	assert_true(qv_counts_edge(v, 5, 10, &o) == 2);
	o.present = 1;
	assert_true(qv_counts_edge(v, 5, 10, &o) == 4);
	o.metric = QV_METRIC_MEDIAN;
	assert_true(qv_counts_edge(v, 5, 10, &o) == 3);
	assert_true(qv_counts_edge(v, 4, 10, &o) == 2.5);
	o.present = 0;
	assert_true(qv_counts_edge(v, 5, 7, &o) == 2);
	assert_true(qv_counts_edge(v, 5, 11, &o) == 0);
	o.metric = QV_METRIC_FENCE;
	assert_true(qv_counts_edge(v, 5, 5, &o) == 4);
	assert_true(qv_counts_edge(v, 5, 7, &o) == 3);
	assert_true(qv_counts_edge(v, 0, 0, &o) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perfect_hash),    cmocka_unit_test(test_heuristic_clusters),
		cmocka_unit_test(test_kmeans_clusters), cmocka_unit_test(test_queues_apart),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
