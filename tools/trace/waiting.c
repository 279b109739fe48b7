/* SPDX-License-Identifier: BSD-2-Clause */
/* waiting.c - see waiting.h: both queues as lists by age, and a table by node over them. */
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

void qv_trace_waiting_init(struct qv_trace_waiting *w)
{
	*w = (struct qv_trace_waiting){.free = QV_TRACE_NOBODY};
	for (int queue = 0; queue < 2; queue++)
		w->oldest[queue] = w->youngest[queue] = QV_TRACE_NOBODY;
}

void qv_trace_waiting_free(struct qv_trace_waiting *w)
{
	free(w->entries);
	qv_table_free(&w->table);
	qv_trace_waiting_init(w);
}

/* A node has 48 bits. */
static uint64_t key_of(enum qv_trace_waits queue, uint64_t node)
{
	return node << 1 | queue;
}

static void leave(struct qv_trace_waiting *w, uint32_t index)
{
	struct qv_trace_entry *e = &w->entries[index];

	qv_table_remove(&w->table, key_of(e->queue, e->event.node));
	*(e->older == QV_TRACE_NOBODY ? &w->oldest[e->queue] : &w->entries[e->older].younger) =
		e->younger;
	*(e->younger == QV_TRACE_NOBODY ? &w->youngest[e->queue] : &w->entries[e->younger].older) =
		e->older;
	w->waits[e->queue]--;
	e->younger = w->free;
	w->free = index;
}

static bool enter(struct qv_trace_waiting *w, enum qv_trace_waits queue,
		  const struct qv_trace_event *event)
{
	const uint64_t key = key_of(queue, event->node), before = qv_table_find(&w->table, key);
	uint32_t index;

	if (before) /* how it has left is not in the trace */
		leave(w, (uint32_t)before - 1);
	if (w->free == QV_TRACE_NOBODY &&
	    !qv_trace_grow(&w->entries, &w->room, w->n + 1, sizeof(*w->entries)))
		return false;
	index = w->free == QV_TRACE_NOBODY ? w->n : w->free;
	if (!qv_table_put(&w->table, key, (uint64_t)index + 1))
		return qv_trace_no_memory();
	if (index == w->n)
		w->n++;
	else
		w->free = w->entries[index].younger;
	w->entries[index] = (struct qv_trace_entry){.event = *event,
						    .queue = queue,
						    .older = w->youngest[queue],
						    .younger = QV_TRACE_NOBODY};
	*(w->youngest[queue] == QV_TRACE_NOBODY ? &w->oldest[queue]
						: &w->entries[w->youngest[queue]].younger) = index;
	w->youngest[queue] = index;
	w->waits[queue]++;
	return true;
}

static void leave_node(struct qv_trace_waiting *w, enum qv_trace_waits queue,
		       const struct qv_trace_event *event)
{
	const uint64_t found = qv_table_find(&w->table, key_of(queue, event->node));

	if (!found)
		w->unseen++;
	else if (event->kind != QV_TRACE_ARRIVE || !w->entries[found - 1].event.persistent)
		leave(w, (uint32_t)found - 1);
}

bool qv_trace_waiting_event(struct qv_trace_waiting *w, const struct qv_trace_event *event)
{
	switch (event->kind) {
	case QV_TRACE_POST:
		if (!event->matched)
			return enter(w, QV_TRACE_RECEIVES, event);
		leave_node(w, QV_TRACE_MESSAGES, event);
		break;
	case QV_TRACE_ARRIVE:
		if (event->matched)
			leave_node(w, QV_TRACE_RECEIVES, event);
		break;
	case QV_TRACE_QUEUE: return enter(w, QV_TRACE_MESSAGES, event);
	case QV_TRACE_PEEK: break;
	case QV_TRACE_TAKE: leave_node(w, QV_TRACE_MESSAGES, event); break;
	case QV_TRACE_CANCEL: leave_node(w, QV_TRACE_RECEIVES, event); break;
	default: break; /* calls: in no trace of matching */
	}
	return true;
}
