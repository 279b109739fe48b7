/* SPDX-License-Identifier: BSD-2-Clause */
/* test_rare.c - a program that computes, and polls a hundred times in a second: who knocks is let in
 * by one of its next polls. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <time.h>

#include "engine/base/seldom.h"
#include "rig/party.h"

#define US        0u
#define TALKER    1u
#define FIRST     2u
#define NEWCOMERS 5u
#define PAUSE_MS  10
#define USED_TO   50u /* polls until it is known that they are rare */
#define SOON      3u  /* polls */
#define MOST_NS   UINT64_C(5000000)

/* A talker, if there is one, has something to say to each poll. */
struct scene {
	struct party us, talker;
	uint64_t to_us;
};

static void begin(struct scene *s, bool talks)
{
	party_open(&s->us, US);
	s->talker.node = NULL;
	if (!talks)
		return;
	party_open(&s->talker, TALKER);
	s->to_us = party_insert(&s->talker, s->us.name);
}

static void end(struct scene *s)
{
	if (s->talker.node)
		party_close(&s->talker);
	party_close(&s->us);
}

static void poll_rarely(struct scene *s)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

	nanosleep(&pause, NULL);
	if (s->talker.node)
		party_send(&s->talker, s->to_us, US, 8);
	qv_node_poll(s->us.node);
}

/* Its first packet comes, and in which poll. */
static unsigned polls_until_heard(struct scene *s, unsigned id)
{
	struct party them;
	unsigned polls = 0;

	party_open(&them, id);
	party_send(&them, party_insert(&them, s->us.name), US, 8);
	while (!s->us.heard[id] && polls < 1000) {
		poll_rarely(s);
		polls++;
	}
	party_close(&them);
	return polls;
}

static void who_knocks_is_let_in_soon(bool talks)
{
	unsigned polls = 0;
	struct scene s;

	begin(&s, talks);
	for (unsigned i = 0; i < USED_TO; i++)
		poll_rarely(&s);
	for (unsigned i = 0; i < NEWCOMERS; i++)
		polls += polls_until_heard(&s, FIRST + i);
	printf("%u newcomers: %u polls\n", NEWCOMERS, polls);
	assert_true(polls <= NEWCOMERS * SOON);
	end(&s);
}

static void in_silence(void **state)
{
	(void)state;
	who_knocks_is_let_in_soon(false);
}

static void while_another_talks(void **state)
{
	(void)state;
	who_knocks_is_let_in_soon(true);
}

static void behind_many_polls(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, false);
	for (unsigned i = 0; i < NEWCOMERS; i++) {
		party_poll(&s.us, 100);
		assert_true(polls_until_heard(&s, FIRST + i) <= QV_SELDOM_MOST + SOON);
	}
	end(&s);
}

struct poller {
	struct qv_seldom clock;
	uint32_t poll;
	uint64_t ns;
};

/* So many polls, so far apart: the longest time from one look to the next, both among them. */
static uint64_t longest(struct poller *p, unsigned polls, uint64_t gap_ns)
{
	uint64_t most = 0, last = 0;

	for (unsigned i = 0; i < polls; i++) {
		p->ns += gap_ns;
		if (!qv_seldom_due(&p->clock, ++p->poll))
			continue;
		if (last && p->ns - last > most)
			most = p->ns - last;
		last = p->ns;
		qv_seldom_looked(&p->clock, p->poll, p->ns, MOST_NS);
	}
	return most;
}

/* Polls become rare, wherever that is between two looks, and dense again. */
static void from_dense_to_rare(uint64_t gap_ns, unsigned dense)
{
	struct poller p = {.clock.next = UINT32_MAX - 500, .poll = UINT32_MAX - 500};

	longest(&p, 1000 + dense, 10);
	assert_true(p.clock.next - p.poll <= QV_SELDOM_MOST);
	longest(&p, 2 * QV_SELDOM_MOST, gap_ns);
	assert_true(longest(&p, 200, gap_ns) <= (gap_ns > MOST_NS ? gap_ns : MOST_NS));
	longest(&p, 100, 10);
	assert_int_equal(p.clock.every, QV_SELDOM_MOST);
}

static void looks_are_near(void **state)
{
	(void)state;
	for (uint64_t gap_ns = MOST_NS / 64; gap_ns < 64 * MOST_NS; gap_ns += gap_ns / 7)
		for (unsigned dense = 0; dense < QV_SELDOM_MOST; dense++)
			from_dense_to_rare(gap_ns, dense);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_silence),
		cmocka_unit_test(while_another_talks),
		cmocka_unit_test(behind_many_polls),
		cmocka_unit_test(looks_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
