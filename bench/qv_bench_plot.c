/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_bench_plot.c - the medians of a bench as an SVG, drawn by gnuplot. */
#include "qv_bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QV_PLOT_NAMES 256 /* cases, impls or units in one plot */

/* Names in order of appearance, without copies. */
struct names {
	const char *at[QV_PLOT_NAMES];
	size_t n;
};

static size_t name_index(struct names *names, const char *name)
{
	size_t i = 0;

	while (i < names->n && strcmp(names->at[i], name))
		i++;
	if (i == names->n && i < QV_PLOT_NAMES)
		names->at[names->n++] = name;
	return i;
}

int qv_bench_plot_possible(void)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path && *path) {
		size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/gnuplot", (int)n, path);
		if (access(file, X_OK) == 0)
			return 0;
		path += n;
		path += *path == ':';
	}
	fprintf(stderr, "quiver: --plot needs gnuplot in PATH (package gnuplot-nox)\n");
	return -1;
}

/* Data block $d<u>_<i>: position of the case, median. Returns the number of points. */
static size_t put_data(const struct qv_bench *bench, const char *unit, const char *impl,
		       struct names *cases, size_t u, size_t i, FILE *gp)
{
	size_t points = 0;

	fprintf(gp, "$d%zu_%zu << EOD\n", u, i);
	for (const struct qv_bench_row *row = bench->rows; row < bench->rows + bench->rows_n;
	     row++) {
		if (!row->n || strcmp(row->unit, unit) || strcmp(row->impl, impl))
			continue;
		fprintf(gp, "%zu %g\n", name_index(cases, row->name), row->p50);
		points++;
	}
	fputs("EOD\n", gp);
	return points;
}

static void put_panel(const struct qv_bench *bench, const char *unit, const struct names *impls,
		      size_t u, FILE *gp)
{
	struct names cases = {.n = 0};
	bool shown[QV_PLOT_NAMES] = {false};
	const char *separator = "plot";

	/* All cases of the unit first, so that the axis has the order of the table. */
	for (size_t r = 0; r < bench->rows_n; r++)
		if (strcmp(bench->rows[r].unit, unit) == 0)
			name_index(&cases, bench->rows[r].name);
	for (size_t i = 0; i < impls->n; i++)
		shown[i] = put_data(bench, unit, impls->at[i], &cases, u, i, gp) > 0;
	fputs("set xtics rotate by -60 (", gp);
	for (size_t c = 0; c < cases.n; c++)
		fprintf(gp, "%s'%s' %zu", c ? ", " : "", cases.at[c], c);
	fprintf(gp, ")\nset xrange [-0.5:%zu.5]\nset ylabel '%s'\n", cases.n - 1, unit);
	for (size_t i = 0; i < impls->n; i++) {
		if (!shown[i])
			continue;
		fprintf(gp, "%s $d%zu_%zu with linespoints title '%s'", separator, u, i,
			impls->at[i]);
		separator = ",";
	}
	fputs(*separator == ',' ? "\n" : "plot 1/0 notitle\n", gp);
}

int qv_bench_plot(const struct qv_bench *bench, const char *file)
{
	struct names units = {.n = 0}, impls = {.n = 0};
	FILE *gp;

	for (size_t r = 0; r < bench->rows_n; r++) {
		name_index(&units, bench->rows[r].unit);
		name_index(&impls, bench->rows[r].impl);
	}
	if (!units.n || !(gp = popen("gnuplot", "w"))) {
		fprintf(stderr, "quiver: nothing to plot, or gnuplot does not start\n");
		return -1;
	}
	fprintf(gp, "set terminal svg size 1100,%zu noenhanced\nset output '%s'\n", 420 * units.n,
		file);
	fprintf(gp, "set multiplot layout %zu,1 title 'quiver bench %s'\n", units.n, bench->name);
	fputs("set grid\nset logscale y\nset key outside right\n", gp);
	for (size_t u = 0; u < units.n; u++)
		put_panel(bench, units.at[u], &impls, u, gp);
	fputs("unset multiplot\n", gp);
	if (pclose(gp) == 0)
		return 0;
	fprintf(stderr, "quiver: gnuplot failed to write %s\n", file);
	return -1;
}
