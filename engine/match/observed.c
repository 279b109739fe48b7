/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observed.c - an engine with an observer: m->ops leads here instead of to the structure, so that
 * nobody else pays for the question.
 */
#include "observer.h"
#include "structure.h"

static int observed_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	int err = m->structure->post(m, recv, msg);

	if (!err)
		m->observer->posted(m->observer, recv, *msg);
	return err;
}

static struct qv_recv *observed_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_recv *recv = m->structure->arrive(m, tag, src);

	m->observer->arrived(m->observer, tag, src, recv);
	return recv;
}

static int observed_queue(struct qv_match *m, struct qv_msg *msg)
{
	int err = m->structure->queue(m, msg);

	if (!err)
		m->observer->queued(m->observer, msg);
	return err;
}

static struct qv_msg *observed_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_msg *msg = m->structure->peek(m, tag, ignore, src);

	m->observer->peeked(m->observer, tag, ignore, src, msg);
	return msg;
}

/* The caller's again after these two: the observer looks first. */
static void observed_take(struct qv_match *m, struct qv_msg *msg)
{
	m->observer->taken(m->observer, msg);
	m->structure->take(m, msg);
}

static void observed_cancel(struct qv_match *m, struct qv_recv *recv)
{
	m->observer->cancelled(m->observer, recv);
	m->structure->cancel(m, recv);
}

static const struct qv_match_ops observed_ops = {
	.name = "observed",
	.post = observed_post,
	.arrive = observed_arrive,
	.queue = observed_queue,
	.peek = observed_peek,
	.take = observed_take,
	.cancel = observed_cancel,
};

void qv_match_observe(struct qv_match *engine, struct qv_match_observer *observer)
{
	qv_match_forget(engine);
	if (engine->observer && !observer) {
		engine->ops = engine->structure;
		engine->direct = engine->structure_direct;
	} else if (!engine->observer && observer) {
		engine->structure = engine->ops;
		engine->structure_direct = engine->direct;
		engine->ops = &observed_ops;
		engine->direct = 0;
	}
	engine->observer = observer;
}
