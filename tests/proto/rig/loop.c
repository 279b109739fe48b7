/* SPDX-License-Identifier: BSD-2-Clause */
/* loop.c - see loop.h: endpoints. loop_ops.c takes their packets, loop_step.c moves
 * them. */
#include "loop_internal.h"

void *loop_need(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	QV_NEED(p);
	return p;
}

struct qv_loop *qv_loop_new(uint64_t *rng)
{
	struct qv_loop *loop = loop_need(sizeof *loop);

	loop->rng = rng;
	loop->chaos.capacity = 64;
	return loop;
}

struct qv_loop_chaos *qv_loop_chaos(struct qv_loop *loop)
{
	return &loop->chaos;
}

void qv_loop_set_tap(struct qv_loop *loop, qv_loop_tap tap, void *ctx)
{
	loop->tap = tap;
	loop->tap_ctx = ctx;
}

struct qv_xport *qv_loop_open(struct qv_loop *loop, unsigned at,
			      const struct qv_loop_limits *limits, qv_loop_sink sink, void *ctx)
{
	struct loop_ep *ep = loop_need(sizeof *ep);

	QV_NEED(at < QV_LOOP_MAX && !loop->at[at]);
	ep->x = (struct qv_xport){.ops = limits->headerless ? &loop_headerless_ops : &loop_ops,
				  .inject_max = limits->inject_max,
				  .inject_iov = limits->inject_iov,
				  .send_iov = limits->send_iov,
				  .packet_max = limits->packet_max,
				  .read_max = limits->read_max,
				  .drops = !limits->headerless};
	ep->loop = loop;
	ep->slot = at;
	ep->alive = true;
	ep->hide_from = limits->hide_from;
	ep->sink = sink;
	ep->ctx = ctx;
	ep->next = loop->eps;
	loop->eps = ep;
	loop->at[at] = ep;
	return &ep->x;
}

void qv_loop_free(struct qv_loop *loop)
{
	for (unsigned i = 0; i < QV_LOOP_MAX; i++)
		if (loop->at[i])
			qv_loop_kill(loop, i, QV_LOOP_SILENT, false);
	while (loop->eps) {
		struct loop_ep *ep = loop->eps;

		loop->eps = ep->next;
		for (unsigned to = 0; to < QV_LOOP_MAX; to++)
			while (ep->out[to].head)
				loop_packet_free(loop_pop(&ep->out[to]));
		free(ep->regions);
		free(ep);
	}
	free(loop->done);
	free(loop);
}

unsigned qv_loop_registered(const struct qv_loop *loop, unsigned at)
{
	unsigned n = 0;

	for (size_t i = 0; loop->at[at] && i < loop->at[at]->nregions; i++)
		n += loop->at[at]->regions[i].key != 0;
	return n;
}

unsigned qv_loop_bad_reads(const struct qv_loop *loop)
{
	return loop->bad_reads;
}
