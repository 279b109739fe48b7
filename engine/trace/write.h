/* SPDX-License-Identifier: BSD-2-Clause */
/* write.h - events of a lane on their way into the file. */
#ifndef QV_TRACE_WRITE_H
#define QV_TRACE_WRITE_H

#include "engine/base/compiler.h"
#include "format.h"

/* The records of a lane that are not in the file yet. */
struct qv_trace_buffer {
	uint64_t first, last; /* the clock at the begin of the block, and at its last record */
	uint64_t mask;        /* the last one in this block, or 0 */
	uint64_t events;      /* records that are no time and no mask */
	/* From here on as in the file. */
	struct qv_trace_block block;
	struct qv_trace_b_events head;
	struct qv_trace_record records[QV_TRACE_BLOCK_RECORDS];
};

/* An event may need as many: the time, a mask, itself. */
enum { QV_TRACE_RECORDS_EACH = 3 };

QV_INLINE bool qv_trace_is_full(const struct qv_trace_buffer *b)
{
	return b->head.n > QV_TRACE_BLOCK_RECORDS - QV_TRACE_RECORDS_EACH;
}

/* A new block of a lane, whose clock is at `clock`. It counts ns, unless its spans are set. */
QV_INLINE void qv_trace_begin(struct qv_trace_buffer *b, uint32_t lane, uint64_t clock, uint64_t ns)
{
	b->first = b->last = clock;
	b->mask = b->events = 0;
	b->block.index = lane;
	b->head = (struct qv_trace_b_events){.ns = ns, .span_ns = 1, .span_ticks = 1};
}

/* The event's time is `clock`, in the clock of the block; there is room. */
QV_INLINE void qv_trace_append(struct qv_trace_buffer *b, uint64_t clock, uint32_t kind,
			       uint32_t flags, const struct qv_trace_event *e)
{
	struct qv_trace_record *r = &b->records[b->head.n];
	uint64_t ticks = clock - b->last;

	b->last = clock;
	if (QV_UNLIKELY(ticks > UINT32_MAX)) {
		*r++ = (struct qv_trace_record){.tag = ticks, .what = QV_TRACE_R_TIME};
		ticks = 0;
	}
	if (e->ignore) {
		flags |= QV_TRACE_F_MASKED;
		if (QV_UNLIKELY(e->ignore != b->mask)) {
			b->mask = e->ignore;
			*r++ = (struct qv_trace_record){.tag = e->ignore, .what = QV_TRACE_R_MASK};
		}
	}
	*r++ = (struct qv_trace_record){(uint32_t)ticks, e->src, e->tag,
					e->node << 16 | flags << 8 | kind};
	b->head.n = (uint64_t)(r - b->records);
	b->events++;
}

/*
 * The block ends and goes into the file, by one write(2), so that threads need no lock.
 * False: it is not there, its events are counted as lost, and no later block will be there.
 */
bool qv_trace_flush(struct qv_trace_file *f, struct qv_trace_buffer *b);

#endif /* QV_TRACE_WRITE_H */
