/* SPDX-License-Identifier: BSD-2-Clause */
/* opts.c - the options that every bench takes. */
#include "bench.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

const char qv_bench_opts_help[] =
	"  --quick          at most 20 s, fewer cases\n"
	"  --filter GLOB    only cases that match (several: comma between)\n"
	"  --impl LIST      only these implementations (comma between)\n"
	"  --json FILE      write the rows as JSON\n"
	"  --plot FILE.svg  draw the medians\n";

bool qv_bench_opt_is(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return strncmp(arg, name, n) == 0 && (arg[n] == 0 || arg[n] == '=');
}

const char *qv_bench_opt_value(int argc, char **argv, int *i)
{
	const char *equals = strchr(argv[*i], '=');

	if (equals)
		return equals + 1;
	if (*i + 1 < argc)
		return argv[++*i];
	fprintf(stderr, "quiver: option %s needs a value\n", argv[*i]);
	return NULL;
}

int qv_bench_opt_number(int argc, char **argv, int *i, long low, long high, long *value)
{
	const char *option = argv[*i];
	const char *text = qv_bench_opt_value(argc, argv, i);
	char *end;
	long number;

	if (!text)
		return -1;
	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < low || number > high) {
		fprintf(stderr, "quiver: %.*s takes a number from %ld to %ld, not '%s'\n",
			(int)strcspn(option, "="), option, low, high, text);
		return -1;
	}
	*value = number;
	return 0;
}

static int open_json(struct qv_bench_opts *opts)
{
	opts->json_file = fopen(opts->json, "w");
	if (opts->json_file)
		return 1;
	fprintf(stderr, "quiver: cannot write %s: %s\n", opts->json, strerror(errno));
	return -1;
}

/* Whether the file can be written is found out before anything is measured. */
static int try_plot(const char *file)
{
	const char *end = strrchr(file, '.');
	FILE *out;

	if (end && strcasecmp(end, ".svg") != 0) {
		fprintf(stderr, "quiver: plots are SVG: '%s' should end in .svg\n", file);
		return -1;
	}
	out = fopen(file, "w");
	if (out && fclose(out) == 0)
		return 1;
	fprintf(stderr, "quiver: cannot write %s: %s\n", file, strerror(errno));
	return -1;
}

int qv_bench_opt(struct qv_bench_opts *opts, int argc, char **argv, int *i)
{
	const char *arg = argv[*i];

	if (strcmp(arg, "--quick") == 0) {
		opts->quick = true;
		return 1;
	}
	if (qv_bench_opt_is(arg, "--filter"))
		return (opts->filter = qv_bench_opt_value(argc, argv, i)) ? 1 : -1;
	if (qv_bench_opt_is(arg, "--impl"))
		return (opts->impls = qv_bench_opt_value(argc, argv, i)) ? 1 : -1;
	if (qv_bench_opt_is(arg, "--plot")) {
		opts->plot = qv_bench_opt_value(argc, argv, i);
		return opts->plot ? try_plot(opts->plot) : -1;
	}
	if (qv_bench_opt_is(arg, "--json")) {
		opts->json = qv_bench_opt_value(argc, argv, i);
		return opts->json ? open_json(opts) : -1;
	}
	return 0;
}

/* 1: --help was asked for. */
static int parse(struct qv_bench_opts *opts, const char *bench, int argc, char **argv,
		 qv_bench_own_option *own, void *ctx)
{
	for (int i = 1; i < argc; i++) {
		int taken;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return 1;
		taken = qv_bench_opt(opts, argc, argv, &i);
		if (!taken && own)
			taken = own(ctx, argc, argv, &i);
		if (!taken)
			fprintf(stderr, "quiver: bench %s has no option '%s'; see --help\n", bench,
				argv[i]);
		if (taken != 1)
			return -1;
	}
	return 0;
}

int qv_bench_parse(struct qv_bench_opts *opts, const char *bench, int argc, char **argv,
		   qv_bench_own_option *own, void *ctx)
{
	int rc = parse(opts, bench, argc, argv, own, ctx);

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
