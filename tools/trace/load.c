/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - files are read, lane by lane. */
#include "load.h"
#include "plain.h"
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARISONS 1000000000u /* to find where a trace that contradicts itself went wrong */

/* A file while it is read. */
struct file {
	struct qv_load *load;
	const struct qv_load_options *options;
	struct qv_load_place place;
	struct qv_trace_reader *r;
	struct qv_reading **lanes; /* by their index in the file; NULL: not seen, or not wanted */
	uint32_t lanes_n;
	uint32_t first_lane;  /* number of lane 0 of this file */
	size_t first_process; /* index of its process 0 */
	uint64_t lost;        /* as far as it was read */
	bool contradicts;
};

/* Lanes. */

static bool is_wanted(const struct file *f, uint32_t index, const struct qv_trace_lane *info)
{
	const struct qv_trace_process *p = qv_trace_process_at(f->r, info->process);

	return p && (f->options->rank < 0 || p->rank == f->options->rank) &&
	       (f->options->lane < 0 || f->first_lane + index == f->options->lane);
}

/* What was read of a lane becomes one of the loaded ones, if there is anything. Frees it. */
static int keep(const struct file *f, struct qv_reading *in)
{
	struct qv_load *load = f->load;
	struct qv_load_lane *lanes = NULL;

	in->lane.recvs = in->recvs.numbers + 1; /* with the spare one */
	in->lane.msgs = in->msgs.numbers + 1;
	in->lane.posted_max = in->recvs.max;
	in->lane.unexpected_max = in->msgs.max;
	qv_entries_free(&in->recvs);
	qv_entries_free(&in->msgs);
	load->left_out += in->lane.left_out;
	if (in->lane.ops_n)
		lanes = realloc(load->lanes, (load->lanes_n + 1) * sizeof(*lanes));
	if (!lanes) {
		const bool failed = in->lane.ops_n > 0;

		free(in->lane.ops);
		free(in->lane.event);
		free(in);
		return failed ? qv_load_no_memory(&f->place) : 0;
	}
	load->operations += in->lane.ops_n;
	load->arrivals += in->lane.arrivals;
	load->lanes = lanes;
	lanes[load->lanes_n++] = in->lane;
	free(in);
	return 0;
}

static int new_reading(struct file *f, uint32_t index, const struct qv_trace_lane *info,
		       uint64_t events)
{
	struct qv_reading *in = calloc(1, sizeof(*in));

	if (!in)
		return qv_load_no_memory(&f->place);
	in->lane.info = *info;
	in->lane.info.process += (uint32_t)f->first_process;
	in->lane.number = f->first_lane + index;
	in->lane.events = events;
	in->lane.first_ns = UINT64_MAX;
	f->lanes[index] = in;
	return 0;
}

/* The lane that an event is of, which follows a gap or not. *in is NULL if it is not wanted. */
static int lane_of(struct file *f, uint32_t index, bool gap, struct qv_reading **in)
{
	const struct qv_trace_lane *info = qv_trace_lane_at(f->r, index);
	uint64_t events = 0;

	*in = NULL;
	if (!is_wanted(f, index, info))
		return 0;
	if (index >= f->lanes_n) {
		struct qv_reading **lanes = realloc(f->lanes, (index + 1) * sizeof(*lanes));

		if (!lanes)
			return qv_load_no_memory(&f->place);
		memset(lanes + f->lanes_n, 0, (index + 1 - f->lanes_n) * sizeof(*lanes));
		f->lanes = lanes;
		f->lanes_n = index + 1;
	}
	if (f->lanes[index] && gap) {
		struct qv_reading *before = f->lanes[index];

		events = before->lane.events;
		f->lanes[index] = NULL;
		if (keep(f, before))
			return -1;
	}
	if (!f->lanes[index] && new_reading(f, index, info, events))
		return -1;
	*in = f->lanes[index];
	return 0;
}

/* Files. */

