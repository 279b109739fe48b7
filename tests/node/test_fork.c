/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fork.c - a process with an endpoint forks, and the child lives on with its descriptors. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/node/internal.h"
#include "rig/party.h"

#define US   0u
#define THEM 1u

/* A child with all that we have, until its parent ends it, or is no more. */
static pid_t live_on(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(KIN_SECONDS);
	for (;;)
		pause();
}

static void speak_and_end(int fd, const void *arg)
{
	const bool *forks = arg;
	struct party p;
	uint64_t addr;
	pid_t child = 0;

	party_open(&p, THEM);
	kin_say(fd, p.name);
	addr = party_insert(&p, kin_hear(fd));
	party_send(&p, addr, US, 8);
	QV_NEED(party_hear(&p, US, 1, 20000));
	if (*forks)
		child = live_on();
	kin_hear(fd);
	party_close(&p);
	kin_hear(fd);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

/* The other has ended its endpoint. We see that, and have nothing to look after any more. */
static void end_beside_a_child(bool they_fork, bool we_fork)
{
	struct party p;
	struct kin k;
	struct pollfd fd;
	uint64_t name, addr;
	pid_t child = 0;

	kin_start(&k, speak_and_end, &they_fork);
	party_open(&p, US);
	name = kin_hear(k.fd);
	addr = party_insert(&p, name);
	kin_say(k.fd, p.name);
	assert_true(party_hear(&p, THEM, 1, 20000));
	party_send(&p, addr, THEM, 8);
	if (we_fork)
		child = live_on();
	kin_say(k.fd, 0);
	assert_true(party_presence(&p, addr, QV_GONE, 2000));
	party_remove(&p, addr);
	addr = party_insert(&p, name); /* its door is closed too */
	assert_true(party_presence(&p, addr, QV_GONE, 2000));
	party_poll(&p, 5);
	assert_true(qv_node_may_sleep(p.node));
	fd = (struct pollfd){qv_node_fd(p.node), POLLIN, 0};
	assert_int_equal(poll(&fd, 1, 50), 0);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	kin_say(k.fd, 0);
	kin_end(&k);
	party_close(&p);
}

/* Where its parent has rings a child has none: something of its own may be there. */
static char *mine_at(struct qv_ring *ring)
{
	char *mine = mmap(ring, sizeof *ring, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	QV_NEED(ring && mine == (char *)ring);
	memset(mine, 1, sizeof *ring);
	return mine;
}

static void destroy_in_a_child(struct party *p, uint64_t addr)
{
	const struct qv_node_peer *peer = p->node->peers[addr];
	const char *to = mine_at(peer->tx.ring), *from = mine_at(peer->rx.ring);

	party_close(p);
	QV_NEED(*to == 1 && *from == 1);
	_exit(0);
}

/* What a child gives back is its own: its parent goes on. */
static void a_child_destroys(void **state)
{
	static const bool forks;
	struct party p;
	struct kin k;
	uint64_t addr;
	pid_t child;
	int status;

	(void)state;
	kin_start(&k, speak_and_end, &forks);
	party_open(&p, US);
	addr = party_insert(&p, kin_hear(k.fd));
	kin_say(k.fd, p.name);
	assert_true(party_hear(&p, THEM, 1, 20000));
	assert_true(party_presence(&p, addr, QV_PRESENT, 0)); /* there are two rings */
	child = fork();
	if (!child)
		destroy_in_a_child(&p, addr);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	party_poll(&p, 5);
	assert_true(party_presence(&p, addr, QV_PRESENT, 0));
	party_send(&p, addr, THEM, 8); /* they wait for it */
	kin_say(k.fd, 0);
	assert_true(party_presence(&p, addr, QV_GONE, 2000));
	kin_say(k.fd, 0);
	kin_end(&k);
	party_close(&p);
}

static void nobody_forks(void **state)
{
	(void)state;
	end_beside_a_child(false, false);
}

static void who_stays_has_forked(void **state)
{
	(void)state;
	end_beside_a_child(false, true);
}

static void who_ends_has_forked(void **state)
{
	(void)state;
	end_beside_a_child(true, false);
}

/* It dies, and its child, whose number it says, lives on. */
static void speak_and_die(int fd, const void *arg)
{
	struct party p;
	pid_t child;

	(void)arg;
	party_open(&p, THEM);
	kin_say(fd, p.name);
	party_send(&p, party_insert(&p, kin_hear(fd)), US, 8);
	QV_NEED(party_hear(&p, US, 1, 20000));
	child = fork();
	if (child)
		kin_say(fd, (uint64_t)child);
	alarm(KIN_SECONDS);
	for (;;)
		pause();
}

/* We see that, what we have asked of it ends, and who comes later finds nobody at its door. */
static void who_dies_has_forked(void **state)
{
	const struct qv_span there = {.addr = 4096, .len = 8};
	char bytes[8];
	const struct iovec here = {bytes, sizeof bytes};
	const struct qv_remote_op op = {
		.kind = QV_REMOTE_GET, .there = &there, .nthere = 1, .here = &here, .nhere = 1};
	struct transfer t = {.xfer.done = transfer_done};
	struct party p, later;
	struct kin k;
	uint64_t name, addr;
	pid_t child;

	(void)state;
	kin_start(&k, speak_and_die, NULL);
	party_open(&p, US);
	party_open(&later, US);
	name = kin_hear(k.fd);
	addr = party_insert(&p, name);
	kin_say(k.fd, p.name);
	assert_true(party_hear(&p, THEM, 1, 20000));
	party_send(&p, addr, THEM, 8);
	child = (pid_t)kin_hear(k.fd);
	assert_int_equal(qv_node_begin(p.node, addr, &op, &t.xfer), QV_OK);
	party_poll(&p, 150);
	assert_int_equal(t.dones, 0);
	kin_kill(&k);
	party_poll(&p, 500);
	assert_int_equal(t.dones, 1);
	assert_int_equal(t.status, QV_EPEER);
	assert_true(party_presence(&p, addr, QV_GONE, 0));
	addr = party_insert(&later, name);
	assert_int_equal(party_try(&later, addr, THEM, 8), QV_EPEER);
	assert_false(qv_node_is_here(name));
	kill(child, SIGKILL);
	party_close(&later);
	party_close(&p);
}

/* The same for who waits without having asked, and before anybody has asked how it ended. */
static void nothing_is_heard_of_the_dead(void **state)
{
	struct party p;
	struct kin k;
	uint64_t addr;
	pid_t child;

	(void)state;
	kin_start(&k, speak_and_die, NULL);
	party_open(&p, US);
	addr = party_insert(&p, kin_hear(k.fd));
	kin_say(k.fd, p.name);
	assert_true(party_hear(&p, THEM, 1, 20000));
	party_send(&p, addr, THEM, 8);
	child = (pid_t)kin_hear(k.fd);
	assert_true(party_presence(&p, addr, QV_PRESENT, 0));
	kill(k.pid, SIGKILL);
	assert_true(party_presence(&p, addr, QV_GONE, 500));
	kin_kill(&k);
	kill(child, SIGKILL);
	party_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_forks),
		cmocka_unit_test(who_stays_has_forked),
		cmocka_unit_test(who_ends_has_forked),
		cmocka_unit_test(a_child_destroys),
		cmocka_unit_test(who_dies_has_forked),
		cmocka_unit_test(nothing_is_heard_of_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
