/* SPDX-License-Identifier: BSD-2-Clause */
/* top.c - the most frequent keys. */
#include "top.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * QV_TOP_ROOM };

bool qv_top_init(struct qv_top *t)
{
	memset(t, 0, sizeof(*t));
	t->key = calloc(SLOTS, sizeof(*t->key));
	t->count = calloc(SLOTS, sizeof(*t->count));
	return t->key && t->count;
}

void qv_top_fini(struct qv_top *t)
{
	free(t->key);
	free(t->count);
}

/* Where it is, or a free place. */
static uint32_t slot_of(const struct qv_top *t, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15u;
	uint32_t s = (uint32_t)(h >> 32 ^ h >> 51) % SLOTS;

	while (t->count[s] && t->key[s] != key)
		s = (s + 1) % SLOTS;
	return s;
}

/* One occurrence less of each, and those that had one only are forgotten. It takes as many
 * occurrences to fill the table again: this is seldom. */
static void thin_out(struct qv_top *t)
{
	uint64_t *key = t->key, *count = t->count;

	t->key = calloc(SLOTS, sizeof(*t->key));
	t->count = calloc(SLOTS, sizeof(*t->count));
	if (!t->key || !t->count) {
		qv_top_fini(t);
		t->key = key;
		t->count = count;
		return;
	}
	t->used = 0;
	for (uint32_t i = 0; i < SLOTS; i++)
		if (count[i] > 1) {
			const uint32_t s = slot_of(t, key[i]);

			t->key[s] = key[i];
			t->count[s] = count[i] - 1;
			t->used++;
		}
	free(key);
	free(count);
}

void qv_top_add(struct qv_top *t, uint64_t key)
{
	const uint32_t s = slot_of(t, key);

	if (!t->count[s] && t->used == QV_TOP_ROOM) {
		t->full = true;
		thin_out(t);
		return;
	}
	t->used += !t->count[s];
	t->key[s] = key;
	t->count[s]++;
}

void qv_top_choose(struct qv_top *t)
{
	uint64_t count[QV_TOP_MOST];

	t->n = 0;
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t at = t->n;

		if (!t->count[i])
			continue;
		while (at && (count[at - 1] < t->count[i] ||
			      (count[at - 1] == t->count[i] && t->chosen[at - 1] > t->key[i])))
			at--;
		if (at == QV_TOP_MOST)
			continue;
		t->n += t->n < QV_TOP_MOST;
		memmove(count + at + 1, count + at, (t->n - 1 - at) * sizeof(*count));
		memmove(t->chosen + at + 1, t->chosen + at, (t->n - 1 - at) * sizeof(*count));
		count[at] = t->count[i];
		t->chosen[at] = t->key[i];
	}
}

uint32_t qv_top_index(const struct qv_top *t, uint64_t key)
{
	uint32_t i = 0;

	while (i < t->n && t->chosen[i] != key)
		i++;
	return i;
}
