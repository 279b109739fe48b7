/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_step.c - the loopback's events, and the death of endpoints. */
#include "loop_internal.h"

#include <string.h>

/* The pieces, behind so many bytes of other things. */
static char *copy_of(const struct loop_packet *pkt, size_t at)
{
	char *copy = malloc(at + pkt->len); /* exactly: reading past the end is found by ASan */

	QV_NEED(copy);
	for (size_t i = 0; i < pkt->cnt; i++) {
		if (pkt->iov[i].iov_len)
			memcpy(copy + at, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		at += pkt->iov[i].iov_len;
	}
	return copy;
}

void loop_note_given(struct loop_packet *pkt)
{
	pkt->given = copy_of(pkt, 0);
}

/* The transport may read any part of a packet at any time until it gives the memory back. */
static void check_given(const struct loop_packet *pkt)
{
	char *now = copy_of(pkt, 0);

	QV_NEED(!memcmp(now, pkt->given, pkt->len));
	free(now);
}

/* The last moment at which the sender's memory is looked at. */
void loop_gather(struct loop_packet *pkt)
{
	if (pkt->bytes)
		return;
	pkt->bytes = copy_of(pkt, pkt->beside);
	memcpy(pkt->bytes, pkt->head, pkt->beside);
}

void loop_done(struct loop_ep *ep, struct qv_xfer *xfer, int status)
{
	struct qv_loop *loop = ep->loop;

	if (loop->ndone == loop->done_cap) {
		loop->done_cap = loop->done_cap ? loop->done_cap * 2 : 64;
		loop->done = realloc(loop->done, loop->done_cap * sizeof *loop->done);
		QV_NEED(loop->done);
	}
	loop->done[loop->ndone++] = (struct loop_done){ep, xfer, status};
}

struct loop_packet *loop_pop(struct loop_queue *q)
{
	struct loop_packet *pkt = q->head;

	q->head = pkt->next;
	q->count--;
	return pkt;
}

void loop_packet_free(struct loop_packet *pkt)
{
	free(pkt->given);
	free(pkt->bytes);
	free(pkt);
}

static void leave_memory(struct loop_ep *ep, struct loop_packet *pkt, int status)
{
	if (!pkt->xfer)
		return;
	if (pkt->to && pkt->to->alive) /* for what the dead should get nobody waits for ever */
		check_given(pkt);
	loop_done(ep, pkt->xfer, status);
	pkt->xfer = NULL;
}

static int hand_over(struct loop_ep *to, uint64_t from, const void *buf, size_t len)
{
	int rc;

	qv_nomem_enter();
	rc = to->sink(to->ctx, buf, len, from);
	qv_nomem_leave();
	return rc;
}

/* Is it to be lost? */
static bool is_lost(struct qv_loop *loop, unsigned from)
{
	struct qv_loop_chaos *chaos = &loop->chaos;

	if (chaos->lose[from]) {
		chaos->lose[from]--;
		return true;
	}
	if (!chaos->lose_nth || --chaos->lose_nth)
		return false;
	chaos->lose_nth = chaos->lose_more != 0; /* the next one, too */
	chaos->lose_more -= chaos->lose_more != 0;
	return true;
}

/* The first packet of a queue, to its receiver. */
static bool deliver(struct loop_ep *ep, struct loop_queue *q)
{
	struct loop_packet *pkt = q->head;
	struct loop_ep *to = pkt->to;
	struct qv_loop *loop = ep->loop;

	if (!to || !to->alive) {
		if (to && to->death == QV_LOOP_STUCK)
			return false;
		leave_memory(ep, pkt, to && to->death == QV_LOOP_SILENT ? QV_OK : QV_EPEER);
		loop_packet_free(loop_pop(q));
		return true;
	}
	if (q->hold || (to->held && to->held != q))
		return false;
	loop_gather(pkt);
	if (!to->held && is_lost(loop, ep->slot)) {
		leave_memory(ep, pkt, QV_OK);
		loop_packet_free(loop_pop(q));
		return true;
	}
	to->held = NULL;
	if (hand_over(to, to->hide_from && !pkt->beside ? UINT64_MAX : ep->slot, pkt->bytes,
		      pkt->beside + pkt->len)) {
		to->held = q;
		return true;
	}
	if (loop->tap)
		loop->tap(loop->tap_ctx, ep->slot, to->slot, pkt->bytes, pkt->beside + pkt->len);
	leave_memory(ep, pkt, QV_OK);
	if (!qv_random_percent(loop->rng, loop->chaos.repeat))
		loop_packet_free(loop_pop(q));
	return true;
}

/* The transport has copied a packet somewhere in a queue: the sender's memory is free again. */
static bool buffer(struct loop_ep *ep, struct loop_queue *q)
{
	uint64_t skip = qv_random_below(ep->loop->rng, q->count);
	struct loop_packet *pkt = q->head;

	if (!pkt->to || !pkt->to->alive) /* that will fail */
		return false;
	while (skip--)
		pkt = pkt->next;
	if (!pkt->xfer)
		return false;
	loop_gather(pkt);
	leave_memory(ep, pkt, QV_OK);
	return true;
}

/* Try each queue once, from a random one on. */
static bool some_queue(struct qv_loop *loop, bool (*act)(struct loop_ep *, struct loop_queue *))
{
	unsigned count = 0, start, i = 0;

	for (struct loop_ep *ep = loop->eps; ep; ep = ep->next)
		count += QV_LOOP_MAX;
	if (!count)
		return false;
	start = (unsigned)qv_random_below(loop->rng, count);
	for (int round = 0; round < 2; round++, i = 0)
		for (struct loop_ep *ep = loop->eps; ep; ep = ep->next)
			for (unsigned to = 0; to < QV_LOOP_MAX; to++, i++)
				if ((round ? i < start : i >= start) && ep->out[to].head &&
				    act(ep, &ep->out[to]))
					return true;
	return false;
}

static void tell(const struct loop_done *done)
{
	qv_nomem_enter();
	done->xfer->done(done->xfer, done->status);
	qv_nomem_leave();
}

static bool complete(struct qv_loop *loop)
{
	struct loop_done done;
	size_t i;

	if (!loop->ndone)
		return false;
	i = qv_random_below(loop->rng, loop->ndone);
	done = loop->done[i];
	loop->done[i] = loop->done[--loop->ndone];
	tell(&done);
	return true;
}

static int do_read(const struct loop_read *r)
{
	size_t done = 0;

	if (!r->from || !r->from->alive)
		return QV_EIO;
	for (size_t i = 0; i < r->from->nregions; i++) {
		const struct loop_region *g = &r->from->regions[i];

		if (!g->key || g->key != r->key || r->addr < g->addr ||
		    r->addr - g->addr + r->len > g->len)
			continue;
		for (size_t k = 0; k < r->cnt; k++) {
			memcpy(r->iov[k].iov_base, g->buf + (r->addr - g->addr) + done,
			       r->iov[k].iov_len);
			done += r->iov[k].iov_len;
		}
		return QV_OK;
	}
	r->ep->loop->bad_reads++;
	return QV_EIO;
}

static bool read_one(struct qv_loop *loop)
{
	struct loop_read r;
	size_t i;

	if (!loop->nreads)
		return false;
	i = qv_random_below(loop->rng, loop->nreads);
	r = loop->reads[i];
	if (r.from && !r.from->alive && r.from->death == QV_LOOP_STUCK)
		return false;
	loop->reads[i] = loop->reads[--loop->nreads];
	r.ep->reading[r.slot]--;
	loop_done(r.ep, r.xfer, do_read(&r));
	return true;
}

bool qv_loop_step(struct qv_loop *loop)
{
	unsigned what = (unsigned)qv_random_below(loop->rng, 8);

	for (unsigned tries = 0; tries < 8; tries++, what = (what + 1) % 8) {
		bool did = what < 4    ? some_queue(loop, deliver)
			   : what == 4 ? some_queue(loop, buffer)
			   : what < 7  ? complete(loop)
				       : read_one(loop);

		if (did)
			return true;
	}
	return false;
}

void qv_loop_drain(struct qv_loop *loop, unsigned at)
{
	struct loop_ep *ep = loop->at[at];

	ep->closing = true;
	for (unsigned to = 0; to < QV_LOOP_MAX; to++)
		for (struct loop_packet *pkt = ep->out[to].head; pkt; pkt = pkt->next)
			if (pkt->xfer) {
				loop_gather(pkt);
				leave_memory(ep, pkt, QV_ECANCELED);
			}
	for (size_t i = loop->nreads; i-- > 0;)
		if (loop->reads[i].ep == ep) {
			loop_done(ep, loop->reads[i].xfer, QV_ECANCELED);
			loop->reads[i] = loop->reads[--loop->nreads];
		}
	memset(ep->reading, 0, sizeof ep->reading);
	for (size_t i = loop->ndone; i-- > 0;)
		if (loop->done[i].ep == ep) {
			struct loop_done done = loop->done[i];

			loop->done[i] = loop->done[--loop->ndone];
			tell(&done);
		}
}

void qv_loop_kill(struct qv_loop *loop, unsigned at, enum qv_loop_death how, bool last_words)
{
	struct loop_ep *ep = loop->at[at];

	qv_loop_drain(loop, at);
	for (unsigned to = 0; to < QV_LOOP_MAX && !last_words; to++)
		while (ep->out[to].head) {
			struct loop_ep *other = ep->out[to].head->to;

			if (other && other->held == &ep->out[to])
				other->held = NULL;
			loop_packet_free(loop_pop(&ep->out[to]));
		}
	ep->alive = false;
	ep->death = how;
	for (struct loop_ep *other = loop->eps; other; other = other->next)
		other->x.no_flush |= how == QV_LOOP_STUCK;
	loop->at[at] = NULL;
}

static void lose_all(struct loop_ep *ep, unsigned to, bool silent)
{
	struct loop_queue *q = &ep->out[to];

	if (ep->loop->at[to] && ep->loop->at[to]->held == q)
		ep->loop->at[to]->held = NULL;
	while (q->head) {
		leave_memory(ep, q->head, silent ? QV_OK : QV_EIO);
		loop_packet_free(loop_pop(q));
	}
}

void qv_loop_cut(struct qv_loop *loop, unsigned a, unsigned b, bool silent)
{
	lose_all(loop->at[a], b, silent);
	lose_all(loop->at[b], a, silent);
}

void qv_loop_hold(struct qv_loop *loop, unsigned from, unsigned to, bool hold)
{
	loop->at[from]->out[to].hold = hold;
}

int qv_loop_forge(struct qv_loop *loop, uint64_t from, unsigned to, const void *buf, size_t len)
{
	struct loop_ep *ep = loop->at[to];
	char *copy = malloc(len ? len : 1);
	int rc;

	QV_NEED(copy);
	memcpy(copy, buf, len);
	rc = hand_over(ep, from, copy, len);
	free(copy);
	return rc;
}
