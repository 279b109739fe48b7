/* SPDX-License-Identifier: BSD-2-Clause */
/* rma_cntr.c - counters of reads and writes: our own, and those of peers in our memory. */
#include "tests/fabric/harness/ft.h"

static struct fid_cntr *open_cntr(struct ft_ep *ep)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	struct fid_cntr *cntr;

	OK(fi_cntr_open(ep->domain, &attr, &cntr, NULL));
	return cntr;
}

/* What peers do to our memory, counted at the target (FI_RMA_EVENT). */
static void rma_events(void)
{
	enum { N = 10 };
	struct ft_window w = {0};
	struct fid_cntr *written;
	static struct ft_op op[2 * N];

	ft_open_domain(&w.ep, &(struct ft_conf){.caps = FI_RMA | FI_RMA_EVENT});
	written = open_cntr(&w.ep);
	w.ep.remote_cntr = written;
	ft_open_ep(&w.ep);
	ft_exchange(&w.ep);
	ft_register_window(&w);
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++)
			POST(fi_write(w.ep.ep, w.buf + i * 64, 64, NULL, w.ep.peer[1],
				      w.addr + i * 64, w.key, ft_fresh(&op[i])));
		ft_wait_all(op, N);
	} else {
		OK(fi_cntr_wait(written, N, ft_ms(10000)));
		CHECK_EQ(fi_cntr_read(written), N);
	}
	ft_barrier();
	CHECK_EQ(fi_cntr_read(written), ft.rank ? N : 0);
	ft_close_window(&w);
}

/* What peers write to a region, counted for that region alone, and for as long as it is there. */
static void rma_region_counter(void)
{
	enum { N = 10, LEN = 30000 };
	struct ft_window w = {0};
	struct fid_cntr *written;
	static struct ft_op op[N];
	int ret;

	ft_open_window(&w, (struct ft_conf){.caps = FI_RMA_EVENT});
	written = open_cntr(&w.ep);
	ret = fi_mr_bind(w.mr, &written->fid, FI_REMOTE_WRITE);
	if (ret == -FI_ENOSYS && !strcmp(ft_core(), "shm"))
		ft_skip("regions of %s have no counters", ft_core());
	OK(ret);
	CHECK_EQ(fi_close(&written->fid), -FI_EBUSY);
	ft_barrier();
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++)
			POST(fi_write(w.ep.ep, w.buf, i % 2 ? 8 : LEN, NULL, w.ep.peer[1], w.addr,
				      w.key, ft_fresh(&op[i])));
		ft_wait_all(op, N);
		POST(fi_read(w.ep.ep, w.buf, 8, NULL, w.ep.peer[1], w.addr, w.key,
			     ft_fresh(&op[0])));
		ft_wait(&op[0]);
	} else {
		OK(fi_cntr_wait(written, N, ft_ms(10000)));
	}
	ft_barrier();
	CHECK_EQ(fi_cntr_read(written), ft.rank ? N : 0);
	w.ep.remote_cntr = written; /* closed after the region */
	ft_close_window(&w);
}

/* Counters that an enabled endpoint is given: OpenSHMEM does so. */
static void counter_late(void)
{
	struct ft_window w = {0};
	struct fid_cntr *sent, *received, *wrote;
	struct ft_op op[2];
	uint64_t word = 1;

	ft_open_window(&w, (struct ft_conf){0});
	sent = open_cntr(&w.ep);
	received = open_cntr(&w.ep);
	wrote = open_cntr(&w.ep);
	OK(fi_ep_bind(w.ep.ep, &sent->fid, FI_SEND));
	OK(fi_ep_bind(w.ep.ep, &received->fid, FI_RECV));
	OK(fi_ep_bind(w.ep.ep, &wrote->fid, FI_READ | FI_WRITE));
	CHECK(fi_ep_bind(w.ep.ep, &wrote->fid, FI_SEND) < 0);
	CHECK_EQ(fi_close(&sent->fid), -FI_EBUSY);
	ft_barrier();
	if (ft.rank == 0) {
		POST(fi_write(w.ep.ep, w.buf, 64, NULL, w.ep.peer[1], w.addr, w.key,
			      ft_fresh(&op[0])));
		OK(fi_cntr_wait(wrote, 1, ft_ms(10000)));
		ft_tsend(&w.ep, 1, 1, &word, 8, &op[1]);
		OK(fi_cntr_wait(sent, 1, ft_ms(10000)));
		ft_wait_all(op, 2);
	} else {
		ft_trecv(&w.ep, 0, 1, 0, &word, 8, &op[0]);
		OK(fi_cntr_wait(received, 1, ft_ms(10000)));
		ft_wait(&op[0]);
	}
	ft_barrier();
	CHECK_EQ(fi_cntr_read(sent), !ft.rank);
	CHECK_EQ(fi_cntr_read(received), ft.rank);
	CHECK_EQ(fi_cntr_read(wrote), !ft.rank);
	OK(fi_close(&w.mr->fid));
	ft_close_ep(&w.ep);
	OK(fi_close(&sent->fid));
	OK(fi_close(&received->fid));
	OK(fi_close(&wrote->fid));
	ft_close(&w.ep);
	free(w.target);
	free(w.buf);
}

