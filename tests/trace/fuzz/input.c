/* SPDX-License-Identifier: BSD-2-Clause */
/* input.c - see input.h. */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "engine/trace/format.h"
#include "tools/trace/waiting.h"

enum { LANES = 8 };

static void need(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "the reader breaks its word: %s\n", what);
	abort();
}

static void judge(const struct qv_trace_reader *r, const struct qv_trace_event *e)
{
	const struct qv_trace_lane *lane = qv_trace_lane_at(r, e->lane);

	need(lane && e->lane < qv_trace_lanes(r), "the lane of an event is known");
	need(lane->process < qv_trace_processes(r), "the process of a lane is known");
	need(lane->queue < QV_TRACE_QUEUES, "the queue of a lane is one of three");
	need(strnlen(lane->structure, QV_TRACE_NAME) < QV_TRACE_NAME, "names end");
	if (qv_trace_has_calls(r))
		need(e->kind >= QV_TRACE_SEND && e->kind <= QV_TRACE_COMM, "the kind of a call");
	else
		need(e->kind >= QV_TRACE_POST && e->kind <= QV_TRACE_CANCEL,
		     "the kind of an event");
	need(e->node >> 48 == 0, "a node has 48 bits");
}

static void judge_queues(const struct qv_trace_waiting *w)
{
	for (int queue = 0; queue < 2; queue++) {
		uint32_t n = 0, older = QV_TRACE_NOBODY;

		for (uint32_t at = w->oldest[queue]; at != QV_TRACE_NOBODY;
		     at = w->entries[at].younger) {
			need(w->entries[at].older == older && n++ < w->waits[queue],
			     "a list is sound");
			older = at;
		}
		need(n == w->waits[queue] && older == w->youngest[queue], "a list is whole");
	}
}

static void read_all(struct qv_trace_reader *r)
{
	struct qv_trace_waiting waiting[LANES];
	struct qv_trace_event event;
	int rc;

	for (int i = 0; i < LANES; i++)
		qv_trace_waiting_init(&waiting[i]);
	while ((rc = qv_trace_next(r, &event)) == 1) {
		judge(r, &event);
		if (event.lane < LANES && !qv_trace_has_calls(r))
			need(qv_trace_waiting_event(&waiting[event.lane], &event), "memory");
	}
	need(rc == 0 || *qv_trace_why(r), "an error has a text");
	need(rc == 0 || !qv_trace_is_whole(r), "a file that is damaged is not whole");
	need(qv_trace_next(r, &event) == rc, "the end stays the end");
	need(!strchr(qv_trace_why(r), '\n'), "an error is one line");
	for (uint32_t i = 0; i < qv_trace_processes(r); i++)
		need(qv_trace_process_at(r, i) != NULL, "processes have no gaps");
	need(!qv_trace_process_at(r, qv_trace_processes(r)), "there are no more processes");
	need(!qv_trace_lane_at(r, qv_trace_lanes(r)), "there are no more lanes");
	for (int i = 0; i < LANES; i++) {
		judge_queues(&waiting[i]);
		qv_trace_waiting_free(&waiting[i]);
	}
}

void fuzz_trace(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct qv_trace_reader *r;
	char path[64], why[128] = "";

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = qv_trace_open_any(path, why, sizeof(why));
	need(r || *why, "a file that is refused has a reason");
	if (r) {
		read_all(r);
		qv_trace_close(r);
	}
	close(fd);
	if (fuzz_is_calls(data, size))
		fuzz_calls(data, size);
}

/* One file. */
static size_t mend_file(uint8_t *data, size_t size)
{
	const uint32_t version = fuzz_is_calls(data, size) ? QV_TRACE_CALLS : QV_TRACE_VERSION;
	const struct qv_trace_header header = {QV_TRACE_MAGIC, version, QV_TRACE_ORDER, {0}};
	size_t at = sizeof(header);

	if (size < sizeof(header))
		return size;
	memcpy(data, &header, sizeof(header));
	while (size - at >= sizeof(struct qv_trace_block)) {
		struct qv_trace_block block;
		struct qv_trace_b_events events;
		uint8_t *body = data + at + sizeof(block);
		const size_t room = (size - at - sizeof(block)) / 8 * 8;

		memcpy(&block, data + at, sizeof(block));
		if (block.bytes > room || block.bytes % 8)
			block.bytes = (uint32_t)room;
		if (block.type == QV_TRACE_B_EVENTS && block.bytes >= sizeof(events)) {
			memcpy(&events, body, sizeof(events));
			events.n = (block.bytes - sizeof(events)) / sizeof(struct qv_trace_record);
			block.bytes = (uint32_t)(sizeof(events) +
						 events.n * sizeof(struct qv_trace_record));
			memcpy(body, &events, sizeof(events));
		}
		block.reserved = 0;
		block.check = qv_trace_sum(&block, body);
		memcpy(data + at, &block, sizeof(block));
		at += sizeof(block) + block.bytes;
	}
	return at;
}

size_t fuzz_trace_mend(uint8_t *data, size_t size)
{
	size_t from = 0, to = 0;

	while (from < size) {
		const size_t next = fuzz_is_calls(data + from, size - from)
					    ? fuzz_next_file(data + from, size - from)
					    : size - from;

		memmove(data + to, data + from, next);
		to += mend_file(data + to, next);
		from += next;
	}
	return to;
}
