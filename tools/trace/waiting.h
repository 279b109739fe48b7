/* SPDX-License-Identifier: BSD-2-Clause */
/* waiting.h - what waits in the two queues of a lane at a point of its trace. */
#ifndef QV_TRACE_WAITING_H
#define QV_TRACE_WAITING_H

#include "engine/trace/trace.h"
#include "table.h"

#define QV_TRACE_NOBODY UINT32_MAX

enum qv_trace_waits { QV_TRACE_RECEIVES, QV_TRACE_MESSAGES };

struct qv_trace_entry {
	struct qv_trace_event event; /* the POST or QUEUE by which it came */
	uint32_t older, younger;     /* or QV_TRACE_NOBODY */
	enum qv_trace_waits queue;
};

struct qv_trace_waiting {
	struct qv_trace_entry *entries;
	uint32_t n, room, free; /* free: the first of those that have left */
	uint32_t waits[2], oldest[2], youngest[2];
	struct qv_table table; /* entry + 1 of a node and its queue */
	uint64_t unseen; /* events about entries that did not wait: they came before the trace */
};

void qv_trace_waiting_init(struct qv_trace_waiting *w);
void qv_trace_waiting_free(struct qv_trace_waiting *w);
/* The next event of the lane. False after a line on stderr: no memory. */
bool qv_trace_waiting_event(struct qv_trace_waiting *w, const struct qv_trace_event *event);

#endif /* QV_TRACE_WAITING_H */
