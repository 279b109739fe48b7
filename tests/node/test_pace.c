/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pace.c - where it takes long to write to a ring, long messages are not eager for a while. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <time.h>

#include "engine/node/internal.h"
#include "rig/party.h"

#define US    0u
#define THEM  1u
#define FAST  900u /* ns */
#define SLOW  4000u
#define TIMES 8u   /* copies that are judged at once */
#define REST  256u /* messages */

static long pause_ns; /* so much passes between two looks at the clock */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	static struct timespec at;

	if (!pause_ns)
		return __real_clock_gettime(clock, now);
	at.tv_nsec += pause_ns;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	*now = at;
	return 0;
}

static bool pays(struct party *p, uint64_t addr)
{
	return p->x.ops->eager_pays(&p->x, addr);
}

/* So many of the longest packets, each of which is heard; to copy one takes so long. */
static void say(struct party *us, uint64_t addr, struct party *them, unsigned times, long ns)
{
	for (unsigned i = 0; i < times; i++) {
		pause_ns = ns;
		while (!party_try(us, addr, THEM, QV_RING_PACKET))
			;
		pause_ns = 0;
		assert_true(party_hear(them, US, us->sent[THEM], 5000));
	}
}

static void slow_copies_are_noticed(void **state)
{
	struct party us, them;
	uint64_t addr;

	(void)state;
	party_open(&us, US);
	party_open(&them, THEM);
	addr = party_insert(&us, them.name);
	say(&us, addr, &them, 100, FAST);
	assert_true(pays(&us, addr));
	say(&us, addr, &them, 100, SLOW);
	assert_false(pays(&us, addr));
	assert_true(pays(&us, addr + 1)); /* of others nothing is known */
	party_close(&us);
	party_close(&them);
}

static void one_slow_one_is_chance(void **state)
{
	struct qv_node_pace pace = {0};

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		qv_node_copied(&pace, i % TIMES ? FAST : 1000 * SLOW);
	assert_int_equal(pace.rest, 0);
}

/* Between processors that share no cache, the same copy takes now 1.6 us, now 4. */
static void the_mean_counts(void **state)
{
	struct qv_node_pace pace = {0};

	(void)state;
	for (unsigned i = 0; i < TIMES; i++)
		qv_node_copied(&pace, i % 2 ? 1600 : SLOW);
	assert_int_equal(pace.rest, REST);
}

/* Two who have met, and to write to the second takes long. */
static struct qv_node_peer *open_slow(struct party *us, struct party *them, uint64_t *addr)
{
	struct qv_node_peer *peer;

	party_open(us, US);
	party_open(them, THEM);
	*addr = party_insert(us, them->name);
	party_send(us, *addr, THEM, 8);
	peer = us->node->peers[*addr];
	for (unsigned i = 0; i < TIMES; i++)
		qv_node_copied(&peer->pace, SLOW);
	return peer;
}

static void it_is_looked_at_again(void **state)
{
	struct party us, them;
	uint64_t addr;

	(void)state;
	open_slow(&us, &them, &addr);
	for (unsigned i = 0; i < REST; i++)
		assert_false(pays(&us, addr));
	assert_true(pays(&us, addr));
	party_close(&us);
	party_close(&them);
}

/* Then a rendezvous goes in packets, too, and needs a request. */
static void where_nobody_reads_it_pays(void **state)
{
	struct qv_node_peer *peer;
	struct party us, them;
	uint64_t addr;

	(void)state;
	peer = open_slow(&us, &them, &addr);
	peer->blind = true;
	assert_true(pays(&us, addr));
	peer->blind = false;
	assert_false(pays(&us, addr));
	party_close(&us);
	party_close(&them);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_copies_are_noticed),
		cmocka_unit_test(one_slow_one_is_chance),
		cmocka_unit_test(the_mean_counts),
		cmocka_unit_test(it_is_looked_at_again),
		cmocka_unit_test(where_nobody_reads_it_pays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
