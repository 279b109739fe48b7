/* SPDX-License-Identifier: BSD-2-Clause */
/* reading.c - events of one lane become operations. */
#include "reading.h"

#include <quiver/types.h>

#include <stdio.h>
#include <stdlib.h>

int qv_load_no_memory(const struct qv_load_place *place)
{
	snprintf(place->why, place->size,
		 "%s: no memory for its events; --max-events, --rank and --lane "
		 "load less",
		 place->path);
	return -1;
}

static int contradicts(const struct qv_load_place *place, const struct qv_reading *in,
		       const char *what)
{
	snprintf(place->why, place->size,
		 "%s: event %llu of lane %u contradicts what came before: %s", place->path,
		 (unsigned long long)in->lane.events, in->lane.number, what);
	return -1;
}

/* Operations. */

static struct qv_load_op *new_op(struct qv_reading *in, const struct qv_trace_event *e,
				 enum qv_load_kind kind)
{
	struct qv_load_lane *lane = &in->lane;

	if (lane->ops_n == lane->room) {
		size_t room = lane->room ? 2 * lane->room : 64;
		struct qv_load_op *ops = realloc(lane->ops, room * sizeof(*ops));
		uint32_t *event;

		if (!ops)
			return NULL;
		lane->ops = ops;
		event = realloc(lane->event, room * sizeof(*event));
		if (!event)
			return NULL;
		lane->event = event;
		lane->room = room;
	}
	lane->event[lane->ops_n] = (uint32_t)lane->events;
	lane->ops[lane->ops_n] = (struct qv_load_op){.tag = e->tag,
						     .ignore = e->ignore,
						     .src = e->src,
						     .kind = (uint8_t)kind,
						     .persistent = e->persistent};
	return &lane->ops[lane->ops_n++];
}

/* An operation that finds, or names, an entry which must wait: 1: it does, and *number is its; 0: the
 * operation is left out; -1: wrong. */
static int known(const struct qv_load_place *place, struct qv_reading *in,
		 const struct qv_entries *queue, uint64_t node, uint32_t *number)
{
	int64_t found = qv_entries_find(queue, node);

	if (found == QV_ENTRIES_GONE)
		return contradicts(place, in, "its entry does not wait any more");
	if (found == QV_ENTRIES_UNSEEN) {
		in->lane.left_out++;
		return 0;
	}
	*number = (uint32_t)found;
	return 1;
}

/* An entry comes to wait; *number is its. */
static int enter(const struct qv_load_place *place, struct qv_reading *in, struct qv_entries *queue,
		 const struct qv_trace_event *e, uint32_t *number)
{
	int64_t given;

	if (qv_entries_find(queue, e->node) >= 0)
		return contradicts(place, in, "its entry waits already");
	given = qv_entries_add(queue, e->node, e->persistent);
	*number = (uint32_t)given;
	return given < 0 ? qv_load_no_memory(place) : 0;
}

static int post(const struct qv_load_place *place, struct qv_reading *in,
		const struct qv_trace_event *e)
{
	uint32_t entry = qv_entries_spare(&in->recvs), answer = 0;
	struct qv_load_op *op;
	int rc;

	if (e->matched) {
		rc = known(place, in, &in->msgs, e->node, &answer);
		if (rc <= 0)
			return rc;
		answer++;
		qv_entries_remove(&in->msgs, e->node);
	} else if (enter(place, in, &in->recvs, e, &entry)) {
		return -1;
	}
	op = new_op(in, e, QV_LOAD_POST);
	if (!op)
		return qv_load_no_memory(place);
	op->entry = entry;
	op->answer = answer;
	return 0;
}

