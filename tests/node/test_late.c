/* SPDX-License-Identifier: BSD-2-Clause */
/* test_late.c - peers that open under a name which others have asked for before. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/node/internal.h"
#include "rig/guest.h"
#include "rig/party.h"

#define US   0u /* ids */
#define THEM 1u

/* Nobody is there; the address, under a name that somebody will have. */
static uint64_t ask_too_early(struct party *p)
{
	uint64_t addr, silent;

	party_open(p, US);
	addr = party_insert(p, p->name + 1);
	assert_int_equal(party_try(p, addr, THEM, 8), QV_EPEER);
	assert_int_equal(p->x.ops->presence(&p->x, addr, &silent), QV_GONE);
	assert_int_equal(party_try(p, addr, THEM, 8), QV_EPEER);
	return addr;
}

static void who_asks_again_reaches_them(void **state)
{
	struct party p, q;
	uint64_t addr, silent;

	(void)state;
	addr = ask_too_early(&p);
	party_open_as(&q, THEM, p.name + 1);
	assert_int_equal(p.x.ops->presence(&p.x, addr, &silent), QV_PRESENT);
	party_send(&p, addr, THEM, 100);
	assert_true(party_hear(&q, US, 1, 5000));
	party_close(&p);
	party_close(&q);
}

static void they_speak_first(void **state)
{
	struct party p, q;
	uint64_t addr;

	(void)state;
	addr = ask_too_early(&p);
	party_open_as(&q, THEM, p.name + 1);
	party_send(&q, party_insert(&q, p.name), US, 100);
	assert_true(party_hear(&p, THEM, 1, 5000));
	assert_int_equal(p.from[THEM], addr);
	party_send(&p, addr, THEM, 100);
	assert_true(party_hear(&q, US, 1, 5000));
	party_close(&p);
	party_close(&q);
}

/* epoll_wait(2) as it is, and then something else; or it sees nothing. */
static bool deaf;
static void (*behind_a_look)(void);
int __real_epoll_wait(int fd, struct epoll_event *ev, int max, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *ev, int max, int ms);

int __wrap_epoll_wait(int fd, struct epoll_event *ev, int max, int ms)
{
	const int count = deaf ? 0 : __real_epoll_wait(fd, ev, max, ms);
	void (*then)(void) = behind_a_look;

	behind_a_look = NULL;
	if (then)
		then();
	return count;
}

static void speak_when_asked(int fd, const void *arg)
{
	struct party p;

	(void)arg;
	party_open(&p, THEM);
	kin_say(fd, p.name);
	party_send(&p, party_insert(&p, kin_hear(fd)), US, 100);
	kin_say(fd, 0);
	pause();
}

static struct kin dying;
static uint64_t our_name;

static void they_speak_and_die(void)
{
	kin_say(dying.fd, our_name);
	kin_hear(dying.fd);
	kin_kill(&dying);
}

/* What it has said before its death is heard before it is gone, however late it has come. */
static void last_words_are_heard(void **state)
{
	struct party p;
	uint64_t addr, silent;

	(void)state;
	for (unsigned known = 0; known < 2; known++) {
		kin_start(&dying, speak_when_asked, NULL);
		party_open(&p, US);
		our_name = p.name;
		addr = party_insert(&p, kin_hear(dying.fd));
		if (known)
			party_send(&p, addr, THEM, 100);
		behind_a_look = they_speak_and_die;
		assert_int_equal(p.x.ops->presence(&p.x, addr, &silent), QV_UNSURE);
		assert_true(party_hear(&p, THEM, 1, 1000));
		assert_true(party_presence(&p, addr, QV_GONE, 1000));
		party_close(&p);
	}
}

/* Its door is open, and it never looks. */
static void wait_at_a_door(int fd, const void *arg)
{
	(void)guest_door(*(const uint64_t *)arg);
	kin_say(fd, 0);
	pause();
}

static void another_comes_after_one_who_died_silent(void **state)
{
	struct party p, q;
	struct kin k;
	uint64_t name, addr;

	(void)state;
	party_open(&p, US);
	name = p.name + 1;
	addr = party_insert(&p, name);
	kin_start(&k, wait_at_a_door, &name);
	kin_hear(k.fd);
	party_send(&p, addr, THEM, 100);
	kin_kill(&k);
	assert_true(party_presence(&p, addr, QV_GONE, 1000));
	assert_int_equal(party_try(&p, addr, THEM, 8), QV_EPEER);
	party_open_as(&q, THEM, name);
	p.sent[THEM] = 0;
	party_send(&p, addr, THEM, 100);
	assert_true(party_hear(&q, US, 1, 5000));
	assert_true(party_presence(&p, addr, QV_PRESENT, 0));
	party_close(&p);
	party_close(&q);
}

