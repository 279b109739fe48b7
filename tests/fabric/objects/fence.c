/* SPDX-License-Identifier: BSD-2-Clause */
/* fence.c - FI_FENCE: an operation that begins when all before it to the same peer are over. */
#include "tests/fabric/harness/ft.h"

enum { N = 8, LEN = 100000, LONG = 300000 };

static ssize_t send_behind(struct ft_ep *ep, const uint64_t *word, bool tagged, struct ft_op *op)
{
	const struct iovec iov = {(void *)(uintptr_t)word, 8};
	const struct fi_msg_tagged t = {
		.msg_iov = &iov, .iov_count = 1, .addr = ep->peer[1], .tag = 2, .context = op};
	const struct fi_msg m = {
		.msg_iov = &iov, .iov_count = 1, .addr = ep->peer[1], .context = op};

	return tagged ? fi_tsendmsg(ep->ep, &t, FI_FENCE | FI_COMPLETION)
		      : fi_sendmsg(ep->ep, &m, FI_FENCE | FI_COMPLETION);
}

/* Behind writes: when the message is there, so are they. */
static void behind_writes(struct ft_window *w, bool tagged)
{
	static struct ft_op op[N], last;
	uint64_t word = 7;

	if (ft.rank == 1) {
		ft_guard(w->target, FT_WINDOW);
		if (tagged)
			ft_trecv(&w->ep, 0, 2, 0, &word, 8, &last);
		else
			ft_recv(&w->ep, 0, &word, 8, &last);
	}
	ft_barrier();
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++) {
			ft_fill(w->buf + i * LEN, LEN, i);
			POST(fi_write(w->ep.ep, w->buf + i * LEN, LEN, NULL, w->ep.peer[1],
				      w->addr + i * LEN, w->key, ft_fresh(&op[i])));
		}
		POST(send_behind(&w->ep, &word, tagged, ft_fresh(&last)));
		for (size_t i = 0; i < N; i++) /* they are over, told or about to be */
			ft_wait(&op[i]);
	}
	ft_wait(&last);
	for (size_t i = 0; i < N && ft.rank == 1; i++)
		ft_verify(w->target + i * LEN, LEN, i, LEN - FT_GUARD);
	ft_barrier();
}

static ssize_t write_behind(struct ft_window *w, struct ft_op *op)
{
	const struct iovec iov = {w->buf, 8};
	const struct fi_rma_iov there = {w->addr, 8, w->key};
	const struct fi_msg_rma msg = {.msg_iov = &iov,
				       .iov_count = 1,
				       .addr = w->ep.peer[1],
				       .rma_iov = &there,
				       .rma_iov_count = 1,
				       .context = op};

	return fi_writemsg(w->ep.ep, &msg, FI_FENCE | FI_COMPLETION);
}

/* Behind a message that the peer does not take yet: nothing begins, until it does. */
static void behind_message(struct ft_window *w, bool rma)
{
	char *buf = ft_buf(LONG);
	struct ft_op first, second;
	uint64_t word = 5;
	double end;

	if (ft.rank == 0) {
		ft_fill(buf, LONG, 3);
		ft_tsend(&w->ep, 1, 1, buf, LONG, &first);
		ft_fresh(&second);
		for (end = ft_now() + 0.1; ft_now() < end;)
			CHECK_EQ(rma ? write_behind(w, &second)
				     : send_behind(&w->ep, &word, true, &second),
				 -FI_EAGAIN);
		ft_barrier_idle();
		POST(rma ? write_behind(w, &second) : send_behind(&w->ep, &word, true, &second));
		ft_wait(&first);
		ft_wait(&second);
	} else {
		if (!rma)
			ft_trecv(&w->ep, 0, 2, 0, &word, 8, &second);
		ft_barrier_idle();
		ft_trecv(&w->ep, 0, 1, 0, buf, LONG, &first);
		ft_wait(&first);
		ft_verify(buf, LONG, 3, LONG);
		if (!rma)
			ft_wait(&second);
	}
	ft_barrier();
	free(buf);
}

static void fence(void)
{
	struct ft_window w;

	ft_open_window(&w, (struct ft_conf){.caps = FI_FENCE});
	CHECK_EQ(w.ep.info->caps & FI_FENCE, FI_FENCE);
	for (int i = 0; i < 4; i++) {
		behind_writes(&w, i % 2);
		behind_message(&w, i % 2);
	}
	ft_close_window(&w);
}

const struct ft_case ft_cases_fence[] = {
	{"fence", 2, 30, fence},
	{0},
};
