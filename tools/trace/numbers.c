/* SPDX-License-Identifier: BSD-2-Clause */
/* numbers.c - see numbers.h: a hash table with linear probing, at most half full. */
#include "numbers.h"

#include <stdlib.h>

#include "engine/base/random.h"
#include "files.h"

static struct qv_trace_numbered *find(const struct qv_trace_numbers *numbers, uint64_t value)
{
	uint64_t state = value, slot = qv_random(&state) & (numbers->room - 1);

	while (numbers->slots[slot].number && numbers->slots[slot].value != value)
		slot = (slot + 1) & (numbers->room - 1);
	return &numbers->slots[slot];
}

static bool make_room(struct qv_trace_numbers *numbers)
{
	struct qv_trace_numbers larger = {.n = numbers->n,
					  .room = numbers->room ? 2 * numbers->room : 64};

	if (2 * numbers->n < numbers->room)
		return true;
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return qv_trace_no_memory();
	for (uint64_t i = 0; i < numbers->room; i++)
		if (numbers->slots[i].number)
			*find(&larger, numbers->slots[i].value) = numbers->slots[i];
	free(numbers->slots);
	*numbers = larger;
	return true;
}

bool qv_trace_number(struct qv_trace_numbers *numbers, uint64_t value, uint64_t *number)
{
	struct qv_trace_numbered *at;

	if (!make_room(numbers))
		return false;
	at = find(numbers, value);
	if (!at->number)
		*at = (struct qv_trace_numbered){value, ++numbers->n};
	*number = at->number - 1;
	return true;
}

void qv_trace_numbers_free(struct qv_trace_numbers *numbers)
{
	free(numbers->slots);
	*numbers = (struct qv_trace_numbers){.n = 0};
}
