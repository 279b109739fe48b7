/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * millions.c - very many short messages that nobody receives yet: what they take at their
 * receiver and, beyond its budget, at their sender; then all are received, in several orders.
 */
#include "tests/fabric/harness/ft.h"

#include <unistd.h>

#define FEW      ((size_t)200000)
#define MILLIONS ((size_t)3000000)
#define WINDOW   ((size_t)512)
#define BUDGET   ((size_t)16 << 20) /* FI_QUIVER_MEMORY */
#define WAITING  96u                /* bytes that a message may take at its sender */
#define CORE     ((size_t)32 << 20) /* what the core may keep */

enum { SENT, STORED }; /* words: all were sent; how many of them */

/* What the process has in memory now. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long all = 0, pages = 0;

	CHECK(file && fscanf(file, "%lu %lu", &all, &pages) == 2);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void sender(struct ft_ep *ep, size_t n, const char *order)
{
	size_t before = resident(), grown;

	for (uint64_t i = 0; i < n; i++)
		POST(fi_tinject(ep->ep, &i, sizeof(i), ep->peer[1], i));
	ft_progress_for(0.5);
	grown = resident() > before ? resident() - before : 0;
	printf("  %s: %zu messages of 8 B (%s) wait, mostly here, in %zu KiB: %.1f bytes each\n",
	       ft.name, n, order, grown >> 10, (double)grown / (double)n);
	CHECK(grown < n * WAITING + CORE);
	ft.sh->word[SENT]++;
}

/* Tags are given by place in the order. */
static void receive_all(struct ft_ep *ep, const uint32_t *order, size_t n)
{
	static struct ft_op ops[WINDOW];
	static uint64_t in[WINDOW];

	for (size_t begin = 0; begin < n; begin += WINDOW) {
		size_t k = n - begin < WINDOW ? n - begin : WINDOW;

		for (size_t i = 0; i < k; i++)
			ft_trecv(ep, 0, order[begin + i], 0, &in[i], 8, &ops[i]);
		for (size_t i = 0; i < k; i++) {
			ft_wait(&ops[i]);
			CHECK_EQ(in[i], order[begin + i]);
		}
	}
}

static void receiver(struct ft_ep *ep, const uint32_t *order, size_t n, uint64_t turn)
{
	size_t before = resident(), grown;

	ft_await_word(SENT, turn);
	ft_progress_for(0.5);
	grown = resident() > before ? resident() - before : 0;
	printf("  %s: the receiver has grown by %zu KiB\n", ft.name, grown >> 10);
	CHECK(grown < 2 * BUDGET + CORE);
	receive_all(ep, order, n);
}

static void flood(size_t n)
{
	static const char *const names[] = {"taken in order", "in reverse", "at random"};
	uint32_t *order = malloc(n * sizeof(*order));
	struct ft_ep ep;

	if (!ft.quiver || ft.peer)
		ft_skip("a promise of quiver's own protocol");
	CHECK(order);
	for (unsigned how = 0; how < 3; how++) {
		if (how == 2)
			ft_shuffle(order, n, 7);
		for (uint32_t i = 0; i < n && how < 2; i++)
			order[i] = how ? (uint32_t)n - 1 - i : i;
		ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
		if (ft.rank == 0)
			sender(&ep, n, names[how]);
		else
			receiver(&ep, order, n, how + 1);
		ft_close(&ep);
	}
	free(order);
}

static void short_flood(void)
{
	flood(ft_scaled(FEW));
}

static void short_millions(void)
{
	flood(MILLIONS);
}

/* Beyond FI_QUIVER_QUEUE the sender is told to try again, and what it was not told so arrives. */
static void short_limit(void)
{
	uint64_t n = 0, in;
	struct ft_ep ep;
	struct ft_op op;

	if (!ft.quiver || ft.peer)
		ft_skip("a limit of quiver's own protocol");
	setenv("FI_QUIVER_QUEUE", "1M", 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	if (ft.rank == 0) {
		while (n < MILLIONS && !fi_tinject(ep.ep, &n, sizeof(n), ep.peer[1], 7))
			n++;
		printf("  %s: %llu messages were taken\n", ft.name, (unsigned long long)n);
		CHECK(n >= 1000000 && n < 1200000);
		ft.sh->word[STORED] = n;
		ft.sh->word[SENT] = 1;
	} else {
		ft_await_word(SENT, 1);
		for (uint64_t i = 0; i < ft.sh->word[STORED]; i++) {
			ft_trecv(&ep, 0, 7, 0, &in, 8, &op);
			ft_wait(&op);
			CHECK_EQ(in, i);
		}
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_millions[] = {
	{"short_limit", 2, 60, short_limit},
	{"short_flood", 2, 60, short_flood},
	{"short_millions", 2, 280, short_millions},
	{NULL, 0, 0, NULL},
};
