/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.h - names of requests that a peer may send back: slot and generation, so that a stale
 * or invented name is found out instead of being followed as a pointer.
 */
#ifndef QV_HANDLE_H
#define QV_HANDLE_H

#include <stddef.h>
#include <stdint.h>

struct qv_handle_slot {
	void *object;        /* NULL = free */
	uint32_t generation; /* upper half of the handle */
	uint32_t next_free;
};

struct qv_handles {
	struct qv_handle_slot *slots;
	uint32_t count, first_free;
	uint32_t used; /* slots in use */
};

#define QV_HANDLE_NONE 0u

void qv_handles_init(struct qv_handles *h);
void qv_handles_fini(struct qv_handles *h);

/* A new handle for object, or QV_HANDLE_NONE when out of memory. */
uint64_t qv_handle_new(struct qv_handles *h, void *object);
void qv_handle_free(struct qv_handles *h, uint64_t handle);

/* The object of a handle that is in use, else NULL. */
static inline void *qv_handle_get(const struct qv_handles *h, uint64_t handle)
{
	uint32_t slot = (uint32_t)handle;

	if (slot >= h->count || h->slots[slot].generation != (uint32_t)(handle >> 32))
		return NULL;
	return h->slots[slot].object;
}

#endif /* QV_HANDLE_H */
