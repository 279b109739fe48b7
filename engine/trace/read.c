/* SPDX-License-Identifier: BSD-2-Clause */
/* read.c - a trace is read, event by event. */
#include "read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *const qv_trace_queue_names[QV_TRACE_QUEUES] = {
	[QV_TRACE_UNTAGGED] = "untagged",
	[QV_TRACE_TAGGED] = "tagged",
	[QV_TRACE_COLLECTIVE] = "collective",
};

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
		return qv_trace_reader_refuse(r, "an event of kind %u is not known", kind);
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
			rc = qv_trace_read_block(r);
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
