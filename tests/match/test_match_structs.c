/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_match_structs.c - what the structures from the literature must show beyond right answers:
 * how holes, starts, levels, limits, the perfect hash and the clusters behave.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "match/qv_col.h"
#include "match/qv_mapped.h"
#include "match/qv_pnp.h"
#include "qv_kern_select.h"

#define N_NODES 6000

/* What the lists need of an engine, without one. */
struct bench {
	struct qv_match m;
	struct qv_match_settings s;
	struct qv_recv r[N_NODES];
	struct qv_msg msg[N_NODES];
};

static int set_up(void **state)
{
	struct bench *b = aligned_alloc(64, (sizeof(*b) + 63) & ~(size_t)63);

	assert_non_null(b);
	memset(b, 0, sizeof(*b));
	b->m.kern = qv_kern_select(QV_ISA_SCALAR);
	b->m.settings = &b->s;
	assert_int_equal(qv_options_parse(NULL, 0, &b->m.options), QV_OK);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	assert_int_equal(b->m.mem.bytes, 0); /* every list has given everything back */
	free(b);
	return 0;
}

static uint64_t *make_recv(struct bench *b, int i, uint64_t tag, uint32_t src)
{
	b->r[i] = (struct qv_recv){.tag = tag, .src = src};
	b->r[i].priv[QV_E_SEQ] = (uint64_t)i;
	return b->r[i].priv;
}

static uint64_t *make_msg(struct bench *b, int i, uint64_t tag, uint32_t src)
{
	b->msg[i] = (struct qv_msg){.tag = tag, .src = src};
	b->msg[i].priv[QV_E_SEQ] = (uint64_t)i;
	return b->msg[i].priv;
}

static uint32_t count_blocks(const struct qv_lla *l)
{
	uint32_t n = 0;

	for (const struct qv_lla_block *b = l->first; b; b = b->next)
		n++;
	return n;
}

/* Entries that a search which finds nothing passes. */
static uint64_t walk(const struct qv_lla *l)
{
	uint64_t seen = 0;

	assert_null(qv_lla_find_recv(l, UINT64_MAX, 0, &seen));
	return seen;
}

