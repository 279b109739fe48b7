/* SPDX-License-Identifier: BSD-2-Clause */
/* papers.c - `quiver bench match --papers`: the groups, the table, the verdicts. */
#include "run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct group {
	const char *name; /* what --filter takes */
	void (*run)(struct qv_pp *pp);
} groups[] = {
	{"q1", qv_pp_q1},           {"root", qv_pp_root},   {"q4", qv_pp_q4},
	{"q5", qv_pp_q5},           {"q8", qv_pp_q8},       {"q9", qv_pp_q9},
	{"q10", qv_pp_q10},         {"q11", qv_pp_q11},     {"q12", qv_pp_q12},
	{"q13", qv_pp_q13},         {"mb1", qv_pp_mb1},     {"mb3", qv_pp_mb3},
	{"slots", qv_pp_slots},     {"mb4", qv_pp_mb4},     {"four", qv_pp_four},
	{"shuffle", qv_pp_shuffle}, {"inner", qv_pp_inner},
};

void qv_pp_line(struct qv_pp *pp, const char *id, const char *paper, const char *unit,
		struct qv_bench_interval ours, double low, double high, const char *what, ...)
{
	struct qv_pp_line *line;
	va_list args;

	if (pp->lines_n == pp->lines_room) {
		pp->lines_room = pp->lines_room ? 2 * pp->lines_room : 64;
		pp->lines = realloc(pp->lines, pp->lines_room * sizeof(*pp->lines));
		if (!pp->lines)
			abort();
	}
	line = &pp->lines[pp->lines_n++];
	*line = (struct qv_pp_line){.ours = ours, .low = low, .high = high};
	snprintf(line->id, sizeof(line->id), "%s", id);
	snprintf(line->paper, sizeof(line->paper), "%s", paper);
	snprintf(line->unit, sizeof(line->unit), "%s", unit);
	va_start(args, what);
	vsnprintf(line->what, sizeof(line->what), what, args);
	va_end(args);
}

struct qv_bench_interval qv_pp_exact(double value)
{
	return (struct qv_bench_interval){value, value, value};
}

struct qv_bench_interval qv_pp_gain(const struct qv_pp *pp, size_t a, size_t b)
{
	const struct qv_bench_row *x = &pp->bench.rows[a], *y = &pp->bench.rows[b];

	if (!x->rounds || x->rounds != y->rounds)
		return qv_pp_exact(NAN);
	return qv_bench_ratio(x->medians, y->medians, x->rounds);
}

/* The median over the rounds, with the interval of a ratio to 1. */
struct qv_bench_interval qv_pp_time(const struct qv_pp *pp, size_t row)
{
	const struct qv_bench_row *x = &pp->bench.rows[row];
	struct qv_bench_interval time;
	double *one = malloc((x->rounds + 1) * sizeof(*one));

	if (!one)
		abort();
	for (size_t i = 0; i < x->rounds; i++)
		one[i] = 1;
	time = x->rounds ? qv_bench_ratio(x->medians, one, x->rounds) : qv_pp_exact(NAN);
	free(one);
	return time;
}

enum verdict { NO_BOUND, MET, DOUBTFUL, KNOWN, MISSED, NO_FIGURE, N_VERDICTS };

static const char *const verdict_name[N_VERDICTS] = {"",      "met",    "missed?",
						     "known", "MISSED", "no figure"};

/* Bounds that are missed here, too, on an idle machine: docs/bench.md says why. */
static const struct {
	const char *id, *what; /* what: a part of it */
} known[] = {
	{"Q3", "pnp-static over pnp, umq"},
	{"Q4", "below t"},
	{"Q5", "pnp:t=1000000 over ll"},
	{"Q8", "overhead of col-pnp"},
};

static bool is_known(const struct qv_pp_line *l)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(l->id, known[i].id) && strstr(l->what, known[i].what))
			return true;
	return false;
}

/* A bound is missed when the figure is beyond it, but not proven while the interval holds it. */
static enum verdict judge(const struct qv_pp_line *l)
{
	const bool low = (l->ours.value < l->low), high = (l->ours.value > l->high);

	if (isnan(l->ours.value))
		return NO_FIGURE;
	if (isnan(l->low) && isnan(l->high))
		return NO_BOUND;
	if (!low && !high)
		return MET;
	if (low ? l->ours.high >= l->low : l->ours.low <= l->high)
		return DOUBTFUL;
	return is_known(l) ? KNOWN : MISSED;
}

