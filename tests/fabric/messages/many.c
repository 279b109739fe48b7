/* SPDX-License-Identifier: BSD-2-Clause */
/* many.c - many completions wait, of all kinds, and are read some at a time. */
#include "tests/fabric/harness/ft.h"

enum { MANY = 64, MANY_ROUNDS = 5 };

/* Many messages: some are untagged, for one buffer; some have data; one in ten does not fit. */
struct many {
	struct ft_ep ep;
	struct ft_op op[MANY], whole_op, token_op;
	uint64_t in[MANY], whole[MANY * MANY_ROUNDS], token;
	size_t done, last;
};

static bool is_tagged(size_t i)
{
	return i % 5 != 2;
}

static bool fits(size_t i)
{
	return i % 10 != 4;
}

static void send_many(struct many *m)
{
	uint64_t out[2] = {0};

	for (size_t i = 0; i < MANY; i++) {
		struct ft_msg msg = {.tagged = is_tagged(i),
				     .addr = m->ep.peer[0],
				     .buf = out,
				     .len = fits(i) ? 8 : 16,
				     .tag = i,
				     .data = i};

		out[0] = i;
		POST(ft_send_as(&m->ep, i % 3 ? FT_INJECT : FT_INJECTDATA, &msg, &m->op[i]));
	}
}

static void recv_many(struct many *m)
{
	for (size_t i = 0; i < MANY; i++) {
		m->in[i] = MANY;
		ft_fresh(&m->op[i]);
		if (is_tagged(i))
			ft_trecv(&m->ep, 1, i, 0, &m->in[i], 8, &m->op[i]);
	}
	m->done = 0;
	m->last = MANY;
}

static void read_one(struct many *m, const struct fi_cq_tagged_entry *e, fi_addr_t src)
{
	struct ft_op *op = e->op_context;
	size_t i = op == &m->whole_op ? *(uint64_t *)e->buf : (size_t)(op - m->op);

	CHECK(i < MANY && (i > m->last || m->last == MANY)); /* they were sent in order */
	m->last = i;
	CHECK_EQ(op == &m->whole_op, !is_tagged(i));
	CHECK_EQ(e->len, 8);
	CHECK_EQ(e->flags & (FI_TAGGED | FI_MSG), is_tagged(i) ? FI_TAGGED : FI_MSG);
	CHECK_EQ(!(e->flags & FI_REMOTE_CQ_DATA), i % 3 != 0);
	CHECK(i % 3 || e->data == i);
	CHECK_EQ(src, m->ep.peer[1]);
	if (is_tagged(i))
		ft_record(&m->ep, e, src);
	m->done++;
}

/* Read entries, up to so many at once. */
static void read_some(struct many *m, size_t room)
{
	struct fi_cq_tagged_entry e[MANY + 1];
	bool source = m->ep.conf.caps & FI_SOURCE;
	fi_addr_t src[MANY + 1];
	ssize_t n;

	memset(e, 0x5a, sizeof e);
	n = source ? fi_cq_readfrom(m->ep.rx_cq, e, room, src) : fi_cq_read(m->ep.rx_cq, e, room);
	if (n == -FI_EAVAIL)
		m->done += ft_take_error(&m->ep, m->ep.rx_cq);
	if (n == -FI_EAGAIN || n == -FI_EAVAIL)
		n = 0;
	CHECK(n >= 0 && n <= (ssize_t)room);
	CHECK_EQ(e[n].flags, 0x5a5a5a5a5a5a5a5a);
	for (ssize_t k = 0; k < n; k++)
		read_one(m, &e[k], source ? src[k] : m->ep.peer[1]);
}

static void many_rounds(struct many *m)
{
	static const size_t rooms[] = {1, 7, 16, MANY, 3};

	for (unsigned round = 0; round < MANY_ROUNDS; round++) {
		if (ft.rank == 0)
			recv_many(m);
		ft_barrier_idle();
		if (ft.rank == 1)
			send_many(m);
		ft_barrier_idle();
		while (ft.rank == 0 && m->done < MANY)
			read_some(m, rooms[round % 5]);
		/* One more, done while nobody reads: it waits for the next reader. */
		if (ft.rank == 0)
			ft_tsend(&m->ep, 1, MANY, &m->token, 8, &m->token_op);
		else
			ft_trecv(&m->ep, 0, MANY, 0, &m->token, 8, &m->token_op);
		ft_wait(&m->token_op);
		for (size_t i = 0; ft.rank == 0 && i < MANY; i++) {
			CHECK_EQ(m->op[i].done, is_tagged(i));
			CHECK_EQ(m->op[i].err, fits(i) ? 0 : FI_ETRUNC);
			CHECK(!is_tagged(i) || m->in[i] == i);
		}
		ft_barrier();
	}
}

/* Many entries wait, and are read into arrays that are shorter, as long, longer. */
static void read_many(void)
{
	static struct many m;

	for (int source = 0; source < 2; source++) {
		struct ft_msg whole = {.addr = FI_ADDR_UNSPEC,
				       .buf = m.whole,
				       .len = sizeof m.whole,
				       .flags = FI_MULTI_RECV};

		ft_open(&m.ep, &(struct ft_conf){.caps = FI_MULTI_RECV | (source ? FI_SOURCE : 0)});
		POST(ft_recv_as(&m.ep, FT_RECVMSG, &whole, ft_fresh(&m.whole_op)));
		/* They know each other, so that neither needs the other to send. */
		if (ft.rank == 0)
			ft_tsend(&m.ep, 1, MANY, &m.token, 8, &m.token_op);
		else
			ft_trecv(&m.ep, 0, MANY, 0, &m.token, 8, &m.token_op);
		ft_wait(&m.token_op);
		many_rounds(&m);
		ft_close(&m.ep);
	}
}

const struct ft_case ft_cases_many[] = {
	{"read_many", 2, 20, read_many},
	{0},
};
