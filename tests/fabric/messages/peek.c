/* SPDX-License-Identifier: BSD-2-Clause */
/* peek.c - looking at, claiming and discarding queued messages; fi_recvmsg knows no FI_PEEK. */
#include "tests/fabric/harness/ft.h"

static const size_t sizes[] = {0, 8, 1000, 9000, 300000};
#define SIZES  (sizeof(sizes) / sizeof(sizes[0]))
#define TAG(i) (0xc000000000000000u + (uint64_t)(i))
#define ROUNDS 20

static void wait_found(struct ft_ep *ep, int from, uint64_t tag, uint64_t more, struct ft_op *op)
{
	int err;

	while ((err = ft_peek(ep, true, from, tag, 0, more, op)) == FI_ENOMSG)
		ft_progress();
	if (err)
		ft_fail("peek: %s", fi_strerror(err));
}

/* Rank 1 sends message i of every size; its sends must complete whatever rank 0 does with them. */
static void send_all(struct ft_ep *ep, char **buf)
{
	struct ft_op tx[SIZES];

	for (size_t i = 0; i < SIZES; i++) {
		struct ft_msg m = {.tagged = true,
				   .addr = ep->peer[0],
				   .tag = TAG(i),
				   .buf = buf[i],
				   .len = sizes[i],
				   .data = 100 + i};

		ft_fill(buf[i], sizes[i], i);
		POST(ft_send_as(ep, FT_SENDDATA, &m, &tx[i]));
	}
	ft_wait_all(tx, SIZES);
}

static void check_seen(const struct ft_op *op, size_t i)
{
	CHECK_EQ(op->len, sizes[i]);
	CHECK_EQ(op->data, 100 + i);
	CHECK_EQ(op->tag, TAG(i));
	CHECK(op->flags & FI_REMOTE_CQ_DATA);
}

/* The context says which message; address and tag count no more. */
static void claim(struct ft_ep *ep, uint64_t flags, char *buf, size_t len, struct ft_op *op)
{
	struct iovec iov = {buf, len};
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = op};

	ft_fresh(op);
	if (flags & FI_DISCARD) {
		msg.iov_count = 0;
		msg.msg_iov = NULL;
	}
	POST(fi_trecvmsg(ep->ep, &msg, FI_CLAIM | FI_COMPLETION | flags));
}

/* One message of each size waits: the first is received, the others are treated in four ways. */
static void take(struct ft_ep *ep, size_t i, size_t how, char *buf)
{
	struct ft_op op;

	wait_found(ep, 1, TAG(i), 0, &op);
	check_seen(&op, i);
	wait_found(ep, FT_ANY, TAG(i), 0, &op); /* it is still there */
	check_seen(&op, i);
	ft_guard(buf, sizes[i]);
	switch (how) {
	case 0:
		ft_trecv(ep, 1, TAG(i), 0, buf, sizes[i], &op);
		ft_wait(&op);
		break;
	case 1:
		wait_found(ep, FT_ANY, TAG(i), FI_DISCARD, &op);
		check_seen(&op, i);
		break;
	default:
		wait_found(ep, 1, TAG(i), FI_CLAIM, &op);
		check_seen(&op, i);
		/* nobody else sees a claimed message */
		CHECK_EQ(ft_peek(ep, true, 1, TAG(i), 0, 0, &(struct ft_op){0}), FI_ENOMSG);
		claim(ep, how == 2 ? FI_DISCARD : 0, buf, sizes[i], &op);
		ft_wait(&op);
	}
	if (how == 0 || how == 3) {
		CHECK_EQ(op.len, sizes[i]);
		ft_verify(buf, sizes[i], i, sizes[i]);
	} else {
		ft_verify(buf, 0, 0, sizes[i]); /* discarded: nothing written */
	}
}