/* Nine slots: six in; the 2nd, the 3rd, then the 1st leave, then the 5th and 6th; refill. */
static void test_lla_holes(void **state)
{
	struct bench *b = *state;
	struct qv_lla l;
	uint64_t seen = 0;

	qv_lla_init(&l, &b->m.mem, QV_POSTED, 9);
	for (int i = 0; i < 6; i++)
		assert_int_equal(qv_lla_append(&l, make_recv(b, i, (uint64_t)i, 1)), QV_OK);
	qv_lla_remove(&l, b->r[1].priv);
	qv_lla_remove(&l, b->r[2].priv);
	assert_int_equal(walk(&l), 6); /* holes are passed */
	qv_lla_remove(&l, b->r[0].priv);
	assert_int_equal(l.first->head, 3);
	assert_int_equal(walk(&l), 3);
	qv_lla_remove(&l, b->r[4].priv);
	assert_int_equal(l.first->tail, 6); /* a hole before the last */
	qv_lla_remove(&l, b->r[5].priv);
	assert_int_equal(l.first->tail, 4);
	for (int i = 6; i < 6 + 5 + 9 + 2; i++)
		assert_int_equal(qv_lla_append(&l, make_recv(b, i, (uint64_t)i, 1)), QV_OK);
	/* The five slots at the end were used, the three at the start were not. */
	assert_int_equal(count_blocks(&l), 3);
	assert_int_equal(walk(&l), 6 + 9 + 2);
	assert_ptr_equal(qv_lla_first(&l), b->r[3].priv);
	for (int i = 6; i < 22; i++)
		assert_ptr_equal(qv_lla_find_recv(&l, (uint64_t)i, 1, &seen), b->r[i].priv);
	qv_lla_clear(&l);
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

/* However entries leave, empty blocks go: at the end there is one, and one in reserve. */
static void test_lla_frees_blocks(void **state)
{
	enum { N = 1000 };
	struct bench *b = *state;
	struct qv_lla l;

	for (int how = 0; how < 4; how++) {
		size_t least;

		qv_lla_init(&l, &b->m.mem, QV_UNEXPECTED, 0);
		assert_int_equal(l.room, 4);
		for (int i = 0; i < N; i++)
			assert_int_equal(qv_lla_append(&l, make_msg(b, i, (uint64_t)i, 1)), QV_OK);
		assert_int_equal(count_blocks(&l), N / 4);
		least = b->m.mem.bytes / (N / 4);
		for (int i = 0; i < N; i++)
			qv_lla_remove(&l, b->msg[next_to_remove(how, i, N)].priv);
		assert_null(qv_lla_first(&l));
		assert_int_equal(b->m.mem.bytes, 2 * least);
		qv_lla_clear(&l);
	}
}

/* A search through vectors begins at the group of eight that the oldest entry is in. */
static void test_llv_start(void **state)
{
	struct bench *b = *state;
	struct qv_vlist v;

	qv_vlist_init(&v, &b->m, QV_UNEXPECTED, QV_E_LINK);
	for (int i = 0; i < 24; i++)
		assert_int_equal(qv_vlist_append(&v, make_msg(b, i, (uint64_t)i, 1)), QV_OK);
	for (int i = 0; i < 24; i++) {
		uint64_t seen = 0;

		assert_null(qv_vlist_find_msg(&v, UINT64_MAX, 0, 1, &seen));
		assert_int_equal(seen, 24 - i / 8 * 8);
		qv_vlist_remove(&v, b->msg[i].priv);
	}
	qv_vlist_clear(&v);
}

/* One hot receiver, every source sends n_each: partners stay within c * sqrt(sources). */
static void check_pnp_cap(struct bench *b, uint32_t sources, uint32_t c)
{
	struct qv_pnp p;
	uint64_t seen = 0;

	b->s.sources = sources;
	b->m.options.c = c;
	b->m.options.t = 25;
	qv_pnp_init(&p, &b->m, QV_UNEXPECTED);
	for (int i = 0; i < N_NODES; i++)
		assert_int_equal(qv_pnp_append(&p, make_msg(b, i, 7, (uint32_t)i * 7 % sources)),
				 QV_OK);
	assert_true(p.n_partners > 0 && p.n_shared > 1);
	/* sqrt is rounded up, to have whole buckets. */
	assert_true((uint64_t)(p.n_buckets - 1) * (p.n_buckets - 1) < sources);
	assert_int_equal(p.cap, p.n_buckets * c);
	assert_true(p.n_partners <= p.cap && p.n_shared - 1 <= p.n_partners);
	for (uint32_t src = 0; src < sources && src < 200; src++) {
		uint64_t *e = qv_pnp_find_msg(&p, 7, 0, src, NULL, &seen);

		assert_non_null(e);
		assert_int_equal(qv_msg_of(e)->src, src);
		qv_list_remove(e);
	}
	/* The oldest left is the first of a source that the loop above did not come to, or 200 (or
	 * all sources) later in order of arrival. */
	for (int i = 0; i < N_NODES; i++) {
		if (i < (int)sources && b->msg[i].src < 200)
			continue;
		assert_ptr_equal(qv_pnp_find_msg(&p, 7, 0, QV_SRC_ANY, NULL, &seen),
				 b->msg[i].priv);
		break;
	}
	qv_pnp_fini(&p);
}

static void test_pnp_cap(void **state)
{
	check_pnp_cap(*state, 1024, 1);
	check_pnp_cap(*state, 1000, 2);
	check_pnp_cap(*state, 64, 4);
	check_pnp_cap(*state, 4000, 4);
}

/* Below the threshold there are no levels, whoever sends. */
static void test_pnp_below_threshold(void **state)
{
	struct bench *b = *state;
	struct qv_pnp p;

	qv_pnp_init(&p, &b->m, QV_POSTED);
	for (int i = 0; i < 100; i++)
		assert_int_equal(qv_pnp_append(&p, make_recv(b, i, 7, (uint32_t)i % 3)), QV_OK);
	assert_int_equal(p.n_shared, 1);
	assert_int_equal(qv_pnp_append(&p, make_recv(b, 100, 7, 0)), QV_OK);
	assert_int_equal(p.n_shared, 2);
	qv_pnp_fini(&p);
}

/* The root of a gather: one receive for each of n sources, messages in the other order. */
static uint32_t gather(struct bench *b, uint32_t n, uint32_t k)
{
	struct qv_list prof;
	struct qv_col c;
	uint32_t lists;

	b->s.sources = n;
	b->m.options.k = k;
	qv_list_init(&prof, &b->m, QV_POSTED);
	qv_col_init(&c, &b->m, QV_POSTED, &prof);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(qv_col_append(&c, make_recv(b, (int)i, 4, i)), QV_OK);
		for (uint32_t i = n; i-- > 0;) {
			uint64_t seen = 0, *e = qv_col_find_recv(&c, 4, i, &seen);

			assert_ptr_equal(e, b->r[i].priv);
			qv_list_remove(e);
		}
	}
	lists = c.n_lists;
	qv_col_fini(&c);
	qv_list_clear(&prof);
	return lists;
}

