/* SPDX-License-Identifier: BSD-2-Clause */
/* read.c - a trace is read, block by block; nothing in it is trusted. */
#include "format.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHY = 256, AHEAD = 256 /* threads add lanes: an index may come before a smaller one */ };

struct lane {
	struct qv_trace_lane lane;
	uint64_t lost;
	bool known;
};

struct qv_trace_reader {
	FILE *file;
	uint64_t at; /* byte of the file where the block begins that is being read */
	struct qv_trace_process *processes;
	struct lane *lanes;
	uint32_t nprocesses, nlanes;
	uint64_t lost;
	bool calls, ended, broken;
	char why[WHY];
	/* The events that are being read. */
	struct qv_trace_b_events head;
	uint32_t lane;
	uint64_t next, clock, mask; /* record; ticks since the begin */
	uint64_t *block;            /* what follows its head */
	uint32_t room;              /* bytes */
};

__attribute__((format(printf, 2, 3))) static int refuse(struct qv_trace_reader *r, const char *text,
							...)
{
	int n = snprintf(r->why, WHY, "at byte %llu: ", (unsigned long long)r->at);
	va_list args;

	va_start(args, text);
	vsnprintf(r->why + n, (size_t)(WHY - n), text, args);
	va_end(args);
	r->broken = true;
	return -1;
}

const char *const qv_trace_queue_names[QV_TRACE_QUEUES] = {
	[QV_TRACE_UNTAGGED] = "untagged",
	[QV_TRACE_TAGGED] = "tagged",
	[QV_TRACE_COLLECTIVE] = "collective",
};

/* Blocks. */

static int read_process(struct qv_trace_reader *r, uint32_t index, uint32_t bytes)
{
	struct qv_trace_b_process body;
	struct qv_trace_process *more;

	if (bytes != sizeof body || index != r->nprocesses || index >= QV_TRACE_PROCESSES)
		return refuse(r, "no sound process");
	memcpy(&body, r->block, sizeof body);
	if (body.host[QV_TRACE_NAME - 1] || body.program[QV_TRACE_NAME - 1])
		return refuse(r, "a name of a process does not end");
	more = realloc(r->processes, (index + 1) * sizeof *more);
	if (!more)
		return refuse(r, "no memory for %u processes", index + 1);
	r->processes = more;
	more[index] = (struct qv_trace_process){.rank = body.rank, .pid = body.pid};
	memcpy(more[index].host, body.host, QV_TRACE_NAME);
	memcpy(more[index].program, body.program, QV_TRACE_NAME);
	r->nprocesses++;
	return 0;
}

