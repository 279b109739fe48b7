/* SPDX-License-Identifier: BSD-2-Clause */
/* heat.c - messages by source and tag, and what each rank has to do. */
#include "page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "text.h"

enum {
	CELL_W = 26,
	CELL_H = 17,
	LABEL = 150,
	HEAD = 22,
	BARS = 128,
	WIDE = 1140,
	HIGH = 190,
	LEFT = 52
};

/* Indexes of the chosen ones in the order of their keys, so that neighbours stand beside each other,
 * and that of the rest if it has anything. */
static uint32_t in_order(const struct qv_top *t, bool rest, uint32_t *order)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at = i;

		for (; at && t->chosen[order[at - 1]] > t->chosen[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	order[t->n] = t->n;
	return t->n + rest;
}

static void put_tag(FILE *out, const struct qv_top *t, uint32_t i)
{
	if (i == t->n)
		fputs("all other tags", out);
	else
		fprintf(out, t->chosen[i] < 100000 ? "%" PRIu64 : "0x%" PRIx64, t->chosen[i]);
}

static void put_source(FILE *out, const struct qv_top *t, uint32_t i)
{
	if (i == t->n)
		fputs("rest", out);
	else
		fprintf(out, "%" PRIu64, t->chosen[i]);
}

static void put_cell(FILE *out, const struct qv_figures *f, uint32_t tag, uint32_t source, int x,
		     int y, uint64_t most)
{
	const uint64_t n = f->cell[tag][source];

	if (!n)
		return;
	fprintf(out,
		"<rect class=\"a\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill-opacity=\"%.2f\">"
		"<title>",
		x, y, CELL_W - 1, CELL_H - 1, 0.15 + 0.85 * log1p((double)n) / log1p((double)most));
	fprintf(out, "%s messages, source ", qv_text_count(n).s);
	put_source(out, &f->sources, source);
	fputs(", tag ", out);
	put_tag(out, &f->tags, tag);
	fputs("</title></rect>\n", out);
}

void qv_page_heat(FILE *out, const struct qv_figures *f)
{
	const struct qv_top *tags = &f->tags, *sources = &f->sources;
	uint32_t row[QV_TOP_MOST + 1], column[QV_TOP_MOST + 1], rows, columns;
	uint64_t most = 1, other_tags = 0, other_sources = 0;

	for (uint32_t t = 0; t <= tags->n; t++)
		for (uint32_t s = 0; s <= sources->n; s++) {
			most = f->cell[t][s] > most ? f->cell[t][s] : most;
			other_tags += t == tags->n ? f->cell[t][s] : 0;
			other_sources += s == sources->n ? f->cell[t][s] : 0;
		}
	if (!f->arrived)
		return;
	rows = in_order(tags, other_tags, row);
	columns = in_order(sources, other_sources, column);
	fputs("<h2>Sources and tags</h2>\n<p class=\"soft\">Messages by who sent them (across) and by "
	      "tag (down), at all processes; the 32 most frequent of each. Darker is more, by its "
	      "logarithm.</p>\n<div class=\"scroll\">\n",
	      out);
	fprintf(out,
		"<svg viewBox=\"0 0 %u %u\" style=\"width:%upx;max-width:none\" role=\"img\" "
		"aria-label=\"Messages by source and tag\">\n",
		LABEL + CELL_W * columns, HEAD + CELL_H * rows, LABEL + CELL_W * columns);
	for (uint32_t c = 0; c < columns; c++) {
		fprintf(out, "<text x=\"%u\" y=\"14\" text-anchor=\"middle\">",
			LABEL + CELL_W * c + CELL_W / 2);
		put_source(out, sources, column[c]);
		fputs("</text>\n", out);
	}
	for (uint32_t r = 0; r < rows; r++) {
		fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LABEL - 8,
			HEAD + CELL_H * r + 13);
		put_tag(out, tags, row[r]);
		fputs("</text>\n", out);
		for (uint32_t c = 0; c < columns; c++)
			put_cell(out, f, row[r], column[c], (int)(LABEL + CELL_W * c),
				 (int)(HEAD + CELL_H * r), most);
	}
	fputs("</svg>\n</div>\n", out);
	if (sources->full || tags->full)
		fputs("<p class=\"soft\">There are very many sources or tags: one that is not frequent "
		      "may have been taken for one of the 32.</p>\n",
		      out);
}

struct place {
	int32_t rank;
	uint32_t process;
};

static int by_rank(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
				  : (a->process > b->process) - (a->process < b->process);
}

/* A bar for each process, or for so many beside each other the one with most. */
static void put_ranks(FILE *out, const struct qv_figures *f, const struct place *order,
		      uint64_t most)
{
	const uint32_t group = (f->processes_n + BARS - 1) / BARS;
	const uint32_t bars = (f->processes_n + group - 1) / group;
	const double width = (double)(WIDE - LEFT) / bars;

	for (uint32_t b = 0; b < bars; b++) {
		const struct qv_figures_process *p = &f->processes[order[b * group].process];
		double high;
		char name[32];

		for (uint32_t i = b * group; i < (b + 1) * group && i < f->processes_n; i++)
			if (f->processes[order[i].process].steps > p->steps)
				p = &f->processes[order[i].process];
		high = (double)p->steps / (double)most * (HIGH - 36);
		fprintf(out,
			"<rect class=\"a\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
			LEFT + width * b + width * 0.08, HIGH - 24 - high, width * 0.84, high);
		fprintf(out, "<title>%s: %s entries compared for %s messages</title></rect>\n",
			qv_judge_name(p, name, sizeof(name)), qv_text_count(p->steps).s,
			qv_text_count(p->messages).s);
		if (b % (bars / 8 + 1) == 0)
			fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
				LEFT + width * b + width / 2, HIGH - 6, order[b * group].rank);
	}
}

void qv_page_ranks(FILE *out, const struct qv_figures *f)
{
	struct place *order = malloc((f->processes_n + 1) * sizeof(*order));
	uint64_t most = 0, all = 0;

	for (uint32_t i = 0; i < f->processes_n; i++) {
		most = f->processes[i].steps > most ? f->processes[i].steps : most;
		all += f->processes[i].steps;
	}
	fputs("<h2>Are the ranks alike?</h2>\n", out);
	if (f->processes_n < 2 || !most || !order) {
		fputs(f->processes_n < 2 ? "<p class=\"soft\">There is one process only.</p>\n"
					 : "<p class=\"soft\">No rank searches at all.</p>\n",
		      out);
		free(order);
		return;
	}
	for (uint32_t i = 0; i < f->processes_n; i++)
		order[i] = (struct place){f->processes[i].info.rank, i};
	qsort(order, f->processes_n, sizeof(*order), by_rank);
	fprintf(out,
		"<p class=\"soft\">Entries that a list compares, for each rank. The busiest compares "
		"%s times the mean.</p>\n<div class=\"scroll\"><svg viewBox=\"0 0 %d %d\" "
		"style=\"min-width:640px\" role=\"img\" aria-label=\"Entries compared by each rank\">\n",
		qv_text_real((double)most * f->processes_n / (double)all).s, WIDE, HIGH);
	fprintf(out, "<text x=\"%d\" y=\"18\" text-anchor=\"end\">%s</text>", LEFT - 6,
		qv_text_short(most).s);
	fprintf(out, "<path class=\"grid\" d=\"M%d 12H%dM%d %dH%d\"/>\n", LEFT, WIDE, LEFT,
		HIGH - 24, WIDE);
	put_ranks(out, f, order, most);
	fputs("</svg></div>\n", out);
	free(order);
}
