/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_stats.c - `quiver stats`: the counters of a job, from the files of its processes that
 * FI_QUIVER_STATS=json:FILE wrote.
 */
#include "cmd.h"
#include "stats.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/types.h>

/* Queues that are never longer cost any list little, as docs/tuning.md has it. */
enum { SHORT = 50 };

struct counters {
	uint64_t arrived, matched, unexpected, inspected, posted_max, unexpected_max, bytes_max;
};

struct process {
	int rank, pid;
	char host[64];
	struct counters c;
};

struct job {
	struct process *at;
	size_t n;
	struct qv_stats_detail detail;
};

static void usage(FILE *out)
{
	fputs("usage: quiver stats [--json] FILE...\n\n"
	      "Adds up the counters of a job: FILE is what one of its processes wrote with\n"
	      "FI_QUIVER_STATS=json:FILE. Prints a line for each process in order of ranks, one for\n"
	      "all of them, and whether matching is worth a second look. With\n"
	      "FI_QUIVER_STATS=detail:json:FILE also how far searches went, how long the queues\n"
	      "were and for how long, wildcards, and who sent most.\n\n"
	      "  --json   the same as one JSON object\n\n"
	      "  FI_QUIVER_STATS=json:app.%r mpirun ... ./program; quiver stats app.*\n\n"
	      "Exit status: 0; 1: a file is no such file; 2: wrong use.\n",
	      out);
}

/* Reading. */

