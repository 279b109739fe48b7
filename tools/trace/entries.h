/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.h - which entries of one queue of a lane wait, while its trace is read: the recorder's name
 * of each, and the number that it has here. */
#ifndef QV_ENTRIES_H
#define QV_ENTRIES_H

#include <stddef.h>

#include "table.h"

/* All zero: nothing was seen. */
struct qv_entries {
	struct qv_table names; /* all that were seen */
	uint32_t *free;        /* numbers that were used before, the last one on top */
	bool *persistent;      /* of each number */
	size_t free_n, room;
	uint32_t numbers; /* in use, or used before */
	uint64_t now, max;
};

enum { QV_ENTRIES_UNSEEN = -1, QV_ENTRIES_GONE = -2 };

/* The number of the entry that waits under this name; QV_ENTRIES_GONE: one of this name has waited. */
int64_t qv_entries_find(const struct qv_entries *w, uint64_t node);
/* An entry that does not wait comes to wait; its number, or -1 without memory. */
int64_t qv_entries_add(struct qv_entries *w, uint64_t node, bool persistent);
/* One that waits leaves. */
void qv_entries_remove(struct qv_entries *w, uint64_t node);
bool qv_entries_is_persistent(const struct qv_entries *w, uint32_t number);
/* A number for an entry that is in no queue: no waiting one has it, the next that waits may. */
uint32_t qv_entries_spare(struct qv_entries *w);
void qv_entries_free(struct qv_entries *w);

#endif /* QV_ENTRIES_H */
