/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verdict.c - what the rows say about auto: against the best other implementation of each
 * case, against what MPIs ship (ll, ompi, ucx), and against every other one.
 */
#include "match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR    1.05 /* a case is lost only if the whole interval lies above */
#define SHALLOW 4096
#define LISTED  20 /* lost cases that are named */

/* auto and another implementation in one case. */
struct cell {
	const struct qv_bench_row *mine, *other;
	struct qv_bench_interval ratio;
};

/* What is compared: the medians of the rounds, or the means with the first operations. */
struct view {
	const char *name, *title;
	bool means;
};

static const struct view views[] = {
	{"p50", "medians", false},
	{"mean", "means, with the first operations of a fresh engine", true},
};

static double value_of(const struct view *view, const struct qv_bench_row *row)
{
	return view->means ? row->mean : row->p50;
}

static struct cell compare(const struct view *view, const struct qv_bench_row *mine,
			   const struct qv_bench_row *other)
{
	struct cell cell = {.mine = mine, .other = other};
	size_t rounds = mine->rounds < other->rounds ? mine->rounds : other->rounds;

	cell.ratio = qv_bench_ratio(view->means ? mine->means : mine->medians,
				    view->means ? other->means : other->medians, rounds);
	return cell;
}

static bool timed(const struct qv_bench_row *row)
{
	return row->n && row->means;
}

/* One of the names, or, without names, anyone but auto. */
static bool is_rival(const struct qv_bench_row *row, const char *const *names)
{
	if (!timed(row) || qv_bm_is_auto(row->impl))
		return false;
	for (; names && *names; names++)
		if (strcmp(row->impl, *names) == 0)
			return true;
	return !names;
}

/*
 * Cells of all cases that have auto and a rival: the best rival of each. The rows of a case are
 * neighbours. Returns their number; *cells is freed by the caller.
 */
static size_t find_cells(const struct qv_bench *bench, const struct view *view,
			 const char *const *names, struct cell **cells)
{
	size_t n = 0, first = 0, end;

	*cells = calloc(bench->rows_n + 1, sizeof(**cells));
	if (!*cells)
		abort();
	for (; first < bench->rows_n; first = end) {
		const struct qv_bench_row *mine = NULL, *best = NULL;

		for (end = first; end < bench->rows_n; end++) {
			const struct qv_bench_row *row = &bench->rows[end];

			if (strcmp(row->name, bench->rows[first].name))
				break;
			if (timed(row) && strcmp(row->impl, "auto") == 0)
				mine = row;
			if (is_rival(row, names) &&
			    (!best || value_of(view, row) < value_of(view, best)))
				best = row;
		}
		if (mine && best)
			(*cells)[n++] = compare(view, mine, best);
	}
	return n;
}

static long depth_of(const struct cell *cell)
{
	const char *slash = strrchr(cell->mine->name, '/');

	return slash ? strtol(slash + 1, NULL, 10) : 0;
}

static void note(struct qv_bench *bench, const struct view *view, const char *key, double value)
{
	char name[QV_BENCH_NAME];

	snprintf(name, sizeof(name), "%.8s_%.50s", view->name, key);
	qv_bench_verdict_add(bench, name, value);
}

static void put_cell(const struct cell *cell, FILE *out)
{
	char text[64];

	qv_bench_interval_text(cell->ratio, text, sizeof(text));
	fprintf(out, "%s %s x %s", cell->mine->name, text, cell->other->impl);
}

static void put_worst(struct qv_bench *bench, const struct view *view, const struct cell *cells,
		      size_t n, bool deep, FILE *out)
{
	const struct cell *worst = NULL;

	for (size_t i = 0; i < n; i++)
		if ((depth_of(&cells[i]) > SHALLOW) == deep &&
		    (!worst || cells[i].ratio.value > worst->ratio.value))
			worst = &cells[i];
	if (!worst)
		return;
	fprintf(out, "  worst %s: ", deep ? "deeper" : "up to 4096");
	put_cell(worst, out);
	fputc('\n', out);
	note(bench, view, deep ? "worst_deep" : "worst_shallow", worst->ratio.value);
}

static int by_ratio(const void *a, const void *b)
{
	double x = ((const struct cell *)a)->ratio.value, y = ((const struct cell *)b)->ratio.value;

	return (x < y) - (x > y);
}

