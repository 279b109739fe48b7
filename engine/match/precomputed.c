/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * precomputed.c - precomputed matches: answers that the caller has found elsewhere, on a device
 * say, before the calls are made. While there are any, m->ops leads here instead of to the
 * structure, so that nobody else pays for the question. The public names say foresee for set,
 * forget for clear.
 */
#include "structure.h"

/* No more of them: back to the structure. */
static const struct qv_match_ops *clear(struct qv_match *m)
{
	m->ops = m->structure;
	m->direct = m->structure_direct;
	m->precomputed = NULL;
	return m->ops;
}

/* One call less. */
static void count(struct qv_match *m)
{
	struct qv_foresight *f = m->precomputed;

	if (++f->used == f->n)
		clear(m);
}

/* Arrivals. */

static struct qv_recv *checked_arrive(struct qv_match *m, const struct qv_foreseen *c)
{
	struct qv_recv *r = m->structure->arrive(m, c->tag, c->src);

	if (r != c->recv)
		m->precomputed->wrong++;
	count(m);
	return r;
}

static struct qv_recv *precomputed_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_foresight *f = m->precomputed;
	const struct qv_foreseen *c = &f->calls[f->used];
	struct qv_recv *r = c->recv;

	if (f->posts || c->tag != tag || c->src != src)
		return clear(m)->arrive(m, tag, src);
	if (f->check)
		return checked_arrive(m, c);
	if (r && !qv_accepts(r->tag, r->ignore, r->src, tag, src)) {
		f->wrong++;
		return clear(m)->arrive(m, tag, src);
	}
	if (r && !(r->flags & QV_RECV_STICKY))
		m->structure->cancel(m, r);
	m->precomputed_arrived++;
	m->precomputed_matched += r != NULL;
	count(m);
	return r;
}

/* Posts. */

/* One that takes nothing joins the queue, which its structure does while it searches. */
static int searched_post(struct qv_match *m, const struct qv_foreseen *c, struct qv_recv *recv,
			 struct qv_msg **msg)
{
	const int err = m->structure->post(m, recv, msg);

	if (err) {
		clear(m);
		return err;
	}
	if (*msg == c->msg) {
		count(m);
		return QV_OK;
	}
	m->precomputed->wrong++;
	if (m->precomputed->check)
		count(m);
	else
		clear(m);
	return QV_OK;
}

static int precomputed_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_foresight *f = m->precomputed;
	const struct qv_foreseen *c = &f->calls[f->used];

	if (!f->posts || c->recv != recv)
		return clear(m)->post(m, recv, msg);
	if (f->check || !c->msg)
		return searched_post(m, c, recv, msg);
	if (!qv_accepts(recv->tag, recv->ignore, recv->src, c->msg->tag, c->msg->src)) {
		f->wrong++;
		return clear(m)->post(m, recv, msg);
	}
	m->structure->take(m, c->msg);
	*msg = c->msg;
	m->precomputed_posted++;
	m->precomputed_matched++;
	count(m);
	return QV_OK;
}

/* The others. */

/* A message joins the unexpected ones: nothing to arrivals. */
static int precomputed_queue(struct qv_match *m, struct qv_msg *msg)
{
	return m->precomputed->posts ? clear(m)->queue(m, msg) : m->structure->queue(m, msg);
}

static struct qv_msg *precomputed_peek(struct qv_match *m, uint64_t tag, uint64_t ignore,
				       uint32_t src)
{
	return m->structure->peek(m, tag, ignore, src);
}

static void precomputed_take(struct qv_match *m, struct qv_msg *msg)
{
	clear(m)->take(m, msg);
}

static void precomputed_cancel(struct qv_match *m, struct qv_recv *recv)
{
	clear(m)->cancel(m, recv);
}

static const struct qv_match_ops precomputed_ops = {
	.name = "precomputed",
	.post = precomputed_post,
	.arrive = precomputed_arrive,
	.queue = precomputed_queue,
	.peek = precomputed_peek,
	.take = precomputed_take,
	.cancel = precomputed_cancel,
};

void qv_match_foresee(struct qv_match *engine, struct qv_foresight *foresight)
{
	qv_match_forget(engine);
	foresight->used = foresight->wrong = 0;
	if (!foresight->n || engine->observer)
		return;
	engine->structure = engine->ops;
	engine->structure_direct = engine->direct;
	engine->precomputed = foresight;
	engine->ops = &precomputed_ops;
	engine->direct = 0;
}

void qv_match_forget(struct qv_match *engine)
{
	if (engine->precomputed)
		clear(engine);
}
