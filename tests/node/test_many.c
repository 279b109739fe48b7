/* SPDX-License-Identifier: BSD-2-Clause */
/* test_many.c - many processes that start at once, and many that come and go. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <quiver/types.h>

#include "rig/party.h"

#define MANY   40u
#define ROUNDS 3u

struct crowd {
	bool others; /* all are of a user who is not root */
	struct rlimit descriptors;
};

static void send_to_all(struct party *p, uint64_t *addr)
{
	for (unsigned k = 1; k < MANY; k++) {
		unsigned to = (p->id + k) % MANY;

		party_send(p, addr[to], to, 8);
	}
}

static void one_of_many(int fd, const void *arg)
{
	const struct crowd *crowd = arg;
	struct party p;
	uint64_t addr[MANY];

	if (crowd->others) {
		kin_drop_root();
		QV_NEED(!setrlimit(RLIMIT_NOFILE, &crowd->descriptors));
	}
	party_open(&p, (unsigned)kin_hear(fd));
	kin_say(fd, p.name);
	for (unsigned i = 0; i < MANY; i++)
		addr[i] = party_insert(&p, kin_hear(fd));
	send_to_all(&p, addr);
	for (unsigned i = 0; i < MANY; i++)
		QV_NEED(i == p.id || party_hear(&p, i, 1, 60000));
	QV_NEED(!p.warnings && p.total == MANY - 1);
	kin_say(fd, 0);
	kin_hear(fd);
	party_close(&p);
}

static void start_at_once(const struct crowd *crowd)
{
	struct kin k[MANY];
	uint64_t name[MANY];

	for (unsigned i = 0; i < MANY; i++)
		kin_start(&k[i], one_of_many, crowd);
	for (unsigned i = 0; i < MANY; i++)
		kin_say(k[i].fd, i);
	for (unsigned i = 0; i < MANY; i++)
		name[i] = kin_hear(k[i].fd);
	for (unsigned n = 0; n < MANY; n++)
		for (unsigned i = 0; i < MANY; i++)
			kin_say(k[i].fd, name[n]);
	for (unsigned i = 0; i < MANY; i++)
		kin_hear(k[i].fd);
	for (unsigned i = 0; i < MANY; i++)
		kin_say(k[i].fd, 0);
	for (unsigned i = 0; i < MANY; i++)
		kin_end(&k[i]);
}

static void all_start_at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++)
		start_at_once(&(struct crowd){.others = false});
}

/* The kernel limits how many descriptors of one user are under way (unix(7), ETOOMANYREFS). */
static void all_start_with_few_descriptors(void **state)
{
	(void)state;
	start_at_once(&(struct crowd){.others = true, .descriptors = {256, 256}});
}

/* Who may have more descriptors takes them. */
static void all_start_with_a_low_limit(void **state)
{
	(void)state;
	start_at_once(&(struct crowd){.others = true, .descriptors = {50, 4096}});
}

/* Who knocks at a process that has few descriptors left; some are served. */
#define KNOCKS 6u

/* For a while it has so many left. */
struct few {
	unsigned left, served, warnings;
};

static void have_few(int fd, const void *arg)
{
	const struct few *want = arg;
	const struct rlimit few = {40, 40};
	int used[40], n = 0;
	unsigned knocks;
	struct party p;

	QV_NEED(!setrlimit(RLIMIT_NOFILE, &few));
	party_open(&p, 1);
	kin_say(fd, p.name);
	while ((used[n] = dup(fd)) >= 0)
		n++;
	for (unsigned i = 0; i < want->left; i++)
		close(used[--n]);
	kin_say(fd, 0);
	kin_hear(fd);
	party_poll(&p, 200);
	QV_NEED(p.total == want->served && p.warnings == want->warnings);
	while (n)
		close(used[--n]);
	knocks = (unsigned)kin_hear(fd);
	for (unsigned i = 0; i < knocks; i++)
		QV_NEED(party_hear(&p, 2 + i, 1, 10000));
	QV_NEED(p.warnings == want->warnings);
	kin_say(fd, 0);
	kin_hear(fd);
	party_close(&p);
}

static void knock_at(const struct few *few)
{
	struct party p[KNOCKS];
	uint64_t name;
	struct kin k;

	kin_start(&k, have_few, few);
	name = kin_hear(k.fd);
	kin_hear(k.fd);
	for (unsigned i = 0; i < KNOCKS; i++) {
		party_open(&p[i], 2 + i);
		party_send(&p[i], party_insert(&p[i], name), 1, 300);
	}
	kin_say(k.fd, 0);
	kin_say(k.fd, KNOCKS);
	kin_hear(k.fd);
	for (unsigned i = 0; i < KNOCKS; i++)
		party_close(&p[i]);
	kin_say(k.fd, 0);
	kin_end(&k);
}