static void test_col_cap(void **state)
{
	assert_int_equal(gather(*state, 1024, 1), 32);
	assert_int_equal(gather(*state, 2048, 1), 45);
	assert_int_equal(gather(*state, 4096, 1), 64);
	assert_int_equal(gather(*state, 1024, 8), 256);
}

/* Two operations share the limit. */
static void test_col_two_operations(void **state)
{
	struct bench *b = *state;
	struct qv_list prof;
	struct qv_col c;
	uint64_t seen = 0;

	b->s.sources = 1024;
	b->s.collective_op = 1;
	b->m.options.k = 1;
	qv_list_init(&prof, &b->m, QV_UNEXPECTED);
	qv_col_init(&c, &b->m, QV_UNEXPECTED, &prof);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(
			qv_col_append(&c, make_msg(b, i, (uint64_t)i % 2, 1 + (uint32_t)i)), QV_OK);
	for (int i = 0; i < 1000; i++)
		(void)qv_col_find_msg(&c, (uint64_t)i % 2, 0, (uint32_t)(2000 - i), &seen);
	assert_in_range(c.n_lists, 1, 32);
	qv_list_clear(&prof);
	qv_col_fini(&c);
}

/*
 * Two calls of one operation are under way, the later one of a kind not seen before, with the same
 * source and tag. Sending its messages to the shared list, which searches look at first, hands the
 * second message to the first receive; sending them after the first's does not.
 */
static void test_col_order(void **state)
{
	struct bench *b = *state;
	struct qv_list prof;
	struct qv_col c;
	uint64_t seen = 0;

	b->s.sources = 1024;
	qv_list_init(&prof, &b->m, QV_UNEXPECTED);
	qv_col_init(&c, &b->m, QV_UNEXPECTED, &prof);
	for (int i = 0; i < 500; i++)
		assert_int_equal(qv_col_append(&c, make_msg(b, i, 4, (uint32_t)i)), QV_OK);
	for (uint32_t i = 500; i-- > 0;)
		qv_list_remove(qv_col_find_msg(&c, 4, 0, i, &seen));
	assert_true(c.n_lists > 0);

	/* By kind: the first goes to the lists, the second to the shared one. */
	assert_int_equal(qv_col_append(&c, make_msg(b, 0, 4, 9)), QV_OK);
	assert_int_equal(qv_list_append(&prof, make_msg(b, 1, 4, 9)), QV_OK);
	assert_ptr_equal(qv_col_find_msg(&c, 4, 0, 9, &seen), b->msg[1].priv);
	qv_list_remove(b->msg[1].priv);

	/* As it is done. */
	assert_int_equal(qv_col_append(&c, make_msg(b, 1, 4, 9)), QV_OK);
	assert_ptr_equal(qv_col_find_msg(&c, 4, 0, 9, &seen), b->msg[0].priv);
	qv_list_remove(b->msg[0].priv);
	assert_ptr_equal(qv_col_find_msg(&c, 4, 0, 9, &seen), b->msg[1].priv);
	qv_list_clear(&prof);
	qv_col_fini(&c);
}

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
	struct bench *b = *state;
	struct qv_phash h;

	for (int kind = 0; kind < 5; kind++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			uint32_t n = sizes[k], hits = 0;

			for (uint32_t i = 0; i < n; i++)
				v[i] = (struct qv_phash_cell){key_of(kind, i), i};
			qsort(v, n, sizeof(v[0]), compare_cells);
			assert_int_equal(qv_phash_build(&h, &b->m.mem, v, n), QV_OK);
			for (uint32_t i = 0; i < n; i++)
				assert_int_equal(qv_phash_get(&h, v[i].src, UINT32_MAX),
						 v[i].value);
			for (uint32_t src = 0; src < 300000; src++)
				hits += qv_phash_get(&h, src, UINT32_MAX) != UINT32_MAX;
			for (uint32_t i = 0; i < n; i++)
				hits -= v[i].src < 300000;
			assert_int_equal(hits, 0);
			assert_int_equal(qv_phash_get(&h, QV_SRC_ANY - 1, 77), 77);
			qv_phash_free(&h, &b->m.mem);
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

/* Counts in three heaps: K-means finds them, in order; sources that are not there join the lowest.
 */
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

/* Counts 0 0 1 2 3 4 10: what is above mean, median and upper quartile. */
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

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_lla_holes),           CASE(test_lla_frees_blocks),
		CASE(test_llv_start),           CASE(test_pnp_cap),
		CASE(test_pnp_below_threshold), CASE(test_col_cap),
		CASE(test_col_two_operations),  CASE(test_col_order),
		CASE(test_perfect_hash),        CASE(test_heuristic_clusters),
		CASE(test_kmeans_clusters),     CASE(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