static void against_best(struct qv_bench *bench, const struct view *view, FILE *out)
{
	struct cell *cells;
	size_t n = find_cells(bench, view, NULL, &cells), lost = 0, listed = 0;

	for (size_t i = 0; i < n; i++)
		lost += cells[i].ratio.low > NEAR;
	if (n) {
		fprintf(out,
			"  within %.2f x of the best other, or not surely beyond: %zu of %zu (%.1f %%)\n",
			NEAR, n - lost, n, 100.0 * (double)(n - lost) / (double)n);
		note(bench, view, "cases", (double)n);
		note(bench, view, "near_best", (double)(n - lost));
	}
	put_worst(bench, view, cells, n, false, out);
	put_worst(bench, view, cells, n, true, out);
	qsort(cells, n, sizeof(*cells), by_ratio);
	for (size_t i = 0; i < n && listed < LISTED; i++) {
		if (!(cells[i].ratio.low > NEAR))
			continue;
		fputs(listed++ ? "        " : "  lost: ", out);
		put_cell(&cells[i], out);
		fputc('\n', out);
	}
	if (lost > listed)
		fprintf(out, "        and %zu more\n", lost - listed);
	free(cells);
}

static double geometric_mean(const struct cell *cells, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += log(cells[i].ratio.value);
	return exp(sum / (double)n);
}

static void against_shipping(struct qv_bench *bench, const struct view *view, FILE *out)
{
	static const char *const shipping[] = {"ll", "ompi", "ucx", NULL};
	struct cell *cells;
	size_t n = find_cells(bench, view, shipping, &cells);

	if (n) {
		fprintf(out, "  geometric mean against the best of ll, ompi, ucx: %.3f (%zu)\n",
			geometric_mean(cells, n), n);
		note(bench, view, "geomean_shipping", geometric_mean(cells, n));
	}
	free(cells);
}

/* prq|umq/rand from 1000 on: how many times as fast as this one, at least. */
static void deep_random(struct qv_bench *bench, const struct view *view, const char *name,
			FILE *out)
{
	const char *const names[] = {name, NULL};
	struct cell *cells;
	size_t n = find_cells(bench, view, names, &cells);
	const struct cell *worst = NULL;
	char key[QV_BENCH_NAME];

	for (size_t i = 0; i < n; i++)
		if (strncmp(cells[i].mine->name + 3, "/rand/", 6) == 0 &&
		    depth_of(&cells[i]) >= 1000 &&
		    (!worst || cells[i].ratio.value > worst->ratio.value))
			worst = &cells[i];
	if (worst) {
		fprintf(out,
			"  prq|umq/rand/1000 and deeper: at least %.2f times as fast as %s (%s)\n",
			1 / worst->ratio.value, name, worst->mine->name);
		snprintf(key, sizeof(key), "rand_deep_%s", name);
		note(bench, view, key, 1 / worst->ratio.value);
	}
	free(cells);
}

static void against_each(const struct qv_bench *bench, const struct view *view, FILE *out)
{
	for (size_t r = 0; r < bench->rows_n; r++) {
		const char *names[] = {bench->rows[r].impl, NULL};
		size_t faster = 0, slower = 0, n;
		struct cell *cells;

		/* The implementations are those of the first case. */
		if (strcmp(bench->rows[r].name, bench->rows[0].name))
			break;
		n = find_cells(bench, view, names, &cells);
		for (size_t i = 0; i < n; i++) {
			faster += cells[i].ratio.high < 1 / NEAR;
			slower += cells[i].ratio.low > NEAR;
		}
		if (n)
			fprintf(out, "  against %-12s %.3f, faster in %zu, slower in %zu of %zu\n",
				names[0], geometric_mean(cells, n), faster, slower, n);
		free(cells);
	}
}

void qv_bm_verdict(struct qv_bench *bench, FILE *out)
{
	struct cell *cells;
	size_t n = find_cells(bench, &views[0], NULL, &cells);

	free(cells);
	if (!n)
		return;
	for (size_t v = 0; v < sizeof(views) / sizeof(views[0]); v++) {
		const struct view *view = &views[v];

		fprintf(out, "\nauto, by %s\n", view->title);
		against_best(bench, view, out);
		against_shipping(bench, view, out);
		deep_random(bench, view, "ucx", out);
		deep_random(bench, view, "ll", out);
		against_each(bench, view, out);
	}
}