/* One counter for both directions, as MPICH binds it; messages do not move it. */
static void rma_counters(void)
{
	enum { N = 20 };
	struct ft_window w;
	static struct ft_op op[2 * N], msg;
	uint64_t word = 1;

	ft_open_window(&w, (struct ft_conf){.cntrs = true});
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++) {
			POST(fi_write(w.ep.ep, w.buf + i * 64, 64, NULL, w.ep.peer[1],
				      w.addr + i * 64, w.key, ft_fresh(&op[i])));
			POST(fi_read(w.ep.ep, w.buf + i * 64 + FT_WINDOW / 2, 64, NULL,
				     w.ep.peer[1], w.addr + FT_WINDOW / 2, w.key,
				     ft_fresh(&op[N + i])));
		}
		FT_HERE();
		OK(fi_cntr_wait(w.ep.rma_cntr, 2 * N, ft_ms(10000)));
		CHECK_EQ(fi_cntr_read(w.ep.rma_cntr), 2 * N);
		CHECK_EQ(fi_cntr_read(w.ep.send_cntr), 0);
		ft_wait_all(op, 2 * N);
		ft_tsend(&w.ep, 1, 1, &word, 8, &msg);
		ft_wait(&msg);
		CHECK_EQ(fi_cntr_read(w.ep.send_cntr), 1);
		CHECK_EQ(fi_cntr_read(w.ep.rma_cntr), 2 * N);
	} else {
		ft_trecv(&w.ep, 0, 1, 0, &word, 8, &msg);
		ft_wait(&msg);
	}
	ft_close_window(&w);
}

/* Of who has FI_MATCH_COMPLETE as a default: operations that match nothing go by it, too. */
static void match_default(void)
{
	struct ft_window w;
	struct ft_op op[3];
	uint64_t word = 5;

	ft_peer_limit(NULL, 0, "FI_MATCH_COMPLETE is not offered");
	ft_open_window(&w, (struct ft_conf){.tx_flags = FI_MATCH_COMPLETE | FI_COMPLETION});
	if (ft.rank == 0) {
		ft_fill(w.buf, 64, 1);
		POST(fi_write(w.ep.ep, w.buf, 64, NULL, w.ep.peer[1], w.addr, w.key,
			      ft_fresh(&op[0])));
		ft_wait(&op[0]);
		POST(fi_read(w.ep.ep, w.buf + 64, 64, NULL, w.ep.peer[1], w.addr, w.key,
			     ft_fresh(&op[1])));
		ft_wait(&op[1]);
		ft_verify(w.buf + 64, 64, 1, 64);
		POST(fi_inject_write(w.ep.ep, &word, 8, w.ep.peer[1], w.addr, w.key));
		ft_tsend(&w.ep, 1, 1, &word, 8, &op[2]);
	} else {
		ft_trecv(&w.ep, 0, 1, 0, &word, 8, &op[2]);
	}
	ft_wait(&op[2]);
	ft_close_window(&w);
}

const struct ft_case ft_cases_rma_cntr[] = {
	{"rma_counters", 2, 20, rma_counters},
	{"rma_events", 2, 20, rma_events},
	{"rma_region_counter", 2, 20, rma_region_counter},
	{"counter_late", 2, 20, counter_late},
	{"match_default", 2, 20, match_default},
	{0},
};
