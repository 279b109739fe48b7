/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observed.c - an engine with observers: m->ops leads here instead of to the structure, so that
 * nobody else pays for the question.
 */
#include "observer.h"
#include "structure.h"

#define TELL(m, what, ...)                                                    \
	for (struct qv_match_observer *o_ = (m)->observer; o_; o_ = o_->next) \
	o_->what(o_, __VA_ARGS__)

static int observed_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	int err = m->structure->post(m, recv, msg);

	if (!err)
		TELL(m, posted, recv, *msg);
	return err;
}

static struct qv_recv *observed_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_recv *recv = m->structure->arrive(m, tag, src);

	TELL(m, arrived, tag, src, recv);
	return recv;
}

static int observed_queue(struct qv_match *m, struct qv_msg *msg)
{
	int err = m->structure->queue(m, msg);

	if (!err)
		TELL(m, queued, msg);
	return err;
}

static struct qv_msg *observed_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_msg *msg = m->structure->peek(m, tag, ignore, src);

	TELL(m, peeked, tag, ignore, src, msg);
	return msg;
}

/* The entry is the caller's again when these two return. */
static void observed_take(struct qv_match *m, struct qv_msg *msg)
{
	m->structure->take(m, msg);
	TELL(m, taken, msg);
}

static void observed_cancel(struct qv_match *m, struct qv_recv *recv)
{
	m->structure->cancel(m, recv);
	TELL(m, cancelled, recv);
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
	if (!engine->observer) {
		engine->structure = engine->ops;
		engine->structure_direct = engine->direct;
		engine->ops = &observed_ops;
		engine->direct = 0;
	}
	observer->next = engine->observer;
	engine->observer = observer;
}

void qv_match_unobserve(struct qv_match *engine, struct qv_match_observer *observer)
{
	struct qv_match_observer **at = &engine->observer;

	while (*at != observer)
		at = &(*at)->next;
	*at = observer->next;
	if (engine->observer)
		return;
	engine->ops = engine->structure;
	engine->direct = engine->structure_direct;
}
