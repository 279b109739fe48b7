/* SPDX-License-Identifier: BSD-2-Clause */
/* test_large.c - large staging areas: who gets one, how many there are, when they are given back. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "engine/node/internal.h"
#include "rig/party.h"

#define US     0u
#define THEM   1u
#define LEN    8000u
#define ENOUGH (2 * QV_RING_FULLS) /* times that there is no room */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int populate_error; /* what the kernel says to who wants memory at once; 0: as it is */
static time_t later;       /* s that the clock is ahead */

int __real_madvise(void *memory, size_t len, int advice);
int __wrap_madvise(void *memory, size_t len, int advice);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_madvise(void *memory, size_t len, int advice)
{
	if (advice != MADV_POPULATE_WRITE || !populate_error)
		return __real_madvise(memory, len, advice);
	errno = populate_error;
	return -1;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int rc = __real_clock_gettime(clock, now);

	now->tv_sec += later;
	return rc;
}

static struct qv_node_stats stats_of(const struct party *p)
{
	struct qv_node_stats stats;

	qv_node_get_stats(p->node, &stats);
	return stats;
}

/* As much as there is room for, so many times; all is heard. */
static void say(struct party *from, uint64_t addr, struct party *to, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		while (!party_try(from, addr, to->id, LEN - i % 100))
			;
		assert_true(party_hear(to, from->id, from->sent[to->id], 5000));
	}
}

static void open_two(struct party *us, struct party *them, uint64_t *addr)
{
	party_open(us, US);
	party_open(them, THEM);
	*addr = party_insert(us, them->name);
}

static void close_two(struct party *us, struct party *them)
{
	party_close(us);
	party_close(them);
}

static void who_finds_no_room_gets_one(void **state)
{
	struct party us, them;
	uint64_t addr;

	(void)state;
	open_two(&us, &them, &addr);
	say(&us, addr, &them, QV_RING_FULLS - 2);
	for (unsigned i = 0; i < 100; i++) /* asking again for the same room is not another time */
		(void)party_try(&us, addr, THEM, QV_RING_PACKET);
	assert_true(party_hear(&them, US, us.sent[THEM], 5000));
	assert_int_equal(stats_of(&us).large, 0);
	assert_true(stats_of(&us).touched <= QV_RING_STAGE + 8192);
	say(&us, addr, &them, ENOUGH);
	assert_int_equal(stats_of(&us).large, 1);
	assert_int_equal(stats_of(&them).large, 0);
	party_remove(&us, addr);
	assert_int_equal(stats_of(&us).large, 0);
	close_two(&us, &them);
}

/* Pages that were used before cost less than new ones. */
static void who_is_read_at_once_needs_none(void **state)
{
	struct party us, them;
	uint64_t addr;

	(void)state;
	open_two(&us, &them, &addr);
	for (unsigned i = 0; i < 400; i++) {
		party_send(&us, addr, THEM, QV_RING_PACKET - i);
		assert_true(party_hear(&them, US, i + 1, 5000));
	}
	assert_int_equal(stats_of(&us).large, 0);
	close_two(&us, &them);
}

/* One more than may have one; the last gets it when another has gone. */
static void there_are_so_many(void **state)
{
	struct party us, them[QV_NODE_LARGE + 1];
	uint64_t addr[QV_NODE_LARGE + 1];

	(void)state;
	party_open(&us, US);
	for (unsigned i = 0; i <= QV_NODE_LARGE; i++) {
		party_open(&them[i], i + 1);
		addr[i] = party_insert(&us, them[i].name);
		say(&us, addr[i], &them[i], ENOUGH);
		assert_int_equal(stats_of(&us).large, i < QV_NODE_LARGE ? i + 1 : QV_NODE_LARGE);
	}
	party_remove(&us, addr[3]);
	assert_int_equal(stats_of(&us).large, QV_NODE_LARGE - 1);
	say(&us, addr[QV_NODE_LARGE], &them[QV_NODE_LARGE], ENOUGH);
	assert_int_equal(stats_of(&us).large, QV_NODE_LARGE);
	for (unsigned i = 0; i <= QV_NODE_LARGE; i++)
		party_close(&them[i]);
	party_close(&us);
}

static void after_long_silence_it_is_given_back(void **state)
{
	const bool counts = kin_madvise_works();
	struct party us, them;
	uint64_t addr;

	(void)state;
	open_two(&us, &them, &addr);
	for (unsigned round = 0; round < 3; round++) {
		say(&us, addr, &them, ENOUGH);
		party_poll(&us, 5);
		assert_int_equal(stats_of(&us).large, 1);
		later += 9;
		party_poll(&us, 5);
		assert_int_equal(stats_of(&us).large, 1);
		assert_true(!counts || stats_of(&us).touched > QV_RING_LARGE);
		later += 2;
		party_poll(&us, 5);
		assert_int_equal(stats_of(&us).large, 0);
		assert_true(!counts || stats_of(&us).touched <= 2 * QV_RING_STAGE);
	}
	close_two(&us, &them);
}

static void without_memory_it_stays_small(void **state)
{
	struct party us, them;
	uint64_t addr;

	(void)state;
	open_two(&us, &them, &addr);
	populate_error = ENOMEM;
	say(&us, addr, &them, 2 * ENOUGH);
	assert_int_equal(stats_of(&us).large, 0);
	assert_true(stats_of(&us).touched <= QV_RING_STAGE + 8192);
	populate_error = EINVAL; /* an old kernel */
	say(&us, addr, &them, ENOUGH);
	assert_int_equal(stats_of(&us).large, 1);
	populate_error = 0;
	close_two(&us, &them);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_no_room_gets_one),
		cmocka_unit_test(who_is_read_at_once_needs_none),
		cmocka_unit_test(there_are_so_many),
		cmocka_unit_test(after_long_silence_it_is_given_back),
		cmocka_unit_test(without_memory_it_stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
