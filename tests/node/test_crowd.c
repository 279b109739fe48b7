/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_crowd.c - more processes than processors, who sleep while they wait: each sends to each, all send
 * to one, and what that costs each of them in memory. QV_NODE_CROWD: how many (default 128).
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>

#include "engine/node/internal.h"
#include "rig/party.h"

#define SECONDS (90 * kin_patience())
#define FAN_IN  20u
/* Messages from each to its next neighbours: more than the first page of a ring has slots. */
#define TALK 70u
#define NEAR (crowd > 8 ? 8u : crowd - 1)
/* KiB of a ring whose packets are short and read soon. */
#define RING_KIB 4u
/* What a process may have in memory for 128 peers that are idle. */
#define AIM_KIB 2048u

static unsigned crowd;

/* What each says of itself, in memory that all have. */
static struct cost {
	size_t rss, pss, heap, mapped,
		touched; /* KiB of rings; of malloc; as the endpoint counts */
	unsigned fds;
} * costs;

static void sleep_until(struct party *p, unsigned from, uint32_t count)
{
	struct pollfd fd = {qv_node_fd(p->node), POLLIN, 0};
	uint64_t until = kin_now_us() + SECONDS * 1000000ull;

	while (p->heard[from] < count) {
		QV_NEED(kin_now_us() < until);
		if (!qv_node_poll(p->node) && qv_node_may_sleep(p->node))
			QV_NEED(poll(&fd, 1, SECONDS * 1000) > 0);
	}
}

/* Sums of a field of smaps over the rings. */
static void measure_rings(struct cost *c)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool ring = false;
	char line[256];
	size_t kib;

	QV_NEED(f);
	while (fgets(line, sizeof line, f)) {
		if (strchr(line, '-') && strchr(line, '-') < line + 17)
			ring = strstr(line, "memfd:quiver") != NULL;
		if (ring && sscanf(line, "Rss: %zu kB", &kib) == 1)
			c->rss += kib;
		if (ring && sscanf(line, "Pss: %zu kB", &kib) == 1)
			c->pss += kib;
	}
	fclose(f);
}

static void measure(struct party *p, struct cost *c, size_t heap, unsigned fds)
{
	struct qv_node_stats stats;

	c->heap = (mallinfo2().uordblks - heap) >> 10;
	measure_rings(c);
	qv_node_get_stats(p->node, &stats);
	c->mapped = stats.bytes >> 10;
	c->touched = stats.touched >> 10;
	c->fds = kin_count_fds() - fds;
}

/* One message to each of the next, and from each of those before. */
static void say_to(struct party *p, const uint64_t *addr, unsigned next, uint32_t said)
{
	for (unsigned k = 1; k <= next; k++) {
		unsigned to = (p->id + k) % crowd;

		party_send(p, addr[to], to, 8);
	}
	for (unsigned k = 1; k <= next; k++)
		sleep_until(p, (p->id + crowd - k) % crowd, said);
}

static void one_of_them(int fd, const void *arg)
{
	const size_t heap = mallinfo2().uordblks;
	const unsigned fds = kin_count_fds();
	uint64_t *addr = calloc(crowd, sizeof *addr), before;
	struct party p;

	(void)arg;
	QV_NEED(addr);
	party_open(&p, (unsigned)kin_hear(fd));
	kin_say(fd, p.name);
	for (unsigned i = 0; i < crowd; i++)
		addr[i] = party_insert(&p, kin_hear(fd));
	say_to(&p, addr, crowd - 1, 1);
	for (unsigned said = 2; said <= TALK; said++)
		say_to(&p, addr, NEAR, said);
	kin_say(fd, 0);
	kin_hear(fd); /* all are idle */
	measure(&p, &costs[p.id], heap, fds);
	kin_say(fd, 0);
	kin_hear(fd);
	before = p.total;
	for (unsigned i = 0; i < FAN_IN && p.id; i++)
		party_send(&p, addr[0], 0, 8 + i * 100);
	for (unsigned i = 1; i < crowd && !p.id; i++)
		sleep_until(&p, i, (crowd - i <= NEAR ? TALK : 1) + FAN_IN);
	QV_NEED(!p.warnings && p.total - before == (p.id ? 0 : FAN_IN * (crowd - 1)));
	kin_say(fd, 0);
	kin_hear(fd);
	party_close(&p);
	free(addr);
}

static void meet(const struct kin *k)
{
	for (unsigned i = 0; i < crowd; i++)
		kin_hear(k[i].fd);
	for (unsigned i = 0; i < crowd; i++)
		kin_say(k[i].fd, 0);
}

static void report(void)
{
	struct cost most = {0};

	for (unsigned i = 0; i < crowd; i++) {
		const struct cost *c = &costs[i];

		if (c->rss + c->heap > most.rss + most.heap)
			most = *c;
		assert_int_equal(c->rss, c->touched); /* the count is right */
	}
	printf("%u processes, a message from each to each, %u to neighbours, then idle: a process has %zu KiB of rings "
	       "resident (%zu KiB its share) of %zu mapped, %zu KiB of heap, %u descriptors\n",
	       crowd, TALK, most.rss, most.pss, most.mapped, most.heap, most.fds);
	assert_true(most.rss <= 2 * RING_KIB * (crowd - 1));
	assert_true(most.rss + most.heap <= AIM_KIB * crowd / 128);
}

static void many_who_sleep(void **state)
{
	struct kin *k = calloc(crowd, sizeof *k);
	uint64_t *name = calloc(crowd, sizeof *name);
	uint64_t began = kin_now_us();

	(void)state;
	if (!qv_node_can_sleep())
		skip();
	QV_NEED(k && name);
	for (unsigned i = 0; i < crowd; i++)
		kin_start(&k[i], one_of_them, NULL);
	for (unsigned i = 0; i < crowd; i++)
		kin_say(k[i].fd, i);
	for (unsigned i = 0; i < crowd; i++)
		name[i] = kin_hear(k[i].fd);
	for (unsigned i = 0; i < crowd; i++)
		for (unsigned n = 0; n < crowd; n++)
			kin_say(k[i].fd, name[n]);
	meet(k);
	printf("all to all after %.2f s\n", (double)(kin_now_us() - began) * 1e-6);
	meet(k);
	meet(k);
	for (unsigned i = 0; i < crowd; i++)
		kin_end(&k[i]);
	report();
	free(name);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(many_who_sleep)};
	const char *env = getenv("QV_NODE_CROWD");

	crowd = env ? (unsigned)atoi(env) : PARTY_IDS;
	QV_NEED(crowd > 1 && crowd <= PARTY_IDS);
	costs = mmap(NULL, crowd * sizeof *costs, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	QV_NEED(costs != MAP_FAILED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
