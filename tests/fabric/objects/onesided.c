/* SPDX-License-Identifier: BSD-2-Clause */
/* onesided.c - what a core of ours does with one-sided operations: in several pieces, in both
 * directions at once, in order. */
#include "onesided.h"

#define DATA UINT64_C(0xfeed)

void ft_open_place(struct ft_place *p)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	bool virt;

	*p = (struct ft_place){.target = ft_buf(FT_PLACE), .buf = ft_buf(FT_PLACE)};
	ft_open_domain(&p->ep, &(struct ft_conf){.caps = FI_RMA | FI_ATOMIC | FI_RMA_EVENT |
							 FI_DIRECTED_RECV,
						 .split_cq = true});
	OK(fi_cntr_open(p->ep.domain, &attr, &p->written, NULL));
	OK(fi_cntr_open(p->ep.domain, &attr, &p->read, NULL));
	p->ep.remote_cntr = p->written;
	p->ep.read_cntr = p->read;
	ft_open_ep(&p->ep);
	ft_exchange(&p->ep);
	virt = p->ep.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	OK(fi_mr_reg(p->ep.domain, p->target, FT_PLACE, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7, 0,
		     &p->mr, NULL));
	ft.sh->word[8 + ft.rank] = virt ? (uintptr_t)p->target : 0;
	ft_barrier();
	for (int i = 0; i < ft.n; i++)
		p->addr[i] = ft.sh->word[8 + i];
}

void ft_close_place(struct ft_place *p)
{
	ft_barrier();
	OK(fi_close(&p->mr->fid));
	ft_close(&p->ep);
	free(p->target);
	free(p->buf);
}

/* A write or read of len bytes at `at`, in two pieces here and one there, or three. */
void ft_post_rma(struct ft_place *p, bool write, int to, size_t at, size_t len, unsigned spans,
		 uint64_t data, struct ft_op *op)
{
	const struct iovec iov[2] = {{p->buf, len / 3}, {p->buf + len / 3, len - len / 3}};
	const struct fi_rma_iov rma[3] = {
		{p->addr[to] + at, spans > 1 ? len / 4 : len, 7},
		{p->addr[to] + at + len / 4, len / 2, 7},
		{p->addr[to] + at + len / 4 + len / 2, len - len / 4 - len / 2, 7}};
	const struct fi_msg_rma msg = {.msg_iov = iov,
				       .iov_count = 2,
				       .addr = p->ep.peer[to],
				       .rma_iov = rma,
				       .rma_iov_count = spans,
				       .context = ft_fresh(op),
				       .data = data};

	if (write)
		POST(fi_writemsg(p->ep.ep, &msg, FI_COMPLETION | (data ? FI_REMOTE_CQ_DATA : 0)));
	else
		POST(fi_readmsg(p->ep.ep, &msg, FI_COMPLETION));
}

/* An entry of a write with data. */
static void await_data(struct ft_place *p, size_t len)
{
	struct fi_cq_tagged_entry entry = {0};
	ssize_t n;

	FT_HERE();
	while ((n = fi_cq_read(p->ep.rx_cq, &entry, 1)) == -FI_EAGAIN)
		;
	CHECK_EQ(n, 1);
	CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.flags & FI_REMOTE_WRITE);
	CHECK_EQ(entry.data, DATA);
	CHECK_EQ(entry.len, len);
}

