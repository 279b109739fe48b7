/* SPDX-License-Identifier: BSD-2-Clause */
/* waiting.c - see waiting.h: both queues as lists by age, and a hash table by node over them. */
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
	free(w->slots);
	qv_trace_waiting_init(w);
}

/* The hash table: linear probing, at most half full. */

static uint32_t hashed(const struct qv_trace_waiting *w, enum qv_trace_waits queue, uint64_t node)
{
	return (uint32_t)((node << 1 | queue) * 0x9e3779b97f4a7c15u >> 32) & (w->slots_n - 1);
}

static uint32_t hashed_entry(const struct qv_trace_waiting *w, uint32_t slot)
{
	const struct qv_trace_entry *e = &w->entries[w->slots[slot] - 1];

	return hashed(w, e->queue, e->event.node);
}

/* The slot of an entry, or the free one where it would be. */
static uint32_t find(const struct qv_trace_waiting *w, enum qv_trace_waits queue, uint64_t node)
{
	uint32_t slot = hashed(w, queue, node);

	for (; w->slots[slot]; slot = (slot + 1) & (w->slots_n - 1)) {
		const struct qv_trace_entry *e = &w->entries[w->slots[slot] - 1];

		if (e->queue == queue && e->event.node == node)
			break;
	}
	return slot;
}

static bool make_slots(struct qv_trace_waiting *w)
{
	const uint32_t n = w->slots_n ? 2 * w->slots_n : 64, before = w->slots_n;
	uint32_t *old = w->slots;

	if (2 * (w->waits[0] + w->waits[1] + 1) <= w->slots_n)
		return true;
	w->slots = n ? calloc(n, sizeof(*w->slots)) : NULL;
	if (!w->slots) {
		w->slots = old;
		return qv_trace_no_memory();
	}
	w->slots_n = n;
	for (uint32_t i = 0; i < before; i++)
		if (old[i]) {
			const struct qv_trace_entry *e = &w->entries[old[i] - 1];

			w->slots[find(w, e->queue, e->event.node)] = old[i];
		}
	free(old);
	return true;
}

/* Those behind it in the same run move up. */
static void clear_slot(struct qv_trace_waiting *w, uint32_t slot)
{
	const uint32_t mask = w->slots_n - 1;

	for (uint32_t at = (slot + 1) & mask; w->slots[at]; at = (at + 1) & mask)
		if (((at - hashed_entry(w, at)) & mask) >= ((at - slot) & mask)) {
			w->slots[slot] = w->slots[at];
			slot = at;
		}
	w->slots[slot] = 0;
}

/* The lists. */

static void leave(struct qv_trace_waiting *w, uint32_t slot)
{
	const uint32_t index = w->slots[slot] - 1;
	struct qv_trace_entry *e = &w->entries[index];

	clear_slot(w, slot);
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
	uint32_t index, slot;

	if (!make_slots(w))
		return false;
	slot = find(w, queue, event->node);
	if (w->slots[slot]) { /* how it has left is not in the trace */
		leave(w, slot);
		slot = find(w, queue, event->node);
	}
	if (w->free == QV_TRACE_NOBODY) {
		if (!qv_trace_grow(&w->entries, &w->room, w->n + 1, sizeof(*w->entries)))
			return false;
		index = w->n++;
	} else {
		index = w->free;
		w->free = w->entries[index].younger;
	}
	w->entries[index] = (struct qv_trace_entry){.event = *event,
						    .queue = queue,
						    .older = w->youngest[queue],
						    .younger = QV_TRACE_NOBODY};
	*(w->youngest[queue] == QV_TRACE_NOBODY ? &w->oldest[queue]
						: &w->entries[w->youngest[queue]].younger) = index;
	w->youngest[queue] = index;
	w->slots[slot] = index + 1;
	w->waits[queue]++;
	return true;
}

static void leave_node(struct qv_trace_waiting *w, enum qv_trace_waits queue,
		       const struct qv_trace_event *event)
{
	const uint32_t slot = w->slots_n ? find(w, queue, event->node) : 0;

	if (!w->slots_n || !w->slots[slot])
		w->unseen++;
	else if (event->kind != QV_TRACE_ARRIVE || !w->entries[w->slots[slot] - 1].event.persistent)
		leave(w, slot);
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
