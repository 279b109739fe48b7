/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_top.c - `quiver top`: what matching does in a process that runs. */
#include "cmd.h"
#include "top.h"
#include "tools/trace/advice/names.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <quiver/types.h>

#define INTERVAL_LEAST 0.01 /* s */
#define INTERVAL_MOST  86400.0

static void usage(FILE *out)
{
	fputs("usage: quiver top [--interval SECONDS] [--once] [--json] PID\n\n"
	      "Shows what matching does in a process that runs over the provider: for each endpoint\n"
	      "how many receives and unexpected messages wait now, and of the last interval messages\n"
	      "a second, how many of them were unexpected, and entries inspected for each. Reads the\n"
	      "memory of that process, which does nothing for it.\n\n"
	      "  --interval SECONDS   from one look to the next (default: 1)\n"
	      "  --once               one interval, then end\n"
	      "  --json               a JSON object in a line for each interval\n\n"
	      "Exit status: 0: the process has ended, or --once; 1: it cannot be read; 2: wrong use.\n",
	      out);
}

/* What has happened since `before`; NULL: since the begin. */
static uint64_t since(uint64_t now, const struct qv_match_stats *before, size_t field)
{
	uint64_t then = 0;

	if (before)
		memcpy(&then, (const char *)before + field, sizeof then);
	return now > then ? now - then : 0;
}
#define SINCE(now, before, field) \
	since((now)->field, before, offsetof(struct qv_match_stats, field))

/* The same engine in the sample before. */
static const struct qv_match_stats *earlier(const struct qv_top_sample *s, uint64_t number,
					    unsigned which)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].number == number && s->at[i].has[which])
			return &s->at[i].stats[which];
	return NULL;
}

static double per(uint64_t n, double of)
{
	return of > 0 ? (double)n / of : 0;
}

/* As a table. */

static void print_engine(const struct qv_top_endpoint *e, unsigned which,
			 const struct qv_match_stats *before, double seconds)
{
	const struct qv_match_stats *now = &e->stats[which];
	uint64_t arrived = SINCE(now, before, arrived);
	char core[QV_NAME_ROOM], structure[QV_NAME_ROOM];

	if (!now->posted && !now->arrived)
		return;
	printf("%8" PRIu64 "  %-12.12s %-10.10s %-8s %10" PRIu64 " %10" PRIu64
	       " %12.0f %9.1f %% %10.2f\n",
	       e->number, qv_name_plain(e->core, core), qv_name_plain(e->structure, structure),
	       which ? "tagged" : "untagged", now->posted_now, now->unexpected_now,
	       per(arrived, seconds), 100 * per(SINCE(now, before, unexpected), (double)arrived),
	       per(SINCE(now, before, inspected), (double)arrived));
}

static void print_table(pid_t pid, const struct qv_top_sample *before,
			const struct qv_top_sample *now)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	printf("process %d, %zu endpoint%s%s\n%8s  %-12s %-10s %-8s %10s %10s %12s %11s %10s\n",
	       (int)pid, now->n, now->n == 1 ? "" : "s",
	       now->more ? ", and others that are not shown" : "", "endpoint", "core", "structure",
	       "queue", "posted", "unexpected", "messages/s", "unexpected", "inspected");
	for (size_t i = 0; i < now->n; i++)
		for (unsigned which = QV_LIVE_ENGINES; which-- > 0;)
			if (now->at[i].has[which])
				print_engine(&now->at[i], which,
					     earlier(before, now->at[i].number, which),
					     1e-9 * (double)(now->ns - before->ns));
}

/* As JSON. */

static json_t *engine_json(const struct qv_match_stats *now, const struct qv_match_stats *before,
			   double seconds)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "posted",
			 (json_int_t)now->posted, "arrived", (json_int_t)now->arrived, "matched",
			 (json_int_t)now->matched, "unexpected", (json_int_t)now->unexpected,
			 "inspected", (json_int_t)now->inspected, "posted_now",
			 (json_int_t)now->posted_now, "posted_max", (json_int_t)now->posted_max,
			 "unexpected_now", (json_int_t)now->unexpected_now, "unexpected_max",
			 (json_int_t)now->unexpected_max, "messages_per_second",
			 per(SINCE(now, before, arrived), seconds));
}

static void print_json(pid_t pid, const struct qv_top_sample *before,
		       const struct qv_top_sample *now)
{
	static const char *const names[QV_LIVE_ENGINES] = {"untagged", "tagged"};
	const double seconds = 1e-9 * (double)(now->ns - before->ns);
	json_t *list = json_array(), *root;

	for (size_t i = 0; i < now->n; i++) {
		const struct qv_top_endpoint *e = &now->at[i];
		json_t *o = json_object();

		json_object_set_new(o, "endpoint", json_integer((json_int_t)e->number));
		json_object_set_new(o, "core", json_string(e->core));
		json_object_set_new(o, "structure", json_string(e->structure));
		for (unsigned which = QV_LIVE_ENGINES; which-- > 0;)
			if (e->has[which])
				json_object_set_new(o, names[which],
						    engine_json(&e->stats[which],
								earlier(before, e->number, which),
								seconds));
		json_array_append_new(list, o);
	}
	root = json_pack("{s:s, s:i, s:f, s:b, s:o}", "quiver", qv_version(), "pid", (int)pid,
			 "seconds", seconds, "more", now->more, "endpoints", list);
	json_dumpf(root, stdout, JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

/* The loop. */

static int warn(const char *why)
{
	fprintf(stderr, "quiver top: %s\n", why);
	return 1;
}

static void wait_for(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static int watch(const struct qv_top_process *p, double interval, bool once, bool json)
{
	struct qv_top_sample samples[2];
	char why[512];
	bool ended;
	unsigned now = 0;

	if (!qv_top_read(p, &samples[now], &ended, why, sizeof why))
		return warn(why);
	do {
		wait_for(interval);
		now ^= 1;
		if (!qv_top_read(p, &samples[now], &ended, why, sizeof why))
			return ended && !once ? 0 : warn(why);
		(json ? print_json : print_table)(p->pid, &samples[!now], &samples[now]);
		if (fflush(stdout))
			return 0; /* nobody reads any more */
	} while (!once);
	return 0;
}

static bool read_number(const char *text, double least, double most, double *n)
{
	char *end;

	*n = strtod(text, &end);
	return *text && !*end && *n >= least && *n <= most;
}

int qv_cmd_top(int argc, char **argv)
{
	static const struct option options[] = {
		{"interval", required_argument, NULL, 'i'},
		{"once", no_argument, NULL, 'o'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool once = false, json = false;
	struct qv_top_process p;
	double interval = 1, pid;
	char why[512];
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (option) {
		case 'i':
			if (read_number(optarg, INTERVAL_LEAST, INTERVAL_MOST, &interval))
				break;
			fprintf(stderr,
				"quiver top: --interval takes seconds, 0.01 or more, not '%s'\n",
				optarg);
			return 2;
		case 'o': once = true; break;
		case 'j': json = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	if (optind + 1 != argc || !read_number(argv[optind], 1, INT32_MAX, &pid) ||
	    pid != (double)(pid_t)pid) {
		fputs("quiver top: name one process by its number\n", stderr);
		usage(stderr);
		return 2;
	}
	if (!qv_top_find((pid_t)pid, &p, why, sizeof why))
		return warn(why);
	return watch(&p, interval, once, json);
}
