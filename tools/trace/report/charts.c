/* SPDX-License-Identifier: BSD-2-Clause */
/* charts.c - depth over time, histograms, wildcards and ranks, as SVG that is written as it goes. */
#include "page.h"

#include "text.h"

/* A chart in its own units: two stand beside each other, or one fills the width of a telephone. */
enum { WIDE = 560, HIGH = 220, LEFT = 52, RIGHT = 8, TOP = 12, BELOW = 26 };

#define PLOT_W (WIDE - LEFT - RIGHT)
#define PLOT_H (HIGH - TOP - BELOW)

static const char *const names[] = {"Posted receives", "Unexpected messages"};
static const char *const colours[] = {"a", "b"};

static void begin_chart(FILE *out, const char *title, const char *name)
{
	fprintf(out, "<figure><h3>%s</h3>\n", title);
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDE, HIGH,
		name);
}

static void end_chart(FILE *out, const char *caption)
{
	fprintf(out, "</svg>\n<figcaption>%s</figcaption></figure>\n", caption);
}

/* 1, 2 or 5 times a power of ten: four steps of it reach the most. */
static uint64_t step_for(uint64_t most)
{
	static const uint64_t parts[] = {1, 2, 5};

	for (uint64_t unit = 1; unit <= UINT64_MAX / 100; unit *= 10)
		for (int i = 0; i < 3; i++)
			if (parts[i] * unit >= most / 4 + (most % 4 != 0))
				return parts[i] * unit;
	return most;
}

/* Lines and numbers at the left; returns what the top of the plot stands for. */
static double put_axis(FILE *out, uint64_t most)
{
	const uint64_t step = step_for(most ? most : 1);
	const uint64_t lines = most / step + (most % step != 0) + !most;

	for (uint64_t i = 0; i <= lines; i++) {
		const double y = TOP + PLOT_H * (1 - (double)i / (double)lines);

		fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDE - RIGHT);
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
			y + 4, qv_text_short(i * step).s);
	}
	return (double)(lines * step);
}

static void put_times(FILE *out, double ns)
{
	for (int i = 0; i <= 4; i++)
		fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
			LEFT + PLOT_W * i / 4, HIGH - 6,
			i == 4 ? "end"
			: i    ? "middle"
			       : "start",
			i ? qv_text_time(ns * i / 4).s : "0");
}

static void put_depth(FILE *out, const struct qv_figures *f, int side)
{
	const double top = put_axis(out, f->search[side].depth_most);
	const double width = (double)PLOT_W / f->columns;

	fprintf(out, "<path class=\"area %s\" d=\"M%d %d", colours[side], LEFT, TOP + PLOT_H);
	for (uint32_t c = 0; c < f->columns; c++)
		fprintf(out, "V%.1fH%.1f", TOP + PLOT_H * (1 - f->depth[side][c] / top),
			LEFT + width * (c + 1));
	fprintf(out, "V%dZ\"><title>%s: at most %s wait at a time</title></path>\n", TOP + PLOT_H,
		names[side], qv_text_count(f->search[side].depth_most).s);
	put_times(out, (double)(f->last_ns - f->first_ns));
}

void qv_page_depth(FILE *out, const struct qv_figures *f)
{
	fputs("<h2>How many wait, over time</h2>\n<p class=\"soft\">The deepest queue of any "
	      "process.</p>\n<div class=\"pair\">\n",
	      out);
	for (int side = 0; side < QV_FIGURES_SIDES; side++) {
		begin_chart(out, names[side], names[side]);
		put_depth(out, f, side);
		end_chart(out, side == QV_FIGURES_POSTED ? "Receives that wait for their message."
							 : "Messages that wait for their receive.");
	}
	fputs("</div>\n", out);
}

static void put_bin_name(FILE *out, unsigned bin)
{
	if (bin < 2)
		fprintf(out, "%u", bin);
	else
		fprintf(out, "%s&#8211;%s", qv_text_count(UINT64_C(1) << (bin - 1)).s,
			qv_text_count((UINT64_C(1) << bin) - 1).s);
}

