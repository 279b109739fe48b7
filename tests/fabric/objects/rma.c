/* SPDX-License-Identifier: BSD-2-Clause */
/* rma.c - reads and writes passed through to the core, with their completions and counters. */
#include "tests/fabric/harness/ft.h"

#define ROOM FT_WINDOW

static struct fid_mr *register_mem(struct ft_ep *ep, void *buf, size_t len, uint64_t access,
				   uint64_t key)
{
	struct fid_mr *mr;

	OK(fi_mr_reg(ep->domain, buf, len, access, 0, key, 0, &mr, NULL));
	if (ep->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		OK(fi_mr_bind(mr, &ep->ep->fid, 0));
		OK(fi_mr_enable(mr));
	}
	return mr;
}

void ft_register_window(struct ft_window *w)
{
	bool virt;

	w->target = ft_buf(ROOM);
	w->buf = ft_buf(ROOM);
	virt = w->ep.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	w->mr = register_mem(&w->ep, w->target, ROOM, FI_REMOTE_READ | FI_REMOTE_WRITE,
			     (uint64_t)ft.rank + 40);
	ft.sh->word[ft.rank] = fi_mr_key(w->mr);
	ft.sh->word[8 + ft.rank] = virt ? (uintptr_t)w->target : 0;
	ft_barrier();
	for (int i = 0; i < ft.n; i++) {
		w->keys[i] = ft.sh->word[i];
		w->addrs[i] = ft.sh->word[8 + i];
	}
	w->key = w->keys[!ft.rank];
	w->addr = w->addrs[!ft.rank];
}

void ft_open_window(struct ft_window *w, struct ft_conf conf)
{
	conf.caps |= FI_RMA;
	ft_open(&w->ep, &conf);
	ft_register_window(w);
}

void ft_close_window(struct ft_window *w)
{
	ft_barrier();
	OK(fi_close(&w->mr->fid));
	ft_close(&w->ep);
	free(w->target);
	free(w->buf);
}

