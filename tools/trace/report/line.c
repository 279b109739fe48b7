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
	l->n++;
	l->waiting++;
}

/* New arrays, with what still waits. */
static bool rebuild(struct qv_line *l, uint32_t room)
{
	struct qv_line fresh = {.room = room, .table = l->table};

	if (room > MOST)
		return false;
	fresh.entry = malloc(room * sizeof(*fresh.entry));
	fresh.older = calloc(room, sizeof(*fresh.older));
	if (!fresh.entry || !fresh.older) {
		free(fresh.entry);
		free(fresh.older);
		return false;
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (!(l->entry[i] & GONE)) { /* it has a place: another one needs no memory */
			(void)qv_table_put(&fresh.table, l->entry[i] & NODE, fresh.n + 1);
			append(&fresh, l->entry[i]);
		}
	free(l->entry);
	free(l->older);
	*l = fresh;
	return true;
}

void qv_line_free(struct qv_line *l)
{
	free(l->entry);
	free(l->older);
	qv_table_free(&l->table);
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
	if (!qv_table_put(&l->table, node, l->n + 1))
		return false;
	append(l, node | (stays ? STAYS : 0));
	return true;
}

int64_t qv_line_find(const struct qv_line *l, uint64_t node, bool *stays)
{
	const uint64_t place = qv_table_find(&l->table, node & NODE);

	if (!place)
		return -1;
	*stays = l->entry[place - 1] & STAYS;
	return count_before(l, (uint32_t)place - 1);
}

bool qv_line_remove(struct qv_line *l, uint64_t node)
{
	const uint64_t place = qv_table_find(&l->table, node & NODE);

	if (!place)
		return false;
	qv_table_remove(&l->table, node & NODE);
	l->entry[place - 1] |= GONE;
	count(l, (uint32_t)place - 1, UINT32_MAX);
	l->waiting--;
	return true;
}
