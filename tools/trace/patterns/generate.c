/* SPDX-License-Identifier: BSD-2-Clause */
/* generate.c - `quiver trace generate`: a trace of what an application asks of matching. */
#include "tools/trace/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "tools/trace/files.h"

enum { RANKS_MOST = 16384, ITERATIONS_MOST = 1000000 };

struct request {
	const struct qv_pattern *pattern;
	const char *out;
	uint64_t ranks, iterations, seed, any_source;
};

static void usage(FILE *out)
{
	fputs("usage: quiver trace generate PATTERN [options] -o FILE\n"
	      "       quiver trace generate --list\n\n"
	      "Writes the trace of a job that has not run: what the ranks of an application ask of\n"
	      "matching. The matches are right, and the same options write the same bytes.\n\n"
	      "  -o, --output FILE   the trace\n"
	      "  --ranks N           ranks, 2 to 16384 (each pattern has its own default)\n"
	      "  --iterations N      steps of the application, 1 to 1000000\n"
	      "  --seed N            what is drawn at random (1)\n"
	      "  --any-source N      so many percent of the tags are received from any source (0)\n"
	      "  --list              the patterns\n",
	      out);
}

static void list(void)
{
	for (const struct qv_pattern *p = qv_patterns; p->name; p++)
		printf("%-12s %s; %u ranks, %u iteration%s unless told otherwise\n", p->name,
		       p->what, p->ranks, p->iterations, p->iterations == 1 ? "" : "s");
}

static bool number(const char *option, const char *text, uint64_t least, uint64_t most,
		   uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= least && *value <= most)
		return true;
	fprintf(stderr, "quiver: trace generate: %s is a number from %llu to %llu, not '%s'\n",
		option, (unsigned long long)least, (unsigned long long)most, text);
	return false;
}

static bool find(struct request *r, const char *name)
{
	for (const struct qv_pattern *p = qv_patterns; p->name; p++)
		if (strcmp(p->name, name) == 0)
			r->pattern = p;
	if (!r->pattern)
		fprintf(stderr,
			"quiver: trace generate: there is no pattern '%s'; --list has them\n",
			name);
	return r->pattern != NULL;
}

static int generate(const struct request *r)
{
	struct qv_trace_out out;
	bool done = false;
	int error;

	if (!qv_trace_out_open(&out, r->out))
		return 1;
	error = qv_pattern_play(r->pattern, r->ranks ? (uint32_t)r->ranks : r->pattern->ranks,
				r->iterations ? (uint32_t)r->iterations : r->pattern->iterations,
				r->seed, (uint32_t)r->any_source, out.file);
	if (!error || error == EIO)
		done = qv_trace_out_finish(&out, 0, true);
	else
		fprintf(stderr, "quiver: trace generate: cannot write %s: %s\n", r->out,
			strerror(error));
	qv_trace_out_close(&out);
	return done ? 0 : 1;
}

/* 0: go on; 1: nothing is left to do; 2: wrong. */
static int read_options(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"ranks", required_argument, NULL, 'r'},
						{"iterations", required_argument, NULL, 'i'},
						{"seed", required_argument, NULL, 's'},
						{"any-source", required_argument, NULL, 'a'},
						{"list", no_argument, NULL, 'l'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	bool good = true;

	opterr = 0;
	optind = 0;
	for (int o; good && (o = getopt_long(argc, argv, "ho:", options, NULL)) != -1;)
		switch (o) {
		case 'o': r->out = optarg; break;
		case 'r': good = number("--ranks", optarg, 2, RANKS_MOST, &r->ranks); break;
		case 'i':
			good = number("--iterations", optarg, 1, ITERATIONS_MOST, &r->iterations);
			break;
		case 'a': good = number("--any-source", optarg, 0, 100, &r->any_source); break;
		case 's': good = number("--seed", optarg, 0, UINT64_MAX, &r->seed); break;
		case 'l': return list(), 1;
		case 'h': return usage(stdout), 1;
		default:
			fprintf(stderr,
				"quiver: trace generate has no option '%s', or it lacks a value; "
				"see --help\n",
				argv[optind - 1]);
			return 2;
		}
	if (!good)
		return 2;
	if (optind + 1 != argc || !r->out) {
		fprintf(stderr,
			"quiver: trace generate needs one PATTERN and -o FILE; see --help\n");
		return 2;
	}
	return find(r, argv[optind]) ? 0 : 2;
}

int qv_trace_cmd_generate(int argc, char **argv)
{
	struct request r = {.seed = 1};
	const int status = read_options(argc, argv, &r);

	if (status)
		return status == 1 ? 0 : 2;
	return generate(&r);
}