static void print_bound(const struct qv_pp_line *l, FILE *out)
{
	char text[32] = "";

	if (!isnan(l->low) && !isnan(l->high))
		snprintf(text, sizeof(text), "%.4g..%.4g", l->low, l->high);
	else if (!isnan(l->low))
		snprintf(text, sizeof(text), ">= %.4g", l->low);
	else if (!isnan(l->high))
		snprintf(text, sizeof(text), "<= %.4g", l->high);
	fprintf(out, "  %-14s", text);
}

static void print_lines(const struct qv_pp *pp, FILE *out)
{
	int wide = 4, wide_paper = 5;

	for (size_t i = 0; i < pp->lines_n; i++) {
		int what = (int)strlen(pp->lines[i].what), paper = (int)strlen(pp->lines[i].paper);

		wide = what > wide ? what : wide;
		wide_paper = paper > wide_paper ? paper : wide_paper;
	}
	fprintf(out, "\n%-7s %-*s  %-*s  %-14s  %s\n", "row", wide, "what", wide_paper, "paper",
		"accepted", "here [95 % interval]");
	for (size_t i = 0; i < pp->lines_n; i++) {
		const struct qv_pp_line *l = &pp->lines[i];

		fprintf(out, "%-7s %-*s  %-*s", l->id, wide, l->what, wide_paper,
			*l->paper ? l->paper : "-");
		print_bound(l, out);
		fprintf(out, "  %.4g", l->ours.value);
		if (l->ours.low < l->ours.high)
			fprintf(out, " [%.4g, %.4g]", l->ours.low, l->ours.high);
		fprintf(out, " %s  %s\n", l->unit, verdict_name[judge(l)]);
	}
}

/* Every line's figure by its name, and how many bounds were met and not. */
static void add_verdicts(struct qv_pp *pp, int *counts)
{
	char key[QV_BENCH_NAME];

	for (size_t i = 0; i < pp->lines_n; i++) {
		const struct qv_pp_line *l = &pp->lines[i];

		snprintf(key, sizeof(key), "%s %s", l->id, l->what);
		if (!isnan(l->ours.value))
			qv_bench_verdict_add(&pp->bench, key, l->ours.value);
		counts[judge(l)]++;
	}
	qv_bench_verdict_add(&pp->bench, "bounds met", counts[MET]);
	qv_bench_verdict_add(&pp->bench, "bounds missed",
			     counts[DOUBTFUL] + counts[KNOWN] + counts[MISSED] + counts[NO_FIGURE]);
	qv_bench_verdict_add(&pp->bench, "bounds surely missed, not known",
			     counts[MISSED] + counts[NO_FIGURE]);
}

static int report(struct qv_pp *pp, const struct qv_bench_opts *opts)
{
	int counts[N_VERDICTS] = {0}, status;
	const char *missed = "";

	qv_bench_finish(&pp->bench);
	add_verdicts(pp, counts);
	qv_bench_print(&pp->bench, stdout);
	print_lines(pp, stdout);
	if (counts[MISSED] + counts[NO_FIGURE])
		missed = "; the end is status 3";
	printf("\n%d bounds met, %d within the interval of a figure (missed?), %d missed as known, %d MISSED%s\n",
	       counts[MET], counts[DOUBTFUL], counts[KNOWN], counts[MISSED] + counts[NO_FIGURE],
	       missed);
	status = qv_bench_save(&pp->bench, opts);
	if (pp->wrong)
		return 1;
	return status || !*missed ? status : 3;
}

int qv_bench_papers(struct qv_bench_opts *opts)
{
	struct qv_pp pp = {.bench = {.name = "papers"}, .quick = opts->quick};
	bool some = false;
	int status;

	if (opts->impls) {
		fprintf(stderr, "quiver: --papers names its own implementations: no --impl\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		some |= qv_bench_case_wanted(opts, groups[i].name);
	if (!some) {
		fprintf(stderr, "quiver: no group of --papers is named %s; there are",
			opts->filter);
		for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
			fprintf(stderr, " %s", groups[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	pp.rounds = pp.quick ? 5 : 11;
	qv_bench_machine(&pp.bench, opts);
	qv_bench_fact_add(&pp.bench, "isa", "%s", qv_isa_name(qv_isa_best()));
	qv_bench_machine_print(&pp.bench, stdout);
	fflush(stdout);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (qv_bench_case_wanted(opts, groups[i].name))
			groups[i].run(&pp);
	status = report(&pp, opts);
	qv_bench_free(&pp.bench);
	free(pp.lines);
	return status;
}