static int make_lanes(struct qv_trace_reader *r, uint32_t n)
{
	struct lane *more;

	if (n <= r->nlanes)
		return 0;
	more = realloc(r->lanes, n * sizeof *more);
	if (!more)
		return refuse(r, "no memory for %u lanes", n);
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
		return refuse(r, "no sound lane");
	memcpy(&body, r->block, sizeof body);
	if (body.queue >= QV_TRACE_QUEUES || body.process >= r->nprocesses ||
	    body.structure[QV_TRACE_NAME - 1])
		return refuse(r, "lane %u is of no process or queue that is known", index);
	if (make_lanes(r, index + 1))
		return -1;
	r->lanes[index] = (struct lane){.lane = {.process = body.process,
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
		return refuse(r, "no sound events");
	memcpy(head, r->block, sizeof *head);
	if (head->n != (bytes - sizeof *head) / sizeof(struct qv_trace_record) ||
	    (bytes - sizeof *head) % sizeof(struct qv_trace_record) || !head->span_ticks)
		return refuse(r, "no sound events");
	if (!qv_trace_lane_at(r, index))
		return refuse(r, "events of lane %u, which is not known", index);
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
		return refuse(r, "no sound end");
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
		return refuse(r, "no memory for %u bytes", bytes);
	r->block = more;
	r->room = bytes;
	return 0;
}

/* Its process was killed, or the disk was full, while the block was written: none follows. */
static int cut_off(struct qv_trace_reader *r)
{
	return ferror(r->file) ? refuse(r, "it cannot be read: %s", strerror(errno)) : 0;
}

/* 1: a block was read; 0: there is none. */
static int read_block(struct qv_trace_reader *r)
{
	struct qv_trace_block block;
	size_t n = fread(&block, 1, sizeof block, r->file);
	int rc;

	if (r->ended && n)
		return refuse(r, "there is more behind the end");
	if (n < sizeof block)
		return cut_off(r);
	if (block.bytes % 8 || block.bytes > QV_TRACE_BLOCK_MOST || block.reserved)
		return refuse(r, "no sound block");
	if (make_room(r, block.bytes))
		return -1;
	if (fread(r->block, 1, block.bytes, r->file) < block.bytes)
		return cut_off(r);
	if (qv_trace_sum(&block, r->block) != block.check)
		return refuse(r, "it is damaged");
	switch (block.type) {
	case QV_TRACE_B_PROCESS: rc = read_process(r, block.index, block.bytes); break;
	case QV_TRACE_B_LANE: rc = read_lane(r, block.index, block.bytes); break;
	case QV_TRACE_B_EVENTS: rc = read_events(r, block.index, block.bytes); break;
	case QV_TRACE_B_END: rc = read_end(r, block.bytes); break;
	default: rc = refuse(r, "a block of type %u is not known", block.type);
	}
	r->at += sizeof block + block.bytes;
	return rc ? rc : 1;
}

/* Events. */

static uint64_t time_of(const struct qv_trace_reader *r)
{
	const struct qv_trace_b_events *head = &r->head;
	double ns;

	if (head->span_ns == head->span_ticks)
		return head->ns + r->clock;
	ns = (double)r->clock * ((double)head->span_ns / (double)head->span_ticks);
	return head->ns + (ns < 9e18 ? (uint64_t)ns : 0);
}

static bool is_known(const struct qv_trace_reader *r, unsigned kind)
{
	return r->calls ? kind >= QV_TRACE_SEND && kind <= QV_TRACE_COMM
			: kind >= QV_TRACE_POST && kind <= QV_TRACE_CANCEL;
}

/* 1: it is an event; 0: it says something of those that follow. */
static int decode(struct qv_trace_reader *r, const struct qv_trace_record *rec,
		  struct qv_trace_event *event)
{
	unsigned kind = rec->what & 0xff, flags = rec->what >> 8 & 0xff;

	r->clock += rec->ticks;
	if (kind == QV_TRACE_R_TIME) {
		r->clock += rec->tag;
		return 0;
	}
	if (kind == QV_TRACE_R_MASK) {
		r->mask = rec->tag;
		return 0;
	}
	if (!is_known(r, kind) || flags >= 2 * QV_TRACE_F_MASKED)
		return refuse(r, "an event of kind %u is not known", kind);
	*event = (struct qv_trace_event){.ns = time_of(r),
					 .tag = rec->tag,
					 .ignore = flags & QV_TRACE_F_MASKED ? r->mask : 0,
					 .node = rec->what >> 16,
					 .src = rec->src,
					 .lane = r->lane,
					 .kind = kind,
					 .matched = flags & QV_TRACE_F_MATCHED,
					 .persistent = flags & QV_TRACE_F_PERSISTENT};
	return 1;
}

int qv_trace_next(struct qv_trace_reader *r, struct qv_trace_event *event)
{
	struct qv_trace_record rec;
	int rc = 0;

	while (!r->broken && !rc) {
		if (r->next == r->head.n) {
			r->head.n = r->next = 0;
			rc = read_block(r);
			if (rc <= 0)
				return rc;
			rc = 0;
			continue;
		}
		memcpy(&rec, (char *)r->block + sizeof r->head + r->next++ * sizeof rec,
		       sizeof rec);
		rc = decode(r, &rec, event);
	}
	return r->broken ? -1 : rc;
}

/* The file. */

static bool read_header(FILE *file, const char *path, bool *calls, char *why, size_t size)
{
	struct qv_trace_header header;

	if (fread(&header, 1, sizeof header, file) < sizeof header ||
	    memcmp(header.magic, QV_TRACE_MAGIC, sizeof header.magic))
		snprintf(why, size, "%s is no trace", path);
	else if (header.order != QV_TRACE_ORDER)
		snprintf(why, size, "%s was written on a machine with bytes in another order",
			 path);
	else if (header.version != QV_TRACE_VERSION && header.version != QV_TRACE_CALLS)
		snprintf(why, size, "%s has version %u of the format; this is for versions 1 and 2",
			 path, header.version);
	else
		return *calls = header.version == QV_TRACE_CALLS, true;
	return false;
}

struct qv_trace_reader *qv_trace_open_any(const char *path, char *why, size_t size)
{
	FILE *file = fopen(path, "rbe");
	struct qv_trace_reader *r;
	bool calls;

	if (!file) {
		snprintf(why, size, "%s cannot be read: %s", path, strerror(errno));
		return NULL;
	}
	if (!read_header(file, path, &calls, why, size)) {
		fclose(file);
		return NULL;
	}
	r = calloc(1, sizeof *r);
	if (!r) {
		snprintf(why, size, "no memory to read %s", path);
		fclose(file);
		return NULL;
	}
	r->file = file;
	r->calls = calls;
	r->at = sizeof(struct qv_trace_header);
	return r;
}

struct qv_trace_reader *qv_trace_open(const char *path, char *why, size_t size)
{
	struct qv_trace_reader *r = qv_trace_open_any(path, why, size);

	if (r && r->calls) {
		snprintf(why, size,
			 "%s has calls of a program, not matches: quiver trace arrivals makes a "
			 "trace of the files of all ranks",
			 path);
		qv_trace_close(r);
		return NULL;
	}
	return r;
}

bool qv_trace_has_calls(const struct qv_trace_reader *r)
{
	return r->calls;
}

void qv_trace_close(struct qv_trace_reader *r)
{
	if (!r)
		return;
	fclose(r->file);
	free(r->processes);
	free(r->lanes);
	free(r->block);
	free(r);
}

const char *qv_trace_why(const struct qv_trace_reader *r)
{
	return r->why;
}

const struct qv_trace_process *qv_trace_process_at(const struct qv_trace_reader *r, uint32_t index)
{
	return index < r->nprocesses ? &r->processes[index] : NULL;
}

const struct qv_trace_lane *qv_trace_lane_at(const struct qv_trace_reader *r, uint32_t index)
{
	return index < r->nlanes && r->lanes[index].known ? &r->lanes[index].lane : NULL;
}

uint32_t qv_trace_processes(const struct qv_trace_reader *r)
{
	return r->nprocesses;
}

uint32_t qv_trace_lanes(const struct qv_trace_reader *r)
{
	return r->nlanes;
}

bool qv_trace_is_whole(const struct qv_trace_reader *r)
{
	return r->ended && !r->broken;
}

uint64_t qv_trace_lost(const struct qv_trace_reader *r)
{
	return r->lost;
}

uint64_t qv_trace_lane_lost(const struct qv_trace_reader *r, uint32_t index)
{
	return index < r->nlanes ? r->lanes[index].lost : 0;
}
