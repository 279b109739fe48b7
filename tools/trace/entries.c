/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.c - names of waiting entries in a hash table, numbers from a stack. */
#include "entries.h"

#include <stdlib.h>

enum { EMPTY, GONE, FIRST }; /* what a slot holds, and the number 0 */

struct qv_entries_slot {
	uint64_t node;
	uint64_t what; /* EMPTY, GONE, or FIRST + number */
};

/* The slot of this name, or the empty one where it belongs. The table is never full. */
static struct qv_entries_slot *slot_of(const struct qv_entries *w, uint64_t node)
{
	uint64_t hash = node * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(hash ^ hash >> 32) & w->mask;

	while (w->slots[at].what != EMPTY && w->slots[at].node != node)
		at = (at + 1) & w->mask;
	return &w->slots[at];
}

static bool grow_table(struct qv_entries *w)
{
	struct qv_entries old = *w;
	size_t size = w->slots ? 2 * (w->mask + 1) : 64;

	w->slots = calloc(size, sizeof(*w->slots));
	if (!w->slots) {
		w->slots = old.slots;
		return false;
	}
	w->mask = size - 1;
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].what != EMPTY)
			*slot_of(w, old.slots[i].node) = old.slots[i];
	free(old.slots);
	return true;
}

static bool grow_numbers(struct qv_entries *w)
{
	size_t room = w->room ? 2 * w->room : 64;
	uint32_t *free_ones = realloc(w->free, room * sizeof(*free_ones));
	bool *persistent;

	if (!free_ones)
		return false;
	w->free = free_ones;
	persistent = realloc(w->persistent, room * sizeof(*persistent));
	if (!persistent)
		return false;
	w->persistent = persistent;
	w->room = room;
	return true;
}

int64_t qv_entries_find(const struct qv_entries *w, uint64_t node)
{
	uint64_t what = w->slots ? slot_of(w, node)->what : EMPTY;

	return what == EMPTY  ? QV_ENTRIES_UNSEEN
	       : what == GONE ? QV_ENTRIES_GONE
			      : (int64_t)(what - FIRST);
}

int64_t qv_entries_add(struct qv_entries *w, uint64_t node, bool persistent)
{
	struct qv_entries_slot *slot;
	uint32_t number;

	/* At most three quarters full. */
	if ((!w->slots || 4 * (w->names + 1) > 3 * (w->mask + 1)) && !grow_table(w))
		return -1;
	if (w->room <= w->numbers && !grow_numbers(w))
		return -1;
	number = w->free_n ? w->free[--w->free_n] : w->numbers++;
	w->persistent[number] = persistent;
	slot = slot_of(w, node);
	w->names += slot->what == EMPTY;
	*slot = (struct qv_entries_slot){node, (uint64_t)number + FIRST};
	if (++w->now > w->max)
		w->max = w->now;
	return number;
}

void qv_entries_remove(struct qv_entries *w, uint64_t node)
{
	struct qv_entries_slot *slot = slot_of(w, node);

	w->free[w->free_n++] = (uint32_t)(slot->what - FIRST);
	slot->what = GONE;
	w->now--;
}

bool qv_entries_is_persistent(const struct qv_entries *w, uint32_t number)
{
	return w->persistent[number];
}

uint32_t qv_entries_spare(struct qv_entries *w)
{
	return w->free_n ? w->free[w->free_n - 1] : w->numbers;
}

void qv_entries_free(struct qv_entries *w)
{
	free(w->slots);
	free(w->free);
	free(w->persistent);
}