/* Rank `from` writes to `to` and reads that back, each counted once and told behind the bytes. */
static void there_and_back(struct ft_place *p, int from, int to, size_t len, unsigned spans)
{
	const uint64_t seed = len + (uint64_t)from;
	uint64_t written = fi_cntr_read(p->written), read = fi_cntr_read(p->read);
	struct ft_op op;

	if (ft.rank == to)
		ft_guard(p->target, FT_PLACE);
	ft_barrier_idle();
	if (ft.rank == from) {
		ft_fill(p->buf, len, seed);
		ft_post_rma(p, true, to, 64, len, spans, from == to ? 0 : DATA, &op);
		ft_wait(&op);
	}
	if (ft.rank == to) {
		if (from != to)
			await_data(p, len);
		ft_verify(p->target + 64, len, seed, FT_PLACE - 64);
		OK(fi_cntr_wait(p->written, written + 1, ft_ms(10000)));
	}
	ft_barrier();
	if (ft.rank == from) {
		ft_guard(p->buf, FT_PLACE);
		ft_post_rma(p, false, to, 64, len, spans, 0, &op);
		ft_wait(&op);
		ft_verify(p->buf, len, seed, FT_PLACE);
	}
	if (ft.rank == to)
		OK(fi_cntr_wait(p->read, read + 1, ft_ms(10000)));
	ft_barrier();
	CHECK_EQ(fi_cntr_read(p->written), written + (ft.rank == to));
	CHECK_EQ(fi_cntr_read(p->read), read + (ft.rank == to));
}

/* Lengths around what fits a slot, a packet, a request. */
void ft_rma_lengths(struct ft_place *p, int from, int to)
{
	static const size_t lens[] = {
		0, 1, 16, 17, 40, 8127, 8128, 8129, 32513, (size_t)1 << 20, ((size_t)8 << 20) + 5};

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
		for (unsigned spans = 1; spans <= 3; spans += 2)
			there_and_back(p, from, to, lens[i], spans);
}

static void rma_spans(void)
{
	struct fid_mr *mr, *again;
	struct ft_place p;
	struct ft_op op;

	ft_open_place(&p);
	ft_rma_lengths(&p, 0, 1);
	ft_rma_lengths(&p, 0, 0);
	CHECK_EQ(fi_mr_reg(p.ep.domain, p.buf, 8, FI_REMOTE_READ, 0, 7, 0, &again, NULL),
		 -FI_ENOKEY);
	/* Memory in pieces is one behind the other there, whatever address it has. */
	if (ft.rank == 1) {
		const struct iovec iov[3] = {{p.target, 5}, {p.target + 100, 10000}, {p.buf, 3}};

		ft_guard(p.target, FT_PLACE);
		ft_guard(p.buf, FT_PLACE);
		OK(fi_mr_regv(p.ep.domain, iov, 3, FI_REMOTE_WRITE, 0, 8, 0, &mr, NULL));
		ft_barrier();
		ft_barrier();
		ft_fill(p.target + 20000, 10008, 3);
		CHECK(!memcmp(p.target, p.target + 20000, 5));
		CHECK(!memcmp(p.target + 100, p.target + 20005, 10000));
		CHECK(!memcmp(p.buf, p.target + 30005, 3));
		OK(fi_close(&mr->fid));
	} else {
		ft_fill(p.buf, 10008, 3);
		ft_barrier();
		POST(fi_write(p.ep.ep, p.buf, 10008, NULL, p.ep.peer[1], p.addr[1], 8,
			      ft_fresh(&op)));
		ft_wait(&op);
		/* Neither beyond it, nor what it is not for. */
		POST(fi_write(p.ep.ep, p.buf, 10009, NULL, p.ep.peer[1], p.addr[1], 8,
			      ft_fresh(&op)));
		ft_wait_err(&op, FI_EINVAL);
		POST(fi_read(p.ep.ep, p.buf, 8, NULL, p.ep.peer[1], p.addr[1], 8, ft_fresh(&op)));
		ft_wait_err(&op, FI_EINVAL);
		ft_barrier();
	}
	ft_close_place(&p);
}

