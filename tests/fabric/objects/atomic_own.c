/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_own.c - what quiver promises of atomic operations where it does them itself: order, refusals,
 * the death of a peer, and that what is counted has been done. */
#include "tests/fabric/harness/ft.h"
#include "tests/fabric/failures/kill.h"

/* As long as may be, many under way in both directions, in pieces: each finds what the one before has
 * left. */
static void in_order(void)
{
	enum { N = 40, MOST = 1016 };
	uint64_t *one = malloc(MOST * sizeof *one), *old = malloc(N * MOST * sizeof *old);
	static struct ft_op op[N];
	struct ft_window w;
	size_t count;

	ft_open_window(&w, (struct ft_conf){.caps = FI_ATOMIC});
	memset(w.target, 0, FT_WINDOW);
	OK(fi_fetch_atomicvalid(w.ep.ep, FI_UINT64, FI_SUM, &count));
	CHECK(one && old && count >= 64);
	count = count < MOST ? count : MOST;
	for (size_t i = 0; i < count; i++)
		one[i] = 1;
	ft_barrier();
	for (size_t i = 0; i < N; i++) {
		const struct fi_ioc here[3] = {
			{one, 1}, {one + 1, count / 3}, {one, count - 1 - count / 3}};
		struct fi_ioc result[2] = {{old + i * MOST, 5}, {old + i * MOST + 5, count - 5}};
		const struct fi_rma_ioc there[2] = {{w.addr, 7, w.key},
						    {w.addr + 56, count - 7, w.key}};
		const bool cut = w.ep.info->tx_attr->rma_iov_limit > 1 && i % 2;
		const struct fi_rma_ioc whole = {w.addr, count, w.key};
		const struct fi_msg_atomic msg = {.msg_iov = here,
						  .iov_count = 3,
						  .addr = w.ep.peer[!ft.rank],
						  .rma_iov = cut ? there : &whole,
						  .rma_iov_count = cut ? 2 : 1,
						  .datatype = FI_UINT64,
						  .op = FI_SUM,
						  .context = ft_fresh(&op[i])};

		POST(fi_fetch_atomicmsg(w.ep.ep, &msg, result, NULL, 2, FI_COMPLETION));
	}
	ft_wait_all(op, N);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < count; k++)
			CHECK_EQ(old[i * MOST + k], i);
	ft_barrier();
	for (size_t k = 0; k < count; k++)
		CHECK_EQ(((uint64_t *)w.target)[k], N);
	ft_close_window(&w);
	free(one);
	free(old);
}

static void refuse(struct ft_window *w, uint64_t addr, uint64_t key, size_t count)
{
	static uint64_t one[16], old[16];
	struct ft_op op;

	POST(fi_atomic(w->ep.ep, one, count, NULL, w->ep.peer[1], addr, key, FI_UINT64, FI_SUM,
		       ft_fresh(&op)));
	ft_wait_err(&op, FI_EINVAL);
	POST(fi_fetch_atomic(w->ep.ep, one, count, NULL, old, NULL, w->ep.peer[1], addr, key,
			     FI_UINT64, FI_SUM, ft_fresh(&op)));
	ft_wait_err(&op, FI_EINVAL);
}

/* One that was injected has no request to end: the queue tells all the same, where we do it ourselves.
 * The core node does not say what becomes of what it injects. */
static void refuse_injected(struct ft_window *w)
{
	const double end = ft_now() + 5 * ft.patience;
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e;
	const uint64_t one = 1;
	ssize_t n;

	POST(fi_inject_atomic(w->ep.ep, &one, 1, w->ep.peer[1], w->addr, w->key ^ 0x5a5a5a,
			      FI_UINT64, FI_SUM));
	while ((n = fi_cq_read(w->ep.rx_cq, &e, 1)) == -FI_EAGAIN)
		CHECK(ft_now() < end);
	CHECK_EQ(-n, FI_EAVAIL);
	CHECK_EQ(fi_cq_readerr(w->ep.rx_cq, &err, 0), 1);
	CHECK_EQ(err.err, FI_EINVAL);
	CHECK(!err.op_context && err.flags & FI_ATOMIC);
}

