/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_memory.c - what a structure holds beyond the caller's nodes: with 100000 entries, when
 * they have left, and after traffic with short queues. Prints the table, and holds each structure
 * to its promise.
 *     test_match_memory STRUCTURE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/match/auto/auto.h"
#include "tests/proto/rig/need.h"
#include "tests/match/model/settings.h"

#define N       100000
#define N_MOST  150000
#define SOURCES 64
#define DRAINED ((1u << 20) + 16384) /* bytes that auto may keep when all have left */
#define LINE    64

/* What is queued, and what happens to it. */
struct what {
	const char *name;
	int messages;  /* unexpected messages, else posted receives */
	int only_auto; /* lists would take too long, or it says nothing about them */
	int no_order;  /* entries leave in no order, else oldest first */
	int hashed;    /* auto: HASH is forced when all are there */
	int views;     /* so many classes of receives search the deep queue */
	uint32_t n;    /* entries, 0: N */
};

static const struct what whats[] = {
	{.name = "receives"},
	{.name = "messages", .messages = 1},
	{.name = "receives, no order", .only_auto = 1, .no_order = 1},
	{.name = "receives, hashed", .only_auto = 1, .no_order = 1, .hashed = 1},
	{.name = "messages, no order", .messages = 1, .only_auto = 1, .no_order = 1},
	{.name = "messages, hashed", .messages = 1, .only_auto = 1, .no_order = 1, .hashed = 1},
	{.name = "messages, any source too",
	 .messages = 1,
	 .only_auto = 1,
	 .hashed = 1,
	 .views = 2},
	/* Each class that searches has an index of its own, up to four. */
	{.name = "messages, four classes", .messages = 1, .only_auto = 1, .hashed = 1, .views = 4},
	/* And those beyond share the log. */
	{.name = "messages, six classes", .messages = 1, .only_auto = 1, .hashed = 1, .views = 6},
	/* Just beyond a power of two tables have the most room. */
	{.name = "messages, six, 70000",
	 .messages = 1,
	 .only_auto = 1,
	 .hashed = 1,
	 .views = 6,
	 .n = 70000},
	{.name = "messages, six, 131200",
	 .messages = 1,
	 .only_auto = 1,
	 .hashed = 1,
	 .views = 6,
	 .n = 131200},
};

/*
 * Bytes per entry beyond the request and per engine, at N entries; and in all, after traffic with
 * short queues. auto's are the product's goals, the others' are what their shapes cost: nothing
 * where lists go through the nodes, the share of a block or of a table that doubles elsewhere.
 * hash and nm keep their tables, which have two to four slots for each entry that was ever there.
 * All include what is held for a moment only, while something is built anew.
 */
static const struct promise {
	const char *structure;
	double per_entry;
	size_t fixed, later;
} promises[] = {
	{"auto", 64, 16384, 16384}, {"ll", 0, 512, 512},           {"lla", 43, 1024, 1024},
	{"llv", 32, 4096, 8192},    {"ompi", 0, 8192, 8192},       {"ucx", 0, 34000, 34000},
	{"bins", 0, 9000, 9000},    {"hash", 42, 8192, 42 * N},    {"nm", 168, 8192, 168 * N},
	{"pnp", 0, 16384, 16384},   {"pnp-static", 0, 8192, 4096}, {"clu", 0, 8192, 4096},
	{"col", 0, 16384, 16384},   {"col-ll", 0, 16384, 16384},   {"col-pnp", 3, 16384, 16384},
};

/* What the engine holds, and the most that it ever held. */
static size_t held, most;

static struct qv_match *m;
static struct qv_recv recvs[N_MOST];
static struct qv_msg msgs[N_MOST];

static void *get(void *ctx, size_t align, size_t size)
{
	void *p = aligned_alloc(align, size);

	(void)ctx;
	held += p ? size : 0;
	most = held > most ? held : most;
	return p;
}

static void release(void *ctx, void *p, size_t size)
{
	(void)ctx;
	held -= (size + LINE - 1) & ~(LINE - 1); /* as it was rounded up for get */
	free(p);
}

