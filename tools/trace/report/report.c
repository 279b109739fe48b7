/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - `quiver trace report`: traces into a page for a browser. */
#include "tools/trace/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "page.h"

static void usage(FILE *out)
{
	fputs("usage: quiver trace report FILE... [-o PAGE]\n\n"
	      "Writes one HTML page, which needs no network: whether quiver would help this program,\n"
	      "how deep its queues are and how far they are searched, wildcards, sources and tags, and\n"
	      "how ranks differ. Several files are taken for those of one job. Each file is read twice.\n\n"
	      "  -o, --output PAGE   the page (standard output)\n\n"
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

static int write_page(const struct qv_figures *f, const char *page)
{
	FILE *out = page ? fopen(page, "we") : stdout;
	int bad;

	if (!out) {
		fprintf(stderr, "quiver: trace report: cannot create %s: %s\n", page,
			strerror(errno));
		return 1;
	}
	qv_page_write(out, f);
	bad = fflush(out) || ferror(out);
	if (page)
		bad |= fclose(out);
	if (!bad)
		return 0;
	fprintf(stderr, "quiver: trace report: cannot write %s: %s\n",
		page ? page : "standard output", strerror(errno));
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

static int report(char *const *files, int n, const char *page)
{
	struct qv_figures f;
	char why[512];
	int status;

	if (page && is_input(page, files, n)) {
		fprintf(stderr, "quiver: trace report: %s is a trace that is to be read\n", page);
		return 2;
	}
	if (qv_figures_read(&f, (const char *const *)files, (size_t)n, why, sizeof(why))) {
		fprintf(stderr, "quiver: trace report: %s\n", why);
		return 1;
	}
	status = write_page(&f, page) | warn_of_faults(&f);
	qv_figures_free(&f);
	return status;
}

int qv_trace_cmd_report(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	const char *page = NULL;

	opterr = 0;
	optind = 0;
	for (int o; (o = getopt_long(argc, argv, "ho:", options, NULL)) != -1;) {
		if (o == 'h')
			return usage(stdout), 0;
		if (o != 'o') {
			fprintf(stderr,
				"quiver: trace report has no option '%s', or it lacks a value; see "
				"--help\n",
				argv[optind - 1]);
			return 2;
		}
		page = optarg;
	}
	if (optind == argc) {
		fprintf(stderr, "quiver: trace report needs a FILE; see --help\n");
		return 2;
	}
	return report(argv + optind, argc - optind, page);
}
