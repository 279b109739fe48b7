/* SPDX-License-Identifier: BSD-2-Clause */
/* page.c - a report from its top to its end: the answer first, then what it is made of. */
#include "page.h"

#include "text.h"

static const char *const tones[] = {
	[QV_JUDGE_NOTHING] = "little",
	[QV_JUDGE_NO] = "no",
	[QV_JUDGE_LITTLE] = "little",
	[QV_JUDGE_YES] = "yes",
};

/* The program of the first process, and whether all are of that. */
static void put_title(FILE *out, const struct qv_figures *f)
{
	if (f->processes_n && *f->processes[0].info.program)
		qv_text_put(out, f->processes[0].info.program);
	else
		qv_text_put(out, f->files[0].path);
}

static void put_head(FILE *out, const struct qv_figures *f)
{
	/* Nothing may be fetched, whatever a name in the trace says. */
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" "
	      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>Matching of ",
	      out);
	put_title(out, f);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>Matching of <bdi>",
		qv_page_style);
	put_title(out, f);
	fprintf(out, "</bdi> &#183; %s process%s &#183; %s events", qv_text_count(f->processes_n).s,
		f->processes_n == 1 ? "" : "es", qv_text_count(f->events).s);
	if (f->last_ns >= f->first_ns)
		fprintf(out, " in %s", qv_text_time((double)(f->last_ns - f->first_ns)).s);
	fputs("</header>\n", out);
}

static void put_judgement(FILE *out, const struct qv_judgement *j)
{
	fprintf(out, "<div class=\"verdict %s\">\n<h1>%s</h1>\n", tones[j->tone], j->verdict);
	if (j->reasons)
		fputs("<ul>\n", out);
	for (unsigned i = 0; i < j->reasons; i++)
		fprintf(out, "<li>%s</li>\n", j->reason[i]);
	fprintf(out, "%s</div>\n", j->reasons ? "</ul>\n" : "");
}

static void put_tile(FILE *out, const char *value, const char *what)
{
	fprintf(out, "<div class=\"tile\"><b>%s</b><span>%s</span></div>\n", value, what);
}

static void put_tiles(FILE *out, const struct qv_figures *f)
{
	const struct qv_figures_search *posted = &f->search[QV_FIGURES_POSTED];
	const struct qv_figures_search *unexpected = &f->search[QV_FIGURES_UNEXPECTED];
	const uint64_t steps = qv_figures_steps(posted) + qv_figures_steps(unexpected);

	fputs("<div class=\"tiles\">\n", out);
	put_tile(out, qv_text_count(posted->depth_most).s, "receives waited at most in a queue");
	put_tile(out, qv_text_count(unexpected->depth_most).s,
		 "unexpected messages waited at most");
	put_tile(out, qv_text_real(f->arrived ? (double)steps / (double)f->arrived : 0).s,
		 "entries that a list compares for a message, mean of all");
	put_tile(out, qv_text_share(f->queued, f->arrived).s,
		 "of the messages came before their receive");
	put_tile(out, qv_text_share(f->posted - f->receives[QV_FIGURES_EXACT], f->posted).s,
		 "of the receives are wildcards");
	put_tile(out, qv_text_count(f->arrived).s, "messages");
	fputs("</div>\n", out);
}

void qv_page_faults(FILE *out, const struct qv_figures *f)
{
	for (size_t i = 0; i < f->files_n; i++) {
		const struct qv_figures_file *file = &f->files[i];

		if (file->whole && !file->lost)
			continue;
		fputs("<p class=\"fault\">The trace <bdi>", out);
		qv_text_put(out, file->path);
		fputs("</bdi> is not whole: ", out);
		if (*file->why) {
			fputs("from some place on it cannot be read (", out);
			qv_text_put(out, file->why);
			fputs("); the figures are of what comes before. ", out);
		} else if (!file->whole) {
			fputs("its writer has not ended it, so the last events are missing. ", out);
		}
		if (file->lost)
			fprintf(out, "%s events were not written: its limit, or a ring. ",
				qv_text_count(file->lost).s);
		fputs("</p>\n", out);
	}
	if (f->unseen)
		fprintf(out,
			"<p class=\"fault\">%s times an entry was matched or removed that had begun to "
			"wait before the trace does, or while events were lost. Depths and searches are "
			"too low by these.</p>\n",
			qv_text_count(f->unseen).s);
	if (f->refused)
		fprintf(out,
			"<p class=\"fault\">%s messages found no memory at their receiver, and came "
			"again (FI_QUIVER_MEMORY).</p>\n",
			qv_text_count(f->refused).s);
}

void qv_page_write(FILE *out, const struct qv_figures *f, const struct qv_cost *c)
{
	struct qv_judgement j;

	qv_judge(&j, f);
	put_head(out, f);
	put_judgement(out, &j);
	qv_page_faults(out, f);
	if (f->events) {
		put_tiles(out, f);
		qv_page_cost(out, c);
		qv_page_depth(out, f);
		qv_page_histograms(out, f);
		qv_page_wildcards(out, f);
		qv_page_heat(out, f);
		qv_page_ranks(out, f);
	}
	qv_page_tables(out, f);
	fputs("</body>\n</html>\n", out);
}