static void rma_transfers(void)
{
	static const size_t lens[] = {1, 8, 64, 4096, 65537, ROOM};
	struct ft_window w;
	struct ft_op op[2];

	ft_open_window(&w, (struct ft_conf){0});
	for (size_t i = 0; i < 6; i++) {
		fi_addr_t to = w.ep.peer[!ft.rank];
		size_t len = lens[i];

		ft_guard(w.target, ROOM);
		ft_barrier();
		if (ft.rank == 0) { /* write, read back, then inject */
			struct iovec iov[2] = {{w.buf, len / 2}, {w.buf + len / 2, len - len / 2}};
			struct fi_rma_iov rma = {w.addr, len, w.key};
			struct fi_msg_rma msg = {.msg_iov = iov,
						 .iov_count = 2,
						 .addr = to,
						 .rma_iov = &rma,
						 .rma_iov_count = 1,
						 .context = &op[1]};

			ft_fill(w.buf, len, i);
			POST(fi_write(w.ep.ep, w.buf, len, NULL, to, w.addr, w.key,
				      ft_fresh(&op[0])));
			ft_wait(&op[0]);
			CHECK_EQ(op[0].flags & (FI_RMA | FI_WRITE), FI_RMA | FI_WRITE);
			ft_guard(w.buf, len);
			POST(fi_read(w.ep.ep, w.buf, len, NULL, to, w.addr, w.key,
				     ft_fresh(&op[0])));
			ft_wait(&op[0]);
			CHECK_EQ(op[0].flags & (FI_RMA | FI_READ), FI_RMA | FI_READ);
			ft_verify(w.buf, len, i, len);
			ft_fill(w.buf, len, i + 1);
			ft_fresh(&op[1]);
			POST(fi_writemsg(w.ep.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
			ft_wait(&op[1]);
		}
		ft_barrier();
		if (ft.rank == 1)
			ft_verify(w.target, len, i + 1, ROOM);
		ft_barrier();
	}
	ft_close_window(&w);
}

/* How much a peer has written, which the TCP providers do not tell before libfabric 2.0. */
static void check_len(const struct fi_cq_tagged_entry *entry, size_t len)
{
	const bool tcp = !strcmp(ft_core(), "net") || !strncmp(ft_core(), "tcp", 3) || ft_apart() ||
			 getenv("QV_TEST_NETNS");

	if (!tcp || FI_VERSION_GE(fi_version(), FI_VERSION(2, 0)) || entry->len)
		CHECK_EQ(entry->len, len);
}

/* Over verbs;ofi_rxm the core would lose the data of a write: it is refused. */
static void skip_refused_data(struct ft_window *w)
{
	static const char core[] = "verbs;ofi_rxm";
	const char *cores = getenv("FI_QUIVER_CORE");
	uint64_t word = 0;

	if (!ft.quiver || !(strstr(ft.prov, core) || strstr(cores ? cores : "", core)))
		return;
	CHECK_EQ(fi_inject_writedata(w->ep.ep, &word, 8, 1, w->ep.peer[!ft.rank], w->addr, w->key),
		 -FI_EOPNOTSUPP);
	ft_close_window(w);
	ft_skip("writes with data are refused over this core");
}

/* Inject and completion data: the target of writedata gets an entry. */
static void rma_inject_data(void)
{
	struct ft_window w;
	struct ft_op op;
	uint64_t word = 0x1122334455667788;

	ft_open_window(&w, (struct ft_conf){0});
	skip_refused_data(&w);
	if (ft.rank == 0) {
		POST(fi_inject_write(w.ep.ep, &word, 8, w.ep.peer[1], w.addr, w.key));
		word = 0;
		ft_fill(w.buf, 5000, 9);
		POST(fi_writedata(w.ep.ep, w.buf, 5000, NULL, 0xabcdef01, w.ep.peer[1], w.addr + 64,
				  w.key, ft_fresh(&op)));
		ft_wait(&op);
	} else { /* such an entry has no context of ours: read the queue by hand */
		struct fi_cq_tagged_entry entry = {0};
		ssize_t n;

		FT_HERE();
		while ((n = fi_cq_read(w.ep.rx_cq, &entry, 1)) == -FI_EAGAIN)
			;
		CHECK_EQ(n, 1);
		CHECK(entry.flags & FI_REMOTE_CQ_DATA);
		CHECK(entry.flags & FI_REMOTE_WRITE);
		CHECK_EQ(entry.data, 0xabcdef01);
		check_len(&entry, 5000);
		ft_verify(w.target + 64, 5000, 9, ROOM - 64);
		FT_HERE();
		while (memcmp(w.target, &(uint64_t){0x1122334455667788}, 8))
			ft_progress();
	}
	ft_close_window(&w);
}

/* Rank 1 waits for an entry that a peer's write with completion data leaves; it has no context. */
static void await_remote(struct ft_window *w, size_t len, uint64_t data)
{
	struct fi_cq_tagged_entry entry = {0};
	ssize_t n;

	FT_HERE();
	while ((n = fi_cq_read(w->ep.rx_cq, &entry, 1)) == -FI_EAGAIN)
		;
	CHECK_EQ(n, 1);
	CHECK(entry.flags & FI_REMOTE_CQ_DATA);
	CHECK(entry.flags & FI_REMOTE_WRITE);
	CHECK_EQ(entry.data, data);
	check_len(&entry, len);
}

/* Who has written with completion data is told rightly, or not told: here the target has only spoken to
 * another. */
static void rma_source(void)
{
	struct fi_cq_tagged_entry entry;
	uint64_t word = 1;
	struct ft_window w;
	struct ft_op op;
	fi_addr_t src;
	ssize_t n;

	ft_open_window(&w, (struct ft_conf){.caps = FI_SOURCE});
	skip_refused_data(&w);
	if (ft.rank == 0) {
		ft_tsend(&w.ep, 1, 1, &word, 8, &op);
		ft_wait(&op);
	} else if (ft.rank == 1) {
		ft_trecv(&w.ep, 0, 1, 0, &word, 8, &op);
		ft_wait(&op);
	}
	ft_barrier();
	if (ft.rank == 2) {
		POST(fi_writedata(w.ep.ep, w.buf, 64, NULL, 7, w.ep.peer[0], w.addrs[0], w.keys[0],
				  ft_fresh(&op)));
		ft_wait(&op);
	} else if (ft.rank == 0) {
		FT_HERE();
		while ((n = fi_cq_readfrom(w.ep.rx_cq, &entry, 1, &src)) == -FI_EAGAIN)
			;
		CHECK(n == 1 && entry.flags & FI_REMOTE_CQ_DATA && entry.data == 7);
		CHECK(src == w.ep.peer[2] || src == FI_ADDR_NOTAVAIL);
	}
	ft_close_window(&w);
}

/* Every call of fi_rma(3), the inject forms up to inject_size, with their buffers overwritten at
 * once. Each write leaves data at the target, which so knows that it has come. */
static void rma_forms(void)
{
	enum { STEP = 4096 };
	struct ft_window w;
	struct ft_op op;
	size_t most;

	ft_open_window(&w, (struct ft_conf){.selective = true});
	skip_refused_data(&w);
	most = w.ep.info->tx_attr->inject_size;
	for (uint64_t form = 0; form < 4; form++) {
		size_t len = form < 2 ? most : 3000;
		uint64_t at = w.addr + form * STEP, data = 0xfeed0000 + form;
		struct iovec iov[2] = {{w.buf, len / 3}, {w.buf + len / 3, len - len / 3}};
		struct fi_rma_iov rma = {at, len, w.key};
		struct fi_msg_rma msg = {.msg_iov = iov,
					 .iov_count = 2,
					 .addr = w.ep.peer[1],
					 .rma_iov = &rma,
					 .rma_iov_count = 1,
					 .context = ft_fresh(&op),
					 .data = data};

		if (ft.rank == 1) {
			await_remote(&w, len, data);
			ft_verify(w.target + form * STEP, len, form, len);
			ft_barrier();
			continue;
		}
		ft_fill(w.buf, len, form);
		if (form == 0)
			POST(fi_inject_writedata(w.ep.ep, w.buf, len, data, w.ep.peer[1], at,
						 w.key));
		else if (form == 1)
			POST(fi_writemsg(w.ep.ep, &msg, FI_INJECT | FI_REMOTE_CQ_DATA));
		else if (form == 2)
			POST(fi_writemsg(w.ep.ep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA));
		else
			POST(fi_writev(w.ep.ep, iov, NULL, 2, w.ep.peer[1], at, w.key, &op));
		if (form == 2)
			ft_wait(&op);
		if (form < 2)
			ft_guard(w.buf, len); /* it was injected: ours again */
		if (form == 3) { /* says nothing here (selective), so a last write tells rank 1 */
			POST(fi_readv(w.ep.ep, iov, NULL, 1, w.ep.peer[1], at, w.key, &op));
			POST(fi_writemsg(w.ep.ep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA));
			ft_wait(&op);
		}
		ft_barrier();
		CHECK_EQ(op.done, form >= 2);
	}
	if (ft.quiver)
		CHECK_EQ(fi_inject_write(w.ep.ep, w.buf, most + 1, w.ep.peer[!ft.rank], w.addr,
					 w.key),
			 -FI_EINVAL);
	ft_close_window(&w);
}

/* A core's own word for the failure arrives (sockets), and there is a text for what comes with it. */
static void check_refusal(struct ft_window *w, const struct ft_op *op)
{
	const char *text = fi_cq_strerror(w->ep.rx_cq, op->prov_errno, NULL, NULL, 0);

	if (!strcmp(ft_core(), "sockets"))
		CHECK_EQ(op->err, FI_EACCES);
	CHECK(text && *text && !strstr(text, "unknown"));
}

/* A read of memory that is not registered fails; what else the core does to the pair is its affair
 * (tcp;ofi_rxm ends the connection). shm does not look at keys, or drops the request. */
static void rma_bad_key(void)
{
	struct ft_window w;
	struct ft_op op;
	ssize_t ret = 0;
	bool shm = !strcmp(ft_core(), "shm");
	double end = ft_now() + 1;

	ft_open_window(&w, (struct ft_conf){0});
	if (ft.rank == 0) {
		ft_fresh(&op);
		FT_HERE();
		while ((ret = fi_read(w.ep.ep, w.buf, 64, NULL, w.ep.peer[1], w.addr,
				      w.key ^ 0x5a5a5a, &op)) == -FI_EAGAIN)
			ft_progress();
		FT_HERE();
		while (!ret && !op.done && !(shm && ft_now() > end))
			ft_progress();
		CHECK(ret || op.err || shm);
		if (op.err)
			check_refusal(&w, &op);
	}
	ft_close_window(&w);
}

const struct ft_case ft_cases_rma[] = {
	{"rma_transfers", 2, 20, rma_transfers}, {"rma_inject_data", 2, 20, rma_inject_data},
	{"rma_source", 3, 20, rma_source},       {"rma_forms", 2, 20, rma_forms},
	{"rma_bad_key", 2, 20, rma_bad_key},     {0},
};