/* It has died silent, and was begun to be written to; nobody has heard of that yet. */
static uint64_t write_to_the_dead(struct party *p, struct transfer *t, const void *bytes,
				  size_t len)
{
	const uint64_t name = p->name + 1;
	const uint64_t addr = party_insert(p, name);
	const struct qv_span there = {.addr = 4096, .len = len};
	const struct iovec here = {(void *)(uintptr_t)bytes, len};
	const struct qv_remote_op op = {
		.kind = QV_REMOTE_PUT, .there = &there, .nthere = 1, .here = &here, .nhere = 1};
	struct kin k;

	kin_start(&k, wait_at_a_door, &name);
	kin_hear(k.fd);
	party_send(p, addr, THEM, 100);
	if (t) {
		for (unsigned i = 0; i < 5; i++) /* there is room for a part of it */
			party_send(p, addr, THEM, 8000);
		p->node->peers[addr]->answers.cannot_read = true; /* in packets */
		assert_int_equal(qv_node_begin(p->node, addr, &op, &t->xfer), QV_OK);
		qv_node_serve(p->node); /* it does not look for it again soon */
	}
	kin_kill(&k);
	return addr;
}

/* What the dead was written to is not written to another one. */
static void another_gets_nothing_of_what_was_begun(void **state)
{
	static const char bytes[1 << 20];
	struct transfer t = {.xfer.done = transfer_done};
	struct party p;
	uint64_t addr, silent;
	int door;

	(void)state;
	party_open(&p, US);
	addr = write_to_the_dead(&p, &t, bytes, sizeof bytes);
	assert_non_null(p.node->onesided.stuck);
	deaf = true;
	assert_int_equal(p.x.ops->presence(&p.x, addr, &silent), QV_GONE);
	door = guest_door(p.name + 1);
	qv_node_poll(p.node);
	deaf = false;
	party_poll(&p, 50);
	assert_int_equal(accept(door, NULL, NULL), -1);
	assert_int_equal(t.dones, 1);
	assert_int_equal(t.status, QV_EPEER);
	close(door);
	party_close(&p);
}

/* What is begun when another is there is for that one. */
static void another_gets_what_is_begun_then(void **state)
{
	const struct qv_span there = {.addr = 4096, .len = 8};
	char bytes[8];
	const struct iovec here = {bytes, sizeof bytes};
	const struct qv_remote_op op = {
		.kind = QV_REMOTE_GET, .there = &there, .nthere = 1, .here = &here, .nhere = 1};
	struct transfer t = {.xfer.done = transfer_done};
	struct party p;
	uint64_t addr;
	int door, fd;

	(void)state;
	party_open(&p, US);
	addr = write_to_the_dead(&p, NULL, NULL, 0);
	assert_true(party_presence(&p, addr, QV_GONE, 1000));
	door = guest_door(p.name + 1);
	assert_int_equal(qv_node_begin(p.node, addr, &op, &t.xfer), QV_OK);
	party_poll(&p, 20);
	assert_int_equal(t.dones, 0);
	assert_int_equal(p.node->peers[addr]->answers.asked, 1);
	qv_segment_unmap(guest_ring_of(door, &fd));
	close(fd);
	party_poll(&p, 50);
	assert_int_equal(t.dones, 1);
	assert_int_equal(t.status, QV_EPEER);
	close(door);
	party_close(&p);
}

/* Its door is open, but it shows us out: it is left alone until it comes to us. */
static void who_does_not_take_us_is_left_alone(void **state)
{
	struct qv_ring *ring;
	struct party p;
	uint64_t addr;
	int door, fd;

	(void)state;
	party_open(&p, US);
	addr = party_insert(&p, p.name + 1);
	door = guest_door(p.name + 1);
	party_send(&p, addr, THEM, 100);
	qv_segment_unmap(guest_ring_of(door, &fd));
	close(fd);
	assert_true(party_presence(&p, addr, QV_GONE, 1000));
	assert_int_equal(party_try(&p, addr, THEM, 8), QV_EPEER);
	assert_int_equal(accept(door, NULL, NULL), -1);
	ring = guest_join(p.name, p.name + 1, &fd);
	assert_true(party_presence(&p, addr, QV_PRESENT, 1000));
	assert_int_equal(party_try(&p, addr, THEM, 8), QV_OK);
	qv_segment_unmap(ring);
	close(fd);
	close(door);
	party_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asks_again_reaches_them),
		cmocka_unit_test(they_speak_first),
		cmocka_unit_test(last_words_are_heard),
		cmocka_unit_test(another_comes_after_one_who_died_silent),
		cmocka_unit_test(another_gets_nothing_of_what_was_begun),
		cmocka_unit_test(another_gets_what_is_begun_then),
		cmocka_unit_test(who_does_not_take_us_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