/* Many operations at once, of all ranks on all: nobody may wait for room that another has. */
static void rma_both_ways(void)
{
	enum { N = 600 };
	static struct ft_op op[N];
	uint64_t one = 1, old[N], state = (uint64_t)ft.rank + 1, sum = 0;
	const size_t base = (size_t)ft.rank * (FT_PLACE / 4);
	struct ft_place p;

	ft_open_place(&p);
	memset(p.target, 0, FT_PLACE);
	ft_barrier();
	for (size_t i = 0; i < N; i++) {
		int to = (int)(ft_random(&state) % (uint64_t)ft.n);
		size_t len = 1 + ft_random(&state) % (i % 16 ? 9000 : 300000);

		if (i % 3 == 2)
			POST(fi_fetch_atomic(p.ep.ep, &one, 1, NULL, &old[i], NULL, p.ep.peer[0],
					     p.addr[0] + FT_PLACE - 8, 7, FI_UINT64, FI_SUM,
					     ft_fresh(&op[i])));
		else
			ft_post_rma(&p, i % 3, to, base, len, 1 + (unsigned)(i & 2), 0, &op[i]);
	}
	ft_wait_all(op, N);
	ft_barrier();
	if (ft.rank == 0) {
		memcpy(&sum, p.target + FT_PLACE - 8, 8);
		CHECK_EQ(sum, (uint64_t)ft.n * (N / 3));
	}
	ft_close_place(&p);
}

/* A read sees the write before it, and not the one behind it; the last write stays. */
static void rma_in_order(void)
{
	enum { N = 400, BIG = 8000 };
	static struct ft_op op[3 * N];
	struct ft_place p;
	char *seen;
	uint64_t none = 0;

	ft_open_place(&p);
	CHECK_EQ(p.ep.info->tx_attr->msg_order & FI_ORDER_RAW, FI_ORDER_RAW);
	CHECK(p.ep.info->ep_attr->max_order_raw_size >= BIG);
	seen = ft_buf(N * BIG);
	for (uint64_t i = 0; i < N && ft.rank == 0; i++) {
		size_t len = i % 7 ? 8 : BIG;

		memset(p.buf + i * BIG, (int)(i + 1), len);
		POST(fi_write(p.ep.ep, p.buf + i * BIG, len, NULL, p.ep.peer[1], p.addr[1], 7,
			      ft_fresh(&op[3 * i])));
		POST(fi_read(p.ep.ep, seen + i * BIG, len, NULL, p.ep.peer[1], p.addr[1], 7,
			     ft_fresh(&op[3 * i + 1])));
		POST(fi_atomic(p.ep.ep, &none, 1, NULL, p.ep.peer[1], p.addr[1], 7, FI_UINT64,
			       FI_ATOMIC_WRITE, ft_fresh(&op[3 * i + 2])));
	}
	if (ft.rank == 0) {
		ft_wait_all(op, 3 * N);
		for (size_t i = 0; i < N; i++)
			CHECK(!memcmp(seen + i * BIG, p.buf + i * BIG, i % 7 ? 8 : BIG));
	}
	ft_barrier();
	if (ft.rank == 1)
		CHECK(!memcmp(p.target, &none, 8));
	free(seen);
	ft_close_place(&p);
}

/* An address takes its connection along when it is removed. It serves again when it is inserted again. */
static void rma_removed(void)
{
	struct ft_place p;
	struct ft_op op;
	size_t fds;

	ft_open_place(&p);
	for (unsigned round = 0; round < 3 && ft.rank == 0; round++) {
		fi_addr_t *to = &p.ep.peer[1];

		ft_post_rma(&p, true, 1, 0, 8, 1, 0, &op);
		ft_wait(&op);
		fds = ft_descriptors();
		OK(fi_av_remove(p.ep.av, to, 1, 0));
		CHECK_EQ(ft_descriptors(), fds - 1);
		CHECK_EQ(fi_av_insert(p.ep.av, ft.sh->rank[1].name[p.ep.index], 1, to, 0, NULL), 1);
	}
	ft_close_place(&p);
}

const struct ft_case ft_cases_onesided[] = {
	{"rma_spans", 2, 60, rma_spans},
	{"rma_both_ways", 3, 60, rma_both_ways},
	{"rma_in_order", 2, 60, rma_in_order},
	{"rma_removed", 2, 60, rma_removed},
	{0},
};
