/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_match_threads.c - deferred acceptance of match.cl, word for word, with and without its
 * index, as threads that really run at the same time, with C11 atomics in relaxed order: PoCL runs
 * the items of a work-group one after the other, and oclgrind has one interleaving. Built with
 * ThreadSanitizer too.
 *
 *     test_match_threads N    N random batches (times QV_TEST_SCALE)
 */
#include "kernels/opencl/hash.h"
#include "vectors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NONE    QV_OFFLOAD_NONE
#define KEYS    300
#define THREADS 4

static struct qv_offload_key entries[KEYS], queries[KEYS];
static uint32_t n, m;
static _Atomic uint32_t holder[KEYS];
/* A launch: its work-items are handed out as a device does it. */
static void (*kernel)(uint32_t item);
static uint32_t items;
static _Atomic uint32_t next_item;
static pthread_barrier_t barrier;
static int over;

static int accepts(const struct qv_offload_key *e, const struct qv_offload_key *q)
{
	return ((e->tag ^ q->tag) & ~e->ignore & ~q->ignore) == 0 &&
	       (e->src == q->src || e->src == QV_SRC_ANY || q->src == QV_SRC_ANY);
}

static uint32_t atomic_min(_Atomic uint32_t *at, uint32_t value)
{
	uint32_t old = atomic_load_explicit(at, memory_order_relaxed);

	while (old > value &&
	       !atomic_compare_exchange_weak_explicit(at, &old, value, memory_order_relaxed,
						      memory_order_relaxed)) {
	}
	return old;
}

/* match_propose */
static void propose(uint32_t query)
{
	for (uint32_t e = 0; e < n; e++) {
		uint32_t dropped;

		if (!accepts(&entries[e], &queries[query]))
			continue;
		dropped = atomic_min(&holder[e], query);
		if (dropped <= query)
			continue;
		if (dropped == NONE)
			return;
		query = dropped;
	}
}

/* The index. */

#define KINDS 8
#define BITS  7
#define LINKS 8192

static uint64_t masks[KINDS][2];
static uint32_t kinds, posts;
static _Atomic uint32_t head[KINDS << BITS];
static uint32_t next[KINDS * KEYS];
static _Atomic uint32_t gave_up;

/* As kernels/opencl/choose.c; 0: no index for these. */
static uint32_t find_kinds(const struct qv_offload_key *keys, uint32_t count)
{
	kinds = 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t src = keys[i].src == QV_SRC_ANY ? 0 : UINT32_MAX;
		uint32_t at = 0;

		while (at < kinds && (masks[at][0] != ~keys[i].ignore || masks[at][1] != src))
			at++;
		if (at == KINDS)
			return 0;
		masks[at][0] = ~keys[i].ignore;
		masks[at][1] = src;
		kinds += at == kinds;
	}
	return kinds;
}

static uint32_t kind_of(const struct qv_offload_key *k)
{
	uint32_t i = 0;

	while (i + 1 < kinds && (masks[i][0] != ~k->ignore ||
				 masks[i][1] != (k->src == QV_SRC_ANY ? 0 : UINT32_MAX)))
		i++;
	return i;
}

static uint32_t chain_of(const struct qv_offload_key *k, uint32_t kind)
{
	static const uint64_t secret[2] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
	const uint64_t src = k->src == QV_SRC_ANY ? 0 : k->src;
	const uint64_t hash = qv_cl_hash(secret, k->tag & masks[kind][0], src & masks[kind][1]);

	return (kind << BITS) + (uint32_t)(hash >> (64 - BITS));
}

/* match_empty and match_begin */
static void empty(uint32_t i)
{
	atomic_store_explicit(&head[i], NONE, memory_order_relaxed);
	if (i < n)
		atomic_store_explicit(&holder[i], NONE, memory_order_relaxed);
}

/* match_index */
static void put_in(uint32_t e)
{
	const uint32_t first = posts ? 0 : kind_of(&entries[e]), last = posts ? kinds : first + 1;

	for (uint32_t i = first; i < last; i++)
		next[(posts ? i * n : 0) + e] = atomic_exchange_explicit(
			&head[chain_of(&entries[e], i)], e, memory_order_relaxed);
}