static const struct promise *promise_of(const char *structure)
{
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
		if (!strcmp(promises[i].structure, structure))
			return &promises[i];
	QV_NEED(!"a promise for each structure");
	return NULL;
}

static void post(uint32_t i, uint32_t tag, struct qv_msg *want)
{
	struct qv_msg *got = NULL;

	recvs[i] = (struct qv_recv){.tag = tag, .src = tag % SOURCES};
	QV_NEED(qv_match_post(m, &recvs[i], &got) == QV_OK && got == want);
}

static void queue(uint32_t i, uint32_t tag)
{
	msgs[i] = (struct qv_msg){.tag = tag, .src = tag % SOURCES};
	QV_NEED(qv_match_queue(m, &msgs[i]) == QV_OK);
}

static uint32_t entries(const struct what *w)
{
	return w->n ? w->n : N;
}

static void fill(const struct what *w)
{
	for (uint32_t i = 0; i < entries(w); i++) {
		if (w->messages)
			queue(i, i);
		else
			post(i, i, NULL);
	}
}

/* Receives of several classes look for what is not there; what they look by is what counts. */
static void search(int views)
{
	static const uint64_t ignores[] = {0, 0, 0xff, 0xff, 0xff00, 0xf0000};

	for (int k = 0; k < views; k++)
		for (uint32_t i = 0; i < 200; i++)
			QV_NEED(!qv_match_peek(m, i | 1u << 30, ignores[k],
					       k % 2 ? QV_SRC_ANY : 1));
}

static void drain(const struct what *w)
{
	for (uint32_t k = 0; k < entries(w); k++) {
		uint32_t i = w->no_order ? (uint32_t)(k * UINT64_C(7919) % N) : k;

		if (w->messages)
			post(0, i, &msgs[i]);
		else
			QV_NEED(qv_match_arrive(m, i, i % SOURCES) == &recvs[i]);
	}
}

/* One entry at a time, long enough for what is kept in reserve to be given up. */
static void use_little(const struct what *w)
{
	for (uint32_t i = 0; i < 3 * N; i++) {
		if (w->messages) {
			queue(0, i);
			post(0, i, &msgs[0]);
		} else {
			post(0, i, NULL);
			QV_NEED(qv_match_arrive(m, i, i % SOURCES) == &recvs[0]);
		}
	}
}

static void run(const struct what *w, const struct qv_match_settings *s)
{
	const struct promise *p = promise_of(s->structure);
	const struct qv_match_tuning tuning = {.mem = {get, release, NULL, 0}};
	size_t empty, peak, drained, later;

	most = 0;
	QV_NEED(qv_match_create_tuned(s, &tuning, &m) == QV_OK);
	empty = qv_match_memory(m);
	fill(w);
	if (w->hashed)
		qv_auto_force(m, QV_AUTO_HASH, QV_AUTO_HASH);
	search(w->views);
	peak = most;
	drain(w);
	drained = qv_match_memory(m);
	use_little(w);
	later = qv_match_memory(m);
	printf("%-10s  %-24s  %6zu  %9zu  %5.1f  %9zu  %8zu\n", s->structure, w->name, empty, peak,
	       (double)peak / entries(w), drained, later);
	fflush(stdout);
	QV_NEED((double)peak <= p->per_entry * entries(w) + (double)p->fixed);
	QV_NEED(!w->only_auto || drained <= DRAINED);
	QV_NEED(later <= p->later);
	qv_match_destroy(m);
	QV_NEED(!held);
}

int main(int argc, char **argv)
{
	struct qv_match_settings s;
	int is_auto;

	if (argc != 2) {
		fprintf(stderr, "usage: %s STRUCTURE\n", argv[0]);
		return 2;
	}
	qv_settings_for(&s, argv[1]);
	is_auto = qv_settings_is(&s, "auto");
	printf("%-10s  %-24s  %6s  %9s  %5s  %9s  %8s\n", "structure", "100000 entries", "empty",
	       "peak", "each", "drained", "later");
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++)
		if (is_auto || !whats[i].only_auto)
			run(&whats[i], &s);
	return 0;
}
