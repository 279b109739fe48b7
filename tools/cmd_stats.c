/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_stats.c - `quiver stats`: the counters of a job, from the files of its processes that
 * FI_QUIVER_STATS=json:FILE wrote.
 */
#include "cmd.h"
#include "stats.h"
#include "tools/trace/advice/classifier.h"
#include "tools/trace/advice/names.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/types.h>

struct job {
	struct qv_stats_process *at;
	size_t n;
	struct qv_stats_spread spread[QV_STATS_COLUMNS];
	struct qv_stats_detail detail;
	struct qv_classifier *model;
};

static void usage(FILE *out)
{
	fputs("usage: quiver stats [--json] [--model FILE] FILE...\n\n"
	      "Adds up the counters of a job: FILE is what one of its processes wrote with\n"
	      "FI_QUIVER_STATS=json:FILE. Prints a line for each process in order of ranks, one for\n"
	      "all of them, the mean, deviation and quartiles over the processes, and whether\n"
	      "quiver's matching helps, as far as counters tell. With\n"
	      "FI_QUIVER_STATS=detail:json:FILE also how far searches went, how long the queues\n"
	      "were and for how long, wildcards, and who sent most.\n\n"
	      "  --json         the same as one JSON object\n"
	      "  --model FILE   decide by this model, which scripts/train-advice has made\n\n"
	      "  FI_QUIVER_STATS=json:app.%r mpirun ... ./program; quiver stats app.*\n\n"
	      "Exit status: 0; 1: a file is no such file; 2: wrong use.\n",
	      out);
}

/* Reading. */

static void no_memory(const char *what)
{
	fprintf(stderr, "quiver stats: no memory for %s\n", what);
}

static bool add_file(struct job *job, const char *path)
{
	struct qv_stats_process *more = realloc(job->at, (job->n + 1) * sizeof *more);
	json_error_t error;
	json_t *root;
	int read = -1;

	if (!more) {
		no_memory(path);
		return false;
	}
	job->at = more;
	root = json_load_file(path, 0, &error);
	if (!root) {
		fprintf(stderr, "quiver stats: %s cannot be read: %s\n", path, error.text);
		return false;
	}
	read = qv_stats_process_read(root, &job->at[job->n], &job->detail);
	job->at[job->n].path = path;
	json_decref(root);
	if (read < 0)
		no_memory(path);
	else if (!read)
		fprintf(stderr,
			"quiver stats: %s has no counters of quiver (FI_QUIVER_STATS=json:FILE writes "
			"them)\n",
			path);
	job->n += read == 1;
	return read == 1;
}

/* Its process ended while it wrote the file, which then would have another name. */
static bool is_part(const char *path)
{
	const size_t n = strlen(path);

	if (n < 5 || strcmp(path + n - 5, ".part") != 0)
		return false;
	fprintf(stderr, "quiver stats: warning: %s was not finished, and is left out\n", path);
	return true;
}

static bool read_files(struct job *job, char *const *paths)
{
	for (; *paths; paths++)
		if (!is_part(*paths) && !add_file(job, *paths))
			return false;
	if (!job->n)
		fputs("quiver stats: no file has counters\n", stderr);
	return job->n > 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct qv_stats_process *p = a, *q = b;

	if (p->rank != q->rank)
		return (p->rank > q->rank) - (p->rank < q->rank);
	return p->pid != q->pid ? (p->pid > q->pid) - (p->pid < q->pid) : strcmp(p->host, q->host);
}

/* They are in order of ranks. False: two files are of one process, which would count twice. */
static bool is_once(const struct job *job)
{
	const struct qv_stats_process *twice = NULL;

	for (size_t i = 1; i < job->n; i++) {
		const struct qv_stats_process *p = &job->at[i - 1], *q = &job->at[i];

		if (p->rank != q->rank)
			continue;
		if (p->pid == q->pid && !strcmp(p->host, q->host)) {
			fprintf(stderr, "quiver stats: %s and %s are of the same process\n",
				p->path, q->path);
			return false;
		}
		if (!twice && p->rank >= 0)
			twice = q;
	}
	if (twice)
		fprintf(stderr,
			"quiver stats: warning: there are two files of rank %d, %s and %s: are all of one "
			"job?\n",
			twice->rank, twice[-1].path, twice->path);
	return true;
}

/* Printing. */

static void print_row(const char *who, const char *host, const struct qv_stats_counters *c)
{
	char text[QV_NAME_ROOM];

	printf("%6s  %-16.16s %12" PRIu64 " %10.1f %% %12.2f %12" PRIu64 " %12" PRIu64 " %12" PRIu64
	       "\n",
	       who, *host ? qv_name_plain(host, text) : "", c->arrived,
	       100 * qv_stats_per(c->unexpected, c->arrived),
	       qv_stats_per(c->inspected, c->arrived), c->posted_max, c->unexpected_max,
	       c->bytes_max);
}

