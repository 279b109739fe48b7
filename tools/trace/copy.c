/* SPDX-License-Identifier: BSD-2-Clause */
/* copy.c - see files.h: lanes and processes on their way from one trace into another. */
#include "files.h"

#include <stdlib.h>

/* New ones up to n, not met yet. */
static bool make_room(uint32_t **numbers, uint32_t *room, uint32_t n)
{
	uint32_t before = *room;

	if (!qv_trace_grow(numbers, room, n, sizeof(**numbers)))
		return false;
	while (before < *room)
		(*numbers)[before++] = QV_TRACE_NEW;
	return true;
}

static bool copy_process(struct qv_trace_copy *copy, uint32_t index)
{
	struct qv_trace_process process;
	int64_t number;

	if (copy->process[index] != QV_TRACE_NEW)
		return true;
	process = *qv_trace_process_at(copy->in.reader, index);
	if (copy->change && !copy->change(copy->ctx, &process))
		return false;
	number = qv_trace_out_process(copy->out, &process);
	if (number >= 0)
		copy->process[index] = (uint32_t)number;
	return number >= 0;
}

/* Its process, too, unless that is there already. */
static bool copy_lane(struct qv_trace_copy *copy, uint32_t index)
{
	const struct qv_trace_lane *known = qv_trace_lane_at(copy->in.reader, index);
	struct qv_trace_lane lane;
	int64_t number;

	if (!known || copy->lane[index] != QV_TRACE_NEW)
		return true;
	lane = *known;
	if (copy->wants && !copy->wants(copy->ctx, index, &lane,
					qv_trace_process_at(copy->in.reader, lane.process))) {
		copy->lane[index] = QV_TRACE_LEFT_OUT;
		return true;
	}
	if (!copy_process(copy, lane.process))
		return false;
	lane.process = copy->process[lane.process];
	number = qv_trace_out_lane(copy->out, &lane);
	if (number >= 0)
		copy->lane[index] = (uint32_t)number;
	return number >= 0;
}

/* In order. A lane may be met before one with a smaller index: that one is waited for until the end. */
static bool copy_lanes(struct qv_trace_copy *copy, bool at_end)
{
	const uint32_t processes = qv_trace_processes(copy->in.reader);
	const uint32_t lanes = qv_trace_lanes(copy->in.reader);

	if (!make_room(&copy->process, &copy->processes_room, processes) ||
	    !make_room(&copy->lane, &copy->lanes_room, lanes))
		return false;
	for (; copy->processes < processes; copy->processes++)
		if (!copy->wants && !copy_process(copy, copy->processes))
			return false;
	for (; copy->lanes < lanes; copy->lanes++) {
		if (!at_end && !qv_trace_lane_at(copy->in.reader, copy->lanes))
			break;
		if (!copy_lane(copy, copy->lanes))
			return false;
	}
	return true;
}

int qv_trace_copy_next(struct qv_trace_copy *copy, struct qv_trace_event *event)
{
	const int rc = qv_trace_in_next(&copy->in, event);

	if (rc >= 0 && !copy_lanes(copy, rc == 0))
		return -1;
	return rc > 0 && !copy_lane(copy, event->lane) ? -1 : rc;
}

void qv_trace_copy_close(struct qv_trace_copy *copy)
{
	qv_trace_in_close(&copy->in);
	free(copy->process);
	free(copy->lane);
	copy->process = copy->lane = NULL;
}
