/* SPDX-License-Identifier: BSD-2-Clause */
/* completion.c - who gets a completion, when, and from which queue. */
#include "tests/fabric/harness/ft.h"

/* With selective completion a message call without FI_COMPLETION leaves no entry; errors do. */
static void selective(void)
{
	struct ft_ep ep;
	struct ft_op op[6];
	uint64_t buf[6] = {0};

	ft_open(&ep, &(struct ft_conf){.selective = true});
	for (int i = 0; i < 6; i++) {
		struct ft_msg m = {.tagged = i % 2,
				   .addr = ep.peer[!ft.rank],
				   .buf = &buf[i],
				   .len = 8,
				   .tag = (uint64_t)i};
		struct iovec iov = {&buf[i], 8};
		struct fi_msg quiet = {.msg_iov = &iov,
				       .iov_count = 1,
				       .addr = m.addr,
				       .context = ft_fresh(&op[i])};
		struct fi_msg_tagged tquiet = {.msg_iov = &iov,
					       .iov_count = 1,
					       .addr = m.addr,
					       .tag = m.tag,
					       .context = &op[i]};

		if (ft.rank == 1) {
			buf[i] = 100 + (uint64_t)i;
			if (i < 2)
				POST(fi_sendmsg(ep.ep, &quiet, 0));
			else if (i < 4)
				POST(fi_tsendmsg(ep.ep, &tquiet, 0));
			else
				POST(ft_send_as(&ep, FT_SENDMSG, &m, &op[i]));
		} else if (i == 4 || i == 0) {
			m.tagged = i;
			POST(ft_recv_as(&ep, FT_RECVMSG, &m, &op[i]));
		} else if (i == 1) {
			POST(fi_recvmsg(ep.ep, &quiet, 0));
		} else if (i == 2 || i == 3) {
			POST(fi_trecvmsg(ep.ep, &tquiet, 0));
		} else {
			POST(ft_recv_as(&ep, FT_RECVMSG, &m, &op[i]));
		}
	}
	/* Sent last: 4 untagged, 5 tagged. Rank 0: 0, 4, 5 asked; 4 gets nothing yet. */
	if (ft.rank == 1) {
		ft_wait(&op[4]);
		ft_wait(&op[5]);
		buf[0] = 104;
		POST(fi_tinject(ep.ep, &buf[0], 8, ep.peer[0], 4));
	} else {
		ft_wait(&op[0]);
		ft_wait(&op[5]);
		ft_wait(&op[4]);
	}
	ft_progress_for(0.01);
	for (int i = 0; i < 4; i++) {
		bool asked = ft.rank == 0 && i == 0;

		CHECK_EQ(op[i].done, asked);
		CHECK(ft.rank || buf[i] == 100 + (uint64_t)i);
	}
	ft_close(&ep);
}

static void set_flags(struct ft_ep *ep, uint64_t flags)
{
	uint64_t arg = FI_TRANSMIT | flags;

	OK(fi_control(&ep->ep->fid, FI_SETOPSFLAG, &arg));
}

/* Calls without flags go by those of the endpoint, however long the message is. */
static void selective_default(void)
{
	static const size_t lens[] = {8, 64, 1024};
	static struct ft_op quiet, asked, got[2];
	char *buf = ft_buf(8 * 1024);
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.selective = true});
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		struct ft_msg m = {.tagged = true, .addr = ep.peer[1], .len = lens[i], .tag = i};

		for (size_t k = 0; k < 2 && ft.rank == 0; k++) {
			m.buf = buf + k * 1024;
			POST(ft_recv_as(&ep, FT_RECVMSG, &m, &got[k]));
		}
		if (ft.rank == 0) {
			ft_wait_all(got, 2);
			continue;
		}
		set_flags(&ep, 0);
		POST(fi_tsend(ep.ep, buf, lens[i], NULL, ep.peer[0], i, ft_fresh(&quiet)));
		set_flags(&ep, FI_COMPLETION);
		POST(fi_tsend(ep.ep, buf, lens[i], NULL, ep.peer[0], i, ft_fresh(&asked)));
		ft_wait(&asked);
		CHECK(!quiet.done);
	}
	if (ft.rank == 1 && ep.info->tx_attr->inject_size < 8 * 1024) {
		set_flags(&ep, FI_COMPLETION | FI_INJECT);
		CHECK_EQ(fi_tsend(ep.ep, buf, ep.info->tx_attr->inject_size + 1, NULL, ep.peer[0],
				  9, ft_fresh(&asked)),
			 -FI_EINVAL);
	}
	ft_close(&ep);
	free(buf);
}

