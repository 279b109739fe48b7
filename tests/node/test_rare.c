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

#include "rig/party.h"

#define US        0u
#define NEWCOMERS 5u
#define PAUSE_MS  10
#define USED_TO   200u /* polls until it is known that they are rare */
#define SOON      3u   /* polls */

static void poll_rarely(struct party *p)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

	nanosleep(&pause, NULL);
	qv_node_poll(p->node);
}

/* Its first packet comes, and in which poll. */
static unsigned polls_until_heard(struct party *us, unsigned id)
{
	struct party them;
	unsigned polls = 0;

	party_open(&them, id);
	party_send(&them, party_insert(&them, us->name), US, 8);
	while (!us->heard[id] && polls < 1000) {
		poll_rarely(us);
		polls++;
	}
	party_close(&them);
	return polls;
}

static void who_knocks_is_let_in_soon(void **state)
{
	unsigned polls = 0;
	struct party us;

	(void)state;
	party_open(&us, US);
	for (unsigned i = 0; i < USED_TO; i++)
		poll_rarely(&us);
	for (unsigned i = 0; i < NEWCOMERS; i++)
		polls += polls_until_heard(&us, US + 1 + i);
	printf("%u newcomers: %u polls\n", NEWCOMERS, polls);
	assert_true(polls <= NEWCOMERS * SOON);
	party_close(&us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_knocks_is_let_in_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