/* Of the process where quiver saves most. */
static struct qv_profile_most classify(const struct job *job)
{
	struct qv_profile_most most = {.processes = 0};

	for (size_t i = 0; i < job->n; i++) {
		const struct qv_stats_process *p = &job->at[i];
		const struct qv_profile profile = {.arrived = p->c.arrived,
						   .unexpected = p->c.unexpected,
						   .inspected = p->c.inspected,
						   .posted_max = p->c.posted_max,
						   .unexpected_max = p->c.unexpected_max,
						   .mode_changes = p->c.mode_changes};

		if (p->automatic)
			qv_profile_add(&most, job->model, &profile, p->rank, p->host);
	}
	return most;
}

static void print_table(const struct job *job, const struct qv_stats_counters *sum)
{
	const struct qv_profile_most most = classify(job);
	char who[16], text[512];

	printf("%6s  %-16s %12s %12s %12s %12s %12s %12s\n", "rank", "host", "messages",
	       "unexpected", "inspected", "posted", "unexpected", "unexpected");
	printf("%6s  %-16s %12s %12s %12s %12s %12s %12s\n", "", "", "", "", "a message", "at most",
	       "at most", "bytes");
	for (size_t i = 0; i < job->n; i++) {
		snprintf(who, sizeof who, "%d", job->at[i].rank);
		print_row(job->at[i].rank < 0 ? "-" : who, job->at[i].host, &job->at[i].c);
	}
	if (job->n > 1) {
		print_row("all", "", sum);
		qv_stats_spread_print(job->spread);
	}
	if (job->detail.any)
		qv_stats_detail_print(&job->detail);
	qv_profile_say(&most, text, sizeof text);
	printf("\n%s\n", text);
}

static json_t *to_json(const struct qv_stats_counters *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "arrived", (json_int_t)c->arrived,
			 "matched", (json_int_t)c->matched, "unexpected", (json_int_t)c->unexpected,
			 "inspected", (json_int_t)c->inspected, "posted_max",
			 (json_int_t)c->posted_max, "unexpected_max", (json_int_t)c->unexpected_max,
			 "unexpected_bytes_max", (json_int_t)c->bytes_max);
}

static void print_json(const struct job *job, const struct qv_stats_counters *sum)
{
	const struct qv_profile_most most = classify(job);
	json_t *list = json_array(), *root;
	char text[512];

	for (size_t i = 0; i < job->n; i++) {
		json_t *p = to_json(&job->at[i].c);

		json_object_set_new(p, "rank", json_integer(job->at[i].rank));
		json_object_set_new(p, "pid", json_integer(job->at[i].pid));
		json_object_set_new(p, "host", json_string(job->at[i].host));
		json_array_append_new(list, p);
	}
	qv_profile_say(&most, text, sizeof text);
	root = json_pack("{s:s, s:o, s:o, s:o, s:s}", "quiver", qv_version(), "processes", list,
			 "all", to_json(sum), "spread", qv_stats_spread_json(job->spread), "advice",
			 text);
	if (job->detail.any)
		json_object_set_new(root, "detail", qv_stats_detail_json(&job->detail));
	if (most.processes) {
		json_object_set_new(root, "structure", json_string(most.is.structure));
		json_object_set_new(root, "list_ns", json_real(most.is.list_ns));
	}
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int qv_cmd_stats(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"model", required_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct qv_stats_counters sum = {0};
	struct job job = {0};
	const char *model = NULL;
	bool json = false, read;
	char why[512];
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (option) {
		case 'j': json = true; break;
		case 'm': model = optarg; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	if (optind == argc) {
		fputs("quiver stats: no file is named\n", stderr);
		usage(stderr);
		return 2;
	}
	job.model = qv_classifier_load(model, why, sizeof why);
	if (!job.model) {
		fprintf(stderr, "quiver stats: %s\n", why);
		return 1;
	}
	read = read_files(&job, argv + optind);
	if (read && !(read = qv_stats_spread(job.spread, job.at, job.n)))
		no_memory("quartiles");
	if (read) {
		qsort(job.at, job.n, sizeof *job.at, by_rank);
		read = is_once(&job);
	}
	if (read) {
		for (size_t i = 0; i < job.n; i++)
			qv_stats_add(&sum, &job.at[i].c);
		qv_stats_detail_sort(&job.detail);
		(json ? print_json : print_table)(&job, &sum);
	}
	free(job.at);
	free(job.detail.pairs);
	qv_classifier_free(job.model);
	return read ? 0 : 1;
}
