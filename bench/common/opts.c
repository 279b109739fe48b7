/* SPDX-License-Identifier: BSD-2-Clause */
/* opts.c - the options that every bench takes. */
#include "bench.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/* Of every bench and of one. */
#define OPTIONS   24
#define FIRST_VAL 256 /* beyond every short option */

const char qv_bench_opts_help[] =
	"  --quick          at most 20 s, fewer cases\n"
	"  --filter GLOB    only cases that match (several: comma between)\n"
	"  --impl LIST      only these implementations (comma between)\n"
	"  --json FILE      write the rows as JSON\n"
	"  --plot FILE.svg  draw the medians\n";

int qv_bench_take_json(void *ctx, const char *file)
{
	struct qv_bench_opts *opts = ctx;

	qv_bench_opts_close(opts); /* --json twice: the last one counts */
	opts->json = file;
	opts->json_file = fopen(file, "w");
	if (opts->json_file)
		return 0;
	fprintf(stderr, "quiver: cannot write %s: %s\n", file, strerror(errno));
	return -1;
}

/* Whether the file can be written is found out before anything is measured. */
static int take_plot(void *ctx, const char *file)
{
	struct qv_bench_opts *opts = ctx;
	const char *end = strrchr(file, '.');
	FILE *out;

	opts->plot = file;
	if (end && strcasecmp(end, ".svg") != 0) {
		fprintf(stderr, "quiver: plots are SVG: '%s' should end in .svg\n", file);
		return -1;
	}
	out = fopen(file, "w");
	if (out && fclose(out) == 0)
		return 0;
	fprintf(stderr, "quiver: cannot write %s: %s\n", file, strerror(errno));
	return -1;
}

static int take_number(const struct qv_bench_option *option, const char *text)
{
	const long step = option->step ? option->step : 1;
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (!errno && end != text && !*end && number >= option->low && number <= option->high &&
	    number % step == 0) {
		*option->number = number;
		return 0;
	}
	fprintf(stderr, "quiver: --%s takes a number from %ld to %ld", option->name, option->low,
		option->high);
	if (step > 1)
		fprintf(stderr, ", a multiple of %ld", step);
	fprintf(stderr, ", not '%s'\n", text);
	return -1;
}

static int take(const struct qv_bench_option *option, const char *value)
{
	if (option->flag) {
		*option->flag = true;
		return 0;
	}
	if (option->number)
		return take_number(option, value);
	if (option->text) {
		*option->text = value;
		return 0;
	}
	return option->take(option->ctx, value);
}

/* What getopt_long(3) did not like: optopt is 0, a short option, or the val of a long one. */
static void say_wrong(const char *command, const struct qv_bench_option *all, size_t n,
		      bool no_value, const char *arg)
{
	const int at = optopt - FIRST_VAL;

	if (at >= 0 && (size_t)at < n && no_value)
		fprintf(stderr, "quiver: option --%s needs a value\n", all[at].name);
	else if (at >= 0 && (size_t)at < n)
		fprintf(stderr, "quiver: option --%s takes no value\n", all[at].name);
	else
		fprintf(stderr, "quiver: %s has no option '%s'; see --help\n", command, arg);
}

int qv_bench_options(const char *command, int argc, char **argv, const struct qv_bench_option *all,
		     int *files)
{
	struct option table[OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
	size_t n = 0;

	for (; all[n].name && n < OPTIONS; n++)
		table[n + 1] =
			(struct option){all[n].name, all[n].flag ? no_argument : required_argument,
					NULL, FIRST_VAL + (int)n};
	opterr = 0;
	optind = 0; /* glibc: begin anew */
	for (;;) {
		const int before = optind ? optind : 1;
		const int val = getopt_long(argc, argv, files ? ":h" : "+:h", table, NULL);

		if (val == -1)
			break;
		if (val == 'h')
			return 1;
		if (val == '?' || val == ':') {
			say_wrong(command, all, n, val == ':', argv[files ? optind - 1 : before]);
			return -1;
		}
		if (take(&all[val - FIRST_VAL], optarg))
			return -1;
	}
	if (files)
		*files = optind;
	if (files || optind == argc)
		return 0;
	fprintf(stderr, "quiver: %s takes options only, not '%s'; see --help\n", command,
		argv[optind]);
	return -1;
}

int qv_bench_parse(struct qv_bench_opts *opts, const char *bench, int argc, char **argv,
		   const struct qv_bench_option *own)
{
	struct qv_bench_option all[OPTIONS + 1] = {
		{"quick", .flag = &opts->quick},
		{"filter", .text = &opts->filter},
		{"impl", .text = &opts->impls},
		{"json", .take = qv_bench_take_json, .ctx = opts},
		{"plot", .take = take_plot, .ctx = opts},
	};
	char command[QV_BENCH_NAME];
	size_t n = 5;
	int rc;

	for (; own && own->name && n < OPTIONS; own++)
		all[n++] = *own;
	opts->argc = argc;
	opts->argv = argv;
	snprintf(command, sizeof(command), "bench %s", bench);
	rc = qv_bench_options(command, argc, argv, all, NULL);
	if (rc)
		qv_bench_opts_close(opts);
	return rc;
}

void qv_bench_opts_close(struct qv_bench_opts *opts)
{
	if (opts->json_file)
		fclose(opts->json_file);
	opts->json_file = NULL;
}

int qv_bench_memory_file(char *path, size_t size)
{
	int fd = memfd_create("quiver", MFD_CLOEXEC);

	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

/* Whether one element of a comma list accepts text. */
static bool list_has(const char *list, const char *text, bool glob)
{
	char item[256];

	while (*list) {
		size_t n = strcspn(list, ",");

		snprintf(item, sizeof(item), "%.*s", (int)n, list);
		if (glob ? fnmatch(item, text, 0) == 0 : strcmp(item, text) == 0)
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}

bool qv_bench_case_wanted(const struct qv_bench_opts *opts, const char *name)
{
	return !opts->filter || list_has(opts->filter, name, true);
}

bool qv_bench_impl_wanted(const struct qv_bench_opts *opts, const char *impl)
{
	return !opts->impls || list_has(opts->impls, impl, false);
}