/* A wrong key, beyond the end, before the start, memory that may only be read; what may be done
 * goes on. */
static void bounds(void)
{
	uint64_t one = 1, old = 0;
	struct ft_window w;
	struct fid_mr *mr;
	struct ft_op op;

	ft_open_window(&w, (struct ft_conf){.caps = FI_ATOMIC});
	memset(w.target, 0, FT_WINDOW);
	OK(fi_mr_reg(w.ep.domain, w.buf, 64, FI_REMOTE_READ, 0, 0x77, 0, &mr, NULL));
	ft.sh->word[24 + ft.rank] =
		w.ep.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)w.buf : 0;
	ft.sh->word[26 + ft.rank] = fi_mr_key(mr);
	ft_barrier();
	if (ft.rank == 0) {
		refuse(&w, w.addr, w.key ^ 0x5a5a5a, 1);
		refuse(&w, w.addr + FT_WINDOW - 8, w.key, 2);
		refuse(&w, w.addr + FT_WINDOW, w.key, 1);
		refuse(&w, w.addr - 8, w.key, 1);
		refuse(&w, w.addr - 8, w.key, 16);
		refuse(&w, UINT64_MAX - 7, w.key, 1);
		refuse(&w, ft.sh->word[25], ft.sh->word[27], 1);
		if (strcmp(ft_core(), "node"))
			refuse_injected(&w);
		POST(fi_fetch_atomic(w.ep.ep, NULL, 1, NULL, &old, NULL, w.ep.peer[1],
				     ft.sh->word[25], ft.sh->word[27], FI_UINT64, FI_ATOMIC_READ,
				     ft_fresh(&op)));
		ft_wait(&op);
		POST(fi_fetch_atomic(w.ep.ep, &one, 1, NULL, &old, NULL, w.ep.peer[1],
				     w.addr + FT_WINDOW - 8, w.key, FI_UINT64, FI_SUM,
				     ft_fresh(&op)));
		ft_wait(&op);
		CHECK_EQ(old, 0);
	}
	ft_barrier();
	OK(fi_close(&mr->fid));
	ft_close_window(&w);
}

/* The peer dies with operations before it: all of them end. */
static void killed(void)
{
	enum { N = 300 };
	static struct ft_op op[N];
	uint64_t one = 1, old;
	struct ft_window w;

	ft_open_window(&w, (struct ft_conf){.caps = FI_ATOMIC});
	ft_barrier();
	ft.sh->word[READY] = ft.sh->word[DEATH] = 0; /* addresses of windows were there */
	ft_handshake(&w.ep);
	if (ft.rank == VICTIM) {
		while (!ft.sh->word[READY]) /* no progress: nothing is done */
			ft_msleep(1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&w.ep);
	} else {
		size_t n = 0;

		for (; n < N; n++) {
			ssize_t rc =
				fi_fetch_atomic(w.ep.ep, &one, 1, NULL, &old, NULL,
						w.ep.peer[VICTIM], w.addrs[VICTIM], w.keys[VICTIM],
						FI_UINT64, FI_SUM, ft_fresh(&op[n]));

			if (rc == -FI_EAGAIN) /* so many are enough */
				break;
			OK(rc);
		}
		CHECK(n >= 100);
		ft_play(&w.ep);
		ft.sh->word[READY] = 1;
		CHECK(ft_outlive(&w.ep, &op[n - 1], 0) != 0);
		for (size_t i = 0; i < n; i++)
			CHECK(op[i].done == 1 && op[i].err);
		ft_survived(&w.ep, w.buf, 64);
	}
	ft_close_window(&w);
}

/* Injected with FI_DELIVERY_COMPLETE, and counted: then the memory there has changed, whether or not
 * its owner looks in again. */
