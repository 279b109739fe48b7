/* SPDX-License-Identifier: BSD-2-Clause */
/* cost.c - the traces are replayed by each structure, and bars compare what a message costs. */
#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "text.h"

enum { ROUNDS = 7 };

void qv_cost_measure(struct qv_cost *c, char *const *files, size_t n, double seconds)
{
	const struct qv_load_options load = {.files = files,
					     .files_n = n,
					     .most_events = QV_LOAD_EVENTS,
					     .rank = -1,
					     .lane = -1};
	const struct qv_measure_options options = {
		.needed = "auto,ll,ompi", .rounds = ROUNDS, .seconds = seconds};

	*c = (struct qv_cost){.known = false};
	if (qv_load(&c->load, &load, c->why, sizeof(c->why)))
		return;
	if (!c->load.arrivals)
		snprintf(c->why, sizeof(c->why), "no message arrives in the trace");
	else if (qv_measure(&c->m, &c->load, &options))
		snprintf(c->why, sizeof(c->why), "the trace cannot be replayed");
	else
		c->known = true;
}

void qv_cost_free(struct qv_cost *c)
{
	if (c->known)
		qv_measure_free(&c->m);
	qv_load_free(&c->load);
}

/* Matching takes several operations for a message. */
static double message_ns(const struct qv_cost *c, const struct qv_measure_figure *f)
{
	return f->ns.value * (double)c->load.operations / (double)c->load.arrivals;
}

static const char *title(const char *name)
{
	return strcmp(name, "auto") == 0   ? "auto: quiver"
	       : strcmp(name, "ll") == 0   ? "ll: a plain list"
	       : strcmp(name, "ompi") == 0 ? "ompi: as Open MPI's ob1"
					   : name;
}

static void put_bar(FILE *out, const struct qv_cost *c, const struct qv_measure_figure *f,
		    double most)
{
	const double ns = message_ns(c, f);

	fprintf(out,
		"<span>%s</span><div class=\"bar %s\"><i style=\"width:%.2f%%\"></i><span>%s ns</span>"
		"</div>\n",
		title(f->name), strcmp(f->name, "auto") == 0 ? "b" : "a",
		most > 0 ? 80 * ns / most : 0, qv_text_real(ns).s);
}

static int by_cost(const void *one, const void *other)
{
	const struct qv_measure_figure *const *a = one, *const *b = other;

	return ((*a)->ns.value > (*b)->ns.value) - ((*a)->ns.value < (*b)->ns.value);
}

static void put_bars(FILE *out, const struct qv_cost *c)
{
	const struct qv_measure_figure **order =
		qv_measure_need(malloc((c->m.n + 1) * sizeof(*order)));
	size_t n = 0;

	for (size_t i = 0; i < c->m.n; i++)
		if (c->m.at[i].measured)
			order[n++] = &c->m.at[i];
	qsort(order, n, sizeof(*order), by_cost);
	fputs("<div class=\"bars\">\n", out);
	for (size_t i = 0; i < n; i++)
		put_bar(out, c, order[i], message_ns(c, order[n - 1]));
	fputs("</div>\n", out);
	free(order);
}

void qv_page_cost(FILE *out, const struct qv_cost *c)
{
	if (!c->known && !*c->why)
		return;
	fputs("<h2>What each structure would cost</h2>\n<p class=\"soft\">", out);
	if (!c->known) {
		fputs("Not measured: ", out);
		qv_text_put(out, c->why);
		fputs(".</p>\n", out);
		return;
	}
	fprintf(out,
		"Matching of one message, measured on this machine by a replay of %s calls; shorter is "
		"better. Nanoseconds matter to a program that spends much of its time so: "
		"<code>quiver trace advise</code> says which part it is.</p>\n",
		qv_text_count(c->m.operations).s);
	put_bars(out, c);
}
