/* SPDX-License-Identifier: BSD-2-Clause */
/* trunc.c - messages longer than their receive: an error that says how much, and no damage. */
#include "tests/fabric/harness/ft.h"

struct shape {
	size_t len, room;
};
static const struct shape shapes[] = {{8, 4},         {1000, 100},     {1000, 0},
				      {6000, 5999},   {100000, 100},   {100000, 50000},
				      {100000, 8192}, {1 << 20, 4097}, {64, 63}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void send_one(struct ft_ep *ep, bool tagged, size_t i, char *buf)
{
	struct ft_msg m = {.tagged = tagged,
			   .addr = ep->peer[0],
			   .tag = 70 + i,
			   .buf = buf,
			   .len = shapes[i].len,
			   .data = 500 + i};
	struct ft_op tx[2];
	uint64_t next = i;

	ft_fill(buf, m.len, i);
	POST(ft_send_as(ep, FT_SENDDATA, &m, &tx[0]));
	ft_tsend(ep, 0, 200, &next, 8, &tx[1]);
	/* The sender sees success: the truncation is the receiver's affair. */
	ft_wait_all(tx, 2);
}

static void recv_one(struct ft_ep *ep, bool tagged, bool early, size_t i, char *buf)
{
	struct ft_msg m = {.tagged = tagged,
			   .addr = ep->peer[1],
			   .tag = 70 + i,
			   .buf = buf,
			   .len = shapes[i].room,
			   .iovs = shapes[i].room > 4096 ? 2 : 1};
	struct ft_op op, next;
	uint64_t in = 0;

	ft_guard(buf, m.len);
	if (!early) {
		ft_trecv(ep, 1, 200, 0, &in, 8, &next);
		ft_barrier();
		ft_wait(&next); /* sent after it: the message is there */
	}
	POST(ft_recv_as(ep, FT_RECVMSG, &m, &op));
	if (early) {
		ft_barrier();
		ft_trecv(ep, 1, 200, 0, &in, 8, &next);
		ft_wait(&next);
	}
	ft_wait_err(&op, FI_ETRUNC);
	CHECK_EQ(op.olen, shapes[i].len - shapes[i].room);
	CHECK_EQ(op.data, 500 + i);
	CHECK(op.flags & FI_REMOTE_CQ_DATA);
	if (tagged)
		CHECK_EQ(op.tag, 70 + i);
	CHECK_EQ(op.len, shapes[i].room);
	ft_verify(buf, shapes[i].room, i, shapes[i].room);
	CHECK_EQ(in, i);
}

static void truncation(bool tagged)
{
	char *buf = ft_buf(1 << 20);
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	for (size_t i = 0; i < 2 * SHAPES; i++) {
		if (ft.rank == 0) {
			recv_one(&ep, tagged, i % 2, i / 2, buf);
		} else {
			ft_barrier();
			send_one(&ep, tagged, i / 2, buf);
		}
		ft_barrier();
	}
	free(buf);
	ft_close(&ep);
}

static void truncation_tagged(void)
{
	truncation(true);
}

static void truncation_msg(void)
{
	truncation(false);
}

/* Errors keep their place: good completions before and after a truncated one are all there. */
static void nothing_lost(void)
{
	enum { N = 600 };
	static struct ft_op op[N];
	static uint64_t in[N][2];
	struct ft_ep ep;
	uint64_t out[2] = {0};

	ft_open(&ep, &(struct ft_conf){0});
	for (size_t i = 0; ft.rank == 0 && i < N; i++)
		ft_trecv(&ep, 1, i, 0, in[i], i % 3 ? 16 : 8, &op[i]);
	ft_barrier();
	for (size_t i = 0; ft.rank == 1 && i < N; i++) {
		out[0] = i;
		POST(fi_tinject(ep.ep, out, 16, ep.peer[0], i));
	}
	for (size_t i = 0; ft.rank == 0 && i < N; i++) {
		if (i % 3)
			ft_wait(&op[i]);
		else
			ft_wait_err(&op[i], FI_ETRUNC);
		CHECK_EQ(in[i][0], i);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_trunc[] = {
	{"truncation_tagged", 2, 20, truncation_tagged},
	{"truncation_msg", 2, 20, truncation_msg},
	{"truncation_nothing_lost", 2, 20, nothing_lost},
	{0},
};
