/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep.c - all combinations of how an endpoint is set up, each with every form of send and
 * receive: format of the queue, completion mode, queue or counters or both, default flags, kind of
 * address vector. Every other one learns its peers' addresses in band.
 */
#include "tests/fabric/harness/ft.h"

static const enum fi_cq_format formats[] = {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG,
					    FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED};
static const uint64_t tx_flags[] = {0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE,
				    FI_DELIVERY_COMPLETE};
enum { QUEUE, COUNTERS, BOTH, REPORTS };
enum { LONGEST = 70000 };

/* What the counters of this endpoint must show. */
struct totals {
	uint64_t sent, received;
};

static void await(struct ft_ep *ep, struct ft_op *op, const struct totals *sum, bool send)
{
	struct fid_cntr *cntr = send ? ep->send_cntr : ep->recv_cntr;
	uint64_t want = send ? sum->sent : sum->received;
	double end = ft_now() + 10 * ft.patience;

	FT_HERE();
	while (cntr && fi_cntr_read(cntr) < want)
		if (ft_now() > end)
			ft_fail("a counter stops at %llu of %llu",
				(unsigned long long)fi_cntr_read(cntr), (unsigned long long)want);
	if (cntr)
		CHECK_EQ(fi_cntr_readerr(cntr), 0);
	if (op && !ep->conf.no_cq)
		ft_wait(op);
}

/* One message from rank 0 to 1, and an answer. */
static void one_way(struct ft_ep *ep, const struct ft_msg *m, enum ft_form form,
		    enum ft_rform rform, uint64_t id, bool send, struct totals *sum)
{
	bool says = !ep->conf.selective || m->flags & FI_COMPLETION;
	struct ft_msg msg = *m;
	struct ft_op op;

	if (send) { /* from a buffer of its own: without a word, the peer's next message tells */
		msg.buf = (char *)m->buf + LONGEST + FT_GUARD;
		ft_fill(msg.buf, msg.len, id);
		msg.iovs = form == FT_SENDV || form == FT_SENDMSG ? m->iovs : 1;
		POST(ft_send_as(ep, form, &msg, &op));
		sum->sent++;
		says = says && !ft_form_is_inject(form);
	} else {
		ft_guard(msg.buf, msg.len);
		msg.iovs = rform == FT_RECV ? 1 : m->iovs;
		POST(ft_recv_as(ep, rform, &msg, &op));
		sum->received++;
	}
	/* Without a word on this one, a counter, or else the answer, tells. */
	await(ep, says ? &op : NULL, sum, send);
	if (!send && !says && !ep->recv_cntr)
		ft_fail("nothing tells that a message has come");
	if (!send)
		ft_verify(msg.buf, msg.len, id, msg.len);
	if (!send && says && !ep->conf.no_cq && ep->conf.format != FI_CQ_FORMAT_CONTEXT)
		CHECK_EQ(op.len, msg.len);
}

static void traffic(struct ft_ep *ep, char *buf)
{
	static const size_t lens[] = {1, 100, 5000, LONGEST};
	struct totals sum = {0};
	uint64_t id = 0;

	for (int form = 0; form < FT_SEND_FORMS; form++) {
		bool inject = form == FT_SENDMSG_INJECT || ft_form_is_inject(form);
		size_t len = lens[inject ? id % 2 : id % 4];
		/* Calls that take flags ask for their entry; others cannot. */
		bool flags =
			form == FT_SENDMSG || form == FT_SENDMSG_DATA || form == FT_SENDMSG_INJECT;
		struct ft_msg m = {.tagged = form % 2,
				   .addr = ep->peer[!ft.rank],
				   .tag = id + 1,
				   .buf = buf,
				   .len = len,
				   .iovs = 1 + id % 4,
				   .data = id};
		enum ft_rform rform = id % FT_RECV_FORMS;

		if (inject && len > ep->info->tx_attr->inject_size)
			m.len = ep->info->tx_attr->inject_size;

		/* In selective mode only fi_recvmsg can ask; a counter tells of the others. */
		if (ep->conf.selective && !ep->recv_cntr)
			rform = FT_RECVMSG;
		for (int dir = 0; dir < 2; dir++) {
			bool send = ft.rank == dir;

			m.flags = (send ? flags : rform == FT_RECVMSG) ? FI_COMPLETION : 0;
			one_way(ep, &m, form, rform, id, send, &sum);
		}
		id++;
	}
	if (ep->send_cntr) {
		CHECK_EQ(fi_cntr_read(ep->send_cntr), sum.sent);
		CHECK_EQ(fi_cntr_read(ep->recv_cntr), sum.received);
	}
}

static void sweep_over(bool maps, unsigned every)
{
	char *buf = ft_buf(2 * LONGEST + FT_GUARD);
	unsigned i = 0;

	for (size_t f = 0; f < 4; f++) {
		for (int report = 0; report < REPORTS; report++) {
			for (int selective = 0; selective < 2; selective++) {
				for (size_t t = 0; t < 4; t++) {
					struct ft_conf conf = {.format = formats[f],
							       .tx_flags = tx_flags[t],
							       .selective = selective,
							       .cntrs = report != QUEUE,
							       .no_cq = report == COUNTERS,
							       .av_map = maps,
							       .in_band = i % 2};
					struct ft_ep ep;

					if (i++ % every)
						continue;
					ft_open(&ep, &conf);
					traffic(&ep, buf);
					ft_close(&ep);
				}
			}
		}
	}
	free(buf);
}

static void sweep_table(void)
{
	sweep_over(false, 1);
}

static void sweep_map(void)
{
	sweep_over(true, 3);
}

/* Addresses by name and port, and by message, among more than two. */
static void in_band(void)
{
	struct ft_ep ep;
	struct ft_op in[FT_MAX_RANKS], out[FT_MAX_RANKS];
	uint64_t got[FT_MAX_RANKS], put[FT_MAX_RANKS];

	ft_open(&ep, &(struct ft_conf){.in_band = true, .caps = FI_DIRECTED_RECV | FI_SOURCE});
	for (int i = 0; i < ft.n; i++) {
		put[i] = (uint64_t)(ft.rank * 100 + i);
		ft_trecv(&ep, i, 7, 0, &got[i], 8, &in[i]);
	}
	for (int i = ft.n - 1; i >= 0; i--)
		ft_tsend(&ep, i, 7, &put[i], 8, &out[i]);
	for (int i = 0; i < ft.n; i++) {
		ft_wait(&in[i]);
		ft_wait(&out[i]);
		CHECK_EQ(got[i], i * 100 + ft.rank);
		CHECK_EQ(in[i].src, ep.peer[i]);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_sweep[] = {
	{"sweep_table", 2, 60, sweep_table},
	{"sweep_map", 2, 60, sweep_map},
	{"in_band", 4, 20, in_band},
	{0},
};
