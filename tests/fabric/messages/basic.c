/* SPDX-License-Identifier: BSD-2-Clause */
/* basic.c - attributes, zero bytes, messages to oneself, completion data, source, directed. */
#include "tests/fabric/harness/ft.h"

/* What MPIs need to find in the fi_info. */
static void attributes(void)
{
	uint64_t more = FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_RMA;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = more});
	CHECK_EQ(ep.info->caps & more, more);
	CHECK_EQ(ep.info->ep_attr->type, FI_EP_RDM);
	CHECK(ep.info->tx_attr->inject_size >= 64);
	CHECK(ep.info->tx_attr->iov_limit >= 1 && ep.info->rx_attr->iov_limit >= 1);
	CHECK(ep.info->domain_attr->cq_data_size >= 4);
	CHECK_EQ(ep.info->tx_attr->msg_order & FI_ORDER_SAS, FI_ORDER_SAS);
	CHECK_EQ(ep.info->domain_attr->threading, FI_THREAD_DOMAIN);
	/* Open MPI 4.1 reads the address into 64 bytes. */
	CHECK(ft.sh->rank[0].namelen[0] <= 64);
	/* All 64 tag bits: the top bits of the format decide how many an MPI takes. */
	CHECK(!ft.quiver || ep.info->ep_attr->mem_tag_format >> 62);
	ft_close(&ep);
}

/* However short the core's messages are, but for one-sided operations. */
static void max_msg_size(void)
{
	struct ft_ep ep;

	ft_peer_limit("verbs", 0, "messages are as long as those of the device");
	ft_open(&ep, &(struct ft_conf){0});
	CHECK(ep.info->ep_attr->max_msg_size >= (size_t)1 << 30);
	ft_close(&ep);
}

/* Hints that cannot be met must be refused, not half met. */
static void refused_hints(void)
{
	struct ft_conf conf = {0};
	struct fi_info *info = NULL;

	for (int what = 0; what < 4; what++) {
		struct fi_info *hints = ft_hints(&conf);

		switch (what) {
		case 0: hints->ep_attr->type = FI_EP_MSG; break;
		case 1: hints->tx_attr->inject_size = (size_t)1 << 30; break;
		case 2: hints->tx_attr->iov_limit = 4096; break;
		default: hints->domain_attr->cq_data_size = 64; break;
		}
		CHECK_EQ(-ft_getinfo(hints, &info), FI_ENODATA);
		fi_freeinfo(hints);
	}
}

/* Hints that are met. */
static void granted_hints(void)
{
	static const uint64_t beside[] = {FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE, FI_MULTI_RECV};
	/* What every core keeps, as far as it says. */
	const uint64_t orders = FI_ORDER_SAS | FI_ORDER_RAW | FI_ORDER_WAW;
	struct ft_conf conf = {.caps = FI_RMA};
	struct fi_info *info = NULL, *hints;

	/* Only what goes with any kind of operation. */
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		hints = ft_hints(&conf);
		hints->caps = beside[i];
		if (beside[i] & (FI_LOCAL_COMM | FI_REMOTE_COMM))
			hints->domain_attr->caps = beside[i];
		OK(ft_getinfo(hints, &info));
		CHECK_EQ(info->caps & beside[i], beside[i]);
		CHECK(!ft.quiver || info->caps & FI_MSG);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
	hints = ft_hints(&conf);
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = orders;
	OK(ft_getinfo(hints, &info));
	CHECK_EQ(info->tx_attr->msg_order & orders, orders);
	CHECK_EQ(info->rx_attr->msg_order & orders, orders);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void zero_bytes(void)
{
	struct ft_ep ep;
	struct ft_op rx[4], tx[4];
	char *buf = ft_buf(0);

	ft_open(&ep, &(struct ft_conf){0});
	for (int early = 0; early < 2; early++) {
		if (ft.rank == 0 && !early)
			ft_barrier();
		if (ft.rank == 0) {
			ft_trecv(&ep, 1, 1, 0, NULL, 0, &rx[0]);
			ft_trecv(&ep, 1, 2, 0, buf, 0, &rx[1]);
			ft_recv(&ep, 1, NULL, 0, &rx[2]);
			ft_recv(&ep, 1, buf, 0, &rx[3]);
		}
		if (ft.rank == 0 && early)
			ft_barrier();
		if (ft.rank == 1) {
			if (early)
				ft_barrier();
			ft_tsend(&ep, 0, 1, NULL, 0, &tx[0]);
			ft_tsend(&ep, 0, 2, buf, 0, &tx[1]);
			ft_send(&ep, 0, NULL, 0, &tx[2]);
			POST(fi_inject(ep.ep, NULL, 0, ep.peer[0]));
			ft_wait_all(tx, 3);
			if (!early)
				ft_barrier();
		}
		if (ft.rank == 0) {
			ft_wait_all(rx, 4);
			for (int i = 0; i < 4; i++)
				CHECK_EQ(rx[i].len, 0);
			ft_verify(buf, 0, 0, 0);
		}
		ft_barrier();
	}
	free(buf);
	ft_close(&ep);
}

static void self(void)
{
	static const size_t sizes[] = {0, 8, 129, 4096, 20000, 70000, 1 << 20};
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *out = ft_buf(sizes[i]), *in = ft_buf(sizes[i]), *in2 = ft_buf(sizes[i]);
		struct ft_op tx, rx, tx2, rx2;

		ft_fill(out, sizes[i], i);
		ft_trecv(&ep, ft.rank, 5, 0, in, sizes[i], &rx); /* posted first */
		ft_tsend(&ep, ft.rank, 5, out, sizes[i], &tx);
		ft_send(&ep, ft.rank, out, sizes[i], &tx2); /* unexpected */
		ft_wait(&tx);
		ft_wait(&rx);
		ft_progress_for(0.002);
		ft_recv(&ep, FT_ANY, in2, sizes[i], &rx2);
		ft_wait(&rx2);
		ft_wait(&tx2);
		ft_verify(in, sizes[i], i, sizes[i]);
		ft_verify(in2, sizes[i], i, sizes[i]);
		CHECK_EQ(rx.src, ep.peer[ft.rank]);
		CHECK_EQ(rx2.src, ep.peer[ft.rank]);
		free(out);
		free(in);
		free(in2);
	}
	ft_close(&ep);
}

