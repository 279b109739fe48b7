/* SPDX-License-Identifier: BSD-2-Clause */
/* pingpong.c - every form of every call, all queue formats, sizes around each limit. */
#include "tests/fabric/harness/ft.h"

static const size_t sizes[] = {0,    1,    8,    64,   128,   129,   1000,    4095,
			       4096, 4097, 8192, 8193, 16384, 65537, 1u << 20};
static const enum fi_cq_format formats[] = {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG,
					    FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED};

struct round {
	enum ft_form form;
	enum ft_rform rform;
	size_t len, iovs;
	uint64_t id;
	bool tagged;
};

static void check_received(struct ft_ep *ep, const struct round *r, const struct ft_op *op,
			   const void *buf)
{
	enum fi_cq_format f = ep->conf.format;
	uint64_t kind = r->tagged ? FI_TAGGED : FI_MSG;

	ft_verify(buf, r->len, r->id, r->len);
	if (f == FI_CQ_FORMAT_CONTEXT)
		return;
	CHECK_EQ(op->len, r->len);
	CHECK_EQ(op->flags & (FI_RECV | FI_SEND | FI_TAGGED | FI_MSG), FI_RECV | kind);
	if (f == FI_CQ_FORMAT_MSG)
		return;
	CHECK_EQ(op->flags & FI_REMOTE_CQ_DATA, ft_form_has_data(r->form) ? FI_REMOTE_CQ_DATA : 0);
	if (ft_form_has_data(r->form))
		CHECK_EQ(op->data, r->id);
	if (f == FI_CQ_FORMAT_TAGGED && r->tagged)
		CHECK_EQ(op->tag, r->id << 40 | 9);
}

static void half(struct ft_ep *ep, const struct round *r, void *buf, bool send)
{
	struct ft_msg m = {.tagged = r->tagged,
			   .addr = ep->peer[!ft.rank],
			   .tag = r->id << 40 | 9,
			   .buf = buf,
			   .len = r->len,
			   .data = r->id};
	struct ft_op op;

	if (send) {
		m.iovs = r->form == FT_SENDV || r->form == FT_SENDMSG ? r->iovs : 1;
		ft_fill(buf, r->len, r->id);
		POST(ft_send_as(ep, r->form, &m, &op));
		if (!ft_form_is_inject(r->form)) {
			ft_wait(&op);
			if (ep->conf.format != FI_CQ_FORMAT_CONTEXT)
				CHECK_EQ(op.flags & (FI_RECV | FI_SEND), FI_SEND);
		} else if (r->len) {
			memset(buf, 0, r->len); /* ours again at once */
		}
	} else {
		m.iovs = r->rform == FT_RECV ? 1 : r->iovs;
		ft_guard(buf, r->len);
		if (r->id % 4 == 3) /* let it come before the receive */
			ft_progress_for(20e-6);
		POST(ft_recv_as(ep, r->rform, &m, &op));
		ft_wait(&op);
		check_received(ep, r, &op, buf);
	}
}

static void exchange(struct ft_ep *ep, const struct round *r, void *buf)
{
	size_t limit = ep->info->tx_attr->inject_size;
	bool inject = ft_form_is_inject(r->form) || r->form == FT_SENDMSG_INJECT;

	if (inject && r->len > limit)
		return;
	half(ep, r, buf, ft.rank == 0);
	half(ep, r, buf, ft.rank == 1);
}

static void all_forms(struct ft_ep *ep, bool tagged, size_t len, void *buf)
{
	static uint64_t id;
	static unsigned turn;
	size_t iovs = ep->info->tx_attr->iov_limit;

	if (ep->info->rx_attr->iov_limit < iovs)
		iovs = ep->info->rx_attr->iov_limit;
	iovs = iovs > 8 ? 8 : iovs;
	for (int form = 0; form < FT_SEND_FORMS; form++) {
		for (int rform = 0; rform < FT_RECV_FORMS; rform++) {
			for (size_t n = 1; n <= iovs; n++) {
				bool pieces = form == FT_SENDV || form == FT_SENDMSG || rform;

				if (n > 1 && !pieces)
					continue;
				if (len > 65537 && n > 1 && n < iovs)
					continue;
				if (len > 4097 && !ft_share(&turn))
					continue;
				id++;
				exchange(ep,
					 &(struct round){.form = (enum ft_form)form,
							 .rform = (enum ft_rform)rform,
							 .len = len,
							 .iovs = n,
							 .id = id,
							 .tagged = tagged},
					 buf);
			}
		}
	}
}

static void pingpong(bool tagged)
{
	char *buf = ft_buf(1 << 20);

	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		struct ft_ep ep;

		ft_open(&ep, &(struct ft_conf){.format = formats[f]});
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			all_forms(&ep, tagged, sizes[s], buf);
		ft_close(&ep);
	}
	free(buf);
}

static void pingpong_tagged(void)
{
	pingpong(true);
}

static void pingpong_msg(void)
{
	pingpong(false);
}

/* Tagged and untagged traffic with equal tags must not meet. */
static void apart(void)
{
	struct ft_ep ep;
	struct ft_op rx[2], tx[2];
	uint64_t in[2] = {0}, out[2] = {11, 22};

	ft_open(&ep, &(struct ft_conf){0});
	if (ft.rank == 0) {
		ft_trecv(&ep, FT_ANY, 0, ~0ull, &in[0], 8, &rx[0]);
		ft_recv(&ep, FT_ANY, &in[1], 8, &rx[1]);
	}
	ft_barrier();
	if (ft.rank == 1) {
		ft_send(&ep, 0, &out[1], 8, &tx[1]);
		ft_tsend(&ep, 0, 0, &out[0], 8, &tx[0]);
		ft_wait_all(tx, 2);
	} else {
		ft_wait_all(rx, 2);
		CHECK_EQ(in[0], 11);
		CHECK_EQ(in[1], 22);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_pingpong[] = {
	{"pingpong_tagged", 2, 60, pingpong_tagged},
	{"pingpong_msg", 2, 60, pingpong_msg},
	{"tagged_and_msg_apart", 2, 20, apart},
	{0},
};
