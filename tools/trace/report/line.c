/* SPDX-License-Identifier: BSD-2-Clause */
/* line.c - entries that wait, and their places. */
#include "line.h"

#include <stdlib.h>
#include <string.h>

#define NODE  ((UINT64_C(1) << 48) - 1)
#define GONE  (UINT64_C(1) << 48)
#define STAYS (UINT64_C(1) << 49)
#define FIRST 16u
#define MOST  (1u << 30)

static uint32_t home(const struct qv_line *l, uint64_t node)
{
	node *= 0x9e3779b97f4a7c15u;
	node ^= node >> 32;
	return (uint32_t)(node * 0xd6e8feb86659fd93u >> 32) & (2 * l->room - 1);
}

static uint32_t after(const struct qv_line *l, uint32_t slot)
{
	return (slot + 1) & (2 * l->room - 1);
}

/* The slot of the table that has this node, or the empty one at which the search ends. */
static uint32_t slot_of(const struct qv_line *l, uint64_t node)
{
	uint32_t s = home(l, node);

	while (l->table[s] && (l->entry[l->table[s] - 1] & NODE) != node)
		s = after(l, s);
	return s;
}

static void count(struct qv_line *l, uint32_t place, uint32_t by)
{
	for (uint32_t i = place + 1; i <= l->room; i += i & -i)
		l->older[i - 1] += by;
}

static uint32_t count_before(const struct qv_line *l, uint32_t place)
{
	uint32_t n = 0;

	for (uint32_t i = place; i; i &= i - 1)
		n += l->older[i - 1];
	return n;
}

static void append(struct qv_line *l, uint64_t entry)
{
	l->entry[l->n] = entry;
	count(l, l->n, 1);
	l->table[slot_of(l, entry & NODE)] = l->n + 1;
	l->n++;
	l->waiting++;
}

/* New arrays, with what still waits. */
static bool rebuild(struct qv_line *l, uint32_t room)
{
	struct qv_line fresh = {.room = room};

	if (room > MOST)
		return false;
	fresh.entry = malloc(room * sizeof(*fresh.entry));
	fresh.older = calloc(room, sizeof(*fresh.older));
	fresh.table = calloc(2 * (size_t)room, sizeof(*fresh.table));
	if (!fresh.entry || !fresh.older || !fresh.table) {
		qv_line_free(&fresh);
		return false;
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (!(l->entry[i] & GONE))
			append(&fresh, l->entry[i]);
	qv_line_free(l);
	*l = fresh;
	return true;
}

void qv_line_free(struct qv_line *l)
{
	free(l->entry);
	free(l->older);
	free(l->table);
	*l = (struct qv_line){.n = 0};
}

bool qv_line_add(struct qv_line *l, uint64_t node, bool stays)
{
	node &= NODE;
	qv_line_remove(l, node);
	if (l->n == l->room) {
		const uint32_t room = l->room ? l->room : FIRST;

		if (!rebuild(l, l->waiting > room / 2 ? 2 * room : room))
			return false;
	}
	append(l, node | (stays ? STAYS : 0));
	return true;
}

int64_t qv_line_find(const struct qv_line *l, uint64_t node, bool *stays)
{
	uint32_t slot;

	if (!l->waiting)
		return -1;
	slot = slot_of(l, node & NODE);
	if (!l->table[slot])
		return -1;
	*stays = l->entry[l->table[slot] - 1] & STAYS;
	return count_before(l, l->table[slot] - 1);
}

bool qv_line_remove(struct qv_line *l, uint64_t node)
{
	uint32_t slot, place;

	if (!l->waiting)
		return false;
	slot = slot_of(l, node & NODE);
	if (!l->table[slot])
		return false;
	place = l->table[slot] - 1;
	l->entry[place] |= GONE;
	count(l, place, UINT32_MAX);
	l->waiting--;
	/* Those behind it in the table move up, so that no search ends at the gap. */
	for (uint32_t s = after(l, slot); l->table[s]; s = after(l, s)) {
		const uint32_t h = home(l, l->entry[l->table[s] - 1] & NODE);
		const uint32_t mask = 2 * l->room - 1;

		if (((s - h) & mask) >= ((s - slot) & mask)) {
			l->table[slot] = l->table[s];
			slot = s;
		}
	}
	l->table[slot] = 0;
	return true;
}
