/* SPDX-License-Identifier: BSD-2-Clause */
/* test_link.c - connections between processes: start, end, death, and what stays behind. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <time.h>
#include <unistd.h>

#include <quiver/types.h>

#include "rig/party.h"

#define US   0u /* ids */
#define THEM 1u

/* Both tell their names; the address of the other. */
static uint64_t meet(struct party *p, int fd)
{
	party_open(p, THEM);
	kin_say(fd, p->name);
	return party_insert(p, kin_hear(fd));
}

/* Who sends so many packets to us, and ends. */
static void send_and_end(int fd, const void *arg)
{
	unsigned packets = *(const unsigned *)arg;
	struct party p;
	uint64_t addr;

	addr = meet(&p, fd);
	for (unsigned i = 0; i < packets; i++)
		party_send(&p, addr, US, i * 7 % 200);
	party_close(&p);
}

/* It has sent all, and is no more, before we look for the first time. */
static void what_was_sent_before_the_end_arrives(void **state)
{
	static const unsigned packets[] = {1, 2, 100, 124};

	(void)state;
	for (unsigned i = 0; i < sizeof packets / sizeof *packets; i++) {
		struct party p;
		struct kin k;
		uint64_t addr;

		kin_start(&k, send_and_end, &packets[i]);
		party_open(&p, US);
		addr = party_insert(&p, kin_hear(k.fd));
		kin_say(k.fd, p.name);
		kin_end(&k);
		assert_true(party_hear(&p, THEM, packets[i], 5000));
		assert_true(party_presence(&p, addr, QV_GONE, 1000));
		assert_int_equal(p.warnings, 0);
		party_close(&p);
	}
}

/* Packets that are refused come again; until they were taken their sender is not gone. */
static void refused_packets_come_again(void **state)
{
	static const unsigned packets = 50;
	struct party p;
	struct kin k;
	uint64_t silent;

	(void)state;
	kin_start(&k, send_and_end, &packets);
	party_open(&p, US);
	party_insert(&p, kin_hear(k.fd));
	kin_say(k.fd, p.name);
	kin_end(&k);
	p.refuse = UINT32_MAX;
	party_poll(&p, 50);
	assert_true(p.refuse < UINT32_MAX && !p.heard[THEM]);
	assert_int_equal(p.x.ops->presence(&p.x, p.from[THEM], &silent), QV_UNSURE);
	assert_false(qv_node_may_sleep(p.node));
	p.refuse = 3;
	assert_true(party_hear(&p, THEM, packets, 5000));
	party_close(&p);
}

/* Where others have the CPU between two polls, a few of them are long enough to hear of who is new. */
static void who_polls_seldom_hears_too(void **state)
{
	static const unsigned packets = 1;
	const struct timespec others = {.tv_nsec = 4000000};
	struct party p;
	struct kin k;

	(void)state;
	kin_start(&k, send_and_end, &packets);
	party_open(&p, US);
	party_insert(&p, kin_hear(k.fd));
	kin_say(k.fd, p.name);
	kin_end(&k);
	for (unsigned polls = 0; polls < 130 && !p.heard[THEM]; polls++) {
		qv_node_poll(p.node);
		nanosleep(&others, NULL);
	}
	assert_int_equal(p.heard[THEM], packets);
	party_close(&p);
}

struct death {
	bool they_send, we_send, we_look;
};

static void wait_for_death(int fd, const void *arg)
{
	const struct death *death = arg;
	struct party p;
	uint64_t addr;

	addr = meet(&p, fd);
	if (death->they_send)
		party_send(&p, addr, US, 8);
	if (death->we_send)
		QV_NEED(party_hear(&p, US, 1, 5000));
	kin_say(fd, 0);
	pause();
}

static void die(const struct death *death)
{
	struct party p;
	struct kin k;
	uint64_t addr;

	kin_start(&k, wait_for_death, death);
	party_open(&p, US);
	addr = party_insert(&p, kin_hear(k.fd));
	if (death->we_send)
		party_send(&p, addr, THEM, 8);
	kin_say(k.fd, p.name);
	kin_hear(k.fd);
	if (death->they_send && death->we_look)
		assert_true(party_hear(&p, THEM, 1, 5000));
	if (death->we_look)
		assert_true(party_presence(&p, addr, QV_PRESENT, 0));
	kin_kill(&k);
	assert_true(party_presence(&p, addr, QV_GONE, 1000));
	if (death->they_send)
		assert_true(party_hear(&p, THEM, 1, 0)); /* before it is gone, it is heard */
	assert_int_equal(party_try(&p, addr, THEM, 8), QV_EPEER);
	party_close(&p);
}

