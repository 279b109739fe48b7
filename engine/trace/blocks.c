/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.c - blocks of a trace that is read: nothing in them is trusted. */
#include "read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

enum { AHEAD = 256 /* threads add lanes: an index may come before a smaller one */ };

int qv_trace_reader_refuse(struct qv_trace_reader *r, const char *text, ...)
{
	int n = snprintf(r->why, QV_TRACE_WHY, "at byte %llu: ", (unsigned long long)r->at);
	va_list args;

	va_start(args, text);
	vsnprintf(r->why + n, (size_t)(QV_TRACE_WHY - n), text, args);
	va_end(args);
	r->broken = true;
	return -1;
}

static int read_process(struct qv_trace_reader *r, uint32_t index, uint32_t bytes)
{
	struct qv_trace_b_process body;
	struct qv_trace_process *more;

	if (bytes != sizeof body || index != r->nprocesses || index >= QV_TRACE_PROCESSES)
		return qv_trace_reader_refuse(r, "no sound process");
	memcpy(&body, r->block, sizeof body);
	if (body.host[QV_TRACE_NAME - 1] || body.program[QV_TRACE_NAME - 1])
		return qv_trace_reader_refuse(r, "a name of a process does not end");
	more = realloc(r->processes, (index + 1) * sizeof *more);
	if (!more)
		return qv_trace_reader_refuse(r, "no memory for %u processes", index + 1);
	r->processes = more;
	more[index] = (struct qv_trace_process){.rank = body.rank, .pid = body.pid};
	memcpy(more[index].host, body.host, QV_TRACE_NAME);
	memcpy(more[index].program, body.program, QV_TRACE_NAME);
	r->nprocesses++;
	return 0;
}

static int make_lanes(struct qv_trace_reader *r, uint32_t n)
{
	struct qv_trace_lane_read *more;

	if (n <= r->nlanes)
		return 0;
	more = realloc(r->lanes, n * sizeof *more);
	if (!more)
		return qv_trace_reader_refuse(r, "no memory for %u lanes", n);
	memset(more + r->nlanes, 0, (n - r->nlanes) * sizeof *more);
	r->lanes = more;
	r->nlanes = n;
	return 0;
}

static int read_lane(struct qv_trace_reader *r, uint32_t index, uint32_t bytes)
{
	struct qv_trace_b_lane body;

	if (bytes != sizeof body || index >= QV_TRACE_LANES || index > r->nlanes + AHEAD ||
	    (index < r->nlanes && r->lanes[index].known))
		return qv_trace_reader_refuse(r, "no sound lane");
	memcpy(&body, r->block, sizeof body);
	if (body.queue >= QV_TRACE_QUEUES || body.process >= r->nprocesses ||
	    body.structure[QV_TRACE_NAME - 1])
		return qv_trace_reader_refuse(r, "lane %u is of no process or queue that is known",
					      index);
	if (make_lanes(r, index + 1))
		return -1;
	r->lanes[index] = (struct qv_trace_lane_read){.lane = {.process = body.process,
							       .endpoint = body.endpoint,
							       .queue = body.queue,
							       .protocol_bits = body.protocol_bits},
						      .known = true};
	memcpy(r->lanes[index].lane.structure, body.structure, QV_TRACE_NAME);
	return 0;
}

static int read_events(struct qv_trace_reader *r, uint32_t index, uint32_t bytes)
{
	struct qv_trace_b_events *head = &r->head;

	if (bytes < sizeof *head)
		return qv_trace_reader_refuse(r, "no sound events");
	memcpy(head, r->block, sizeof *head);
	if (head->n != (bytes - sizeof *head) / sizeof(struct qv_trace_record) ||
	    (bytes - sizeof *head) % sizeof(struct qv_trace_record) || !head->span_ticks)
		return qv_trace_reader_refuse(r, "no sound events");
	if (!qv_trace_lane_at(r, index))
		return qv_trace_reader_refuse(r, "events of lane %u, which is not known", index);
	r->lane = index;
	r->lost += head->lost;
	r->lanes[index].lost += head->lost;
	r->next = r->clock = r->mask = 0;
	return 0;
}

static int read_end(struct qv_trace_reader *r, uint32_t bytes)
{
	struct qv_trace_b_end body;

	if (bytes != sizeof body)
		return qv_trace_reader_refuse(r, "no sound end");
	memcpy(&body, r->block, sizeof body);
	r->lost += body.lost;
	r->ended = true;
	return 0;
}

static int make_room(struct qv_trace_reader *r, uint32_t bytes)
{
	uint64_t *more;

	if (bytes <= r->room)
		return 0;
	more = realloc(r->block, bytes);
	if (!more)
		return qv_trace_reader_refuse(r, "no memory for %u bytes", bytes);
	r->block = more;
	r->room = bytes;
	return 0;
}

/* Its process was killed, or the disk was full, while the block was written: none follows. */
static int cut_off(struct qv_trace_reader *r)
{
	return ferror(r->file) ? qv_trace_reader_refuse(r, "it cannot be read: %s", strerror(errno))
			       : 0;
}

int qv_trace_read_block(struct qv_trace_reader *r)
{
	struct qv_trace_block block;
	size_t n = fread(&block, 1, sizeof block, r->file);
	int rc;

	if (r->ended && n)
		return qv_trace_reader_refuse(r, "there is more behind the end");
	if (n < sizeof block)
		return cut_off(r);
	if (block.bytes % 8 || block.bytes > QV_TRACE_BLOCK_MOST || block.reserved)
		return qv_trace_reader_refuse(r, "no sound block");
	if (make_room(r, block.bytes))
		return -1;
	if (fread(r->block, 1, block.bytes, r->file) < block.bytes)
		return cut_off(r);
	if (qv_trace_sum(&block, r->block) != block.check)
		return qv_trace_reader_refuse(r, "it is damaged");
	switch (block.type) {
	case QV_TRACE_B_PROCESS: rc = read_process(r, block.index, block.bytes); break;
	case QV_TRACE_B_LANE: rc = read_lane(r, block.index, block.bytes); break;
	case QV_TRACE_B_EVENTS: rc = read_events(r, block.index, block.bytes); break;
	case QV_TRACE_B_END: rc = read_end(r, block.bytes); break;
	default: rc = qv_trace_reader_refuse(r, "a block of type %u is not known", block.type);
	}
	r->at += sizeof block + block.bytes;
	return rc ? rc : 1;
}
