/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_match_threads.c - deferred acceptance of match.cl, word for word, as threads that really run
 * at the same time, with C11 atomics in relaxed order: PoCL runs the items of a work-group one
 * after the other, and oclgrind has one interleaving. Built with ThreadSanitizer too.
 *
 *     test_match_threads N    N random batches (times QV_TEST_SCALE)
 */
#include "qv_vectors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NONE    QV_OFFLOAD_NONE
#define KEYS    300
#define THREADS 4

static struct qv_offload_key entries[KEYS], queries[KEYS];
static uint32_t n, m;
static _Atomic uint32_t holder[KEYS];
static _Atomic uint32_t next_query; /* work-items, as the device hands them out */
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

static void *work(void *unused)
{
	uint32_t query;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (over)
			return unused;
		while ((query = atomic_fetch_add_explicit(&next_query, 1, memory_order_relaxed)) <
		       m)
			propose(query);
		pthread_barrier_wait(&barrier);
	}
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

static int batch(struct qv_vec_rnd *rnd)
{
	const uint64_t r = qv_vec_random(rnd);

	n = 1 + (uint32_t)(r % KEYS);
	m = 1 + (uint32_t)((r >> 20) % KEYS);
	qv_vec_draw(rnd, (r >> 40) % QV_VEC_KINDS, entries, n, queries, m);
	for (uint32_t e = 0; e < n; e++)
		atomic_store_explicit(&holder[e], NONE, memory_order_relaxed);
	atomic_store_explicit(&next_query, 0, memory_order_relaxed);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return differs();
}

int main(int argc, char **argv)
{
	const char *scale = getenv("QV_TEST_SCALE");
	const long batches =
		argc > 1 ? (long)((double)atol(argv[1]) * (scale ? atof(scale) : 1)) + 1 : 1000;
	struct qv_vec_rnd rnd = {11};
	pthread_t threads[THREADS];
	long wrong = 0;

	if (pthread_barrier_init(&barrier, NULL, THREADS + 1))
		return 2;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 2;
	for (long i = 0; i < batches; i++)
		wrong += batch(&rnd);
	over = 1;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld batches on %d threads: %ld wrong\n", batches, THREADS, wrong);
	return wrong ? 1 : 0;
}
