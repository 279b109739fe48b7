/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kills.c - processes killed at any moment while they send, receive and read: each death is seen
 * within a second, and of a hundred nothing is left. QV_SEED draws the moments.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <quiver/types.h>

#include "rig/party.h"

#define KILLS    100u
#define WARM     10u /* until tables have grown */
#define LONGEST  6000u
#define LONG_MEM (1u << 20)
#define MUCH     ((size_t)64 << 20) /* bytes that the kernel needs 5 ms and more to take away */
#define TRIES    20u                /* somebody else may have the CPU meanwhile */

static uint64_t rnd;

static uint64_t draw(uint64_t below)
{
	rnd = rnd * 6364136223846793005u + 1442695040888963407u;
	return (rnd >> 33) % below;
}

/* Sends, hears and reads for ever. */
static void live(int fd, const void *arg)
{
	char *to = calloc(1, LONG_MEM);
	struct party p;
	uint64_t addr, there;

	(void)arg;
	QV_NEED(to);
	party_open(&p, 1);
	kin_say(fd, p.name);
	addr = party_insert(&p, kin_hear(fd));
	there = kin_hear(fd);
	party_send(&p, addr, 0, 8);
	kin_say(fd, 0);
	for (size_t len = 1;; len = (len * 7 + 13) % LONGEST) {
		struct transfer t = {.xfer.done = transfer_done};
		struct iovec iov = {to, LONG_MEM};

		(void)party_try(&p, addr, 0, len);
		qv_node_poll(p.node);
		if (len % 31)
			continue;
		QV_NEED(!p.x.ops->read(&p.x, addr, &iov, 1, there, 0, &t.xfer));
		while (!t.dones)
			qv_node_poll(p.node);
	}
}

/* Not all kills strike in a call: some strike who waits for us, because a ring is full. */
static void talk(struct party *p, uint64_t addr, uint64_t us)
{
	const uint64_t until = kin_now_us() + us;
	const bool hears = draw(4), speaks = draw(4);

	while (kin_now_us() < until) {
		if (speaks)
			(void)party_try(p, addr, 1, draw(LONGEST));
		if (hears)
			qv_node_poll(p->node);
	}
}

/* Sockets of this name. */
static unsigned doors(uint64_t name)
{
	char text[64];

	snprintf(text, sizeof text, "@quiver-node/%u/%llu", (unsigned)geteuid(),
		 (unsigned long long)name);
	return kin_count_lines("/proc/net/unix", text);
}

static uint64_t kill_one(struct party *p, const char *memory)
{
	uint64_t addr, name, at, took;
	struct kin k;

	kin_start(&k, live, NULL);
	name = kin_hear(k.fd);
	addr = party_insert(p, name);
	p->heard[1] = p->sent[1] = 0; /* a new one */
	kin_say(k.fd, p->name);
	kin_say(k.fd, (uint64_t)(uintptr_t)memory);
	kin_hear(k.fd);
	talk(p, addr, draw(4000));
	at = kin_now_us();
	kin_kill(&k);
	assert_true(party_presence(p, addr, QV_GONE, 1000));
	took = kin_now_us() - at;
	assert_int_equal(doors(name), 0);
	party_remove(p, addr);
	party_poll(p, 1);
	return took;
}

static unsigned files_in(const char *path)
{
	DIR *d = opendir(path);
	unsigned count = 0;

	while (d && readdir(d))
		count++;
	if (d)
		closedir(d);
	return count;
}

static void nothing_is_left_of_a_hundred(void **state)
{
	char *memory = calloc(1, LONG_MEM);
	const unsigned shm = files_in("/dev/shm");
	unsigned fds = 0, maps = 0;
	uint64_t took, longest = 0, all = 0;
	struct qv_node_stats stats;
	struct party p;
	size_t heap = 0;

	(void)state;
	assert_non_null(memory);
	party_open(&p, 0);
	for (unsigned i = 0; i < WARM + KILLS; i++) {
		if (i == WARM) {
			fds = kin_count_fds();
			maps = kin_count_lines("/proc/self/maps", "");
			heap = mallinfo2().uordblks;
		}
		took = kill_one(&p, memory);
		all += took;
		longest = took > longest ? took : longest;
	}
	printf("%u deaths seen after %.1f ms in the mean, %.1f ms at most; heap %+ld bytes\n",
	       WARM + KILLS, (double)all * 1e-3 / (WARM + KILLS), (double)longest * 1e-3,
	       (long)(mallinfo2().uordblks - heap));
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.peers + stats.bytes, 0);
	assert_int_equal(kin_count_fds(), fds);
	assert_int_equal(kin_count_lines("/proc/self/maps", "memfd:quiver"), 0);
	assert_true(kin_count_lines("/proc/self/maps", "") <= maps + 2);
	assert_true(mallinfo2().uordblks <= heap + 1024);
	assert_int_equal(doors(p.name), 1);
	assert_true(files_in("/dev/shm") <= shm + 64); /* other tests have some */
	assert_int_equal(p.warnings, 0);
	party_close(&p);
	free(memory);
}

/* Has much memory, and is connected both ways. */
static void have_much(int fd, const void *arg)
{
	char *memory = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct party p;

	(void)arg;
	QV_NEED(memory != MAP_FAILED);
	(void)madvise(memory, MUCH, MADV_NOHUGEPAGE);
	memset(memory, 1, MUCH);
	party_open(&p, 1);
	kin_say(fd, p.name);
	party_send(&p, party_insert(&p, kin_hear(fd)), 0, 8);
	QV_NEED(party_hear(&p, 0, 1, 20000));
	kin_say(fd, 0);
	pause();
}

/* Is such a one seen to be gone, and nobody at its door, while all that it has open still is? */
static bool is_seen_early(struct party *p)
{
	char files[64];
	struct kin k;
	uint64_t addr;
	bool early;

	kin_start(&k, have_much, NULL);
	addr = party_insert(p, kin_hear(k.fd));
	p->heard[1] = p->sent[1] = 0; /* a new one */
	kin_say(k.fd, p->name);
	assert_true(party_hear(p, 1, 1, 20000));
	party_send(p, addr, 1, 8);
	kin_hear(k.fd);
	snprintf(files, sizeof files, "/proc/%d/fd", (int)k.pid);
	kill(k.pid, SIGKILL);
	assert_true(party_presence(p, addr, QV_GONE, 1000));
	party_poll(p, 1);
	assert_int_equal(party_try(p, addr, 1, 8), QV_EPEER);
	early = files_in(files) > 2; /* . and .. */
	kin_kill(&k);
	party_remove(p, addr);
	return early;
}

/* The kernel takes the memory of who has died first, which may take seconds, and ends its connections
 * behind that. */
static void one_with_much_memory(void **state)
{
	unsigned tries = 1;
	struct party p;

	(void)state;
	party_open(&p, 0);
	while (!is_seen_early(&p))
		assert_in_range(tries++, 1, TRIES - 1);
	party_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left_of_a_hundred),
					   cmocka_unit_test(one_with_much_memory)};

	rnd = getenv("QV_SEED") ? strtoull(getenv("QV_SEED"), NULL, 0) : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