static void peek(void)
{
	struct ft_ep ep;
	struct ft_op op;
	char *buf[SIZES];

	for (size_t i = 0; i < SIZES; i++)
		buf[i] = ft_buf(sizes[i]);
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	if (ft.rank == 0) {
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, 0, &op), FI_ENOMSG);
		CHECK_EQ(ft_peek(&ep, true, 1, 0, 0, FI_CLAIM, &op), FI_ENOMSG);
		CHECK_EQ(ft_peek(&ep, true, 1, 0, 0, FI_DISCARD, &op), FI_ENOMSG);
	}
	for (size_t round = 0; round < ROUNDS; round++) {
		ft_barrier();
		if (ft.rank == 1) {
			send_all(&ep, buf);
			continue;
		}
		for (size_t i = 0; i < SIZES; i++) /* the last come first in odd rounds */
			take(&ep, round % 2 ? SIZES - 1 - i : i, (round + i) % 4,
			     buf[round % 2 ? SIZES - 1 - i : i]);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, 0, &op), FI_ENOMSG);
	}
	for (size_t i = 0; i < SIZES; i++)
		free(buf[i]);
	ft_close(&ep);
}

/* Several probers: each claims one of equal messages, in their order; they fetch them backwards,
 * one of them with too little room, while a last one is claimed and never fetched. */
static void claim_several(void)
{
	enum { N = 6 };
	static const size_t lens[N] = {8, 20000, 100, 5000, 70000, 64};
	struct ft_ep ep;
	struct ft_op op[N];
	char *buf[N];

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	for (size_t i = 0; i < N; i++)
		buf[i] = ft_buf(lens[i]);
	for (size_t i = 0; ft.rank == 1 && i < N; i++) {
		ft_fill(buf[i], lens[i], i);
		ft_tsend(&ep, 0, 5, buf[i], lens[i], &op[i]);
	}
	for (size_t i = 0; ft.rank == 0 && i < N; i++) {
		wait_found(&ep, i % 2 ? 1 : FT_ANY, 5, FI_CLAIM, &op[i]);
		CHECK_EQ(op[i].len, lens[i]);
	}
	for (size_t i = N; ft.rank == 0 && i-- > 1;) {
		size_t room = i == 3 ? 1000 : lens[i];

		ft_guard(buf[i], room);
		claim(&ep, 0, buf[i], room, &op[i]);
		if (i == 3) {
			ft_wait_err(&op[i], FI_ETRUNC);
			CHECK_EQ(op[i].olen, lens[i] - room);
		} else {
			ft_wait(&op[i]);
		}
		ft_verify(buf[i], room, i, room);
	}
	if (ft.rank == 1)
		ft_wait_all(op, N);
	ft_close(&ep);
	for (size_t i = 0; i < N; i++)
		free(buf[i]);
}

/* A peek sees the message that a receive in its place would get, source by source. */
static void peek_order(void)
{
	struct ft_ep ep;
	struct ft_op op, held, tx[2];
	uint64_t out = (uint64_t)ft.rank, in = 0;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	if (ft.rank == 1) /* rank 2's pair first, then rank 1's */
		ft_await_word(0, 2);
	if (ft.rank > 0) {
		ft_tsend(&ep, 0, (uint64_t)ft.rank * 10, &out, 8, &tx[0]);
		ft_tsend(&ep, 0, (uint64_t)ft.rank * 10 + 1, &out, 8, &tx[1]);
		ft_wait_all(tx, 2);
	} else {
		wait_found(&ep, 2, 21, 0, &op);
		ft.sh->word[0] = 2;
		wait_found(&ep, 1, 11, 0, &op);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, 0, &op), 0);
		CHECK_EQ(op.tag, 20);
		CHECK_EQ(op.src, ep.peer[2]);
		CHECK_EQ(ft_peek(&ep, true, 1, 0, ~0ull, 0, &op), 0);
		CHECK_EQ(op.tag, 10);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, FI_CLAIM, &held), 0);
		CHECK_EQ(held.tag, 20);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, 0, &op), 0);
		CHECK_EQ(op.tag, 21); /* the claimed one is out of the queue */
		ft_trecv(&ep, 2, 0, ~0ull, &in, 8, &op);
		ft_wait(&op);
		CHECK_EQ(op.tag, 21);
		claim(&ep, 0, (char *)&in, 8, &held);
		ft_wait(&held);
		CHECK_EQ(in, 2);
		for (uint64_t tag = 11; tag >= 10; tag--) {
			ft_trecv(&ep, FT_ANY, tag, 0, &in, 8, &op);
			ft_wait(&op);
			CHECK_EQ(in, 1);
		}
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_peek[] = {
	{"peek", 2, 20, peek},
	{"claim_several", 2, 20, claim_several},
	{"peek_order", 3, 20, peek_order},
	{0},
};
