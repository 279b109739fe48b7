/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_spread.c - how the processes of a job differ: mean, deviation and quartiles of each column. */
#include "stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double qv_stats_per(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

static double value(const struct qv_stats_counters *c, unsigned column)
{
	switch (column) {
	case QV_STATS_ARRIVED: return (double)c->arrived;
	case QV_STATS_UNEXPECTED: return qv_stats_per(c->unexpected, c->arrived);
	case QV_STATS_INSPECTED: return qv_stats_per(c->inspected, c->arrived);
	case QV_STATS_POSTED_MAX: return (double)c->posted_max;
	case QV_STATS_UNEXPECTED_MAX: return (double)c->unexpected_max;
	default: return (double)c->bytes_max;
	}
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* v: n values, which are sorted. */
static struct qv_stats_spread spread_of(double *v, size_t n)
{
	struct qv_stats_spread s = {.mean = 0};

	for (size_t i = 0; i < n; i++)
		s.mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		s.deviation += (v[i] - s.mean) * (v[i] - s.mean) / (double)n;
	s.deviation = sqrt(s.deviation);
	qsort(v, n, sizeof *v, ascending);
	for (size_t q = 0; q < 3; q++) {
		const size_t at = (q + 1) * (n - 1) / 4, quarters = (q + 1) * (n - 1) % 4;

		s.quartile[q] = v[at];
		if (quarters)
			s.quartile[q] += (double)quarters / 4 * (v[at + 1] - v[at]);
	}
	return s;
}

bool qv_stats_spread(struct qv_stats_spread *spread, const struct qv_stats_process *p, size_t n)
{
	double *v = malloc(n * sizeof *v);

	if (!v)
		return false;
	for (unsigned c = 0; c < QV_STATS_COLUMNS; c++) {
		for (size_t i = 0; i < n; i++)
			v[i] = value(&p[i].c, c);
		spread[c] = spread_of(v, n);
	}
	free(v);
	return true;
}

/* Each row is one member of the structure. */
void qv_stats_spread_print(const struct qv_stats_spread *spread)
{
	static const char *const names[] = {"mean", "deviation", "lower quartile", "median",
					    "upper quartile"};

	for (size_t row = 0; row < sizeof names / sizeof *names; row++) {
		double v[QV_STATS_COLUMNS];

		for (unsigned c = 0; c < QV_STATS_COLUMNS; c++)
			v[c] = row == 0   ? spread[c].mean
			       : row == 1 ? spread[c].deviation
					  : spread[c].quartile[row - 2];
		printf("%6s  %-16s %12.1f %10.1f %% %12.2f %12.1f %12.1f %12.1f\n", "", names[row],
		       v[QV_STATS_ARRIVED], 100 * v[QV_STATS_UNEXPECTED], v[QV_STATS_INSPECTED],
		       v[QV_STATS_POSTED_MAX], v[QV_STATS_UNEXPECTED_MAX], v[QV_STATS_BYTES_MAX]);
	}
}

json_t *qv_stats_spread_json(const struct qv_stats_spread *spread)
{
	static const char *const names[QV_STATS_COLUMNS] = {
		[QV_STATS_ARRIVED] = "arrived",
		[QV_STATS_UNEXPECTED] = "unexpected_share",
		[QV_STATS_INSPECTED] = "inspected_per_message",
		[QV_STATS_POSTED_MAX] = "posted_max",
		[QV_STATS_UNEXPECTED_MAX] = "unexpected_max",
		[QV_STATS_BYTES_MAX] = "unexpected_bytes_max",
	};
	json_t *all = json_object();

	for (unsigned c = 0; c < QV_STATS_COLUMNS; c++)
		json_object_set_new(all, names[c],
				    json_pack("{s:f, s:f, s:[f, f, f]}", "mean", spread[c].mean,
					      "deviation", spread[c].deviation, "quartiles",
					      spread[c].quartile[0], spread[c].quartile[1],
					      spread[c].quartile[2]));
	return all;
}