static void few_descriptors_serve_some(void **state)
{
	(void)state;
	knock_at(&(struct few){.left = 4, .served = 3, .warnings = 1});
	knock_at(&(struct few){.left = KNOCKS, .served = KNOCKS - 1, .warnings = 1});
	knock_at(&(struct few){.left = KNOCKS + 1, .served = KNOCKS, .warnings = 0});
}

/* There is none for a ring. */
static void a_ring_waits_for_a_descriptor(void **state)
{
	static const struct few few = {.left = 1, .served = 0, .warnings = 1};
	struct party p;
	struct kin k;
	uint64_t addr;

	(void)state;
	party_open(&p, 2);
	kin_start(&k, have_few, &few);
	addr = party_insert(&p, kin_hear(k.fd));
	kin_hear(k.fd);
	party_send(&p, addr, 1, 300);
	kin_say(k.fd, 0);
	assert_false(party_presence(&p, addr, QV_GONE, 50));
	kin_say(k.fd, 1);
	kin_hear(k.fd);
	kin_say(k.fd, 0);
	kin_end(&k);
	party_close(&p);
}

/* Come and go. */

static void visit(int fd, const void *arg)
{
	const bool *orderly = arg;
	struct party p;
	uint64_t addr;

	party_open(&p, 1);
	kin_say(fd, p.name);
	addr = party_insert(&p, kin_hear(fd));
	party_send(&p, addr, 0, 300);
	QV_NEED(party_hear(&p, 0, 1, 10000));
	if (*orderly)
		party_close(&p);
}

static void one_visit(struct party *p, bool orderly, bool drop_first)
{
	struct kin k;
	uint64_t addr;

	kin_start(&k, visit, &orderly);
	addr = party_insert(p, kin_hear(k.fd));
	p->heard[1] = p->sent[1] = 0; /* a new one */
	party_send(p, addr, 1, 300);
	kin_say(k.fd, p->name);
	assert_true(party_hear(p, 1, 1, 10000));
	kin_end(&k);
	if (drop_first)
		party_remove(p, addr);
	else
		assert_true(party_presence(p, addr, QV_GONE, 1000));
	party_poll(p, 1);
	if (!drop_first)
		party_remove(p, addr);
}

/* Nothing to do is left behind: the descriptor rests, and who asks may sleep. */
static bool comes_to_rest(struct party *p)
{
	struct pollfd fd = {qv_node_fd(p->node), POLLIN, 0};
	uint64_t until = kin_now_us() + 2000000 * kin_patience();

	while (kin_now_us() < until) {
		qv_node_poll(p->node);
		if (qv_node_may_sleep(p->node) && !poll(&fd, 1, 20))
			return true;
	}
	return false;
}

static void nothing_stays_behind(void **state)
{
	struct party p;
	struct qv_node_stats stats;
	unsigned fds, maps, all;

	(void)state;
	fds = kin_count_fds();
	party_open(&p, 0);
	one_visit(&p, true, false);
	assert_true(comes_to_rest(&p));
	assert_int_equal(kin_count_lines("/proc/self/maps", "memfd:quiver"), 0);
	assert_int_equal(kin_count_fds(), fds + 2);
	all = kin_count_lines("/proc/self/maps", "");
	for (unsigned i = 0; i < 60; i++)
		one_visit(&p, i & 1, i & 2);
	assert_true(comes_to_rest(&p));
	maps = kin_count_lines("/proc/self/maps", "memfd:quiver");
	assert_int_equal(maps, 0);
	assert_int_equal(kin_count_fds(), fds + 2);
	assert_true(kin_count_lines("/proc/self/maps", "") <= all + 4);
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.peers, 0);
	assert_int_equal(stats.bytes, 0);
	assert_int_equal(p.warnings, 0);
	party_close(&p);
	assert_int_equal(kin_count_fds(), fds);
}

static void no_names_stay_behind(void **state)
{
	struct party p;
	char door[64];
	uint64_t addr;

	(void)state;
	party_open(&p, 0);
	snprintf(door, sizeof door, "@quiver-node/%u/%llu", (unsigned)geteuid(),
		 (unsigned long long)p.name);
	addr = party_insert(&p, p.name);
	party_send(&p, addr, 0, 8);
	assert_true(party_hear(&p, 0, 1, 1000));
	assert_true(kin_count_lines("/proc/net/unix", door) > 0);
	assert_int_equal(kin_count_lines("/proc/self/maps", "/dev/shm"), 0);
	party_close(&p);
	assert_int_equal(kin_count_lines("/proc/net/unix", door), 0);
	assert_int_equal(kin_count_lines("/proc/self/maps", "memfd:quiver"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stays_behind),
		cmocka_unit_test(no_names_stay_behind),
		cmocka_unit_test(all_start_at_once),
		cmocka_unit_test(all_start_with_few_descriptors),
		cmocka_unit_test(all_start_with_a_low_limit),
		cmocka_unit_test(few_descriptors_serve_some),
		cmocka_unit_test(a_ring_waits_for_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
