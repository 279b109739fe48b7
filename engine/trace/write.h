/* SPDX-License-Identifier: BSD-2-Clause */
/* write.h - blocks of a trace on their way into the file. */
#ifndef QV_TRACE_WRITE_H
#define QV_TRACE_WRITE_H

#include "format.h"

/* The records of a lane that are not in the file yet. */
struct qv_trace_buffer {
	struct qv_trace_block block; /* from here on as in the file */
	struct qv_trace_b_events head;
	struct qv_trace_record records[QV_TRACE_BLOCK_RECORDS];
};

/* Give a block of this lane, and of what it has lost before, to the file. Safe from any thread: one
 * write(2) for each. False: it is not there, and no later one will be. */
bool qv_trace_write(struct qv_trace_file *f, struct qv_trace_buffer *b);
/* Events that are not in the file. */
void qv_trace_count_lost(struct qv_trace_file *f, uint64_t n);

#endif /* QV_TRACE_WRITE_H */
