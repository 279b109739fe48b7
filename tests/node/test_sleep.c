/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sleep.c - who sleeps is woken by whatever comes, soon, and uses no processor until then. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/base/random.h"
#include "engine/node/internal.h"
#include "rig/party.h"

#define US      0u
#define THEM    1u
#define ROUNDS  100000u
#define LOST_MS 20000 /* a sleep as long as this has missed its bell */

static unsigned scale(void)
{
	const char *given = getenv("QV_NODE_ROUNDS");

	return given ? (unsigned)atoi(given) : ROUNDS;
}

/* True: it slept, and was woken. */
static bool sleep_once(struct party *p)
{
	struct pollfd fd = {qv_node_fd(p->node), POLLIN, 0};

	if (!qv_node_may_sleep(p->node))
		return false;
	QV_NEED(poll(&fd, 1, LOST_MS) == 1);
	return true;
}

/* Polls for a random while, then sleeps, until the next packet. True: it slept before it. */
static bool await(struct party *p, unsigned from, uint64_t *rng)
{
	uint32_t want = p->heard[from] + 1;
	unsigned patience = (unsigned)qv_random_below(rng, 60);
	bool slept = false;

	while (p->heard[from] < want) {
		if (qv_node_poll(p->node))
			continue;
		if (patience)
			patience--;
		else
			slept |= sleep_once(p);
	}
	return slept;
}

static void spin(unsigned turns)
{
	for (volatile unsigned i = 0; i < turns; i++)
		;
}

static void answer(int fd, const void *arg)
{
	unsigned rounds = *(const unsigned *)arg;
	struct party p;
	uint64_t us = kin_hear(fd), addr, rng = 11;

	party_open(&p, THEM);
	kin_say(fd, p.name);
	addr = party_insert(&p, us);
	for (unsigned i = 0; i < rounds; i++) {
		await(&p, US, &rng);
		spin((unsigned)qv_random_below(&rng, 1500));
		party_send(&p, addr, US, 8);
	}
	kin_hear(fd);
	party_close(&p);
}

static void no_bell_is_lost(void **state)
{
	unsigned rounds = scale(), slept = 0;
	uint64_t rng = 12, addr;
	struct qv_node_stats stats;
	struct party p;
	struct kin k;

	(void)state;
	kin_start(&k, answer, &rounds);
	party_open(&p, US);
	kin_say(k.fd, p.name);
	addr = party_insert(&p, kin_hear(k.fd));
	for (unsigned i = 0; i < rounds; i++) {
		spin((unsigned)qv_random_below(&rng, 1500));
		party_send(&p, addr, THEM, 8);
		slept += await(&p, THEM, &rng);
	}
	qv_node_get_stats(p.node, &stats);
	printf("%u rounds: slept before %u, rang %llu times\n", rounds, slept,
	       (unsigned long long)stats.wakes);
	assert_true(slept > rounds / 100 && stats.wakes > rounds / 100);
	kin_say(k.fd, 0);
	kin_end(&k);
	party_close(&p);
}

/* How long from a packet to who slept. */

#define WAKES 500u

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sleep_and_tell(int fd, const void *arg)
{
	struct party p;

	(void)arg;
	party_open(&p, THEM);
	kin_say(fd, p.name);
	for (unsigned i = 1; i <= WAKES; i++) {
		while (p.heard[US] < i) {
			qv_node_poll(p.node);
			if (p.heard[US] < i)
				sleep_once(&p);
		}
		kin_say(fd, kin_now_us());
	}
	party_close(&p);
}

static void how_long_a_wake_takes(void **state)
{
	static uint64_t took[WAKES];
	struct party p;
	struct kin k;
	uint64_t addr;

	(void)state;
	kin_start(&k, sleep_and_tell, NULL);
	party_open(&p, US);
	addr = party_insert(&p, kin_hear(k.fd));
	for (unsigned i = 0; i < WAKES; i++) {
		uint64_t before;

		usleep(1000);
		before = kin_now_us();
		party_send(&p, addr, THEM, 8);
		took[i] = kin_hear(k.fd) - before;
	}
	qsort(took, WAKES, sizeof *took, by_size);
	printf("a wake takes %llu us (median), %llu us (99%%)\n",
	       (unsigned long long)took[WAKES / 2], (unsigned long long)took[WAKES * 99 / 100]);
	kin_end(&k);
	party_close(&p);
}

