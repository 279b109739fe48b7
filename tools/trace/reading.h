/* SPDX-License-Identifier: BSD-2-Clause */
/* reading.h - a lane while it is read. */
#ifndef QV_READING_H
#define QV_READING_H

#include "load.h"
#include "entries.h"

struct qv_reading {
	struct qv_load_lane lane;
	struct qv_entries recvs, msgs;
	bool arrived; /* the last operation is an ARRIVE whose message may be queued next */
};

/* Where a fault is, and where its line goes. */
struct qv_load_place {
	const char *path;
	char *why;
	size_t size;
};

/* The next event of the lane. -1, with a line: it contradicts what came before, or no memory. */
int qv_reading_add(const struct qv_load_place *place, struct qv_reading *in,
		   const struct qv_trace_event *e);

/* The line for that. Returns -1. */
int qv_load_no_memory(const struct qv_load_place *place);

#endif /* QV_READING_H */