/* Bars by their share, and below each the least of its bin. */
static void put_bins(FILE *out, const uint64_t *count, unsigned bins, int side, const char *what)
{
	const double width = (double)(WIDE - 2 * RIGHT) / bins;
	uint64_t all = 0, most = 1;

	for (unsigned b = 0; b < QV_FIGURES_BINS; b++) {
		all += count[b];
		most = count[b] > most ? count[b] : most;
	}
	for (unsigned b = 0; b < bins; b++) {
		const double high = (double)count[b] / (double)most * (PLOT_H - 16);
		const double x = RIGHT + width * b;

		fprintf(out,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
			colours[side], x + width * 0.08, HIGH - BELOW - high, width * 0.84, high);
		fputs("<title>", out);
		put_bin_name(out, b);
		fprintf(out, " %s: %s searches (%s)</title></rect>\n", what,
			qv_text_count(count[b]).s, qv_text_share(count[b], all).s);
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
			x + width / 2, HIGH - 8, qv_text_short(b ? UINT64_C(1) << (b - 1) : 0).s);
		if (all && count[b] * 200 >= all)
			fprintf(out,
				"<text class=\"v\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.*f%%"
				"</text>",
				x + width / 2, HIGH - BELOW - high - 4, count[b] * 10 < all,
				100 * (double)count[b] / (double)all);
		fputc('\n', out);
	}
	fprintf(out, "<path class=\"grid\" d=\"M0 %dH%d\"/>\n", HIGH - BELOW, WIDE);
}

static unsigned bins_used(const uint64_t *one, const uint64_t *other)
{
	unsigned bins = QV_FIGURES_BINS;

	while (bins > 4 && !one[bins - 1] && !other[bins - 1])
		bins--;
	return bins;
}

void qv_page_histograms(FILE *out, const struct qv_figures *f)
{
	static const char *const searched[] = {"Messages that come search posted receives",
					       "Receives and probes search unexpected messages"};
	const unsigned steps = bins_used(f->by_steps[0], f->by_steps[1]);
	const unsigned depths = bins_used(f->by_depth[0], f->by_depth[1]);

	fputs("<h2>How far a list is walked</h2>\n<p class=\"soft\">Entries that a plain list compares "
	      "in one search, up to the one that matches, or all if none does. Each bar goes up to "
	      "the number of the next one.</p>\n<div class=\"pair\">\n",
	      out);
	for (int side = 0; side < QV_FIGURES_SIDES; side++) {
		begin_chart(out, searched[side], searched[side]);
		put_bins(out, f->by_steps[side], steps, side, "entries compared");
		fprintf(out,
			"</svg>\n<figcaption>%s searches; %s entries compared in one, mean"
			"</figcaption></figure>\n",
			qv_text_count(f->search[side].searches).s,
			qv_text_real(qv_figures_mean(&f->search[side])).s);
	}
	fputs("</div>\n<h2>How deep the queue is that is searched</h2>\n<p class=\"soft\">Entries that "
	      "wait in it at that moment.</p>\n<div class=\"pair\">\n",
	      out);
	for (int side = 0; side < QV_FIGURES_SIDES; side++) {
		begin_chart(out, names[side], names[side]);
		put_bins(out, f->by_depth[side], depths, side, "entries wait");
		end_chart(out, side == QV_FIGURES_POSTED
				       ? "As a message comes."
				       : "As a receive is posted, or at a probe.");
	}
	fputs("</div>\n", out);
}

static void put_bar(FILE *out, const char *name, uint64_t part, uint64_t of, const char *colour)
{
	fprintf(out,
		"<span>%s</span><div class=\"bar %s\"><i style=\"width:%.2f%%\"></i><span>%s (%s)"
		"</span></div>\n",
		name, colour, of ? 70 * (double)part / (double)of : 0, qv_text_count(part).s,
		qv_text_share(part, of).s);
}

void qv_page_wildcards(FILE *out, const struct qv_figures *f)
{
	static const char *const kinds[] = {"source and tag named", "any source", "any tag",
					    "any source, any tag"};

	fputs("<h2>Wildcards</h2>\n<div class=\"pair\">\n<figure><h3>Receives</h3>\n"
	      "<div class=\"bars\">\n",
	      out);
	for (int w = 0; w < QV_FIGURES_WILDS; w++)
		put_bar(out, kinds[w], f->receives[w], f->posted, "a");
	fputs("</div></figure>\n<figure><h3>Probes</h3>\n", out);
	if (f->probed) {
		fputs("<div class=\"bars\">\n", out);
		for (int w = 0; w < QV_FIGURES_WILDS; w++)
			put_bar(out, kinds[w], f->probes[w], f->probed, "b");
		fprintf(out, "</div>\n<figcaption>%s of the probes found a message.</figcaption>",
			qv_text_share(f->probed_found, f->probed).s);
	} else {
		fputs("<p class=\"soft\">The program does not probe.</p>", out);
	}
	fputs("</figure>\n</div>\n", out);
}
