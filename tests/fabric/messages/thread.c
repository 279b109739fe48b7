/* SPDX-License-Identifier: BSD-2-Clause */
/* thread.c - FI_THREAD_SAFE: threads send, receive and read one queue without locks of ours. */
#include "tests/fabric/harness/ft.h"

#include <pthread.h>

enum { THREADS = 4 };

struct worker {
	pthread_t thread;
	struct ft_ep *ep;
	size_t rounds;
	int id;
	bool flood;
};

/* Thread i of each rank plays with thread i of the other; each may read the other threads'
 * completions off the common queue. */
static void *pingpong(void *arg)
{
	static const size_t lens[] = {8, 129, 5000, 70000};
	struct worker *w = arg;
	char *buf = ft_buf(70000);
	struct ft_op op;

	for (size_t i = 0; i < w->rounds; i++) {
		size_t len = lens[(i + (size_t)w->id) % 4];

		for (int turn = 0; turn < 2; turn++) {
			if (turn == ft.rank) {
				ft_fill(buf, len, i);
				ft_tsend(w->ep, !ft.rank, (uint64_t)w->id, buf, len, &op);
				ft_wait(&op);
			} else {
				ft_guard(buf, 70000);
				ft_trecv(w->ep, !ft.rank, (uint64_t)w->id, 0, buf, 70000, &op);
				ft_wait(&op);
				CHECK_EQ(op.len, len);
				ft_verify(buf, len, i, 70000);
			}
		}
	}
	free(buf);
	return NULL;
}

/* Odd threads send untagged and tagged to the even ones of the other rank, which
 * post and cancel. */
static void *flood(void *arg)
{
	enum { WINDOW = 16 };
	struct worker *w = arg;
	struct ft_op op[WINDOW] = {0}, extra;
	uint64_t out = 1, in[WINDOW], tag = (uint64_t)(w->id / 2), scrap;

	for (size_t i = 0; i < w->rounds; i++) {
		size_t slot = i % WINDOW;

		if (i >= WINDOW) {
			ft_wait(&op[slot]);
			CHECK(w->id % 2 || in[slot] == i - WINDOW);
		}
		if (w->id % 2) {
			out = i;
			struct ft_msg m = {.tagged = true,
					   .addr = w->ep->peer[!ft.rank],
					   .tag = tag,
					   .buf = &out,
					   .len = 8};

			POST(ft_send_as(w->ep, FT_SENDMSG_INJECT, &m, &op[slot]));
			continue;
		}
		ft_trecv(w->ep, FT_ANY, tag, 0, &in[slot], 8, &op[slot]);
		if (i % 8 == 0) {
			ft_trecv(w->ep, FT_ANY, 1000 + tag, 0, &scrap, 8, &extra);
			OK(fi_cancel(&w->ep->ep->fid, &extra));
			ft_wait_err(&extra, FI_ECANCELED);
		}
	}
	for (size_t i = 0; i < WINDOW; i++)
		ft_wait(&op[(w->rounds + i) % WINDOW]);
	return NULL;
}

static void run_threads(void *(*body)(void *), size_t rounds)
{
	struct worker w[THREADS];
	struct ft_ep ep;
	char first[64 + FT_GUARD];

	ft_fill(first, 1, 0); /* the pattern exists before the threads do */
	ft_open(&ep, &(struct ft_conf){.threading = FI_THREAD_SAFE});
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.ep = &ep, .rounds = rounds, .id = i};
		CHECK(pthread_create(&w[i].thread, NULL, body, &w[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	ft_close(&ep);
}

static void threads_pingpong(void)
{
	run_threads(pingpong, ft_scaled(400));
}

static void threads_flood(void)
{
	run_threads(flood, ft_scaled(5000));
}

const struct ft_case ft_cases_thread[] = {
	{"threads_pingpong", 2, 60, threads_pingpong},
	{"threads_flood", 2, 60, threads_flood},
	{0},
};
