/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.c - names of waiting entries in a table, numbers from a stack. */
#include "entries.h"

#include <stdlib.h>

enum { GONE = 1, FIRST }; /* what a name has in the table, and the number 0 */

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
	const uint64_t what = qv_table_find(&w->names, node);

	return !what ? QV_ENTRIES_UNSEEN : what == GONE ? QV_ENTRIES_GONE : (int64_t)(what - FIRST);
}

int64_t qv_entries_add(struct qv_entries *w, uint64_t node, bool persistent)
{
	uint32_t number = qv_entries_spare(w);

	if ((w->room <= w->numbers && !grow_numbers(w)) ||
	    !qv_table_put(&w->names, node, (uint64_t)number + FIRST))
		return -1;
	if (w->free_n)
		w->free_n--;
	else
		w->numbers++;
	w->persistent[number] = persistent;
	if (++w->now > w->max)
		w->max = w->now;
	return number;
}

/* Its name is in the table, where no memory is needed to change what it has. */
void qv_entries_remove(struct qv_entries *w, uint64_t node)
{
	w->free[w->free_n++] = (uint32_t)(qv_table_find(&w->names, node) - FIRST);
	(void)qv_table_put(&w->names, node, GONE);
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
	qv_table_free(&w->names);
	free(w->free);
	free(w->persistent);
}
