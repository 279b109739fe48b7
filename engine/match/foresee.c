/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * foresee.c - calls whose answers are known already. While there are any, the engine's calls
 * lead here instead of to its structure, so that nobody else pays for the question.
 */
#include "structure.h"

/* Back to the structure itself. */
static const struct qv_match_ops *stop(struct qv_match *m)
{
	m->ops = m->real;
	m->direct = m->real_direct;
	m->ahead = NULL;
	return m->ops;
}

/* One call less. */
static void count(struct qv_match *m)
{
	struct qv_foresight *f = m->ahead;

	if (++f->used == f->n)
		stop(m);
}

/* Arrivals. */

static struct qv_recv *checked_arrive(struct qv_match *m, const struct qv_foreseen *c)
{
	struct qv_recv *r = m->real->arrive(m, c->tag, c->src);

	if (r != c->recv)
		m->ahead->wrong++;
	count(m);
	return r;
}

static struct qv_recv *ahead_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_foresight *f = m->ahead;
	const struct qv_foreseen *c = &f->calls[f->used];
	struct qv_recv *r = c->recv;

	if (f->posts || c->tag != tag || c->src != src)
		return stop(m)->arrive(m, tag, src);
	if (f->check)
		return checked_arrive(m, c);
	if (r && !qv_accepts(r->tag, r->ignore, r->src, tag, src)) {
		f->wrong++;
		return stop(m)->arrive(m, tag, src);
	}
	if (r && !(r->flags & QV_RECV_STICKY))
		m->real->cancel(m, r);
	m->ahead_arrived++;
	m->ahead_matched += r != NULL;
	count(m);
	return r;
}

/* Posts. */

/* One that takes nothing joins the queue, which its structure does while it searches. */
static int searched_post(struct qv_match *m, const struct qv_foreseen *c, struct qv_recv *recv,
			 struct qv_msg **msg)
{
	const int err = m->real->post(m, recv, msg);

	if (err) {
		stop(m);
		return err;
	}
	if (*msg == c->msg) {
		count(m);
		return QV_OK;
	}
	m->ahead->wrong++;
	if (m->ahead->check)
		count(m);
	else
		stop(m);
	return QV_OK;
}

static int ahead_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_foresight *f = m->ahead;
	const struct qv_foreseen *c = &f->calls[f->used];

	if (!f->posts || c->recv != recv)
		return stop(m)->post(m, recv, msg);
	if (f->check || !c->msg)
		return searched_post(m, c, recv, msg);
	if (!qv_accepts(recv->tag, recv->ignore, recv->src, c->msg->tag, c->msg->src)) {
		f->wrong++;
		return stop(m)->post(m, recv, msg);
	}
	m->real->take(m, c->msg);
	*msg = c->msg;
	m->ahead_posted++;
	m->ahead_matched++;
	count(m);
	return QV_OK;
}

/* The others. */

/* A message joins the unexpected ones: nothing to arrivals. */
static int ahead_queue(struct qv_match *m, struct qv_msg *msg)
{
	return m->ahead->posts ? stop(m)->queue(m, msg) : m->real->queue(m, msg);
}

static struct qv_msg *ahead_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	return m->real->peek(m, tag, ignore, src);
}

static void ahead_take(struct qv_match *m, struct qv_msg *msg)
{
	stop(m)->take(m, msg);
}

static void ahead_cancel(struct qv_match *m, struct qv_recv *recv)
{
	stop(m)->cancel(m, recv);
}

static struct qv_recv *ahead_next_recv(struct qv_match *m, const struct qv_recv *prev)
{
	return m->real->next_recv(m, prev);
}

static struct qv_msg *ahead_next_msg(struct qv_match *m, const struct qv_msg *prev)
{
	return m->real->next_msg(m, prev);
}

static void ahead_get_stats(const struct qv_match *m, struct qv_match_stats *stats)
{
	m->real->get_stats(m, stats);
}

static const struct qv_match_ops ahead = {
	.name = "foreseen",
	.post = ahead_post,
	.arrive = ahead_arrive,
	.queue = ahead_queue,
	.peek = ahead_peek,
	.take = ahead_take,
	.cancel = ahead_cancel,
	.next_recv = ahead_next_recv,
	.next_msg = ahead_next_msg,
	.get_stats = ahead_get_stats,
};

void qv_match_foresee(struct qv_match *engine, struct qv_foresight *foresight)
{
	qv_match_forget(engine);
	foresight->used = foresight->wrong = 0;
	if (!foresight->n)
		return;
	engine->real = engine->ops;
	engine->real_direct = engine->direct;
	engine->ahead = foresight;
	engine->ops = &ahead;
	engine->direct = 0;
}

void qv_match_forget(struct qv_match *engine)
{
	if (engine->ahead)
		stop(engine);
}
