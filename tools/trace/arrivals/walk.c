/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - what the matching of a rank did. Before each of its calls the messages arrive that had been
 * sent by then, as far as they may; those that a call has got in the end, whatever the clocks say.
 */
#include "calls.h"

#include <quiver/types.h>

static struct qv_calls_message *message_of(const struct qv_calls_walk *w, uint32_t index)
{
	return &w->messages[index - 1];
}

static struct qv_calls_call *call_of(const struct qv_calls_walk *w, uint32_t index)
{
	return &w->rank->calls[index - 1];
}

static bool put(struct qv_calls_walk *w, struct qv_trace_event e)
{
	e.lane = w->lane;
	return qv_trace_out_put(w->out, e);
}

static uint64_t tag_of(uint32_t comm, uint32_t tag)
{
	return (uint64_t)comm << 32 | tag;
}

/* A receive or a look, without its answer. */
static struct qv_trace_event asked(const struct qv_calls_walk *w, const struct qv_calls_call *c,
				   enum qv_trace_kind kind)
{
	return (struct qv_trace_event){.kind = kind,
				       .ns = w->now,
				       .src = c->src,
				       .tag = tag_of(c->comm, c->any_tag ? 0 : c->tag),
				       .ignore = c->any_tag ? 0x7fffffffu : 0};
}

/* Messages that were held back. */

static void make_ready(struct qv_calls_walk *w, uint32_t *waiters)
{
	while (*waiters) {
		const uint32_t first = *waiters;

		*waiters = message_of(w, first)->next;
		message_of(w, first)->next = 0;
		*(w->ready ? &message_of(w, w->last_ready)->next : &w->ready) = first;
		w->last_ready = first;
	}
}

static void close_call(struct qv_calls_walk *w, struct qv_calls_call *c)
{
	c->is_closed = true;
	make_ready(w, &c->waiters);
}

/* It arrives, not later than now. */
static bool arrive(struct qv_calls_walk *w, uint32_t index)
{
	struct qv_calls_message *m = message_of(w, index);
	const struct qv_calls_call *taker = m->taker ? call_of(w, m->taker) : NULL;
	struct qv_trace_event e = {.kind = QV_TRACE_ARRIVE,
				   .ns = m->ns < w->now ? m->ns : w->now,
				   .src = m->src,
				   .tag = tag_of(m->comm, m->tag)};

	m->has_come = true;
	make_ready(w, &m->waiters);
	for (uint32_t at = m->calls; at; at = call_of(w, at)->same)
		close_call(w, call_of(w, at));
	if (taker && taker->is_posted) {
		m->is_taken = e.matched = true;
		e.node = m->taker;
		return put(w, e);
	}
	if (!put(w, e))
		return false;
	e.kind = QV_TRACE_QUEUE;
	e.node = index;
	return put(w, e);
}

/* Now, if it may; else when what holds it back is gone. */
static bool try(struct qv_calls_walk *w, uint32_t index)
{
	struct qv_calls_message *m = message_of(w, index);
	struct qv_calls_blocker by;
	uint32_t *waiters;

	if (m->has_come)
		return true;
	by = qv_calls_blocker(w, index);
	if (!by.message && !by.call)
		return arrive(w, index);
	waiters = by.message ? &message_of(w, by.message)->waiters : &call_of(w, by.call)->waiters;
	m->next = *waiters;
	*waiters = index;
	return true;
}

static bool try_ready(struct qv_calls_walk *w)
{
	while (w->ready) {
		const uint32_t index = w->ready;

		w->ready = message_of(w, index)->next;
		message_of(w, index)->next = 0;
		if (!try(w, index))
			return false;
	}
	return true;
}

/* It must arrive now, and before it all that hold it back. What contradicts that is counted. */
static bool force(struct qv_calls_walk *w, uint32_t index, struct qv_calls_figures *figures)
{
	uint32_t *stack = w->stack, n = 0;
	bool done = true;

	for (stack[n++] = index; n && done;) {
		const uint32_t at = stack[n - 1];
		struct qv_calls_blocker by;
		uint32_t first;

		message_of(w, at)->is_forced = true;
		if (message_of(w, at)->has_come) {
			n--;
			continue;
		}
		by = qv_calls_blocker(w, at);
		first = by.call ? call_of(w, by.call)->message : by.message;
		if (first && !message_of(w, first)->is_forced) {
			stack[n++] = first;
			continue;
		}
		figures->wrong += by.message || by.call;
		done = arrive(w, at);
		n--;
	}
	return done && try_ready(w);
}