static uint64_t processor_us(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void speak_late(int fd, const void *arg)
{
	struct party p;
	uint64_t addr;

	(void)arg;
	party_open(&p, THEM);
	addr = party_insert(&p, kin_hear(fd));
	if (kin_hear(fd)) /* a packet before */
		party_send(&p, addr, US, 8);
	kin_hear(fd);
	usleep(1000000);
	party_send(&p, addr, US, 8);
	kin_hear(fd);
	party_close(&p);
}

/* Who slept for a second is woken, and has used no processor: by a packet of who has connected, or by
 * who connects. */
static void sleep_for_a_second(bool connected)
{
	struct party p;
	struct kin k;
	uint64_t before;

	kin_start(&k, speak_late, NULL);
	party_open(&p, US);
	kin_say(k.fd, p.name);
	kin_say(k.fd, connected);
	if (connected)
		assert_true(party_hear(&p, THEM, 1, 20000));
	before = processor_us();
	kin_say(k.fd, 0);
	while (p.heard[THEM] < 1u + connected) {
		qv_node_poll(p.node);
		if (p.heard[THEM] < 1u + connected)
			sleep_once(&p);
	}
	assert_true(processor_us() - before < 20000);
	kin_say(k.fd, 0);
	kin_end(&k);
	party_close(&p);
}

static void no_processor_is_used(void **state)
{
	(void)state;
	sleep_for_a_second(true);
}

static void who_connects_wakes(void **state)
{
	(void)state;
	sleep_for_a_second(false);
}

/* The death of a peer wakes too: whoever waits for it is to be told. */
static void death_wakes(void **state)
{
	struct party p;
	struct kin k;
	struct qv_node_stats stats;
	struct pollfd fd;

	(void)state;
	kin_start(&k, speak_late, NULL);
	party_open(&p, US);
	kin_say(k.fd, p.name);
	kin_say(k.fd, 1);
	assert_true(party_hear(&p, THEM, 1, 20000));
	while (!qv_node_may_sleep(p.node))
		qv_node_poll(p.node);
	kin_kill(&k);
	fd = (struct pollfd){qv_node_fd(p.node), POLLIN, 0};
	assert_int_equal(poll(&fd, 1, LOST_MS), 1);
	qv_node_poll(p.node);
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.peers, 0);
	party_close(&p);
}

static void speak_and_end(int fd, const void *arg)
{
	struct party p;

	(void)arg;
	party_open(&p, THEM);
	party_send(&p, party_insert(&p, kin_hear(fd)), US, 8);
	party_close(&p);
}

/* Who has ended while a packet of it was unread is forgotten before we sleep: nothing of it would wake
 * us any more. */
static void nobody_sleeps_beside_the_dead(void **state)
{
	struct qv_node_stats stats;
	struct party p;
	struct kin k;

	(void)state;
	kin_start(&k, speak_and_end, NULL);
	party_open(&p, US);
	kin_say(k.fd, p.name);
	kin_end(&k);
	qv_node_serve(p.node); /* it is let in, */
	qv_node_serve(p.node); /* it has ended, */
	qv_node_poll(p.node);  /* and is heard */
	assert_int_equal(p.heard[THEM], 1);
	while (!qv_node_may_sleep(p.node))
		qv_node_poll(p.node);
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.peers, 0);
	party_close(&p);
}

int main(void)
{
	struct party p;
	bool can;

	party_open(&p, US);
	can = qv_node_fd(p.node) >= 0;
	party_close(&p);
	if (!can) {
		printf("skipped: no membarrier(2) here\n");
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_bell_is_lost),
		cmocka_unit_test(how_long_a_wake_takes),
		cmocka_unit_test(no_processor_is_used),
		cmocka_unit_test(who_connects_wakes),
		cmocka_unit_test(death_wakes),
		cmocka_unit_test(nobody_sleeps_beside_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
