/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - see table.h: a hash table with linear probing, at most three quarters full. */
#include "table.h"

#include <stdlib.h>

#include "engine/base/random.h"

/* Where the search for a key begins. */
static uint64_t home(const struct qv_table *table, uint64_t key)
{
	return qv_random(&key) & (table->room - 1);
}

static uint64_t after(const struct qv_table *table, uint64_t at)
{
	return (at + 1) & (table->room - 1);
}

/* The slot of the key, or the free one where it would be. */
static struct qv_table_slot *slot_of(const struct qv_table *table, uint64_t key)
{
	uint64_t at = home(table, key);

	while (table->slots[at].number && table->slots[at].key != key)
		at = after(table, at);
	return &table->slots[at];
}

static bool grow(struct qv_table *table)
{
	struct qv_table larger = {.n = table->n, .room = table->room ? 2 * table->room : 64};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint64_t i = 0; i < table->room; i++)
		if (table->slots[i].number)
			*slot_of(&larger, table->slots[i].key) = table->slots[i];
	free(table->slots);
	*table = larger;
	return true;
}

uint64_t qv_table_find(const struct qv_table *table, uint64_t key)
{
	return table->n ? slot_of(table, key)->number : 0;
}

bool qv_table_put(struct qv_table *table, uint64_t key, uint64_t number)
{
	struct qv_table_slot *slot;

	if (4 * (table->n + 1) > 3 * table->room && !qv_table_find(table, key) && !grow(table))
		return false;
	slot = slot_of(table, key);
	table->n += !slot->number;
	*slot = (struct qv_table_slot){key, number};
	return true;
}

/* Those behind it move up, so that no search ends at the gap. */
void qv_table_remove(struct qv_table *table, uint64_t key)
{
	const uint64_t mask = table->room - 1;
	uint64_t gap = (uint64_t)(slot_of(table, key) - table->slots);

	for (uint64_t at = after(table, gap); table->slots[at].number; at = after(table, at))
		if (((at - home(table, table->slots[at].key)) & mask) >= ((at - gap) & mask)) {
			table->slots[gap] = table->slots[at];
			gap = at;
		}
	table->slots[gap].number = 0;
	table->n--;
}

bool qv_table_number(struct qv_table *table, uint64_t key, uint64_t *number)
{
	uint64_t found = qv_table_find(table, key);

	if (!found) {
		found = table->n + 1;
		if (!qv_table_put(table, key, found))
			return false;
	}
	*number = found - 1;
	return true;
}

void qv_table_free(struct qv_table *table)
{
	free(table->slots);
	*table = (struct qv_table){.slots = NULL};
}
