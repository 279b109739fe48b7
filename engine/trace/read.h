/* SPDX-License-Identifier: BSD-2-Clause */
/* read.h - a trace that is being read. Inside of engine/trace only. */
#ifndef QV_TRACE_READ_H
#define QV_TRACE_READ_H

#include "format.h"

#include <stdio.h>

enum { QV_TRACE_WHY = 256 };

struct qv_trace_lane_read {
	struct qv_trace_lane lane;
	uint64_t lost;
	bool known;
};

struct qv_trace_reader {
	FILE *file;
	uint64_t at; /* byte of the file where the block begins that is being read */
	struct qv_trace_process *processes;
	struct qv_trace_lane_read *lanes;
	uint32_t nprocesses, nlanes;
	uint64_t lost;
	bool calls, ended, broken;
	char why[QV_TRACE_WHY];
	/* The events that are being read. */
	struct qv_trace_b_events head;
	uint32_t lane;
	uint64_t next, clock, mask; /* record; ticks since the begin */
	uint64_t *block;            /* what follows its head */
	uint32_t room;              /* bytes */
};

/* blocks.c */

/* The trace is read no further, and why. -1. */
__attribute__((format(printf, 2, 3))) int qv_trace_reader_refuse(struct qv_trace_reader *r,
								 const char *text, ...);
/* 1: a block was read; 0: there is none; -1: it was refused. */
int qv_trace_read_block(struct qv_trace_reader *r);

#endif /* QV_TRACE_READ_H */