static void death_is_seen(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		die(&(struct death){i & 1, i & 2, i & 4});
}

static void nobody_was_there(void **state)
{
	struct party p;
	uint64_t addr, silent;

	(void)state;
	party_open(&p, US);
	addr = party_insert(&p, 0x123456789abcdefu);
	assert_int_equal(p.x.ops->presence(&p.x, addr, &silent), QV_GONE);
	assert_int_equal(party_try(&p, addr, THEM, 8), QV_EPEER);
	party_remove(&p, addr);
	party_close(&p);
}

/* To itself, as MPI_COMM_SELF does. */
static void to_itself(void **state)
{
	struct party p;
	uint64_t addr;

	(void)state;
	party_open(&p, US);
	addr = party_insert(&p, p.name);
	for (unsigned i = 0; i < 1000; i++)
		party_send(&p, addr, US, i * 8 % 8192);
	assert_true(party_hear(&p, US, 1000, 5000));
	assert_int_equal(p.from[US], addr);
	party_close(&p);
}

/* An address is removed and inserted again, while what it has sent was not read yet. */
static void send_and_forget(int fd, const void *arg)
{
	const unsigned *looks = arg;
	struct party p;
	uint64_t name = kin_hear(fd), addr;

	party_open(&p, THEM);
	for (unsigned i = 0; i < 5; i++) {
		addr = party_insert(&p, name);
		for (unsigned k = 0; k < 10; k++)
			party_send(&p, addr, US, 100);
		party_remove(&p, addr);
		if (*looks) {
			kin_say(fd, i);
			kin_hear(fd);
			qv_node_poll(p.node);
		}
	}
	addr = party_insert(&p, name);
	party_send(&p, addr, US, 8);
	kin_say(fd, 5);
	kin_hear(fd);
	party_close(&p);
}

static void forgotten_and_known_again(void **state)
{
	(void)state;
	for (unsigned looks = 0; looks < 2; looks++) {
		struct party p;
		struct kin k;

		kin_start(&k, send_and_forget, &looks);
		party_open(&p, US);
		kin_say(k.fd, p.name);
		for (unsigned i = 0; looks && i < 5; i++) {
			kin_hear(k.fd);
			assert_true(party_hear(&p, THEM, 10 * (i + 1), 5000));
			kin_say(k.fd, 0);
		}
		kin_hear(k.fd);
		assert_true(party_hear(&p, THEM, 51, 5000));
		assert_int_equal(p.warnings, 0);
		kin_say(k.fd, 0);
		kin_end(&k);
		party_close(&p);
	}
}

/* It sends, and hears all that we send in the meantime. */
static void send_and_stay(int fd, const void *arg)
{
	unsigned packets = *(const unsigned *)arg;
	struct party p;
	uint64_t addr;

	addr = meet(&p, fd);
	for (unsigned i = 0; i < packets; i++) {
		party_send(&p, addr, US, i * 7 % 200);
		qv_node_poll(p.node);
	}
	QV_NEED(party_hear(&p, US, 25, 5000));
	kin_hear(fd);
	party_close(&p);
}

/* The same of who receives: it forgets an address that still speaks to it. */
static void forgotten_by_the_receiver(void **state)
{
	const unsigned packets = 100;
	struct party p;
	struct kin k;
	uint64_t name, addr;

	(void)state;
	kin_start(&k, send_and_stay, &packets);
	party_open(&p, US);
	name = kin_hear(k.fd);
	kin_say(k.fd, p.name);
	for (unsigned i = 0; i < 50; i++) {
		addr = party_insert(&p, name);
		if (i % 3)
			qv_node_poll(p.node);
		if (i % 2)
			party_send(&p, addr, THEM, 8);
		party_remove(&p, addr);
	}
	assert_true(party_hear(&p, THEM, packets, 5000));
	kin_say(k.fd, 0);
	kin_end(&k);
	assert_int_equal(p.warnings, 0);
	party_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_sent_before_the_end_arrives),
		cmocka_unit_test(refused_packets_come_again),
		cmocka_unit_test(who_polls_seldom_hears_too),
		cmocka_unit_test(death_is_seen),
		cmocka_unit_test(nobody_was_there),
		cmocka_unit_test(to_itself),
		cmocka_unit_test(forgotten_and_known_again),
		cmocka_unit_test(forgotten_by_the_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
