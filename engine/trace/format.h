/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - the bytes of a trace: a header, then blocks. docs/trace-format.md says the same in words.
 * Numbers are as on the machine that writes; `order` tells which way round.
 */
#ifndef QV_TRACE_FORMAT_H
#define QV_TRACE_FORMAT_H

#include "trace.h"
#include "engine/base/words.h"

#define QV_TRACE_MAGIC   "QVTRACE" /* eight bytes with the 0 */
#define QV_TRACE_VERSION 1u
#define QV_TRACE_CALLS   2u /* the version of a file of calls */
#define QV_TRACE_ORDER   0x01020304u

struct qv_trace_header {
	char magic[8];
	uint32_t version, order;
	uint64_t reserved[2]; /* 0 */
};

enum qv_trace_block_type {
	QV_TRACE_B_PROCESS = 1, /* struct qv_trace_b_process */
	QV_TRACE_B_LANE,        /* struct qv_trace_b_lane */
	QV_TRACE_B_EVENTS,      /* struct qv_trace_b_events, then its records */
	QV_TRACE_B_END,         /* struct qv_trace_b_end */
};

struct qv_trace_block {
	uint32_t type, bytes; /* of what follows: a multiple of 8 */
	uint32_t index;       /* of the process or lane */
	uint32_t reserved;    /* 0 */
	uint64_t check;       /* qv_trace_sum */
};

struct qv_trace_b_process {
	int32_t rank;
	uint32_t pid;
	char host[QV_TRACE_NAME], program[QV_TRACE_NAME]; /* end with a 0 */
};

struct qv_trace_b_lane {
	uint32_t process, endpoint, queue, reserved;
	char structure[QV_TRACE_NAME];
	uint64_t protocol_bits;
};

/* The clock of the records: `ns` is its 0, and it went span_ticks in span_ns. */
struct qv_trace_b_events {
	uint64_t ns, span_ns, span_ticks;
	uint64_t lost; /* events of this lane between the block before and this one */
	uint64_t n;    /* records */
};

struct qv_trace_b_end {
	uint64_t lost; /* events that are in no block, and not counted there either */
};

/* One event in 24 bytes. */
struct qv_trace_record {
	uint32_t ticks; /* since the record before */
	uint32_t src;
	uint64_t tag;
	uint64_t what; /* node << 16 | flags << 8 | kind */
};

enum {
	QV_TRACE_R_TIME = 0x10, /* kind: so many ticks since the record before, in `tag` */
	QV_TRACE_R_MASK,        /* kind: `tag` is the mask of receives that follow in this block */
	QV_TRACE_F_MATCHED = 1,
	QV_TRACE_F_PERSISTENT = 2,
	QV_TRACE_F_MASKED = 4, /* the receive ignores the bits of the last mask, else none */
	QV_TRACE_BLOCK_RECORDS = 2700,
	QV_TRACE_BLOCK_MOST = 1 << 20, /* bytes: a reader takes no longer one */
};

/* Of a block, but for its check, and what follows it. Four words at a time: a program waits while it is
 * written. */
static inline uint64_t qv_trace_sum(const struct qv_trace_block *block, const void *data)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t sum[4] = {1, block->type, block->index, block->bytes}, all = 0, word[4];
	const size_t words = block->bytes / 8;
	const char *at = data;
	size_t i = 0;

	for (; i + 4 <= words; i += 4) {
		memcpy(word, at + 8 * i, sizeof word);
		sum[0] = (sum[0] ^ word[0]) * odd;
		sum[1] = (sum[1] ^ word[1]) * odd;
		sum[2] = (sum[2] ^ word[2]) * odd;
		sum[3] = (sum[3] ^ word[3]) * odd;
	}
	for (; i < words; i++) {
		memcpy(word, at + 8 * i, sizeof *word);
		sum[i % 4] = (sum[i % 4] ^ *word) * odd;
	}
	for (i = 0; i < 4; i++)
		all = (all ^ sum[i]) * odd;
	return all;
}

#endif /* QV_TRACE_FORMAT_H */
