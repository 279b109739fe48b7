/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - the tables: a line for each case, a column for each implementation. */
#include "match.h"

#include <string.h>

#define COLUMNS   11 /* implementations beside each other */
#define LONG_FORM 3  /* so few implementations have a line each */

enum figure { P50, P99, MEAN };

static double figure_of(const struct qv_bench_row *row, enum figure figure)
{
	return figure == P50 ? row->p50 : figure == P99 ? row->p99 : row->mean;
}

static void put_figure(const struct qv_bench_row *row, enum figure figure, FILE *out)
{
	double value = figure_of(row, figure);

	if (!row->n)
		fprintf(out, " %10s", strncmp(row->answer, "wrong", 5) ? "-" : "WRONG");
	else
		fprintf(out, value < 100 ? " %10.2f" : " %10.0f", value);
}

/* The best of the others, with the interval of the first implementation's ratio to it. */
static void put_best(const struct qv_bench *bench, size_t first, size_t n, FILE *out)
{
	const struct qv_bench_row *best = NULL;

	for (size_t i = first; i < first + n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];

		if (row->n && !qv_bm_is_auto(row->impl) && (!best || row->p50 < best->p50))
			best = row;
	}
	for (size_t i = 0; best && i < bench->ratios_n; i++) {
		const struct qv_bench_ratio_line *r = &bench->ratios[i];
		char text[64];

		if (r->row < first || r->row >= first + n || strcmp(r->of, best->impl))
			continue;
		qv_bench_interval_text(r->ratio, text, sizeof(text));
		fprintf(out, "   %s x %s", text, best->impl);
	}
}

/* Implementations from `from` on, of all cases. The rows of a case are neighbours. */
static void put_table(const struct qv_bench *bench, size_t n, size_t from, enum figure figure,
		      FILE *out)
{
	static const char *const title[] = {"p50", "p99", "mean, with the first operations"};
	size_t to = from + COLUMNS < n ? from + COLUMNS : n;
	int wide = 4;

	for (size_t i = 0; i < bench->rows_n; i += n)
		if ((int)strlen(bench->rows[i].name) > wide)
			wide = (int)strlen(bench->rows[i].name);
	fprintf(out, "\n%s (%s)\n%-*s", title[figure],
		figure == P50 ? "ns/op; mem: bytes" : "ns/op", wide, "case");
	for (size_t i = from; i < to; i++)
		fprintf(out, " %10s", bench->rows[i].impl);
	fputs(figure == P50 && to == n ? "   auto / best other [95 % interval]\n" : "\n", out);
	for (size_t i = 0; i < bench->rows_n; i += n) {
		/* Bytes have no spread. */
		if (figure != P50 && strcmp(bench->rows[i].unit, "bytes") == 0)
			continue;
		fprintf(out, "%-*s", wide, bench->rows[i].name);
		for (size_t k = from; k < to; k++)
			put_figure(&bench->rows[i + k], figure, out);
		if (figure == P50 && to == n)
			put_best(bench, i, n, out);
		fputc('\n', out);
	}
}

/* Implementations that a case has no figures of, and why; one line when it is the same for all. */
static void put_reasons(const struct qv_bench *bench, size_t n, FILE *out)
{
	bool any = false;

	for (size_t first = 0; first < bench->rows_n; first += n) {
		const struct qv_bench_row *rows = &bench->rows[first];
		size_t same = 0;

		for (size_t i = 0; i < n; i++)
			same += !rows[i].n && strcmp(rows[i].answer, rows[0].answer) == 0;
		for (size_t i = 0; i < n; i++) {
			if (rows[i].n || (same == n && i))
				continue;
			fprintf(out, "%s%s %s: %s\n", any ? "" : "\nwithout figures\n",
				rows[i].name, same == n ? "all" : rows[i].impl, rows[i].answer);
			any = true;
		}
	}
}

void qv_bm_print(const struct qv_bench *bench, const struct qv_bm_plan *plan, FILE *out)
{
	size_t n = plan->impls.n;

	if (n <= LONG_FORM) {
		qv_bench_print(bench, out);
		return;
	}
	for (enum figure figure = P50; figure <= MEAN; figure++)
		for (size_t from = 0; from < n; from += COLUMNS)
			put_table(bench, n, from, figure, out);
	put_reasons(bench, n, out);
}