static void counted(void)
{
	enum { N = 20 };
	const size_t rounds = ft_scaled(300);
	volatile uint64_t *at;
	uint64_t done = 0;
	struct ft_window w;

	ft_open_window(&w, (struct ft_conf){.caps = FI_ATOMIC,
					    .cntrs = true,
					    .tx_flags = FI_DELIVERY_COMPLETE});
	memset(w.target, 0, FT_WINDOW);
	at = (void *)w.target;
	ft_barrier();
	for (uint64_t r = 1; r <= rounds; r++) {
		if (ft.rank == 0) {
			for (uint64_t i = 0; i < N; i++) {
				const uint64_t bits = i < N - 1 ? 1u << i : r << 32;

				POST(fi_inject_atomic(w.ep.ep, &bits, 1, w.ep.peer[1], w.addr,
						      w.key, FI_UINT64, FI_BXOR));
			}
			POST(fi_inject_write(w.ep.ep, &r, 8, w.ep.peer[1], w.addr + 8, w.key));
			done += N + 1;
			OK(fi_cntr_wait(w.ep.rma_cntr, done, ft_ms(10000)));
			ft.sh->word[20] = r;
			while (ft.sh->word[21] < r)
				ft_progress();
		} else {
			while (ft.sh->word[20] < r)
				ft_progress();
			CHECK_EQ(at[0] & 0xffffffff, r % 2 ? (1u << (N - 1)) - 1 : 0);
			CHECK_EQ(at[1], r);
			ft.sh->word[21] = r;
		}
	}
	ft_close_window(&w);
}

/* A signal by an atomic operation behind a fence: who sees it has what was written before. */
static void signalled(void)
{
	enum { N = 6, LEN = 100000, SIGNAL = FT_WINDOW - 8, ROUNDS = 20 };
	static struct ft_op op[N], last;
	volatile uint64_t *at;
	struct ft_window w;

	ft_open_window(&w, (struct ft_conf){.caps = FI_ATOMIC | FI_FENCE});
	memset(w.target, 0, FT_WINDOW);
	at = (void *)(w.target + SIGNAL);
	ft_barrier();
	for (uint64_t r = 1; r <= ROUNDS; r++) {
		if (ft.rank == 0) {
			const uint64_t one = 1;
			const struct fi_ioc here = {(void *)(uintptr_t)&one, 1};
			const struct fi_rma_ioc there = {w.addr + SIGNAL, 1, w.key};
			const struct fi_msg_atomic msg = {.msg_iov = &here,
							  .iov_count = 1,
							  .addr = w.ep.peer[1],
							  .rma_iov = &there,
							  .rma_iov_count = 1,
							  .datatype = FI_UINT64,
							  .op = FI_SUM,
							  .context = ft_fresh(&last)};

			for (size_t i = 0; i < N; i++) {
				ft_fill(w.buf + i * LEN, LEN, r * N + i);
				POST(fi_write(w.ep.ep, w.buf + i * LEN, LEN, NULL, w.ep.peer[1],
					      w.addr + i * LEN, w.key, ft_fresh(&op[i])));
			}
			POST(fi_atomicmsg(w.ep.ep, &msg, FI_FENCE | FI_COMPLETION));
			ft_wait_all(op, N);
			ft_wait(&last);
		} else {
			while (*at != r)
				ft_progress();
			for (size_t i = 0; i < N; i++)
				ft_verify(w.target + i * LEN, LEN, r * N + i, LEN - FT_GUARD);
		}
		ft_barrier();
	}
	ft_close_window(&w);
}

const struct ft_case ft_cases_atomic_own[] = {
	{"atomic_in_order", 2, 20, in_order}, {"atomic_bounds", 2, 20, bounds},
	{"atomic_kill", 3, 20, killed},       {"atomic_counted", 2, 20, counted},
	{"atomic_fence", 2, 20, signalled},   {0},
};
