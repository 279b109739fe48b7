/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plot.c - the medians of a bench as an SVG.
 *
 * The digits at the end of a case's name are its place on the x axis, what stands before them is
 * its panel: prq/rand/64 is at 64 in panel prq/rand. Both axes are logarithmic; 0 is drawn at 0.5.
 */
#include "bench.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES   256 /* panels or implementations of one plot */
#define COLUMNS 3
#define WIDE    420 /* a panel, with its margins */
#define HIGH    290
#define LEFT    56
#define TOP     28
#define PLOT_W  (WIDE - LEFT - 26)
#define PLOT_H  (HIGH - TOP - 34)
#define LEGEND  18 /* height of its lines */
#define KEY     150

struct names {
	char at[NAMES][QV_BENCH_NAME];
	size_t n;
};

/* Where a panel's figures lie: logarithms. */
struct range {
	double x0, x1, y0, y1;
};

/* NAMES if there is no more room. */
static size_t name_index(struct names *names, const char *name)
{
	size_t i = 0;

	while (i < names->n && strcmp(names->at[i], name))
		i++;
	if (i == names->n && i < NAMES)
		snprintf(names->at[names->n++], QV_BENCH_NAME, "%s", name);
	return i;
}

/* The panel of a row; *x: its place there. false: it has no figure or no number. */
static bool place(const struct qv_bench_row *row, char *panel, double *x)
{
	size_t n = strlen(row->name), stem = n;

	while (stem && isdigit((unsigned char)row->name[stem - 1]))
		stem--;
	if (!row->n || stem == n || row->p50 <= 0)
		return false;
	*x = strtod(row->name + stem, NULL);
	*x = log10(*x > 0 ? *x : 0.5);
	snprintf(panel, QV_BENCH_NAME, "%.*s", (int)stem, row->name);
	return true;
}

static bool in_panel(const struct qv_bench_row *row, const char *panel, double *x)
{
	char mine[QV_BENCH_NAME];

	return place(row, mine, x) && strcmp(mine, panel) == 0;
}

static const char *colour(size_t i)
{
	static const char *const colours[] = {"#d62728", "#1f77b4", "#2ca02c", "#9467bd",
					      "#ff7f0e", "#8c564b", "#e377c2", "#17becf",
					      "#bcbd22", "#7f7f7f", "#000000"};

	return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

/* Implementations beyond the last colour have the same ones, dashed. */
static const char *dashes(size_t i)
{
	return i < 11 ? "" : i < 22 ? " stroke-dasharray='5 3'" : " stroke-dasharray='2 3'";
}

static struct range range_of(const struct qv_bench *bench, const char *panel)
{
	struct range r = {1e9, -1e9, 1e9, -1e9};
	double x;

	for (size_t i = 0; i < bench->rows_n; i++) {
		double y;

		if (!in_panel(&bench->rows[i], panel, &x))
			continue;
		y = log10(bench->rows[i].p50);
		r.x0 = fmin(r.x0, x);
		r.x1 = fmax(r.x1, x);
		r.y0 = fmin(r.y0, y);
		r.y1 = fmax(r.y1, y);
	}
	/* Room around the figures, and a width where there is one place only. */
	if (r.x1 - r.x0 < 0.1) {
		r.x0 -= 0.5;
		r.x1 += 0.5;
	}
	r.y0 = floor(r.y0 * 2 - 0.1) / 2;
	r.y1 = ceil(r.y1 * 2 + 0.1) / 2;
	return r;
}

static double x_at(const struct range *r, double x)
{
	return LEFT + (x - r->x0) / (r->x1 - r->x0) * PLOT_W;
}

static double y_at(const struct range *r, double y)
{
	return TOP + (r->y1 - y) / (r->y1 - r->y0) * PLOT_H;
}

static void put_y_axis(const struct range *r, FILE *out)
{
	static const int steps[] = {1, 2, 5};
	int every = r->y1 - r->y0 > 2 ? 3 : 1; /* decades only, when there are many */

	for (int decade = (int)floor(r->y0); decade <= (int)ceil(r->y1); decade++) {
		for (int s = 0; s < 3; s += every) {
			double value = steps[s] * pow(10, decade), y = log10(value);

			if (y < r->y0 || y > r->y1)
				continue;
			fprintf(out, "<path class='g' d='M%d %.1fh%d'/>", LEFT, y_at(r, y), PLOT_W);
			fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
				LEFT - 4, y_at(r, y) + 4, value);
		}
	}
}

/* A mark below every place that has a figure. */
static void put_x_axis(const struct qv_bench *bench, const char *panel, const struct range *r,
		       FILE *out)
{
	double x, last = -1e9;

	for (size_t i = 0; i < bench->rows_n; i++) {
		const char *digits = bench->rows[i].name + strlen(panel);

		/* Labels are not to touch: 7 for a digit. */
		if (!in_panel(&bench->rows[i], panel, &x) ||
		    fabs(x_at(r, x) - last) < 8 + 7 * (double)strlen(digits))
			continue;
		last = x_at(r, x);
		fprintf(out, "<path class='g' d='M%.1f %dv%d'/>", last, TOP, PLOT_H);
		fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>\n", last,
			TOP + PLOT_H + 14, digits);
	}
}

