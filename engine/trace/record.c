/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c - an observer that writes what it is told into a trace. */
#include "record.h"
#include "write.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/machine.h"
#include "engine/match/observer.h"

struct qv_trace_recording {
	struct qv_match_observer observer; /* first */
	struct qv_trace_buffer *now;       /* &buffer[at] */
	struct qv_match *engine;           /* NULL: calls */
	struct qv_trace_file *f;
	uint32_t lane;
	/* One buffer, or a ring of them: `at` is being filled, those before it are full. */
	uint32_t buffers, at, full;
	uint64_t dropped; /* events that the ring has overwritten */
	struct qv_trace_buffer *buffer;
};

/* Buffers. */

static uint64_t now_ns(void)
{
	return qv_clock_of(CLOCK_REALTIME);
}

static void begin(struct qv_trace_recording *r)
{
	r->now = &r->buffer[r->at];
	qv_trace_begin(r->now, r->lane, qv_ticks(), now_ns());
}

/* How far the clock of a block went. */
static void end(struct qv_trace_buffer *b)
{
	uint64_t ns = now_ns(), ticks = qv_ticks() - b->first;

	b->head.span_ticks = ticks ? ticks : 1;
	b->head.span_ns = ns > b->head.ns ? ns - b->head.ns : 1;
}

static void flush(struct qv_trace_recording *r, struct qv_trace_buffer *b)
{
	if (b->head.n)
		(void)qv_trace_flush(r->f, b);
}

static QV_NOINLINE void next_buffer(struct qv_trace_recording *r)
{
	end(r->now);
	if (r->buffers == 1) {
		flush(r, &r->buffer[0]);
	} else {
		r->at = (r->at + 1) % r->buffers;
		if (r->full < r->buffers - 1)
			r->full++;
		else
			r->dropped += r->buffer[r->at].events;
	}
	begin(r);
}

QV_INLINE void add(struct qv_match_observer *o, uint32_t kind, uint32_t flags,
		   const struct qv_trace_event *e)
{
	struct qv_trace_recording *r = (struct qv_trace_recording *)o;

	if (QV_UNLIKELY(qv_trace_is_full(r->now)))
		next_buffer(r);
	qv_trace_append(r->now, qv_ticks(), kind, flags, e);
}

/* Calls. An entry is told apart by its address. */

QV_INLINE uint64_t node(const void *entry)
{
	return (uint64_t)(uintptr_t)entry & 0xffffffffffff;
}

static void posted(struct qv_match_observer *o, const struct qv_recv *recv,
		   const struct qv_msg *msg)
{
	add(o, QV_TRACE_POST,
	    (msg ? QV_TRACE_F_MATCHED : 0) |
		    (recv->flags & QV_RECV_STICKY ? QV_TRACE_F_PERSISTENT : 0),
	    &(struct qv_trace_event){.tag = recv->tag,
				     .ignore = recv->ignore,
				     .src = recv->src,
				     .node = node(msg ? (const void *)msg : recv)});
}

static void arrived(struct qv_match_observer *o, uint64_t tag, uint32_t src,
		    const struct qv_recv *recv)
{
	add(o, QV_TRACE_ARRIVE, recv ? QV_TRACE_F_MATCHED : 0,
	    &(struct qv_trace_event){.tag = tag, .src = src, .node = node(recv)});
}

static void queued(struct qv_match_observer *o, const struct qv_msg *msg)
{
	add(o, QV_TRACE_QUEUE, 0,
	    &(struct qv_trace_event){.tag = msg->tag, .src = msg->src, .node = node(msg)});
}

static void peeked(struct qv_match_observer *o, uint64_t tag, uint64_t ignore, uint32_t src,
		   const struct qv_msg *msg)
{
	add(o, QV_TRACE_PEEK, msg ? QV_TRACE_F_MATCHED : 0,
	    &(struct qv_trace_event){.tag = tag, .ignore = ignore, .src = src, .node = node(msg)});
}

static void taken(struct qv_match_observer *o, const struct qv_msg *msg)
{
	add(o, QV_TRACE_TAKE, 0, &(struct qv_trace_event){.node = node(msg)});
}

static void cancelled(struct qv_match_observer *o, const struct qv_recv *recv)
{
	add(o, QV_TRACE_CANCEL, 0, &(struct qv_trace_event){.node = node(recv)});
}

/* What waits already. */
static void record_queues(struct qv_trace_recording *r)
{
	const struct qv_recv *recv = NULL;
	const struct qv_msg *msg = NULL;

	while ((recv = qv_match_next_recv(r->engine, recv)))
		posted(&r->observer, recv, NULL);
	while ((msg = qv_match_next_msg(r->engine, msg))) {
		arrived(&r->observer, msg->tag, msg->src, NULL);
		queued(&r->observer, msg);
	}
}

static struct qv_trace_recording *open_lane(struct qv_trace_file *f,
					    const struct qv_trace_lane *lane, size_t ring)
{
	struct qv_trace_recording *r = calloc(1, sizeof *r);
	size_t buffers = ring ? 1 + (ring + sizeof *r->buffer - 1) / sizeof *r->buffer : 1;
	int64_t index;

	if (!r || buffers > UINT32_MAX || !(r->buffer = calloc(buffers, sizeof *r->buffer)) ||
	    (index = qv_trace_add_lane(f, lane)) < 0) {
		if (r)
			free(r->buffer);
		free(r);
		return NULL;
	}
	r->f = f;
	r->lane = (uint32_t)index;
	r->buffers = (uint32_t)buffers;
	begin(r);
	return r;
}

struct qv_trace_recording *qv_trace_record(struct qv_match *engine, struct qv_trace_file *f,
					   const struct qv_trace_lane *lane, size_t ring)
{
	struct qv_trace_recording *r = open_lane(f, lane, ring);

	if (!r)
		return NULL;
	r->observer = (struct qv_match_observer){.posted = posted,
						 .arrived = arrived,
						 .queued = queued,
						 .peeked = peeked,
						 .taken = taken,
						 .cancelled = cancelled};
	r->engine = engine;
	record_queues(r);
	qv_match_observe(engine, &r->observer);
	return r;
}

struct qv_trace_recording *qv_trace_record_calls(struct qv_trace_file *f,
						 const struct qv_trace_lane *lane)
{
	return open_lane(f, lane, 0);
}

void qv_trace_record_call(struct qv_trace_recording *r, const struct qv_trace_event *call)
{
	add(&r->observer, call->kind, call->matched ? QV_TRACE_F_MATCHED : 0, call);
}

void qv_trace_record_drop(struct qv_trace_recording *r)
{
	if (!r)
		return;
	if (r->engine)
		qv_match_unobserve(r->engine, &r->observer);
	free(r->buffer);
	free(r);
}

void qv_trace_record_end(struct qv_trace_recording *r)
{
	uint32_t first;

	if (!r)
		return;
	end(r->now);
	first = (r->at + r->buffers - r->full) % r->buffers;
	r->buffer[first].head.lost = r->dropped;
	if (!r->buffer[first].head.n) /* the only one, and empty */
		qv_trace_count_lost(r->f, r->dropped);
	for (uint32_t i = 0; i <= r->full; i++)
		flush(r, &r->buffer[(first + i) % r->buffers]);
	qv_trace_record_drop(r);
}
