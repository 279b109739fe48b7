/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - `quiver trace report`: traces into a page for a browser. */
#include "tools/trace/commands.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "page.h"
#include "tools/trace/files.h"

struct options {
	const char *page; /* NULL: standard output */
	long seconds;
};

static void usage(FILE *out)
{
	fputs("usage: quiver trace report [options] FILE...\n\n"
	      "Writes one HTML page, which needs no network: whether quiver would help this program,\n"
	      "what each matching structure would cost, how deep queues are and how far they are\n"
	      "searched, wildcards, sources and tags, and how ranks differ. Several files are taken for\n"
	      "those of one job. Each file is read three times.\n\n"
	      "  -o, --output PAGE   the page (standard output)\n"
	      "  --seconds N         measure the structures about so long (5); 0: do not\n\n"
	      "Exit status: 0; 1 if a trace cannot be read to its end, or the page not be written.\n",
	      out);
}

/* A page must not take the place of a trace that it is made of. */
static bool is_input(const char *page, char *const *files, int n)
{
	struct stat out, in;

	if (stat(page, &out) || !S_ISREG(out.st_mode))
		return false;
	for (int i = 0; i < n; i++)
		if (!stat(files[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
			return true;
	return false;
}

/* Where the page is written first: beside the file, whose name it gets when it is whole. A device or a
 * link is written itself. */
static bool name_part(const char *page, char part[PATH_MAX])
{
	struct stat there;

	if (lstat(page, &there) || S_ISREG(there.st_mode))
		return qv_trace_part_name(page, part, PATH_MAX);
	if (snprintf(part, PATH_MAX, "%s", page) < PATH_MAX)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

/* 0, or the errno. */
static int put_page(FILE *out, const struct qv_figures *f, const struct qv_cost *c)
{
	errno = 0;
	qv_page_write(out, f, c);
	return fflush(out) || ferror(out) ? (errno ? errno : EIO) : 0;
}

static int write_page(const struct qv_figures *f, const struct qv_cost *c, const char *page)
{
	char part[PATH_MAX] = "";
	FILE *out = !page ? stdout : name_part(page, part) ? fopen(part, "we") : NULL;
	int error;

	if (!out) {
		fprintf(stderr, "quiver: trace report: cannot create %s: %s\n", page,
			strerror(errno));
		return 1;
	}
	/* A file at its limit (ulimit -f) is an error as a full disk is. */
	(void)signal(SIGXFSZ, SIG_IGN);
	error = put_page(out, f, c);
	if (page && fclose(out) && !error)
		error = errno;
	if (page && strcmp(part, page) != 0)
		error = qv_trace_part_end(part, page, error);
	if (!error)
		return 0;
	fprintf(stderr, "quiver: trace report: cannot write %s: %s\n",
		page ? page : "standard output", strerror(error));
	return 1;
}

/* A page was written, and says the same. */
static int warn_of_faults(const struct qv_figures *f)
{
	int status = 0;

	for (size_t i = 0; i < f->files_n; i++)
		if (*f->files[i].why) {
			fprintf(stderr,
				"quiver: trace report: %s: %s; the page is of what comes before\n",
				f->files[i].path, f->files[i].why);
			status = 1;
		}
	return status;
}

/* A trace that is damaged is not replayed. */
static void measure_cost(struct qv_cost *c, const struct qv_figures *f, char *const *files, int n,
			 long seconds)
{
	bool damaged = false;

	for (size_t i = 0; i < f->files_n; i++)
		damaged |= *f->files[i].why != '\0';
	*c = (struct qv_cost){.known = false};
	if (seconds && damaged)
		snprintf(c->why, sizeof(c->why), "the trace is damaged");
	else if (seconds && f->events)
		qv_cost_measure(c, files, (size_t)n, (double)seconds);
}

static int report(char *const *files, int n, const struct options *o)
{
	struct qv_figures f;
	struct qv_cost c;
	char why[512];
	int status;

	if (o->page && is_input(o->page, files, n)) {
		fprintf(stderr, "quiver: trace report: %s is a trace that is to be read\n",
			o->page);
		return 2;
	}
	if (qv_figures_read(&f, (const char *const *)files, (size_t)n, why, sizeof(why))) {
		fprintf(stderr, "quiver: trace report: %s\n", why);
		return 1;
	}
	measure_cost(&c, &f, files, n, o->seconds);
	status = write_page(&f, &c, o->page) | warn_of_faults(&f);
	qv_cost_free(&c);
	qv_figures_free(&f);
	return status;
}

static bool read_seconds(const char *text, long *seconds)
{
	char *end;

	*seconds = strtol(text, &end, 10);
	if (end != text && !*end && *seconds >= 0 && *seconds <= 3600)
		return true;
	fprintf(stderr, "quiver: trace report: --seconds takes 0 to 3600, not '%s'\n", text);
	return false;
}

int qv_trace_cmd_report(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"seconds", required_argument, NULL, 's'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	struct options chosen = {.seconds = 5};

	opterr = 0;
	optind = 0;
	for (int o; (o = getopt_long(argc, argv, "ho:", options, NULL)) != -1;) {
		if (o == 'h')
			return usage(stdout), 0;
		if (o == 's' && !read_seconds(optarg, &chosen.seconds))
			return 2;
		if (o != 'o' && o != 's') {
			fprintf(stderr,
				"quiver: trace report has no option '%s', or it lacks a value; see "
				"--help\n",
				argv[optind - 1]);
			return 2;
		}
		if (o == 'o')
			chosen.page = optarg;
	}
	if (optind == argc) {
		fprintf(stderr, "quiver: trace report needs a FILE; see --help\n");
		return 2;
	}
	return report(argv + optind, argc - optind, &chosen);
}
