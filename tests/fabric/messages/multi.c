/* SPDX-License-Identifier: BSD-2-Clause */
/* multi.c - FI_MULTI_RECV: many messages into one buffer, its end flagged once. */
#include "tests/fabric/harness/ft.h"

enum { BUFS = 3 };

struct multi {
	struct ft_ep ep;
	struct big {
		struct ft_op op; /* must be first: its callback finds the rest */
		struct multi *m;
		char *mem, *used; /* buffer; end of what messages have filled */
		bool ended;
	} big[BUFS];
	size_t room, min, seen, total, released;
	uint64_t order; /* next message expected */
};

static size_t length_of(uint64_t id, size_t max)
{
	uint64_t state = id * 31;

	return ft_random(&state) % 5 ? ft_random(&state) % (max / 16) : ft_random(&state) % max + 1;
}

static void on_entry(struct ft_op *op)
{
	struct big *b = (struct big *)op;
	struct multi *m = b->m;

	CHECK_EQ(op->err, 0);
	CHECK(!b->ended);
	if (op->flags & FI_RECV) {
		char *at = op->buf;
		uint64_t id = op->data;

		CHECK(op->flags & FI_REMOTE_CQ_DATA);
		CHECK(at >= b->mem && at + op->len <= b->mem + m->room);
		CHECK_EQ(op->len, length_of(id, m->min));
		/* the guard of the whole buffer is checked at its end */
		FT_HERE();
		for (size_t i = 0; i < op->len; i++) {
			if (at[i] != (char)(id * 7 + i))
				ft_fail("message %llu, byte %zu", (unsigned long long)id, i);
		}
		memset(at, 0x11, op->len); /* a second message on the same bytes would show */
		m->seen++;
		if (op->len)
			b->used = at + op->len > b->used ? at + op->len : b->used;
	}
	if (op->flags & FI_MULTI_RECV) {
		b->ended = true;
		m->released++;
		/* released only when less than the minimum is free */
		CHECK((size_t)(b->mem + m->room - b->used) < m->min);
		ft_verify(b->mem + m->room, 0, 0, 0);
	}
}

