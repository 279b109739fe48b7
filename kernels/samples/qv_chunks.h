/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_chunks.h - an array that goes through a device in chunks: while one is computed in one slot,
 * another travels in the other. The same for every backend. */
#ifndef QV_CHUNKS_H
#define QV_CHUNKS_H

#include <stddef.h>

#define QV_CHUNKS_SLOTS 2

/* What a backend does with a chunk; each returns QV_OK or the status that ends the array. */
struct qv_chunks_calls {
	/* Send elements first .. first + count by way of a slot in which nothing is under way. */
	int (*begin)(void *job, unsigned slot, size_t first, size_t count);
	/* Wait for what is under way there, look at it and take it over; nothing is: QV_OK. */
	int (*finish)(void *job, unsigned slot);
	/* Only wait for it. QV_EPEER: the device is lost. */
	int (*drop)(void *job, unsigned slot);
};

/*
 * All of an array, in order: a chunk is taken over before the one behind it.
 *   calls, job  the backend's, and what it wants to be given
 *   count       elements, 1 or more
 *   step        elements of a chunk, 1 or more
 * The first status that is not QV_OK, but QV_EPEER before any other. Nothing is under way then.
 */
int qv_chunks_run(const struct qv_chunks_calls *calls, void *job, size_t count, size_t step);

#endif /* QV_CHUNKS_H */
