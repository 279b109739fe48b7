/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c - deep queues: many messages before their receives, many receives before messages. */
#include "tests/fabric/harness/ft.h"

#define MARK UINT64_C(0xffffffff00000000)

enum taking { REVERSE, RANDOM, FORWARD };

static uint32_t *sequence(size_t n, enum taking how)
{
	uint32_t *index = malloc(n * sizeof(*index));

	CHECK(index);
	if (how == RANDOM)
		ft_shuffle(index, n, n);
	for (size_t i = 0; how != RANDOM && i < n; i++)
		index[i] = (uint32_t)(how == REVERSE ? n - 1 - i : i);
	return index;
}

/* Rank 1 sends n messages with tags 0..n-1 and a mark; none waits for its completion. */
static void send_many(struct ft_ep *ep, size_t n, size_t len, const uint32_t *index)
{
	bool inject = len <= 8;
	struct ft_op *op = calloc(n + 1, sizeof(*op));
	char *buf = malloc(n * len + 8);

	CHECK(op && buf);
	for (size_t i = 0; i < n; i++) {
		uint32_t tag = index ? index[i] : (uint32_t)i;
		char *b = buf + i * len;

		ft_fill(b, len, tag);
		if (inject)
			POST(fi_tinject(ep->ep, b, len, ep->peer[0], tag));
		else
			ft_tsend(ep, 0, tag, b, len, &op[i]);
	}
	ft_tsend(ep, 0, MARK, buf, 8, &op[n]);
	for (size_t i = inject ? n : 0; i <= n; i++)
		ft_wait(&op[i]);
	free(op);
	free(buf);
}

static void receive_queued(struct ft_ep *ep, size_t n, size_t len, enum taking how)
{
	enum { WINDOW = 64 };
	struct ft_op op[WINDOW], mark;
	uint32_t *index = sequence(n, how);
	char *buf = malloc(WINDOW * (len + FT_GUARD));
	uint64_t word;

	CHECK(buf);
	ft_trecv(ep, 1, MARK, 0, &word, 8, &mark);
	ft_barrier();
	ft_wait(&mark); /* everything is here */
	for (size_t i = 0; i < n + WINDOW; i++) {
		size_t slot = i % WINDOW;
		char *b = buf + slot * (len + FT_GUARD);

		if (i >= WINDOW && i - WINDOW < n) {
			ft_wait(&op[slot]);
			CHECK_EQ(op[slot].len, len);
			ft_verify(b, len, index[i - WINDOW], len);
		}
		if (i >= n)
			continue;
		ft_guard(b, len);
		ft_trecv(ep, 1, index[i], 0, b, len, &op[slot]);
	}
	free(index);
	free(buf);
}

static void unexpected(size_t n, size_t len, enum taking how)
{
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	if (ft.rank == 0) {
		receive_queued(&ep, n, len, how);
	} else {
		ft_barrier();
		send_many(&ep, n, len, NULL);
	}
	ft_close(&ep);
}

static void unexpected_small_reverse(void)
{
	unexpected(ft_scaled(100000), 4, REVERSE);
}

static void unexpected_small_random(void)
{
	unexpected(ft_scaled(100000), 4, RANDOM);
}

/* An earlier core takes no more at some time, and the sender waits for ever. */
static void needs_room(void)
{
	ft_peer_limit(NULL, FI_VERSION(2, 6),
		      "it takes a few thousand long messages that nobody receives");
}

static void unexpected_large_reverse(void)
{
	needs_room();
	unexpected(ft_scaled(3000), 70000, REVERSE);
}

static void unexpected_large_random(void)
{
	needs_room();
	unexpected(ft_scaled(3000), 70000, RANDOM);
}

/* n receives wait, their messages come in another order. */
static void posted(enum taking how)
{
	enum { LEN = 40 };
	size_t n = ft_scaled(10000);
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	if (ft.rank == 0) {
		struct ft_op *op = calloc(n, sizeof(*op));
		char *buf = malloc(n * (LEN + FT_GUARD));
		struct ft_op mark;
		uint64_t word;

		CHECK(op && buf);
		for (size_t i = 0; i < n; i++) {
			ft_guard(buf + i * (LEN + FT_GUARD), LEN);
			ft_trecv(&ep, i % 2 ? 1 : FT_ANY, i, 0, buf + i * (LEN + FT_GUARD), LEN,
				 &op[i]);
		}
		ft_trecv(&ep, 1, MARK, 0, &word, 8, &mark);
		ft_barrier();
		for (size_t i = 0; i < n; i++) {
			ft_wait(&op[i]);
			CHECK_EQ(op[i].tag, i);
			ft_verify(buf + i * (LEN + FT_GUARD), LEN, i, LEN);
		}
		ft_wait(&mark);
		free(op);
		free(buf);
	} else {
		uint32_t *index = sequence(n, how);

		ft_barrier();
		send_many(&ep, n, LEN, index);
		free(index);
	}
	ft_close(&ep);
}

static void posted_reverse(void)
{
	posted(REVERSE);
}

static void posted_random(void)
{
	posted(RANDOM);
}

static void posted_forward(void)
{
	posted(FORWARD);
}

/* Receives left over are taken back one by one, from a random place. */
static void posted_cancelled(void)
{
	size_t n = ft_scaled(10000);
	struct ft_op *op = calloc(n, sizeof(*op));
	uint32_t *index = sequence(n, RANDOM);
	struct ft_ep ep;
	uint64_t word;

	CHECK(op);
	ft_open(&ep, &(struct ft_conf){0});
	for (size_t i = 0; i < n; i++)
		ft_trecv(&ep, FT_ANY, i, i % 3 ? 0 : 1ull << 40, &word, 8, &op[i]);
	for (size_t i = 0; i < n; i++) {
		FT_HERE();
		OK(fi_cancel(&ep.ep->fid, &op[index[i]]));
		if (i % 100 == 0)
			ft_progress();
	}
	for (size_t i = 0; i < n; i++)
		ft_wait_err(&op[i], FI_ECANCELED);
	free(index);
	free(op);
	ft_close(&ep);
}

const struct ft_case ft_cases_queue[] = {
	{"unexpected_small_reverse", 2, 60, unexpected_small_reverse},
	{"unexpected_small_random", 2, 60, unexpected_small_random},
	{"unexpected_large_reverse", 2, 60, unexpected_large_reverse},
	{"unexpected_large_random", 2, 60, unexpected_large_random},
	{"posted_reverse", 2, 30, posted_reverse},
	{"posted_random", 2, 30, posted_random},
	{"posted_forward", 2, 30, posted_forward},
	{"posted_cancelled", 1, 30, posted_cancelled},
	{0},
};
