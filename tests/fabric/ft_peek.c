/* SPDX-License-Identifier: BSD-2-Clause */
/* ft_peek.c - looking at, claiming and discarding queued messages. */
#include "ft.h"

static const size_t sizes[] = {0, 8, 1000, 9000, 300000};
#define SIZES  (sizeof(sizes) / sizeof(sizes[0]))
#define TAG(i) (0xc000000000000000u + (uint64_t)(i))

static struct ft_op *wait_found(struct ft_ep *ep, bool tagged, int from, uint64_t tag,
				uint64_t ignore, uint64_t more, struct ft_op *op)
{
	int err;

	while ((err = ft_peek(ep, tagged, from, tag, ignore, more, op)) == FI_ENOMSG)
		ft_progress();
	if (err)
		ft_fail("peek: %s", fi_strerror(err));
	return op;
}

/* Rank 1 sends message i of every size; its sends must complete whatever rank 0 does with them. */
static void send_all(struct ft_ep *ep, bool tagged, char **buf, struct ft_op *tx)
{
	for (size_t i = 0; i < SIZES; i++) {
		struct ft_msg m = {.tagged = tagged,
				   .addr = ep->peer[0],
				   .tag = TAG(i),
				   .buf = buf[i],
				   .len = sizes[i],
				   .data = 100 + i};

		ft_fill(buf[i], sizes[i], i);
		POST(ft_send_as(ep, FT_SENDDATA, &m, &tx[i]));
	}
}

static void check_seen(const struct ft_op *op, bool tagged, size_t i)
{
	CHECK_EQ(op->len, sizes[i]);
	CHECK_EQ(op->data, 100 + i);
	CHECK(op->flags & FI_REMOTE_CQ_DATA);
	if (tagged)
		CHECK_EQ(op->tag, TAG(i));
}

static void claim(struct ft_ep *ep, bool tagged, uint64_t flags, char *buf, size_t len,
		  struct ft_op *op)
{
	struct iovec iov = {buf, len};
	struct fi_msg_tagged tmsg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = op};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = op};

	ft_fresh(op);
	if (flags & FI_DISCARD) {
		tmsg.iov_count = msg.iov_count = 0;
		tmsg.msg_iov = msg.msg_iov = NULL;
	}
	if (tagged)
		POST(fi_trecvmsg(ep->ep, &tmsg, FI_CLAIM | FI_COMPLETION | flags));
	else
		POST(fi_recvmsg(ep->ep, &msg, FI_CLAIM | FI_COMPLETION | flags));
	ft_wait(op);
}

/* Messages 0..4 wait: peek each; claim 1 and 4; discard 2 at sight; claim then discard 3. */
static void receiver(struct ft_ep *ep, bool tagged, char **buf)
{
	struct ft_op see, held[2], rx;
	uint64_t ignore = tagged ? 0 : ~0ull;

	for (size_t i = 0; i < SIZES; i++) {
		/* untagged: only the oldest can be looked at, so it is taken in the end */
		wait_found(ep, tagged, 1, TAG(i), ignore, 0, &see);
		check_seen(&see, tagged, i);
		wait_found(ep, tagged, FT_ANY, TAG(i), ignore, 0, &see); /* it is still there */
		check_seen(&see, tagged, i);
		if (i == 2) {
			wait_found(ep, tagged, FT_ANY, TAG(i), ignore, FI_DISCARD, &see);
		} else if (i) {
			struct ft_op *op = &held[i == 4];

			wait_found(ep, tagged, 1, TAG(i), ignore, FI_CLAIM, op);
			check_seen(op, tagged, i);
			if (tagged) /* nobody else sees a claimed message */
				CHECK_EQ(ft_peek(ep, tagged, 1, TAG(i), 0, 0, &see), FI_ENOMSG);
			claim(ep, tagged, i == 3 ? FI_DISCARD : 0, buf[i], sizes[i], op);
			if (i != 3) {
				CHECK_EQ(op->len, sizes[i]);
				ft_verify(buf[i], sizes[i], i, sizes[i]);
			}
		} else {
			ft_recv_as(ep, FT_RECV,
				   &(struct ft_msg){.tagged = tagged,
						    .addr = ep->peer[1],
						    .tag = TAG(i),
						    .buf = buf[i]},
				   &rx);
			ft_wait(&rx);
		}
	}
	CHECK_EQ(ft_peek(ep, tagged, FT_ANY, 0, ~0ull, 0, &see), FI_ENOMSG);
}

static void peek(bool tagged)
{
	struct ft_ep ep;
	struct ft_op tx[SIZES], op;
	char *buf[SIZES];

	for (size_t i = 0; i < SIZES; i++)
		buf[i] = ft_buf(sizes[i]);
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	if (ft.rank == 0) {
		CHECK_EQ(ft_peek(&ep, tagged, FT_ANY, 0, ~0ull, 0, &op), FI_ENOMSG);
		CHECK_EQ(ft_peek(&ep, tagged, 1, 0, 0, FI_CLAIM, &op), FI_ENOMSG);
		CHECK_EQ(ft_peek(&ep, tagged, 1, 0, 0, FI_DISCARD, &op), FI_ENOMSG);
	}
	for (int round = 0; round < 20; round++) {
		ft_barrier();
		if (ft.rank == 1) {
			send_all(&ep, tagged, buf, tx);
			ft_wait_all(tx, SIZES);
		} else {
			for (size_t i = 0; i < SIZES; i++)
				ft_guard(buf[i], sizes[i]);
			receiver(&ep, tagged, buf);
		}
	}
	for (size_t i = 0; i < SIZES; i++)
		free(buf[i]);
	ft_close(&ep);
}

static void peek_tagged(void)
{
	peek(true);
}

static void peek_msg(void)
{
	peek(false);
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
		wait_found(&ep, true, 2, 21, 0, 0, &op);
		ft.sh->word[0] = 2;
		wait_found(&ep, true, 1, 11, 0, 0, &op);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, 0, &op), 0);
		CHECK_EQ(op.tag, 20);
		CHECK_EQ(ft_peek(&ep, true, 1, 0, ~0ull, 0, &op), 0);
		CHECK_EQ(op.tag, 10);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, FI_CLAIM, &held), 0);
		CHECK_EQ(held.tag, 20);
		CHECK_EQ(ft_peek(&ep, true, FT_ANY, 0, ~0ull, 0, &op), 0);
		CHECK_EQ(op.tag, 21); /* the claimed one is out of the queue */
		ft_trecv(&ep, 2, 0, ~0ull, &in, 8, &op);
		ft_wait(&op);
		CHECK_EQ(op.tag, 21);
		claim(&ep, true, 0, (char *)&in, 8, &held);
		CHECK_EQ(in, 2);
		ft_trecv(&ep, FT_ANY, 11, 0, &in, 8, &op);
		ft_wait(&op);
		ft_trecv(&ep, FT_ANY, 10, 0, &in, 8, &op);
		ft_wait(&op);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_peek[] = {
	{"peek_tagged", 2, 20, peek_tagged},
	{"peek_msg", 2, 20, peek_msg},
	{"peek_order", 3, 20, peek_order},
	{0},
};
