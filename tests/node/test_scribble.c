/* SPDX-License-Identifier: BSD-2-Clause */
/* test_scribble.c - a process that joins, and writes what it likes into its ring at any time. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <poll.h>
#include <unistd.h>

#include "engine/base/random.h"
#include "rig/guest.h"
#include "rig/party.h"

#define US      0u
#define HONEST  1u
#define LIAR    0x6c696172u /* a name */
#define SECONDS 1u

struct scribbler {
	uint64_t seed;
	bool wild; /* anything anywhere; else proper packets, of which one word changes at any time */
};

/* Bytes of a ring that are written wildly: more than most packets go through. */
#define WILD (offsetof(struct qv_ring, stage) + QV_RING_STAGE)

static void scribble(struct qv_ring *ring, uint64_t *rng, uint32_t *number, bool wild)
{
	uint32_t slot = (uint32_t)qv_random_below(rng, QV_RING_SLOTS);
	uint32_t low = (uint32_t)qv_random(rng), at = low % QV_RING_STAGE;

	if (wild) {
		volatile uint64_t *all = (void *)ring;

		for (unsigned i = 0; i < 50; i++)
			all[qv_random_below(rng, WILD / 8)] = qv_random(rng);
		*number = 1 + (uint32_t)qv_random_below(rng, 100);
		if (qv_random_percent(rng, 50)) /* where it belongs */
			slot = *number - 1;
		atomic_store(&ring->slots[slot].word, (uint64_t)*number << 32 | low);
		return;
	}
	*number = atomic_load(&ring->consumed) + 1 + (uint32_t)qv_random_below(rng, QV_RING_TELL);
	low = (uint32_t)qv_random_below(rng, QV_SLOT_KINDS) << 16 | QV_SLOT_STAGED |
	      (uint32_t)qv_random_below(rng, 600);
	guest_put(ring, *number, low, low, low, &at, sizeof at);
	for (unsigned i = 0; i < 100; i++) { /* while it is read */
		volatile uint32_t *place = (void *)ring->slots[slot].payload;

		*place = (uint32_t)qv_random_below(rng, 2 * QV_RING_STAGE);
	}
}

static void lie(int fd, const void *arg)
{
	const struct scribbler *s = arg;
	uint64_t rng = s->seed, us = kin_hear(fd), until;
	uint32_t number = 0;
	int to;
	struct qv_ring *ring = guest_join(us, LIAR, &to);

	for (unsigned i = 1; i < 20; i++)
		guest_put(ring, ++number, i, 0, 0, "proper at first", 16);
	kin_hear(fd);
	until = kin_now_us() + SECONDS * 1000000;
	while (kin_now_us() < until)
		for (unsigned i = 0; i < 100; i++)
			scribble(ring, &rng, &number, s->wild);
	_exit(0);
}

static void speak(int fd, const void *arg)
{
	uint64_t until = kin_now_us() + SECONDS * 1000000, rng = 9;
	struct party p;
	uint64_t addr;

	(void)arg;
	party_open(&p, HONEST);
	addr = party_insert(&p, kin_hear(fd));
	while (kin_now_us() < until)
		party_send(&p, addr, US, qv_random_below(&rng, 300));
	party_send(&p, addr, US, 0);
	kin_say(fd, p.sent[US]);
	party_close(&p);
}

/* What this process says, when it can: it may wait for room in its ring. */
static uint64_t word_of(struct party *p, int fd)
{
	struct pollfd said = {fd, POLLIN, 0};

	while (!poll(&said, 1, 0))
		qv_node_poll(p->node);
	return kin_hear(fd);
}

static void hear_both(const struct scribbler *s)
{
	uint64_t longest = 0, until = kin_now_us() + (SECONDS * 1000 + 300) * 1000;
	struct kin liar, honest;
	struct party p;

	kin_start(&liar, lie, s);
	kin_start(&honest, speak, NULL);
	party_open(&p, US);
	p.liar = party_insert(&p, LIAR);
	kin_say(liar.fd, p.name);
	kin_say(honest.fd, p.name);
	while (p.lies < 19)
		qv_node_poll(p.node);
	kin_say(liar.fd, 0);
	while (kin_now_us() < until) {
		uint64_t before = kin_now_us(), took;

		qv_node_poll(p.node);
		took = kin_now_us() - before;
		longest = took > longest ? took : longest;
	}
	assert_true(party_hear(&p, HONEST, (uint32_t)word_of(&p, honest.fd), 5000));
	kin_end(&honest);
	kin_end(&liar);
	printf("%llu packets of a liar, %u of another; the longest poll took %llu us\n",
	       (unsigned long long)p.lies, p.heard[HONEST], (unsigned long long)longest);
	assert_true(p.heard[HONEST] > 100 && p.lies > 10);
	assert_true(p.warnings == 1 || (!s->wild && !p.warnings));
	assert_true(longest < 1000000);
	assert_true(party_presence(&p, p.liar, QV_GONE, 1000));
	party_close(&p);
}

static void anything_anywhere(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++)
		hear_both(&(struct scribbler){seed, true});
}

static void words_change_while_they_are_read(void **state)
{
	(void)state;
	hear_both(&(struct scribbler){4, false});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything_anywhere),
		cmocka_unit_test(words_change_while_they_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