/* Without selective completion every call but inject leaves an entry, message calls too. */
static void unselective(void)
{
	struct ft_ep ep;
	struct ft_op op[2];
	uint64_t buf[2] = {7, 8};
	struct iovec iov = {&buf[0], 8};

	ft_open(&ep, &(struct ft_conf){0});
	struct fi_msg_tagged m = {.msg_iov = &iov,
				  .iov_count = 1,
				  .addr = ep.peer[!ft.rank],
				  .context = ft_fresh(&op[0])};

	if (ft.rank == 1) {
		POST(fi_tsendmsg(ep.ep, &m, 0));
		POST(fi_tinject(ep.ep, &buf[1], 8, ep.peer[0], 1));
		ft_wait(&op[0]);
	} else {
		POST(fi_trecvmsg(ep.ep, &m, 0));
		ft_trecv(&ep, 1, 1, 0, &buf[1], 8, &op[1]);
		ft_wait_all(op, 2);
	}
	ft_progress_for(0.01); /* an entry of the inject would have no context and fail */
	ft_close(&ep);
}

/* The buffer is free on return from a call with FI_INJECT, and from the inject calls. */
static void inject_reuse(void)
{
	enum { N = 400 };
	static struct ft_op op[N];
	struct ft_ep ep;
	char buf[4096 + FT_GUARD];

	ft_open(&ep, &(struct ft_conf){0});
	size_t most = ep.info->tx_attr->inject_size;

	most = most > sizeof(buf) - FT_GUARD ? sizeof(buf) - FT_GUARD : most;
	for (size_t i = 0; i < N; i++) {
		const size_t len = i % 4 ? most - most * i / (2 * N) : most / 16;
		struct ft_msg m = {.tagged = i % 2,
				   .addr = ep.peer[!ft.rank],
				   .buf = buf,
				   .len = len,
				   .data = i};
		if (ft.rank == 1) {
			ft_fill(buf, len, i);
			POST(ft_send_as(&ep, i % 3 ? FT_INJECTDATA : FT_SENDMSG_INJECT, &m,
					&op[i]));
			memset(buf, 0, sizeof(buf));
			continue;
		}
		ft_guard(buf, len);
		POST(ft_recv_as(&ep, FT_RECV, &m, &op[i]));
		ft_wait(&op[i]);
		ft_verify(buf, len, i, len);
	}
	for (size_t i = 0; ft.rank == 1 && i < N; i += 3)
		ft_wait(&op[i]);
	ft_close(&ep);
}

/* Delivery complete: no completion before the receiver took the message. */
static void level(uint64_t flag, size_t len)
{
	char *buf = ft_buf(len);
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	for (int i = 0; i < 30; i++) {
		struct ft_msg m = {.tagged = i % 2,
				   .addr = ep.peer[!ft.rank],
				   .buf = buf,
				   .len = len,
				   .flags = flag,
				   .tag = 1};
		struct ft_op op;

		if (ft.rank == 1) {
			ft_fill(buf, len, (uint64_t)i);
			POST(ft_send_as(&ep, FT_SENDMSG, &m, &op));
			if (i < 3) {
				ft_progress_for(0.02);
				CHECK(flag != FI_DELIVERY_COMPLETE || !op.done);
			}
			ft_barrier();
			ft_wait(&op);
			continue;
		}
		m.flags = flag & FI_TRANSMIT_COMPLETE; /* the only one that receives know */
		ft_guard(buf, len);
		ft_barrier();
		POST(ft_recv_as(&ep, FT_RECVMSG, &m, &op));
		ft_wait(&op);
		ft_verify(buf, len, (uint64_t)i, len);
	}
	free(buf);
	ft_close(&ep);
}

