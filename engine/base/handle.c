/* SPDX-License-Identifier: BSD-2-Clause */
/* handle.c - see handle.h. */
#include "handle.h"

#include <stdlib.h>

#define NO_SLOT UINT32_MAX

void qv_handles_init(struct qv_handles *h)
{
	*h = (struct qv_handles){.first_free = NO_SLOT};
}

void qv_handles_fini(struct qv_handles *h)
{
	free(h->slots);
	qv_handles_init(h);
}

static int grow(struct qv_handles *h)
{
	uint32_t count = h->count ? h->count * 2 : 64;
	struct qv_handle_slot *slots = realloc(h->slots, count * sizeof *slots);

	if (!slots)
		return -1;
	for (uint32_t i = count; i-- > h->count;) {
		/* generations start at 1, so that no handle is QV_HANDLE_NONE */
		slots[i] = (struct qv_handle_slot){.generation = 1, .next_free = h->first_free};
		h->first_free = i;
	}
	h->slots = slots;
	h->count = count;
	return 0;
}

uint64_t qv_handle_new(struct qv_handles *h, void *object)
{
	uint32_t slot;

	if (h->first_free == NO_SLOT && grow(h))
		return QV_HANDLE_NONE;
	slot = h->first_free;
	h->first_free = h->slots[slot].next_free;
	h->slots[slot].object = object;
	h->used++;
	return (uint64_t)h->slots[slot].generation << 32 | slot;
}

void qv_handle_free(struct qv_handles *h, uint64_t handle)
{
	struct qv_handle_slot *slot = &h->slots[(uint32_t)handle];

	slot->object = NULL;
	if (++slot->generation == 0)
		slot->generation = 1;
	slot->next_free = h->first_free;
	h->first_free = (uint32_t)handle;
	h->used--;
}