static uint64_t number(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

static void larger(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

static void add_queues(struct counters *c, const json_t *queues)
{
	c->arrived += number(queues, "arrived");
	c->matched += number(queues, "matched");
	c->unexpected += number(queues, "unexpected");
	c->inspected += number(queues, "inspected");
	larger(&c->posted_max, number(queues, "posted_max"));
	larger(&c->unexpected_max, number(queues, "unexpected_max"));
}

static void add_counters(struct counters *sum, const struct counters *c)
{
	sum->arrived += c->arrived;
	sum->matched += c->matched;
	sum->unexpected += c->unexpected;
	sum->inspected += c->inspected;
	larger(&sum->posted_max, c->posted_max);
	larger(&sum->unexpected_max, c->unexpected_max);
	larger(&sum->bytes_max, c->bytes_max);
}

/* 1; 0: there is none; -1: no memory. */
static int read_process(const json_t *root, struct process *p, struct qv_stats_detail *detail)
{
	const json_t *endpoints = json_object_get(root, "endpoints"), *endpoint;
	const char *host = json_string_value(json_object_get(root, "host"));
	size_t i;

	if (!json_is_string(json_object_get(root, "quiver")) || !json_is_array(endpoints) || !host)
		return 0;
	*p = (struct process){.rank = (int)json_integer_value(json_object_get(root, "rank")),
			      .pid = (int)json_integer_value(json_object_get(root, "pid"))};
	snprintf(p->host, sizeof p->host, "%.63s", host);
	json_array_foreach(endpoints, i, endpoint)
	{
		add_queues(&p->c, json_object_get(endpoint, "tagged"));
		add_queues(&p->c, json_object_get(endpoint, "untagged"));
		larger(&p->c.bytes_max, number(endpoint, "unexpected_bytes_max"));
		if (!qv_stats_detail_add(detail, json_object_get(endpoint, "tagged"), p->rank) ||
		    !qv_stats_detail_add(detail, json_object_get(endpoint, "untagged"), p->rank))
			return -1;
	}
	return 1;
}

static bool add_file(struct job *job, const char *path)
{
	struct process *more = realloc(job->at, (job->n + 1) * sizeof *more);
	json_error_t error;
	json_t *root;
	int read = -1;

	if (!more) {
		fprintf(stderr, "quiver stats: no memory for %s\n", path);
		return false;
	}
	job->at = more;
	root = json_load_file(path, 0, &error);
	if (!root) {
		fprintf(stderr, "quiver stats: %s cannot be read: %s\n", path, error.text);
		return false;
	}
	read = read_process(root, &job->at[job->n], &job->detail);
	json_decref(root);
	if (read < 0)
		fprintf(stderr, "quiver stats: no memory for %s\n", path);
	else if (!read)
		fprintf(stderr,
			"quiver stats: %s has no counters of quiver (FI_QUIVER_STATS=json:FILE writes "
			"them)\n",
			path);
	job->n += read == 1;
	return read == 1;
}

static int by_rank(const void *a, const void *b)
{
	const struct process *p = a, *q = b;

	return p->rank != q->rank ? (p->rank > q->rank) - (p->rank < q->rank)
				  : (p->pid > q->pid) - (p->pid < q->pid);
}

/* Printing. */

static double per(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

static void print_row(const char *who, const char *host, const struct counters *c)
{
	printf("%6s  %-16.16s %12" PRIu64 " %10.1f %% %12.2f %12" PRIu64 " %12" PRIu64 " %12" PRIu64
	       "\n",
	       who, host, c->arrived, 100 * per(c->unexpected, c->arrived),
	       per(c->inspected, c->arrived), c->posted_max, c->unexpected_max, c->bytes_max);
}

static const struct process *deepest(const struct job *job)
{
	const struct process *most = &job->at[0];

	for (size_t i = 1; i < job->n; i++)
		if (job->at[i].c.posted_max + job->at[i].c.unexpected_max >
		    most->c.posted_max + most->c.unexpected_max)
			most = &job->at[i];
	return most;
}

static void advice(const struct job *job, char *text, size_t size)
{
	const struct process *most = deepest(job);
	uint64_t depth = most->c.posted_max > most->c.unexpected_max ? most->c.posted_max
								     : most->c.unexpected_max;

	if (depth <= SHORT)
		snprintf(text, size,
			 "No queue was ever longer than %" PRIu64
			 ": matching is not what this job waits for, with quiver or without.",
			 depth);
	else
		snprintf(
			text, size,
			"Queues grew to %" PRIu64 " (rank %d on %s), where a list is slow. "
			"FI_QUIVER_TRACE=FILE and `quiver trace advise FILE` tell what it would cost.",
			depth, most->rank, most->host);
}

static void print_table(const struct job *job, const struct counters *sum)
{
	char who[16], text[256];

	printf("%6s  %-16s %12s %12s %12s %12s %12s %12s\n", "rank", "host", "messages",
	       "unexpected", "inspected", "posted", "unexpected", "unexpected");
	printf("%6s  %-16s %12s %12s %12s %12s %12s %12s\n", "", "", "", "", "a message", "at most",
	       "at most", "bytes");
	for (size_t i = 0; i < job->n; i++) {
		snprintf(who, sizeof who, "%d", job->at[i].rank);
		print_row(job->at[i].rank < 0 ? "-" : who, job->at[i].host, &job->at[i].c);
	}
	if (job->n > 1)
		print_row("all", "", sum);
	if (job->detail.any)
		qv_stats_detail_print(&job->detail);
	advice(job, text, sizeof text);
	printf("\n%s\n", text);
}

static json_t *to_json(const struct counters *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "arrived", (json_int_t)c->arrived,
			 "matched", (json_int_t)c->matched, "unexpected", (json_int_t)c->unexpected,
			 "inspected", (json_int_t)c->inspected, "posted_max",
			 (json_int_t)c->posted_max, "unexpected_max", (json_int_t)c->unexpected_max,
			 "unexpected_bytes_max", (json_int_t)c->bytes_max);
}

static void print_json(const struct job *job, const struct counters *sum)
{
	json_t *list = json_array(), *root;
	char text[256];

	for (size_t i = 0; i < job->n; i++) {
		json_t *p = to_json(&job->at[i].c);

		json_object_set_new(p, "rank", json_integer(job->at[i].rank));
		json_object_set_new(p, "pid", json_integer(job->at[i].pid));
		json_object_set_new(p, "host", json_string(job->at[i].host));
		json_array_append_new(list, p);
	}
	advice(job, text, sizeof text);
	root = json_pack("{s:s, s:o, s:o, s:s}", "quiver", qv_version(), "processes", list, "all",
			 to_json(sum), "advice", text);
	if (job->detail.any)
		json_object_set_new(root, "detail", qv_stats_detail_json(&job->detail));
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int qv_cmd_stats(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct counters sum = {0};
	struct job job = {0};
	bool json = false, read = true;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (option) {
		case 'j': json = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	if (optind == argc) {
		fputs("quiver stats: no file is named\n", stderr);
		usage(stderr);
		return 2;
	}
	while (optind < argc && (read = add_file(&job, argv[optind])))
		optind++;
	if (read) {
		qsort(job.at, job.n, sizeof *job.at, by_rank);
		for (size_t i = 0; i < job.n; i++)
			add_counters(&sum, &job.at[i].c);
		qv_stats_detail_sort(&job.detail);
		(json ? print_json : print_table)(&job, &sum);
	}
	free(job.at);
	free(job.detail.pairs);
	return read ? 0 : 1;
}