static int read_events(struct file *f)
{
	struct qv_trace_event e;
	struct qv_reading *in;
	int rc;

	while ((rc = qv_trace_next(f->r, &e)) > 0) {
		/* Blocks are read one after the other: what is missing is missing here. */
		const bool gap = qv_trace_lost(f->r) != f->lost;

		f->lost = qv_trace_lost(f->r);
		if (lane_of(f, e.lane, gap, &in))
			return -1;
		if (!in)
			continue;
		if (f->load->events++ == f->options->most_events) {
			snprintf(f->place.why, f->place.size,
				 "%s: there are more than %llu events; --max-events allows more, "
				 "--rank and --lane load less",
				 f->place.path, (unsigned long long)f->options->most_events);
			return -1;
		}
		if (qv_reading_add(&f->place, in, &e)) {
			f->contradicts = true;
			return -1;
		}
	}
	if (rc < 0)
		snprintf(f->place.why, f->place.size, "%s %s", f->place.path, qv_trace_why(f->r));
	return rc;
}

static int take_processes(struct file *f)
{
	uint32_t n = qv_trace_processes(f->r);
	struct qv_trace_process *all =
		realloc(f->load->processes, (f->load->processes_n + n + 1) * sizeof(*all));

	if (!all)
		return qv_load_no_memory(&f->place);
	for (uint32_t i = 0; i < n; i++)
		all[f->load->processes_n++] = *qv_trace_process_at(f->r, i);
	f->load->processes = all;
	return 0;
}

static int read_file(struct file *f)
{
	int rc;

	f->r = qv_trace_open(f->place.path, f->place.why, f->place.size);
	if (!f->r)
		return -1;
	f->first_process = f->load->processes_n;
	rc = read_events(f);
	for (uint32_t i = 0; i < f->lanes_n; i++)
		if (f->lanes[i] && keep(f, f->lanes[i]) && !rc)
			rc = -1;
	free(f->lanes);
	if (take_processes(f))
		rc = -1;
	f->first_lane += qv_trace_lanes(f->r);
	f->load->lost += qv_trace_lost(f->r);
	f->load->whole &= qv_trace_is_whole(f->r);
	qv_trace_close(f->r);
	return rc;
}

/* A contradiction may follow from a wrong answer before it. */
static void find_cause(const struct file *f)
{
	char cause[1024];
	struct qv_plain plain;

	if (qv_plain(&plain, f->load, COMPARISONS, cause, sizeof(cause)) == 1)
		snprintf(f->place.why, f->place.size, "%s: %s", f->place.path, cause);
}

int qv_load(struct qv_load *load, const struct qv_load_options *options, char *why, size_t size)
{
	uint32_t lanes = 0;
	int rc = 0;

	*load = (struct qv_load){.whole = true};
	for (size_t i = 0; i < options->files_n && !rc; i++) {
		struct file f = {
			load, options, {options->files[i], why, size}, .first_lane = lanes};

		rc = read_file(&f);
		lanes = f.first_lane;
		if (f.contradicts)
			find_cause(&f);
	}
	if (!rc && !load->lanes_n) {
		snprintf(why, size, "no lane that is asked for has an operation to replay");
		rc = -1;
	}
	if (rc)
		qv_load_free(load);
	return rc;
}

void qv_load_free(struct qv_load *load)
{
	for (size_t i = 0; i < load->lanes_n; i++) {
		free(load->lanes[i].ops);
		free(load->lanes[i].event);
	}
	free(load->lanes);
	free(load->processes);
	*load = (struct qv_load){.lanes_n = 0};
}

const char *qv_load_lane_name(const struct qv_load *load, const struct qv_load_lane *lane,
			      char *text, size_t size)
{
	const int32_t rank = load->processes[lane->info.process].rank;
	char who[32] = "rank not known";

	if (rank >= 0)
		snprintf(who, sizeof(who), "rank %d", rank);
	snprintf(text, size, "lane %u (%s, %s)", lane->number, who,
		 qv_trace_queue_names[lane->info.queue]);
	return text;
}
