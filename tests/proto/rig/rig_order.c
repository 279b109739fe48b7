/* SPDX-License-Identifier: BSD-2-Clause */
/* rig_order.c - see rig_order.h. */
#include "rig_order.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"

static bool accepts(uint64_t want, uint64_t ignore, int from, const struct rig_req *send)
{
	return ((want ^ send->tag) & ~ignore) == 0 &&
	       (from == RIG_ANY || (unsigned)from == send->node);
}

/* A message of this send has arrived at its node. */
static void arrive(struct order *o, struct rig_req *send)
{
	struct order_queues *q = &o->q[send->peer][send->flags & QV_REQ_TAGGED];

	for (size_t i = 0; i < q->nposted; i++) {
		struct order_posted *r = &q->posted[i];

		if (!accepts(r->tag, r->ignore, r->from, send))
			continue;
		r->req->user = send;
		memmove(r, r + 1, (--q->nposted - i) * sizeof *r);
		return;
	}
	q->unexp = realloc(q->unexp, (q->nunexp + 1) * sizeof *q->unexp);
	QV_NEED(q->unexp);
	q->unexp[q->nunexp++] = send;
}

static void tap(void *ctx, unsigned from, unsigned to, const void *buf, size_t len)
{
	struct order *o = ctx;
	struct qv_wire_hdr hdr = {0};
	struct rig_req *send;

	/* As long as what a headerless message has in front. */
	assert_true(len >= 2 * sizeof(uint64_t));
	memcpy(&hdr, buf, len < sizeof hdr ? len : sizeof hdr);
	if (memcmp(buf, &(uint64_t){QV_LOOP_HEADERLESS}, sizeof(uint64_t)) &&
	    hdr.op != QV_PKT_EAGER && hdr.op != QV_PKT_RTS)
		return;
	assert_true(o->narrived[from][to] < o->nsent[from][to]);
	send = o->sent[from][to][o->narrived[from][to]++];
	assert_int_equal(hdr.arg, send->tag); /* in the order sent */
	arrive(o, send);
}

struct order *order_new(struct rig *rig)
{
	struct order *o = calloc(1, sizeof *o);

	QV_NEED(o);
	o->rig = rig;
	qv_loop_set_tap(rig->loop, tap, o);
	return o;
}

void order_free(struct order *o)
{
	for (unsigned i = 0; i < QV_LOOP_MAX; i++) {
		for (unsigned k = 0; k < QV_LOOP_MAX; k++)
			free(o->sent[i][k]);
		for (unsigned t = 0; t < 2; t++) {
			free(o->q[i][t].posted);
			free(o->q[i][t].unexp);
		}
	}
	free(o);
}

void order_sent(struct order *o, struct rig_req *send)
{
	struct rig_req ***list = &o->sent[send->node][send->peer];
	size_t *n = &o->nsent[send->node][send->peer];

	*list = realloc(*list, (*n + 1) * sizeof **list);
	QV_NEED(*list);
	(*list)[(*n)++] = send;
}

struct rig_req *order_peek(struct order *o, unsigned node, int from, uint64_t tag, uint64_t ignore,
			   bool tagged, bool take)
{
	struct order_queues *q = &o->q[node][tagged];

	for (size_t i = 0; i < q->nunexp; i++) {
		struct rig_req *send = q->unexp[i];

		if (!accepts(tag, ignore, from, send))
			continue;
		if (take)
			memmove(&q->unexp[i], &q->unexp[i + 1],
				(--q->nunexp - i) * sizeof *q->unexp);
		return send;
	}
	return NULL;
}

void order_post(struct order *o, struct rig_req *recv, int from, uint64_t tag, uint64_t ignore)
{
	bool tagged = recv->flags & QV_REQ_TAGGED;
	struct order_queues *q = &o->q[recv->node][tagged];

	recv->user = order_peek(o, recv->node, from, tag, ignore, tagged, true);
	if (recv->user)
		return;
	q->posted = realloc(q->posted, (q->nposted + 1) * sizeof *q->posted);
	QV_NEED(q->posted);
	q->posted[q->nposted++] = (struct order_posted){recv, tag, ignore, from};
}

bool order_cancel(struct order *o, struct rig_req *recv)
{
	struct order_queues *q = &o->q[recv->node][recv->flags & QV_REQ_TAGGED];

	for (size_t i = 0; i < q->nposted; i++)
		if (q->posted[i].req == recv) {
			memmove(&q->posted[i], &q->posted[i + 1],
				(--q->nposted - i) * sizeof *q->posted);
			return true;
		}
	return false;
}
