/* SPDX-License-Identifier: BSD-2-Clause */
/* command.c - `quiver trace arrivals`: the calls of the ranks of a job become a trace of matching. */
#include "calls.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/trace/commands.h"
#include "tools/trace/options.h"

static void usage(FILE *out)
{
	fputs("usage: quiver trace arrivals FILE... -o OUT\n\n"
	      "Makes a trace of matching of what the ranks of a job have recorded by QUIVER_MPI_TRACE,\n"
	      "with all their files: receives, and messages, which arrive when they were sent. Times of\n"
	      "hosts are taken as they are, but no message comes later than its receive ends.\n\n"
	      "  -o OUT   the new file; one that is there is replaced when the new one is whole\n",
	      out);
}

static int by_receiver(const void *a, const void *b)
{
	const struct qv_calls_message *m = a, *n = b;

	return m->dst != n->dst ? (m->dst > n->dst) - (m->dst < n->dst)
				: (m->order > n->order) - (m->order < n->order);
}

static void warn(uint64_t n, const char *what)
{
	if (n)
		fprintf(stderr, "quiver: warning: %llu %s\n", (unsigned long long)n, what);
}

/* The lane of a rank. */
static bool write_rank(const struct qv_calls *calls, struct qv_calls_rank *rank,
		       struct qv_trace_out *out, struct qv_calls_figures *figures)
{
	struct qv_calls_walk w = {.rank = rank, .out = out};
	struct qv_trace_lane lane = {.queue = QV_TRACE_TAGGED, .structure = "mpi"};
	int64_t process = qv_trace_out_process(out, &rank->process), index;
	bool done = false;

	lane.process = (uint32_t)process;
	index = process < 0 ? -1 : qv_trace_out_lane(out, &lane);
	w.lane = (uint32_t)index;
	if (index >= 0 && qv_calls_pair(&w, calls)) {
		figures->nowhere -= w.sent;
		for (uint32_t i = 0; i < rank->calls_n; i++)
			rank->calls[i].is_left_out =
				rank->calls[i].end == QV_CALLS_UNKNOWN && !rank->calls[i].message;
		done = qv_calls_order(&w) && qv_calls_walk(&w, figures);
	}
	qv_calls_walk_free(&w);
	return done;
}

/* Messages that were not sent do not count; to whom is there no file? */
static void sort_messages(struct qv_calls *calls, struct qv_calls_figures *figures)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < calls->messages_n; i++)
		if (!calls->messages[i].is_unsent)
			calls->messages[n++] = calls->messages[i];
	calls->messages_n = n;
	if (n)
		qsort(calls->messages, n, sizeof(*calls->messages), by_receiver);
	figures->nowhere = n;
}

static bool make(struct qv_calls *calls, char **paths, size_t n, const char *output,
		 struct qv_trace_out *out)
{
	struct qv_calls_figures figures = {.matches = 0};

	if (!qv_calls_load(calls, paths, n) || !qv_trace_out_open(out, output))
		return false;
	sort_messages(calls, &figures);
	for (uint32_t i = 0; i < calls->ranks_n; i++)
		if (!write_rank(calls, &calls->ranks[i], out, &figures))
			return false;
	if (!qv_trace_out_finish(out, calls->lost, calls->whole))
		return false;
	printf("%s: %" PRIu64 " events of %" PRIu32 " ranks, %" PRIu64 " matches; %" PRIu64
	       " messages were not received\n",
	       output, out->events, calls->ranks_n, figures.matches, figures.unreceived);
	warn(figures.nowhere, "messages went to ranks whose files are not here");
	warn(figures.unknown, "messages were received, but that they were sent is in no file; they "
			      "arrive when their receives end");
	warn(figures.unended, "receives whose end is in no file are left out");
	warn(figures.wrong, "matches contradict the order of MPI: replay will find them wrong");
	return true;
}

int qv_trace_cmd_arrivals(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	struct qv_calls calls = {.whole = true};
	struct qv_trace_out out = {.file = NULL};
	const char *output = NULL;
	bool done;

	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
		switch (option) {
		case 'h': return usage(stdout), 0;
		case 'o': output = optarg; break;
		default: return qv_trace_refuse("arrivals", option, argv);
		}
	}
	if (!qv_trace_files_wanted("arrivals", argc, 1, INT_MAX) ||
	    !qv_trace_output_wanted("arrivals", output))
		return 2;
	done = make(&calls, argv + optind, (size_t)(argc - optind), output, &out);
	qv_trace_out_close(&out);
	qv_calls_free(&calls);
	return done ? 0 : 1;
}
