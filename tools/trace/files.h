/* SPDX-License-Identifier: BSD-2-Clause */
/* files.h - traces that a subcommand reads, the one that it writes, and what goes from those to it. All
 * return false, or -1, after a line on stderr. */
#ifndef QV_TRACE_FILES_H
#define QV_TRACE_FILES_H

#include <limits.h>

#include "engine/trace/trace.h"

/* Reading. */

struct qv_trace_in {
	const char *path;
	struct qv_trace_reader *reader;
};

bool qv_trace_in_open(struct qv_trace_in *in, const char *path);
/* A file of calls, too. */
bool qv_trace_in_open_any(struct qv_trace_in *in, const char *path);
void qv_trace_in_close(struct qv_trace_in *in);
/* 1: *event is the next one; 0: there is no more. */
int qv_trace_in_next(struct qv_trace_in *in, struct qv_trace_event *event);
/* A line on stderr: what qv_trace_next has found. */
void qv_trace_in_damaged(const struct qv_trace_in *in);
/* When the earliest event of a file was; 0: there is none. */
bool qv_trace_in_first(const char *path, uint64_t *ns);
/* After the last event: a line on stderr if the file lacks some. */
void qv_trace_in_warn(const struct qv_trace_in *in);

/* Writing: beside the file, which the new one replaces once it is whole. */

struct qv_trace_out {
	const char *path;
	char part[PATH_MAX];
	struct qv_trace_file *file;
	uint64_t *last; /* when the last event of each lane was */
	uint32_t lanes, room;
	uint64_t events;
};

/* What is written first has a name of its own beside the file's; false with errno: it is too long. */
bool qv_trace_part_name(const char *path, char *part, size_t size);
/* It becomes the file, or after an error goes. 0, or that error, or a new one. */
int qv_trace_part_end(const char *part, const char *path, int error);

bool qv_trace_out_open(struct qv_trace_out *out, const char *path);
int64_t qv_trace_out_process(struct qv_trace_out *out, const struct qv_trace_process *process);
int64_t qv_trace_out_lane(struct qv_trace_out *out, const struct qv_trace_lane *lane);
/* An event that is older than the one before in its lane, since the clock was set back, gets that
 * one's time. */
bool qv_trace_out_put(struct qv_trace_out *out, struct qv_trace_event event);
/* All is written, but for so many events. It has its name now.
 *   whole  what it was made of was ended: this one is, too */
bool qv_trace_out_finish(struct qv_trace_out *out, uint64_t lost, bool whole);
/* If it has not been finished, it is removed. */
void qv_trace_out_close(struct qv_trace_out *out);

/* What the lanes and processes of a trace are in the one that is written. */

#define QV_TRACE_NEW      (UINT32_MAX - 1)
#define QV_TRACE_LEFT_OUT UINT32_MAX

struct qv_trace_copy {
	struct qv_trace_in in;
	struct qv_trace_out *out;
	/* May be NULL: which lanes are written, and with them their processes. */
	bool (*wants)(void *ctx, uint32_t index, const struct qv_trace_lane *lane,
		      const struct qv_trace_process *process);
	/* May be NULL: what is written of a process instead. */
	bool (*change)(void *ctx, struct qv_trace_process *process);
	void *ctx;
	/* Theirs in the output; or they have not been met yet, or are left out. */
	uint32_t *process, *lane;
	uint32_t processes, lanes; /* all before these have been met */
	uint32_t processes_room, lanes_room;
};

/* The next event, and before it the processes and lanes that were met, to the output: as
 * qv_trace_in_next. */
int qv_trace_copy_next(struct qv_trace_copy *copy, struct qv_trace_event *event);
void qv_trace_copy_close(struct qv_trace_copy *copy);

/* Memory for at least n items of this size in *array, a pointer to them; what is there stays. */
bool qv_trace_grow(void *array, uint32_t *room, uint32_t n, size_t size);
bool qv_trace_no_memory(void);

#endif /* QV_TRACE_FILES_H */
