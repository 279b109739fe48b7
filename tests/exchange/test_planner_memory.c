/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_planner_memory.c - plans by messages of up to 10000 ranks: a rank has memory, and hears, for its
 * own neighbours and theirs, however many ranks there are. Where there is no memory, a planner says so.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "planner_net.h"

#define MOST 10000

/* Memory of each rank's planner, by the program's allocations while it is at work. */

static size_t now[MOST], most[MOST]; /* bytes */
static unsigned int fails_at;        /* the allocation that fails, counted down; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);

static void count(size_t more, size_t less)
{
	const uint32_t rank = planner_net_at_work;

	if (rank == PLANNER_NET_NOBODY)
		return;
	now[rank] += more - less;
	if (now[rank] > most[rank])
		most[rank] = now[rank];
}

static int fails(void)
{
	return planner_net_at_work != PLANNER_NET_NOBODY && fails_at && !--fails_at;
}

void *__wrap_malloc(size_t size)
{
	void *memory = fails() ? NULL : __real_malloc(size);

	count(malloc_usable_size(memory), 0);
	return memory;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *memory = fails() ? NULL : __real_calloc(n, size);

	count(malloc_usable_size(memory), 0);
	return memory;
}

void *__wrap_realloc(void *old, size_t size)
{
	const size_t before = malloc_usable_size(old);
	void *memory = fails() ? NULL : __real_realloc(old, size);

	if (memory)
		count(malloc_usable_size(memory), before);
	return memory;
}

void __wrap_free(void *memory)
{
	count(0, malloc_usable_size(memory));
	__real_free(memory);
}

/* What one planning takes. */
struct cost {
	size_t bytes; /* of the rank that has most */
	double words; /* that a rank hears on average */
};

static struct cost cost_of(const struct qv_graph_case *c, uint32_t k, int cumulative)
{
	struct planner_net *net;
	struct cost cost = {0};

	for (uint32_t r = 0; r < c->graph.ranks; r++)
		now[r] = most[r] = 0;
	net = planner_net_run(c, k, 0, cumulative, 1);
	for (uint32_t r = 0; r < c->graph.ranks; r++) {
		qv_neighbor_free(planner_net_plan(net, r));
		if (most[r] > cost.bytes)
			cost.bytes = most[r];
	}
	cost.words = (double)planner_net_words(net) / c->graph.ranks;
	planner_net_close(net);
	return cost;
}

static void grow(uint32_t dims, uint32_t few, uint32_t many, uint32_t reach, uint32_t k,
		 int cumulative)
{
	struct cost small, large;
	struct qv_graph_case c;
	uint64_t around = 0; /* neighbours, and neighbours of these */
	uint32_t ranks;

	qv_graph_moore(&c, dims, few, reach, 1, 0, 10);
	small = cost_of(&c, k, cumulative);
	qv_graph_close(&c);
	qv_graph_moore(&c, dims, many, reach, 1, 0, 10);
	large = cost_of(&c, k, cumulative);
	ranks = c.graph.ranks;
	around = (uint64_t)c.graph.out_n[0] * c.graph.out_n[0];
	qv_graph_close(&c);
	print_message(
		"%u ranks, groups of %u%s: %zu bytes at most, %.0f words heard; %llu neighbours "
		"of neighbours\n",
		ranks, k, cumulative ? ", cumulative" : "", large.bytes, large.words,
		(unsigned long long)around);
	/* Possible groups of three are more than neighbours of neighbours. */
	assert_true(large.bytes < (k > 2 ? 256 : 64) * around);
	assert_true(large.words < 32 * (double)around);
	/* Not more with the number of ranks: orders differ, and with them what comes early. */
	assert_true((double)large.bytes < 1.25 * (double)small.bytes);
	assert_true(large.words < 1.25 * small.words);
}

static void test_scale(void **state)
{
	grow(2, 20, 100, 2, 2, 0);
	grow(2, 12, 32, 2, 2, 1);
	grow(2, 12, 32, 3, 3, 0);
	grow(3, 9, 15, 1, 2, 0);
}

/* Each allocation of a planning fails once: the planner that asked says so, and all can be freed. */
static void test_no_memory(void **state)
{
	struct qv_graph_case c;
	unsigned int n = 0;
	int rc;

	qv_graph_random(&c, 9, 700, 1, 9, 3);
	do {
		struct planner_net *net = planner_net_create(&c, 3, 0, 1, 1);

		fails_at = ++n;
		rc = planner_net_try(net);
		if (rc)
			assert_int_equal(rc, QV_ENOMEM);
		assert_int_equal(!rc, fails_at != 0);
		fails_at = 0;
		planner_net_close(net);
	} while (rc);
	print_message("%u allocations have failed\n", n - 1);
	assert_true(n > 100);
	qv_graph_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_scale),
					   cmocka_unit_test(test_no_memory)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
