/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h - an engine's calls go into a trace while the program runs. */
#ifndef QV_TRACE_RECORD_H
#define QV_TRACE_RECORD_H

#include <quiver/match.h>

#include "trace.h"

struct qv_trace_recording;

/*
 * Record what is asked of an engine from now on. What is queued already comes first.
 *   engine  stays until the recording has ended
 *   f       from qv_trace_create; stays until the recording has ended
 *   lane    what qv_trace_add_lane is given
 *   ring    bytes of memory: only the last events that these hold are kept, and written at the end;
 *           0: all are written, 64 KiB at a time
 * NULL: no memory, or the file takes no more.
 */
struct qv_trace_recording *qv_trace_record(struct qv_match *engine, struct qv_trace_file *f,
					   const struct qv_trace_lane *lane, size_t ring);

/* A lane of calls: whoever has it says each of them by qv_trace_record_call, one thread at a time. NULL as
 * above. */
struct qv_trace_recording *qv_trace_record_calls(struct qv_trace_file *f,
						 const struct qv_trace_lane *lane);
/* It happens now. */
void qv_trace_record_call(struct qv_trace_recording *r, const struct qv_trace_event *call);

/* The engine is not observed any more, and what was recorded goes into the file. Frees r. NULL is
 * allowed. */
void qv_trace_record_end(struct qv_trace_recording *r);

/* The same in a child that was forked: nothing goes into the file, which is the parent's. */
void qv_trace_record_drop(struct qv_trace_recording *r);

#endif /* QV_TRACE_RECORD_H */