/* A line with a dot for each figure. */
static void put_line(const struct qv_bench *bench, const char *panel, const struct range *r,
		     const char *impl, size_t nth, FILE *out)
{
	char command = 'M';
	double x;

	fprintf(out, "<g stroke='%s' fill='%s'><title>%s</title><path class='l'%s d='", colour(nth),
		colour(nth), impl, dashes(nth));
	for (size_t i = 0; i < bench->rows_n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];

		if (strcmp(row->impl, impl) || !in_panel(row, panel, &x))
			continue;
		fprintf(out, "%c%.1f %.1f", command, x_at(r, x), y_at(r, log10(row->p50)));
		command = 'L';
	}
	fputs("'/>", out);
	for (size_t i = 0; i < bench->rows_n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];

		if (strcmp(row->impl, impl) == 0 && in_panel(row, panel, &x))
			fprintf(out, "<circle cx='%.1f' cy='%.1f' r='2'/>", x_at(r, x),
				y_at(r, log10(row->p50)));
	}
	fputs("</g>\n", out);
}

static void put_panel(const struct qv_bench *bench, const char *panel, const struct names *impls,
		      FILE *out)
{
	struct range r = range_of(bench, panel);
	const char *unit = "";
	double x;

	for (size_t i = 0; i < bench->rows_n; i++)
		if (in_panel(&bench->rows[i], panel, &x))
			unit = bench->rows[i].unit;
	fprintf(out, "<text class='t' x='%d' y='16'>%sn (%s)</text>\n", LEFT, panel, unit);
	fprintf(out, "<rect x='%d' y='%d' width='%d' height='%d'/>\n", LEFT, TOP, PLOT_W, PLOT_H);
	put_y_axis(&r, out);
	put_x_axis(bench, panel, &r, out);
	for (size_t i = 0; i < impls->n; i++)
		put_line(bench, panel, &r, impls->at[i], i, out);
}

static void put_legend(const struct qv_bench *bench, const struct names *impls, FILE *out)
{
	int in_line = COLUMNS * WIDE / KEY;

	fprintf(out, "<text class='t' x='10' y='18'>quiver bench %s</text>\n", bench->name);
	for (size_t i = 0; i < impls->n; i++) {
		int x = 10 + (int)i % in_line * KEY, y = 36 + (int)i / in_line * LEGEND;

		fprintf(out, "<path class='l' stroke='%s'%s d='M%d %dh24'/>", colour(i), dashes(i),
			x, y - 4);
		fprintf(out, "<text x='%d' y='%d'>%s</text>\n", x + 30, y, impls->at[i]);
	}
}

static void put_all(const struct qv_bench *bench, const struct names *panels,
		    const struct names *impls, FILE *out)
{
	int in_line = COLUMNS * WIDE / KEY;
	int legend = 36 + ((int)impls->n + in_line - 1) / in_line * LEGEND;
	int rows = ((int)panels->n + COLUMNS - 1) / COLUMNS;

	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
		"font-family='sans-serif' font-size='11'>\n"
		"<style>.g{stroke:#ddd;fill:none}.l{fill:none;stroke-width:1.6;stroke-linecap:"
		"round}.t{font-size:13px;font-weight:bold}rect{fill:none;stroke:#888}</style>\n"
		"<path d='M0 0h%dv%dh-%dz' fill='white'/>\n",
		COLUMNS * WIDE, legend + rows * HIGH, COLUMNS * WIDE, legend + rows * HIGH,
		COLUMNS * WIDE);
	put_legend(bench, impls, out);
	for (size_t p = 0; p < panels->n; p++) {
		fprintf(out, "<g transform='translate(%d %d)'>\n", (int)p % COLUMNS * WIDE,
			legend + (int)p / COLUMNS * HIGH);
		put_panel(bench, panels->at[p], impls, out);
		fputs("</g>\n", out);
	}
	fputs("</svg>\n", out);
}

int qv_bench_plot(const struct qv_bench *bench, const char *file)
{
	struct names *names = calloc(2, sizeof(*names)), *panels = names, *impls = names + 1;
	char panel[QV_BENCH_NAME];
	FILE *out = fopen(file, "w");
	bool failed;
	double x;

	if (!names)
		abort();
	for (size_t r = 0; r < bench->rows_n; r++) {
		if (!place(&bench->rows[r], panel, &x))
			continue;
		name_index(panels, panel);
		name_index(impls, bench->rows[r].impl);
	}
	if (out)
		put_all(bench, panels, impls, out);
	failed = !out || ferror(out);
	if (out && fclose(out))
		failed = true;
	if (failed)
		fprintf(stderr, "quiver: cannot write %s: %s\n", file, strerror(errno));
	free(names);
	return failed ? -1 : 0;
}
