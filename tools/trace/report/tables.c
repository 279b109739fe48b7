/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c - processes, lanes and files in numbers; the busiest first, and the rest in one row. */
#include "page.h"

#include <stdlib.h>

#include "text.h"

enum { ROWS = 32 };

static uint64_t lane_steps(const struct qv_figures_lane *l)
{
	return qv_figures_steps(&l->search[0]) + qv_figures_steps(&l->search[1]);
}

/* Keep the indexes of those that compare most, most first. */
static uint32_t keep(uint32_t *top, uint64_t *most, uint32_t n, uint32_t i, uint64_t steps)
{
	uint32_t at = n;

	while (at && most[at - 1] < steps)
		at--;
	if (at == ROWS)
		return n;
	n += n < ROWS;
	for (uint32_t k = n - 1; k > at; k--) {
		top[k] = top[k - 1];
		most[k] = most[k - 1];
	}
	top[at] = i;
	most[at] = steps;
	return n;
}

static void put_name(FILE *out, const char *name)
{
	fputs("<td class=\"t\"><bdi>", out);
	qv_text_put(out, name);
	fputs("</bdi></td>", out);
}

static void put_number(FILE *out, uint64_t n)
{
	fprintf(out, "<td>%s</td>", qv_text_count(n).s);
}

static void put_process(FILE *out, const struct qv_figures_process *p)
{
	fputs("<tr>", out);
	if (p->info.rank >= 0)
		fprintf(out, "<td>%d</td>", p->info.rank);
	else
		fputs("<td>?</td>", out);
	put_name(out, p->info.host);
	put_name(out, p->info.program);
	fprintf(out, "<td>%u</td>", p->info.pid);
	put_number(out, p->events);
	put_number(out, p->messages);
	put_number(out, p->depth_most[QV_FIGURES_POSTED]);
	put_number(out, p->depth_most[QV_FIGURES_UNEXPECTED]);
	fprintf(out, "<td>%s</td></tr>\n",
		qv_text_real(p->messages ? (double)p->steps / (double)p->messages : 0).s);
}

static void put_processes(FILE *out, const struct qv_figures *f)
{
	uint32_t top[ROWS], n = 0;
	uint64_t most[ROWS], events = f->events;

	for (uint32_t i = 0; i < f->processes_n; i++)
		n = keep(top, most, n, i, f->processes[i].steps);
	fprintf(out,
		"<h2>Processes</h2>\n<p class=\"soft\">%s, those first that compare most.</p>\n"
		"<div class=\"scroll\"><table>\n<tr><th>rank</th><th class=\"t\">host</th>"
		"<th class=\"t\">program</th><th>pid</th><th>events</th><th>messages</th>"
		"<th>receives, most</th><th>unexpected, most</th><th>compared for a message</th></tr>\n",
		qv_text_count(f->processes_n).s);
	for (uint32_t i = 0; i < n; i++) {
		put_process(out, &f->processes[top[i]]);
		events -= f->processes[top[i]].events;
	}
	if (n < f->processes_n)
		fprintf(out,
			"<tr><td></td><td class=\"t\" colspan=\"3\">%s more</td><td>%s</td>"
			"<td colspan=\"4\"></td></tr>\n",
			qv_text_count(f->processes_n - n).s, qv_text_count(events).s);
	fputs("</table></div>\n", out);
}

static void put_lane(FILE *out, const struct qv_figures *f, uint32_t i)
{
	const struct qv_figures_lane *l = &f->lanes[i];
	char name[32];

	fprintf(out, "<tr><td>%u</td><td class=\"t\">%s</td><td>%u</td><td class=\"t\">%s</td>", i,
		qv_judge_name(&f->processes[l->process], name, sizeof(name)), l->endpoint,
		qv_trace_queue_names[l->queue]);
	put_name(out, l->structure);
	put_number(out, l->events);
	for (int s = 0; s < QV_FIGURES_SIDES; s++) {
		put_number(out, l->search[s].depth_most);
		fprintf(out, "<td>%s</td>", qv_text_real(qv_figures_mean(&l->search[s])).s);
		put_number(out, l->waiting_at_end[s]);
	}
	fputs("</tr>\n", out);
}

static void put_lanes(FILE *out, const struct qv_figures *f)
{
	uint32_t top[ROWS], n = 0, known = 0;
	uint64_t most[ROWS], events = f->events;

	for (uint32_t i = 0; i < f->lanes_n; i++)
		if (f->lanes[i].known) {
			n = keep(top, most, n, i, lane_steps(&f->lanes[i]));
			known++;
		}
	fprintf(out,
		"<h2>Lanes</h2>\n<p class=\"soft\">%s. A lane is one matching engine: a queue of an "
		"endpoint. Means are of entries that a list compares in one search.</p>\n"
		"<div class=\"scroll\"><table>\n<tr><th>lane</th><th class=\"t\">process</th>"
		"<th>endpoint</th><th class=\"t\">queue</th><th class=\"t\">structure</th>"
		"<th>events</th><th>receives, most</th><th>mean</th><th>at the end</th>"
		"<th>unexpected, most</th><th>mean</th><th>at the end</th></tr>\n",
		qv_text_count(known).s);
	for (uint32_t i = 0; i < n; i++) {
		put_lane(out, f, top[i]);
		events -= f->lanes[top[i]].events;
	}
	if (n < known)
		fprintf(out,
			"<tr><td></td><td class=\"t\" colspan=\"4\">%s more</td><td>%s</td>"
			"<td colspan=\"6\"></td></tr>\n",
			qv_text_count(known - n).s, qv_text_count(events).s);
	fputs("</table></div>\n", out);
}

static void put_files(FILE *out, const struct qv_figures *f)
{
	fputs("<h2>Files</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"t\">trace</th>"
	      "<th>events</th><th>not written</th><th class=\"t\">whole</th></tr>\n",
	      out);
	for (size_t i = 0; i < f->files_n && i < ROWS; i++) {
		fputs("<tr>", out);
		put_name(out, f->files[i].path);
		put_number(out, f->files[i].events);
		put_number(out, f->files[i].lost);
		fprintf(out, "<td class=\"t\">%s</td></tr>\n", f->files[i].whole ? "yes" : "no");
	}
	if (f->files_n > ROWS)
		fprintf(out, "<tr><td class=\"t\" colspan=\"4\">%s more</td></tr>\n",
			qv_text_count(f->files_n - ROWS).s);
	fputs("</table></div>\n", out);
}

static void put_calls(FILE *out, const struct qv_figures *f)
{
	const struct {
		const char *what;
		uint64_t n;
	} rows[] = {
		{"receives posted", f->posted},
		{"of them found their message", f->posted_matched},
		{"messages", f->arrived},
		{"of them found their receive", f->arrived_matched},
		{"of them were queued", f->queued},
		{"of them were refused, and came again", f->refused},
		{"probes", f->probed},
		{"of them found a message", f->probed_found},
		{"messages taken after a probe", f->taken},
		{"receives cancelled", f->cancelled},
	};

	fputs("<h2>Calls</h2>\n<div class=\"scroll\"><table id=\"calls\">\n", out);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "<tr><td class=\"t\">%s</td><td>%s</td></tr>\n", rows[i].what,
			qv_text_count(rows[i].n).s);
	fputs("</table></div>\n", out);
}

void qv_page_tables(FILE *out, const struct qv_figures *f)
{
	if (f->events)
		put_calls(out, f);
	put_processes(out, f);
	put_lanes(out, f);
	put_files(out, f);
}