/* In peer mode a core tells before a receive has the message. */
static void needs_delivery(void)
{
	ft_peer_limit(NULL, 0, "FI_DELIVERY_COMPLETE comes before a receive has the message");
}

static void delivery_complete(void)
{
	needs_delivery();
	level(FI_DELIVERY_COMPLETE, 8);
	level(FI_DELIVERY_COMPLETE, 50000);
}

static void transmit_complete(void)
{
	level(FI_TRANSMIT_COMPLETE, 8);
	level(FI_TRANSMIT_COMPLETE, 50000);
	level(FI_INJECT_COMPLETE, 50000);
}

/* The same as a default of the endpoint, for the plain calls. Of injects only a counter tells. */
static void delivery_default(void)
{
	struct ft_ep ep;
	struct ft_op op[3];
	uint64_t word = 5;

	needs_delivery();
	ft_open(&ep,
		&(struct ft_conf){.cntrs = true, .tx_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION});
	if (ft.rank == 1) {
		ft_tsend(&ep, 0, 1, &word, 8, &op[0]);
		POST(fi_tinject(ep.ep, &word, 8, ep.peer[0], 2));
		POST(fi_inject(ep.ep, &word, 8, ep.peer[0]));
		ft_progress_for(0.05);
		CHECK_EQ(op[0].done, 0);
		CHECK_EQ(fi_cntr_read(ep.send_cntr), 0);
		ft_barrier();
		ft_wait(&op[0]);
		OK(fi_cntr_wait(ep.send_cntr, 3, ft_ms(5000)));
	} else {
		ft_barrier();
		ft_trecv(&ep, 1, 1, 0, &word, 8, &op[0]);
		ft_trecv(&ep, 1, 2, 0, &word, 8, &op[1]);
		ft_recv(&ep, 1, &word, 8, &op[2]);
		ft_wait_all(op, 3);
	}
	ft_close(&ep);
}

/* Reading one queue must move the whole endpoint: here a rendezvous whose sender looks only at its
 * transmit queue, then one whose sender looks only at its receive queue. */
static void split_queues(void)
{
	const size_t len = ft_scaled(1 << 20);
	char *buf = ft_buf(len);
	struct ft_ep ep;
	struct ft_op tx, rx;
	uint64_t word = 0;

	ft_open(&ep, &(struct ft_conf){.split_cq = true});
	CHECK(ep.tx_cq != ep.rx_cq);
	for (int i = 0; i < 40; i++) {
		bool tagged = i % 2;
		struct ft_msg m = {
			.tagged = tagged, .addr = ep.peer[!ft.rank], .buf = buf, .len = len};
		struct ft_msg reply = {.tagged = tagged, .addr = m.addr, .buf = &word, .len = 8};

		FT_HERE();
		if (ft.rank == 0) {
			POST(ft_recv_as(&ep, FT_RECV, &reply, &rx));
			ft_fill(buf, len, (uint64_t)i);
			POST(ft_send_as(&ep, FT_SEND, &m, &tx));
			while (i % 4 < 2 ? !tx.done : !rx.done)
				ft_poll_cq(&ep, i % 4 < 2 ? ep.tx_cq : ep.rx_cq);
			ft_wait(&tx);
			ft_wait(&rx);
			CHECK(tx.flags & FI_SEND);
			CHECK(rx.flags & FI_RECV);
		} else {
			ft_guard(buf, len);
			POST(ft_recv_as(&ep, FT_RECV, &m, &rx));
			while (!rx.done)
				ft_poll_cq(&ep, ep.rx_cq);
			ft_verify(buf, len, (uint64_t)i, len);
			POST(ft_send_as(&ep, FT_SEND, &reply, &tx));
			ft_wait(&tx);
		}
	}
	free(buf);
	ft_close(&ep);
}

const struct ft_case ft_cases_completion[] = {
	{"selective_default", 2, 20, selective_default},
	{"selective", 2, 20, selective},
	{"unselective", 2, 20, unselective},
	{"inject_reuse", 2, 20, inject_reuse},
	{"delivery_complete", 2, 20, delivery_complete},
	{"delivery_default", 2, 20, delivery_default},
	{"transmit_complete", 2, 20, transmit_complete},
	{"split_queues", 2, 20, split_queues},
	{0},
};
