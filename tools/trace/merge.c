/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.c - `quiver trace merge`: the traces of a job in one, in order of time. */
#include "commands.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "files.h"
#include "options.h"

static void usage(FILE *out)
{
	fputs("usage: quiver trace merge FILE... -o OUT\n\n"
	      "Writes the processes, lanes and events of all files into one. Lanes and processes get new\n"
	      "numbers, in the order of the files. Each time the file goes on whose next event is the\n"
	      "earliest; clocks of hosts are taken as they are. Events of a lane stay in order.\n\n"
	      "  -o OUT   the new file; one that is there is replaced when the new one is whole\n",
	      out);
}

/* A file, and its next event. */
struct source {
	struct qv_trace_copy copy;
	struct qv_trace_event next;
};

/* A heap: the file with the earliest event comes first. */
struct merge {
	struct source *sources;
	struct source **heap;
	size_t n, files;
	struct qv_trace_out out;
};

static bool is_before(const struct source *a, const struct source *b)
{
	return a->next.ns != b->next.ns ? a->next.ns < b->next.ns : a < b;
}

static void sift_down(struct merge *m, size_t at)
{
	struct source *moved = m->heap[at];

	for (size_t child; (child = 2 * at + 1) < m->n; at = child) {
		if (child + 1 < m->n && is_before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!is_before(m->heap[child], moved))
			break;
		m->heap[at] = m->heap[child];
	}
	m->heap[at] = moved;
}

/* The next event of a file, if there is one: 1, 0, or -1. */
static int advance(struct source *s)
{
	const int rc = qv_trace_copy_next(&s->copy, &s->next);

	if (rc == 0)
		qv_trace_in_warn(&s->copy.in);
	return rc;
}

static bool open_all(struct merge *m, char **paths)
{
	for (size_t i = 0; i < m->files; i++) {
		struct source *s = &m->sources[i];
		int rc;

		s->copy.out = &m->out;
		if (!qv_trace_in_open(&s->copy.in, paths[i]))
			return false;
		rc = advance(s);
		if (rc < 0)
			return false;
		if (rc > 0)
			m->heap[m->n++] = s;
	}
	for (size_t at = m->n / 2; at-- > 0;)
		sift_down(m, at);
	return true;
}

static bool copy_all(struct merge *m)
{
	while (m->n) {
		struct source *s = m->heap[0];
		int rc;

		s->next.lane = s->copy.lane[s->next.lane];
		if (!qv_trace_out_put(&m->out, s->next))
			return false;
		rc = advance(s);
		if (rc < 0)
			return false;
		if (rc == 0)
			m->heap[0] = m->heap[--m->n];
		if (m->n)
			sift_down(m, 0);
	}
	return true;
}

static bool merge(struct merge *m, char **paths, const char *output)
{
	uint64_t lost = 0;
	bool whole = true;

	if (!qv_trace_out_open(&m->out, output) || !open_all(m, paths) || !copy_all(m))
		return false;
	for (size_t i = 0; i < m->files; i++) {
		lost += qv_trace_lost(m->sources[i].copy.in.reader);
		whole &= qv_trace_is_whole(m->sources[i].copy.in.reader);
	}
	if (!qv_trace_out_finish(&m->out, lost, whole))
		return false;
	printf("%s: %" PRIu64 " events in %" PRIu32 " lanes from %zu files\n", output,
	       m->out.events, m->out.lanes, m->files);
	return true;
}

/* A job may have more files than a process may open at first. */
static void allow_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

int qv_trace_cmd_merge(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	const char *output = NULL;
	struct merge m = {.n = 0};
	bool done = false;

	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
		switch (option) {
		case 'h': return usage(stdout), 0;
		case 'o': output = optarg; break;
		default: return qv_trace_refuse("merge", option, argv);
		}
	}
	if (!qv_trace_files_wanted("merge", argc, 1, INT_MAX) ||
	    !qv_trace_output_wanted("merge", output))
		return 2;
	allow_files();
	m.files = (size_t)(argc - optind);
	m.sources = calloc(m.files, sizeof(*m.sources));
	m.heap = calloc(m.files, sizeof(struct source *));
	if (m.sources && m.heap)
		done = merge(&m, argv + optind, output);
	else
		(void)qv_trace_no_memory();
	for (size_t i = 0; m.sources && i < m.files; i++)
		qv_trace_copy_close(&m.sources[i].copy);
	qv_trace_out_close(&m.out);
	free(m.sources);
	free(m.heap);
	return done ? 0 : 1;
}