static void post(struct multi *m, struct big *b)
{
	struct iovec iov = {b->mem, m->room};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &b->op};

	ft_fresh(&b->op);
	b->op.on = on_entry;
	b->ended = false;
	b->used = b->mem;
	POST(fi_recvmsg(m->ep.ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
}

static void receive_all(struct multi *m, size_t total)
{
	for (int i = 0; i < BUFS; i++) {
		struct big *b = &m->big[i];

		b->m = m;
		b->mem = ft_buf(m->room);
		post(m, b);
	}
	ft_barrier();
	FT_HERE();
	while (m->seen < total) {
		ft_progress();
		for (int i = 0; i < BUFS; i++) {
			if (m->big[i].ended)
				post(m, &m->big[i]);
		}
	}
	CHECK(m->released > 2);
	for (int i = 0; i < BUFS; i++) {
		struct big *b = &m->big[i];

		ft_fresh(&b->op);
		OK(fi_cancel(&m->ep.ep->fid, &b->op));
		FT_HERE();
		while (!b->op.done)
			ft_progress();
		CHECK_EQ(b->op.err, FI_ECANCELED);
		free(b->mem);
	}
}

static void send_all(struct multi *m, size_t total)
{
	enum { WINDOW = 32 };
	struct ft_op op[WINDOW];
	char *buf = malloc((size_t)WINDOW * m->min);

	CHECK(buf);
	ft_barrier();
	for (size_t id = 0; id < total; id++) {
		size_t len = length_of(id, m->min), slot = id % WINDOW;
		char *b = buf + slot * m->min;

		if (id >= WINDOW)
			ft_wait(&op[slot]);
		for (size_t i = 0; i < len; i++)
			b[i] = (char)(id * 7 + i);
		POST(fi_senddata(m->ep.ep, b, len, NULL, id, m->ep.peer[0], ft_fresh(&op[slot])));
	}
	ft_wait_all(op, WINDOW);
	free(buf);
}

static void multi_recv(size_t room, size_t min, size_t total)
{
	struct multi *m = calloc(1, sizeof(*m));
	size_t got = 0, len = sizeof(got);

	CHECK(m);
	m->room = room;
	m->min = min;
	ft_open_domain(&m->ep, &(struct ft_conf){.caps = FI_MULTI_RECV});
	ft_open_ep(&m->ep);
	OK(fi_setopt(&m->ep.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
	OK(fi_getopt(&m->ep.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &got, &len));
	CHECK_EQ(got, min);
	ft_exchange(&m->ep);
	if (ft.rank == 0)
		receive_all(m, total);
	else
		send_all(m, total);
	ft_close(&m->ep);
	free(m);
}

static void multi_recv_small(void)
{
	multi_recv(16384, 500, 4000);
}

static void multi_recv_large(void)
{
	multi_recv(400000, 60000, 200 + ft_scaled(600));
}

/* Messages that came before the buffer go into it as well, in order. */
static void multi_recv_queued(void)
{
	struct multi *m = calloc(1, sizeof(*m));
	struct big *b;
	struct ft_op mark;
	uint64_t word = 0;

	CHECK(m);
	b = &m->big[0];
	m->room = 100000;
	m->min = 500;
	ft_open(&m->ep, &(struct ft_conf){.caps = FI_MULTI_RECV});
	if (ft.rank == 1) {
		send_all(m, 100);
		ft_tsend(&m->ep, 0, 1, &word, 8, &mark);
		ft_wait(&mark);
	} else {
		ft_trecv(&m->ep, 1, 1, 0, &word, 8, &mark);
		ft_barrier();
		ft_wait(&mark);
		b->m = m;
		b->mem = ft_buf(m->room);
		post(m, b);
		FT_HERE();
		while (m->seen < 100)
			ft_progress();
		CHECK_EQ(b->ended, false);
	}
	ft_barrier();
	ft_close_ep(&m->ep);
	free(b->mem);
	ft_close(&m->ep);
	free(m);
}

/* FI_MULTI_RECV as a default of the endpoint is for untagged receives; tagged ones take one message
 * each. */
static void multi_recv_default(void)
{
	enum { ROOM = 4096, N = 3 };
	static char room[ROOM];
	struct ft_op big, one[2];
	uint64_t word[2] = {0};
	struct iovec iov[2] = {{room, 8}, {room + 8, 8}};
	struct ft_ep ep;
	size_t seen = 0;

	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_MULTI_RECV});
	ep.info->rx_attr->op_flags = FI_MULTI_RECV;
	ft_open_ep(&ep);
	ft_exchange(&ep);
	if (ft.rank == 0) {
		ft_trecv(&ep, FT_ANY, 7, 0, &word[0], 8, &one[0]);
		POST(fi_trecvv(ep.ep, &(struct iovec){&word[1], 8}, NULL, 1, FI_ADDR_UNSPEC, 7, 0,
			       ft_fresh(&one[1])));
		CHECK_EQ(fi_recvv(ep.ep, iov, NULL, 2, FI_ADDR_UNSPEC, ft_fresh(&big)), -FI_EINVAL);
		ft_recv(&ep, FT_ANY, room, ROOM, &big);
		ft_barrier();
		ft_wait_all(one, 2);
		CHECK(word[0] == 1 && word[1] == 2);
		CHECK(!((one[0].flags | one[1].flags) & FI_MULTI_RECV));
		FT_HERE();
		while (seen < N) {
			ft_progress();
			if (!big.done)
				continue;
			CHECK_EQ(big.err, 0);
			seen += (size_t)big.done;
			atomic_store(&big.done, 0);
		}
		for (uint64_t i = 0; i < N; i++)
			CHECK_EQ(((uint64_t *)room)[i], 10 + i);
		OK(fi_cancel(&ep.ep->fid, &big));
		ft_wait_err(&big, FI_ECANCELED);
		CHECK(big.flags & FI_MULTI_RECV);
	} else {
		ft_barrier();
		for (uint64_t i = 1; i <= 2; i++)
			POST(fi_tinject(ep.ep, &i, 8, ep.peer[0], 7));
		for (uint64_t i = 10; i < 10 + N; i++)
			POST(fi_inject(ep.ep, &i, 8, ep.peer[0]));
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_multi[] = {
	{"multi_recv_small", 2, 20, multi_recv_small},
	{"multi_recv_large", 2, 20, multi_recv_large},
	{"multi_recv_queued", 2, 20, multi_recv_queued},
	{"multi_recv_default", 2, 20, multi_recv_default},
	{0},
};