/* Completion data of all 64 bits, and no such flag where none was sent. */
static void cq_data(void)
{
	static const uint64_t values[] = {0, 1, 0xffffffff, 0x123456789abcdef0, UINT64_MAX};
	struct ft_ep ep;
	char *buf = ft_buf(70000);

	ft_open(&ep, &(struct ft_conf){0});
	uint64_t all = ep.info->domain_attr->cq_data_size >= 8 ? UINT64_MAX : UINT32_MAX;

	for (size_t i = 0; i < 5 * 2 * 3; i++) {
		size_t len = i % 2 ? 70000 : 8;
		struct ft_msg m = {.tagged = i / 2 % 3 == 0,
				   .addr = ep.peer[!ft.rank],
				   .tag = 3,
				   .buf = buf,
				   .len = len,
				   .data = values[i / 6] & all};
		bool with = i / 2 % 3 != 2;
		struct ft_op op;

		if (ft.rank == 1) {
			POST(ft_send_as(&ep, with ? FT_SENDDATA : FT_SEND, &m, &op));
			ft_wait(&op);
			continue;
		}
		POST(ft_recv_as(&ep, FT_RECV, &m, &op));
		ft_wait(&op);
		CHECK_EQ(op.flags & FI_REMOTE_CQ_DATA, with ? FI_REMOTE_CQ_DATA : 0);
		if (with)
			CHECK_EQ(op.data, m.data);
	}
	free(buf);
	ft_close(&ep);
}

/* Directed receives take only their source's messages; readfrom names the source. */
static void directed(void)
{
	struct ft_ep ep;
	struct ft_op rx[4], tx[2];
	uint64_t in[4], out = (uint64_t)ft.rank;

	ft_open(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	if (ft.rank == 0) {
		for (int i = 1; i < 3; i++) { /* rank 2 sends first, rank 1's come first */
			ft_recv(&ep, i, &in[i - 1], 8, &rx[i - 1]);
			ft_trecv(&ep, i, 0, ~0ull, &in[i + 1], 8, &rx[i + 1]);
		}
	}
	ft_barrier();
	if (ft.rank == 1)
		ft_await_word(0, 1);
	if (ft.rank > 0) {
		ft_send(&ep, 0, &out, 8, &tx[0]);
		ft_tsend(&ep, 0, 77, &out, 8, &tx[1]);
		ft_wait_all(tx, 2);
		ft.sh->word[0] = 1;
	} else {
		ft_wait_all(rx, 4);
		for (int i = 0; i < 4; i++) {
			CHECK_EQ(in[i], 1 + i % 2);
			CHECK_EQ(rx[i].src, ep.peer[1 + i % 2]);
		}
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_basic[] = {
	{"attributes", 2, 20, attributes},
	{"max_msg_size", 2, 20, max_msg_size},
	{"granted_hints", 1, 20, granted_hints},
	{"refused_hints", 1, 20, refused_hints},
	{"zero_bytes", 2, 20, zero_bytes},
	{"self", 2, 20, self},
	{"cq_data", 2, 20, cq_data},
	{"directed", 3, 20, directed},
	{0},
};