static int arrive(const struct qv_load_place *place, struct qv_reading *in,
		  const struct qv_trace_event *e)
{
	uint32_t answer = 0;
	struct qv_load_op *op;
	int rc;

	if (e->matched) {
		in->lane.arrivals++;
		rc = known(place, in, &in->recvs, e->node, &answer);
		if (rc <= 0)
			return rc;
		if (!qv_entries_is_persistent(&in->recvs, answer))
			qv_entries_remove(&in->recvs, e->node);
		answer++;
	}
	op = new_op(in, e, e->matched ? QV_LOAD_DELIVER : QV_LOAD_ARRIVE);
	if (!op)
		return qv_load_no_memory(place);
	op->entry = qv_entries_spare(&in->msgs);
	op->answer = answer;
	in->arrived = !e->matched;
	return 0;
}

/* Right after its arrival it is one operation with that. */
static int queue(const struct qv_load_place *place, struct qv_reading *in,
		 const struct qv_trace_event *e, bool arrived)
{
	struct qv_load_op *last = arrived ? &in->lane.ops[in->lane.ops_n - 1] : NULL;
	uint32_t entry;

	if (enter(place, in, &in->msgs, e, &entry))
		return -1;
	in->lane.arrivals++;
	if (!last || last->tag != e->tag || last->src != e->src) {
		last = new_op(in, e, QV_LOAD_QUEUE);
		if (!last)
			return qv_load_no_memory(place);
	} else {
		last->kind = QV_LOAD_DELIVER;
		in->lane.event[in->lane.ops_n - 1]++;
	}
	last->entry = entry;
	return 0;
}

static int peek(const struct qv_load_place *place, struct qv_reading *in,
		const struct qv_trace_event *e)
{
	uint32_t answer = 0;
	struct qv_load_op *op;
	int rc = e->matched ? known(place, in, &in->msgs, e->node, &answer) : 1;

	if (rc <= 0)
		return rc;
	op = new_op(in, e, QV_LOAD_PEEK);
	if (!op)
		return qv_load_no_memory(place);
	op->answer = e->matched ? answer + 1 : 0;
	return 0;
}

/* TAKE and CANCEL. */
static int leave(const struct qv_load_place *place, struct qv_reading *in,
		 const struct qv_trace_event *e, struct qv_entries *from, enum qv_load_kind kind)
{
	uint32_t entry;
	struct qv_load_op *op;
	int rc = known(place, in, from, e->node, &entry);

	if (rc <= 0)
		return rc;
	qv_entries_remove(from, e->node);
	op = new_op(in, e, kind);
	if (!op)
		return qv_load_no_memory(place);
	op->entry = entry;
	return 0;
}

static void count_wanted(struct qv_load_lane *lane, const struct qv_trace_event *e)
{
	lane->wanted++;
	lane->any_source += e->src == QV_SRC_ANY;
	lane->any_tag += (e->ignore & ~lane->info.protocol_bits) != 0;
}

int qv_reading_add(const struct qv_load_place *place, struct qv_reading *in,
		   const struct qv_trace_event *e)
{
	const bool arrived = in->arrived;

	if (e->ns < in->lane.first_ns)
		in->lane.first_ns = e->ns;
	if (e->ns > in->lane.last_ns)
		in->lane.last_ns = e->ns;
	in->lane.events++;
	in->arrived = false;
	if (e->kind == QV_TRACE_POST || e->kind == QV_TRACE_PEEK)
		count_wanted(&in->lane, e);
	if ((e->kind == QV_TRACE_ARRIVE || e->kind == QV_TRACE_QUEUE) && e->src == QV_SRC_ANY)
		return contradicts(place, in, "a message has no sender");
	switch (e->kind) {
	case QV_TRACE_POST: return post(place, in, e);
	case QV_TRACE_ARRIVE: return arrive(place, in, e);
	case QV_TRACE_QUEUE: return queue(place, in, e, arrived);
	case QV_TRACE_PEEK: return peek(place, in, e);
	case QV_TRACE_TAKE: return leave(place, in, e, &in->msgs, QV_LOAD_TAKE);
	case QV_TRACE_CANCEL: return leave(place, in, e, &in->recvs, QV_LOAD_CANCEL);
	default: return contradicts(place, in, "it is of no known kind");
	}
}