/* Calls. */

static bool post(struct qv_calls_walk *w, uint32_t index)
{
	struct qv_calls_call *c = call_of(w, index);
	struct qv_trace_event e = asked(w, c, QV_TRACE_POST);

	c->is_posted = true;
	e.node = index;
	if (c->message && message_of(w, c->message)->has_come) {
		message_of(w, c->message)->is_taken = e.matched = true;
		e.node = c->message;
	}
	return put(w, e);
}

static bool end(struct qv_calls_walk *w, uint32_t index, struct qv_calls_figures *figures)
{
	struct qv_calls_call *c = call_of(w, index);

	if (c->message)
		return message_of(w, c->message)->has_come || force(w, c->message, figures);
	if (!put(w, (struct qv_trace_event){.kind = QV_TRACE_CANCEL, .ns = w->now, .node = index}))
		return false;
	close_call(w, c);
	return try_ready(w);
}

/* A message is looked for, and taken where the call claims it. */
static bool look(struct qv_calls_walk *w, uint32_t index, struct qv_calls_figures *figures)
{
	struct qv_calls_call *c = call_of(w, index);
	struct qv_trace_event e = asked(w, c, QV_TRACE_PEEK);
	struct qv_calls_message *m = c->message ? message_of(w, c->message) : NULL;

	if (m && !m->has_come && !force(w, c->message, figures))
		return false;
	if (m && m->is_taken) {
		figures->wrong++;
		return true;
	}
	e.matched = m != NULL;
	e.node = c->message;
	if (!put(w, e))
		return false;
	close_call(w, c);
	if (m && c->kind == QV_CALLS_CLAIM) {
		m->is_taken = true;
		if (!put(w, (struct qv_trace_event){
				    .kind = QV_TRACE_TAKE, .ns = w->now, .node = c->message}))
			return false;
	}
	return try_ready(w);
}

/* The call of a step. */
static bool step(struct qv_calls_walk *w, const struct qv_calls_step *s,
		 struct qv_calls_figures *figures)
{
	const struct qv_calls_call *c = call_of(w, s->call);

	if (c->is_left_out)
		return true;
	if (c->kind != QV_CALLS_RECEIVE)
		return look(w, s->call, figures);
	return s->ends ? end(w, s->call, figures) : post(w, s->call);
}

static void count(const struct qv_calls_walk *w, struct qv_calls_figures *figures)
{
	for (uint32_t i = 0; i < w->messages_n; i++) {
		const struct qv_calls_message *m = &w->messages[i];

		figures->matches += m->is_taken;
		figures->unknown += m->is_unknown;
		figures->unreceived += m->has_come && !m->is_taken;
	}
	for (uint32_t i = 0; i < w->rank->calls_n; i++)
		figures->unended += w->rank->calls[i].is_left_out;
}

bool qv_calls_walk(struct qv_calls_walk *w, struct qv_calls_figures *figures)
{
	const struct qv_calls_rank *rank = w->rank;
	uint32_t next = 0;

	for (uint32_t i = 0; i < rank->steps_n; i++) {
		if (rank->steps[i].ns > w->now)
			w->now = rank->steps[i].ns;
		for (; next < w->messages_n && message_of(w, w->by_time[next])->ns <= w->now;
		     next++)
			if (!try(w, w->by_time[next]) || !try_ready(w))
				return false;
		if (!step(w, &rank->steps[i], figures))
			return false;
	}
	for (; next < w->messages_n; next++) {
		w->now = message_of(w, w->by_time[next])->ns;
		if (!try(w, w->by_time[next]) || !try_ready(w))
			return false;
	}
	for (uint32_t i = 1; i <= w->messages_n; i++) /* each waits for another one */
		if (!message_of(w, i)->has_come && !force(w, i, figures))
			return false;
	count(w, figures);
	return true;
}
