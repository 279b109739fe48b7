/* SPDX-License-Identifier: BSD-2-Clause */
/* figures.c - the files are read, twice. */
#include "figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

static int no_memory(char *why, size_t size)
{
	snprintf(why, size, "no memory for what waits in these traces");
	return -1;
}

/* First reading. */

static void note(struct qv_figures *f, const struct qv_trace_event *e)
{
	if (f->first_ns > e->ns)
		f->first_ns = e->ns;
	if (f->last_ns < e->ns)
		f->last_ns = e->ns;
	if (e->kind == QV_TRACE_ARRIVE) {
		qv_top_add(&f->sources, e->src);
		qv_top_add(&f->tags, e->tag);
	}
}

static int read_first(struct qv_figures *f, const char *path, char *why, size_t size)
{
	struct qv_trace_reader *r = qv_trace_open(path, why, size);
	struct qv_trace_event event;

	if (!r)
		return -1;
	while (qv_trace_next(r, &event) > 0)
		note(f, &event);
	qv_trace_close(r);
	return 0;
}

static void choose(struct qv_figures *f)
{
	qv_top_choose(&f->sources);
	qv_top_choose(&f->tags);
	f->width_ns = 1;
	f->columns = 1;
	if (f->last_ns < f->first_ns)
		return;
	f->width_ns = (f->last_ns - f->first_ns) / QV_FIGURES_COLUMNS + 1;
	f->columns = (uint32_t)((f->last_ns - f->first_ns) / f->width_ns) + 1;
}

/* Second reading. */

static void *grown(void *array, size_t old, size_t wanted, size_t item)
{
	char *more = realloc(array, wanted * item);

	if (more)
		memset(more + old * item, 0, (wanted - old) * item);
	return more;
}

/* Room for the lanes and processes that the reader has met. */
static bool make_room(struct qv_figures *f, const struct qv_trace_reader *r, uint32_t first_lane,
		      uint32_t first_process)
{
	const uint32_t lanes = first_lane + qv_trace_lanes(r);
	const uint32_t processes = first_process + qv_trace_processes(r);
	void *more;

	if (lanes > f->lanes_n) {
		more = grown(f->lanes, f->lanes_n, lanes, sizeof(*f->lanes));
		if (!more)
			return false;
		f->lanes = more;
		f->lanes_n = lanes;
	}
	if (processes > f->processes_n) {
		more = grown(f->processes, f->processes_n, processes, sizeof(*f->processes));
		if (!more)
			return false;
		f->processes = more;
		for (uint32_t i = f->processes_n; i < processes; i++)
			f->processes[i].info = *qv_trace_process_at(r, i - first_process);
		f->processes_n = processes;
	}
	return true;
}

static void meet(struct qv_figures_lane *lane, const struct qv_trace_lane *info,
		 uint32_t first_process)
{
	lane->process = first_process + info->process;
	lane->endpoint = info->endpoint;
	lane->queue = info->queue;
	lane->protocol_bits = info->protocol_bits;
	memcpy(lane->structure, info->structure, sizeof(lane->structure));
	lane->known = true;
}

static bool count(struct qv_figures *f, const struct qv_trace_reader *r, uint32_t first_lane,
		  uint32_t first_process, const struct qv_trace_event *e)
{
	const uint32_t i = first_lane + e->lane;

	if (i >= f->lanes_n || !f->lanes[i].known) {
		if (!make_room(f, r, first_lane, first_process))
			return false;
		meet(&f->lanes[i], qv_trace_lane_at(r, e->lane), first_process);
	}
	return qv_figures_count(f, &f->lanes[i], e);
}

static int read_second(struct qv_figures *f, struct qv_figures_file *file, char *why, size_t size)
{
	const uint32_t first_lane = f->lanes_n, first_process = f->processes_n;
	struct qv_trace_reader *r = qv_trace_open(file->path, why, size);
	struct qv_trace_event event;
	int more, rc = 0;

	if (!r)
		return -1;
	while ((more = qv_trace_next(r, &event)) > 0 && !rc) {
		file->events++;
		if (!count(f, r, first_lane, first_process, &event))
			rc = no_memory(why, size);
	}
	if (!rc && !make_room(f, r, first_lane, first_process))
		rc = no_memory(why, size);
	for (uint32_t i = 0; !rc && i < qv_trace_lanes(r); i++)
		if (qv_trace_lane_at(r, i) && !f->lanes[first_lane + i].known)
			meet(&f->lanes[first_lane + i], qv_trace_lane_at(r, i), first_process);
	if (more < 0)
		snprintf(file->why, sizeof(file->why), "%s", qv_trace_why(r));
	file->lost = qv_trace_lost(r);
	file->whole = qv_trace_is_whole(r);
	qv_trace_close(r);
	return rc;
}

int qv_figures_read(struct qv_figures *f, const char *const *paths, size_t n, char *why,
		    size_t size)
{
	int rc = 0;

	memset(f, 0, sizeof(*f));
	f->first_ns = UINT64_MAX;
	f->files = calloc(n, sizeof(*f->files));
	if (!qv_top_init(&f->sources) || !qv_top_init(&f->tags) || !f->files)
		rc = no_memory(why, size);
	for (size_t i = 0; i < n && !rc; i++)
		rc = read_first(f, paths[i], why, size);
	if (!rc)
		choose(f);
	for (size_t i = 0; i < n && !rc; i++) {
		f->files[f->files_n++].path = paths[i];
		rc = read_second(f, &f->files[i], why, size);
	}
	if (rc)
		qv_figures_free(f);
	else
		qv_figures_sum_up(f);
	return rc;
}

void qv_figures_free(struct qv_figures *f)
{
	for (uint32_t i = 0; i < f->lanes_n; i++)
		for (int s = 0; s < QV_FIGURES_SIDES; s++)
			qv_line_free(&f->lanes[i].line[s]);
	qv_top_fini(&f->sources);
	qv_top_fini(&f->tags);
	free(f->files);
	free(f->lanes);
	free(f->processes);
	memset(f, 0, sizeof(*f));
}
