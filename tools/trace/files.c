/* SPDX-License-Identifier: BSD-2-Clause */
/* files.c - see files.h: the traces that are read, and the one that is written. */
#include "files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool qv_trace_no_memory(void)
{
	fprintf(stderr, "quiver: no memory for what the trace has\n");
	return false;
}

bool qv_trace_grow(void *array, uint32_t *room, uint32_t n, size_t size)
{
	uint32_t items = *room ? *room : 16;
	void *at;

	if (n <= *room)
		return true;
	while (items < n && items < UINT32_C(1) << 31)
		items *= 2;
	memcpy(&at, array, sizeof(at)); /* a pointer to any type */
	at = items < n ? NULL : realloc(at, items * size);
	if (!at)
		return qv_trace_no_memory();
	memcpy(array, &at, sizeof(at));
	*room = items;
	return true;
}

/* Reading. */

static bool open_in(struct qv_trace_in *in, const char *path,
		    struct qv_trace_reader *(*open)(const char *, char *, size_t))
{
	struct stat there;
	char why[512];

	*in = (struct qv_trace_in){.path = path};
	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
		fprintf(stderr, "quiver: %s is no file: traces are read more than once\n", path);
		return false;
	}
	in->reader = open(path, why, sizeof(why));
	if (!in->reader)
		fprintf(stderr, "quiver: %s\n", why);
	return in->reader != NULL;
}

bool qv_trace_in_open(struct qv_trace_in *in, const char *path)
{
	return open_in(in, path, qv_trace_open);
}

bool qv_trace_in_open_any(struct qv_trace_in *in, const char *path)
{
	return open_in(in, path, qv_trace_open_any);
}

void qv_trace_in_close(struct qv_trace_in *in)
{
	if (in->reader)
		qv_trace_close(in->reader);
	in->reader = NULL;
}

void qv_trace_in_damaged(const struct qv_trace_in *in)
{
	fprintf(stderr, "quiver: %s: %s\n", in->path, qv_trace_why(in->reader));
}

int qv_trace_in_next(struct qv_trace_in *in, struct qv_trace_event *event)
{
	const int rc = qv_trace_next(in->reader, event);

	if (rc < 0)
		qv_trace_in_damaged(in);
	return rc;
}

bool qv_trace_in_first(const char *path, uint64_t *ns)
{
	struct qv_trace_event event;
	struct qv_trace_in in;
	uint64_t first = UINT64_MAX;
	int rc;

	if (!qv_trace_in_open(&in, path))
		return false;
	while ((rc = qv_trace_in_next(&in, &event)) == 1)
		if (event.ns < first)
			first = event.ns;
	qv_trace_in_close(&in);
	*ns = first == UINT64_MAX ? 0 : first;
	return rc == 0;
}

void qv_trace_in_warn(const struct qv_trace_in *in)
{
	if (!qv_trace_is_whole(in->reader))
		fprintf(stderr,
			"quiver: warning: %s was not ended by its process: the last events are missing\n",
			in->path);
	if (qv_trace_lost(in->reader))
		fprintf(stderr, "quiver: warning: %s lacks %llu events\n", in->path,
			(unsigned long long)qv_trace_lost(in->reader));
}

/* Writing. */

bool qv_trace_part_name(const char *path, char *part, size_t size)
{
	const int n = snprintf(part, size, "%s.%ld.part", path, (long)getpid());

	if (n >= 0 && (size_t)n < size)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

int qv_trace_part_end(const char *part, const char *path, int error)
{
	if (!error && rename(part, path))
		error = errno;
	if (error)
		(void)unlink(part);
	return error;
}

static bool cannot_write(const struct qv_trace_out *out, int error)
{
	fprintf(stderr, "quiver: cannot write %s: %s\n", out->path, strerror(error));
	return false;
}

bool qv_trace_out_open(struct qv_trace_out *out, const char *path)
{
	struct stat there;

	*out = (struct qv_trace_out){.path = path};
	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
		fprintf(stderr, "quiver: %s is there, and is no plain file\n", path);
		return false;
	}
	if (!qv_trace_part_name(path, out->part, sizeof(out->part)))
		return cannot_write(out, errno);
	/* A file at its limit (ulimit -f) is an error as a full disk is. */
	(void)signal(SIGXFSZ, SIG_IGN);
	out->file = qv_trace_create(out->part, 0);
	if (!out->file) {
		const int error = errno;

		(void)unlink(out->part);
		return cannot_write(out, error);
	}
	return true;
}

/* What has failed is known when the file is finished. */
static bool failed(struct qv_trace_out *out)
{
	struct qv_trace_file *file = out->file;
	const int error = qv_trace_finish(file, NULL);

	out->file = NULL;
	(void)unlink(out->part);
	if (error)
		return cannot_write(out, error);
	fprintf(stderr, "quiver: %s would have more processes or lanes than a trace can have\n",
		out->path);
	return false;
}

int64_t qv_trace_out_process(struct qv_trace_out *out, const struct qv_trace_process *process)
{
	const int64_t index = qv_trace_add_process(out->file, process);

	if (index < 0)
		(void)failed(out);
	return index;
}

int64_t qv_trace_out_lane(struct qv_trace_out *out, const struct qv_trace_lane *lane)
{
	int64_t index;

	if (!qv_trace_grow(&out->last, &out->room, out->lanes + 1, sizeof(*out->last)))
		return -1;
	index = qv_trace_add_lane(out->file, lane);
	if (index < 0)
		(void)failed(out);
	else
		out->last[out->lanes++] = 0;
	return index;
}

bool qv_trace_out_put(struct qv_trace_out *out, struct qv_trace_event event)
{
	uint64_t *last = &out->last[event.lane];

	if (event.ns < *last)
		event.ns = *last;
	*last = event.ns;
	out->events++;
	return qv_trace_put(out->file, &event) || failed(out);
}

bool qv_trace_out_finish(struct qv_trace_out *out, uint64_t lost, bool whole)
{
	struct qv_trace_file *file = out->file;
	int error;

	if (lost)
		qv_trace_count_lost(file, lost);
	out->file = NULL;
	error = whole ? qv_trace_finish(file, NULL) : qv_trace_leave(file);
	error = qv_trace_part_end(out->part, out->path, error);
	return !error || cannot_write(out, error);
}

void qv_trace_out_close(struct qv_trace_out *out)
{
	if (out->file) {
		(void)qv_trace_finish(out->file, NULL);
		(void)unlink(out->part);
	}
	out->file = NULL;
	free(out->last);
	out->last = NULL;
}
