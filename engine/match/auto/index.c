/* SPDX-License-Identifier: BSD-2-Clause */
/* index.c - a hash index over the entries of one class: its table. */
#include "index.h"

#define FIRST_WORD QV_RECV_LINKS /* where links begin in the first index, of either side */

static size_t table_size(const struct qv_index *ix)
{
	return sizeof(uint64_t) << (64 - ix->shift);
}

/* Hang all lists of old into ix's new table; a list moves as a whole, its order untouched. */
static void move_lists(struct qv_index *ix, enum qv_side side, const uint64_t *old, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t word = old[i];

		if (i + QV_SLOTS_AHEAD < n && old[i + QV_SLOTS_AHEAD])
			__builtin_prefetch(qv_entry(old[i + QV_SLOTS_AHEAD]), 1);
		while (word) {
			uint64_t *e = qv_entry(word);
			uint64_t *slot =
				qv_index_slot(ix, qv_key_tag(side, e), qv_key_src(side, e));

			word = qv_links(ix, side, e)[QV_BUCKET];
			qv_links(ix, side, e)[QV_BUCKET] = *slot;
			*slot = (uintptr_t)e;
		}
	}
}

static int rebuild(struct qv_index *ix, const struct qv_index *next, enum qv_side side,
		   struct qv_mem *mem)
{
	struct qv_index old = *ix;
	uint64_t *slots = qv_mem_get_table(mem, table_size(next));

	if (!slots)
		return QV_ENOMEM;
	*ix = *next;
	ix->slots = slots;
	move_lists(ix, side, old.slots, qv_index_slots(&old));
	if (old.slots)
		qv_mem_put(mem, old.slots, table_size(&old));
	return QV_OK;
}

/* Slots for n entries. */
static uint64_t room_for(const struct qv_index *ix, uint32_t n)
{
	return (uint64_t)n * (n > QV_MANY && ix->word > FIRST_WORD ? QV_ROOMY / 2 : QV_ROOMY);
}

static unsigned int log_slots(uint64_t slots)
{
	unsigned int log = QV_LOG_SLOTS_MIN;

	while (((uint64_t)1 << log) < slots)
		log++;
	return log;
}

int qv_index_widen(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t slots)
{
	struct qv_index next = *ix;

	if (ix->slots && slots <= qv_index_slots(ix))
		return QV_OK;
	next.shift = (uint16_t)(64 - log_slots(slots));
	return rebuild(ix, &next, side, mem);
}

int qv_index_reserve(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t n)
{
	struct qv_index next = *ix;

	if (ix->slots && room_for(ix, n) <= qv_index_slots(ix))
		return QV_OK;
	/* A table that grows once grows again: take two steps. */
	next.shift = (uint16_t)(64 - log_slots(room_for(ix, n)) - (ix->slots && n <= QV_MANY));
	return rebuild(ix, &next, side, mem);
}

void qv_index_shrink(struct qv_index *ix, enum qv_side side, struct qv_mem *mem, uint32_t n)
{
	struct qv_index next = *ix;

	next.shift = (uint16_t)(64 - log_slots(room_for(ix, n)));
	if (next.shift > ix->shift)
		(void)rebuild(ix, &next, side, mem); /* without memory it stays as it is */
}

int qv_index_rekey(struct qv_index *ix, enum qv_side side, struct qv_mem *mem,
		   const uint64_t secret[2])
{
	struct qv_index next = *ix;

	next.keyed = 1;
	memcpy(next.secret, secret, sizeof(next.secret));
	return rebuild(ix, &next, side, mem);
}

void qv_index_clear(struct qv_index *ix)
{
	if (ix->slots)
		memset(ix->slots, 0, table_size(ix));
	ix->live = 0;
}

void qv_index_free(struct qv_index *ix, struct qv_mem *mem)
{
	if (ix->slots)
		qv_mem_put(mem, ix->slots, table_size(ix));
	ix->slots = NULL;
	ix->live = 0;
}