static uint32_t oldest(const struct qv_offload_key *q, uint32_t from, uint32_t *links)
{
	const uint32_t first = posts ? kind_of(q) : 0, last = posts ? first + 1 : kinds;
	uint32_t best = NONE;

	for (uint32_t i = first; i < last; i++) {
		uint32_t e = atomic_load_explicit(&head[chain_of(q, i)], memory_order_relaxed);

		for (; e != NONE && *links < LINKS; ++*links) {
			if (e >= from && e < best && accepts(&entries[e], q))
				best = e;
			e = next[(posts ? i * n : 0) + e];
		}
	}
	return best;
}

/* match_find */
static void find(uint32_t query)
{
	uint32_t from = 0, links = 0;

	for (;;) {
		const uint32_t e = oldest(&queries[query], from, &links);
		uint32_t dropped;

		if (links >= LINKS) {
			atomic_fetch_or_explicit(&gave_up, 1, memory_order_relaxed);
			return;
		}
		if (e == NONE)
			return;
		from = e + 1;
		dropped = atomic_min(&holder[e], query);
		if (dropped <= query)
			continue;
		if (dropped == NONE)
			return;
		query = dropped;
	}
}

/* Batches. */

static void *work(void *unused)
{
	uint32_t item;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (over)
			return unused;
		while ((item = atomic_fetch_add_explicit(&next_item, 1, memory_order_relaxed)) <
		       items)
			kernel(item);
		pthread_barrier_wait(&barrier);
	}
}

static void launch(void (*what)(uint32_t item), uint32_t count)
{
	kernel = what;
	items = count;
	atomic_store_explicit(&next_item, 0, memory_order_relaxed);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
}

/* Each entry is held by the query that takes it, or by none. */
static int differs(void)
{
	static uint32_t result[KEYS], expected[KEYS];
	static uint8_t taken[KEYS];

	qv_vec_match(entries, n, queries, m, taken, result);
	for (uint32_t e = 0; e < n; e++)
		expected[e] = NONE;
	for (uint32_t q = 0; q < m; q++)
		if (result[q] != NONE)
			expected[result[q]] = q;
	for (uint32_t e = 0; e < n; e++)
		if (atomic_load_explicit(&holder[e], memory_order_relaxed) != expected[e])
			return 1;
	return 0;
}

static int batch(struct qv_vec_rnd *rnd, long *indexed)
{
	const uint64_t r = qv_vec_random(rnd);
	const uint64_t kind = (r >> 40) % QV_VEC_KINDS;

	n = 1 + (uint32_t)(r % KEYS);
	m = 1 + (uint32_t)((r >> 20) % KEYS);
	qv_vec_draw(rnd, kind, entries, n, queries, m);
	posts = kind == QV_VEC_WILD_POST;
	gave_up = 1;
	if ((r >> 50) % 2 && (posts ? find_kinds(queries, m) : find_kinds(entries, n))) {
		gave_up = 0;
		launch(empty, KINDS << BITS);
		launch(put_in, n);
		launch(find, m);
		*indexed += !gave_up;
	}
	if (gave_up) {
		launch(empty, KINDS << BITS);
		launch(propose, m);
	}
	return differs();
}

int main(int argc, char **argv)
{
	const char *scale = getenv("QV_TEST_SCALE");
	const long batches =
		argc > 1 ? (long)((double)atol(argv[1]) * (scale ? atof(scale) : 1)) + 1 : 1000;
	struct qv_vec_rnd rnd = {11};
	pthread_t threads[THREADS];
	long wrong = 0, indexed = 0;

	if (pthread_barrier_init(&barrier, NULL, THREADS + 1))
		return 2;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 2;
	for (long i = 0; i < batches; i++)
		wrong += batch(&rnd, &indexed);
	over = 1;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld batches on %d threads, %ld by an index: %ld wrong\n", batches, THREADS, indexed,
	       wrong);
	return wrong || indexed < batches / 8 ? 1 : 0;
}
