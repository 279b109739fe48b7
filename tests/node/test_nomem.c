/* SPDX-License-Identifier: BSD-2-Clause */
/* test_nomem.c - who is short of memory for a moment takes a new connection when there is some again. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <quiver/types.h>

#include "rig/guest.h"
#include "rig/party.h"

#define US   0u /* ids */
#define THEM 1u

enum lack { CALLOC, REALLOC, MMAP, EPOLL_ADD, EPOLL_MOD, SEND, NOTHING };

static enum lack lack = NOTHING;
static unsigned refusals;

static bool lacks(enum lack what)
{
	if (lack != what)
		return false;
	refusals++;
	errno = ENOMEM;
	return true;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t from);
int __real_epoll_ctl(int epoll, int op, int fd, struct epoll_event *ev);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *ev);
ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);

void *__wrap_calloc(size_t n, size_t size)
{
	return lacks(CALLOC) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return lacks(REALLOC) ? NULL : __real_realloc(old, size);
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t from)
{
	return lacks(MMAP) ? MAP_FAILED : __real_mmap(at, len, prot, flags, fd, from);
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *ev)
{
	if (op == EPOLL_CTL_ADD ? lacks(EPOLL_ADD) : op == EPOLL_CTL_MOD && lacks(EPOLL_MOD))
		return -1;
	return __real_epoll_ctl(epoll, op, fd, ev);
}

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	return lacks(SEND) ? -1 : __real_send(fd, buf, len, flags);
}

static void waits_for(enum lack what)
{
	struct qv_node_stats stats;
	struct party p, q;
	uint64_t addr;

	party_open(&p, US);
	party_open(&q, THEM);
	addr = party_insert(&q, p.name);
	/* Tables of names and peers have room, so that only seats want more. */
	(void)party_insert(&p, p.name + 1);
	party_send(&q, addr, US, 100);
	lack = what;
	for (refusals = 0; refusals < 2;)
		party_poll(&p, 1);
	assert_false(qv_node_may_sleep(p.node) &&
		     !poll(&(struct pollfd){qv_node_fd(p.node), POLLIN, 0}, 1, 0));
	lack = NOTHING;
	assert_int_equal(p.warnings, 1);
	assert_true(party_presence(&q, addr, QV_PRESENT, 0));
	party_send(&q, addr, US, 100);
	assert_true(party_hear(&p, THEM, 2, 5000));
	party_poll(&p, 20);
	if (qv_node_can_sleep()) { /* in peace */
		assert_true(qv_node_may_sleep(p.node));
		assert_int_equal(poll(&(struct pollfd){qv_node_fd(p.node), POLLIN, 0}, 1, 20), 0);
	}
	assert_true(party_presence(&q, addr, QV_PRESENT, 0));
	assert_int_equal(p.warnings, 1);
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(stats.peers, 1);
	party_close(&p);
	party_close(&q);
}

static void for_the_peer(void **state)
{
	(void)state;
	waits_for(CALLOC);
}

static void for_the_seats(void **state)
{
	(void)state;
	waits_for(REALLOC);
}

static void for_the_ring(void **state)
{
	(void)state;
	waits_for(MMAP);
}

static void for_a_guest_to_be_listened_to(void **state)
{
	(void)state;
	waits_for(EPOLL_ADD);
}

static void for_the_connection_to_be_listened_to(void **state)
{
	(void)state;
	waits_for(EPOLL_MOD);
}

static bool sleeps(struct party *p, int ms)
{
	return qv_node_may_sleep(p->node) &&
	       !poll(&(struct pollfd){qv_node_fd(p->node), POLLIN, 0}, 1, ms);
}

/* One could not be listened to for a while, beside another one. Both say nothing, and we sleep. */
static void for_one_of_two_guests(void **state)
{
	struct party p;
	int guests[2];

	(void)state;
	if (!qv_node_can_sleep())
		skip();
	party_open(&p, US);
	for (unsigned i = 0; i < 2; i++) {
		guests[i] = guest_knock(p.name);
		lack = i ? EPOLL_ADD : NOTHING;
		party_poll(&p, 5);
	}
	assert_false(sleeps(&p, 0));
	lack = NOTHING;
	party_poll(&p, 20);
	assert_true(sleeps(&p, 20));
	for (unsigned i = 0; i < 2; i++)
		close(guests[i]);
	party_close(&p);
}

/* A bell could not be sent: its sender goes on, and rings it when it looks for what has come; or sleeps, but
 * not before that. */
static void for_a_bell(void **state)
{
	struct party p, q;
	uint64_t addr;

	(void)state;
	if (!qv_node_can_sleep())
		skip();
	party_open(&p, US);
	party_open(&q, THEM);
	addr = party_insert(&q, p.name);
	party_send(&q, addr, US, 8);
	assert_true(party_hear(&p, THEM, 1, 5000));
	party_poll(&p, 5);
	assert_true(sleeps(&p, 0));
	lack = SEND;
	party_send(&q, addr, US, 8);
	party_poll(&q, 20);
	assert_false(qv_node_may_sleep(q.node));
	lack = NOTHING;
	party_poll(&q, 20);
	assert_int_equal(poll(&(struct pollfd){qv_node_fd(p.node), POLLIN, 0}, 1, 1000), 1);
	assert_true(party_hear(&p, THEM, 2, 5000));
	assert_true(sleeps(&q, 0));
	party_close(&p);
	party_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(for_the_peer),
		cmocka_unit_test(for_the_seats),
		cmocka_unit_test(for_the_ring),
		cmocka_unit_test(for_a_guest_to_be_listened_to),
		cmocka_unit_test(for_the_connection_to_be_listened_to),
		cmocka_unit_test(for_one_of_two_guests),
		cmocka_unit_test(for_a_bell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
