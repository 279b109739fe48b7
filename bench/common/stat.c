/* SPDX-License-Identifier: BSD-2-Clause */
/* stat.c - timer, percentiles and the bootstrap of a ratio. */
#include "bench.h"
#include "engine/base/clock.h"
#include "engine/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QV_BENCH_RESAMPLES 2000
#define QV_BENCH_FEW       32

double qv_bench_seconds(void)
{
	return qv_clock_seconds();
}

double qv_bench_tick_ns(void)
{
	static double tick_ns;
	uint64_t ticks;
	double start, now;

	if (tick_ns > 0)
		return tick_ns;
	start = qv_bench_seconds();
	ticks = qv_ticks();
	do
		now = qv_bench_seconds();
	while (now - start < 0.02);
	tick_ns = (now - start) * 1e9 / (double)(qv_ticks() - ticks);
	return tick_ns;
}

static int by_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double qv_bench_percentile(float *samples, size_t n, double p)
{
	size_t at = (size_t)(p * (double)(n - 1) + 0.5);

	qsort(samples, n, sizeof(*samples), by_float);
	return (double)samples[at];
}

/* For the many short arrays of the bootstrap. */
static void sort_few(double *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		double value = values[i];
		size_t at = i;

		for (; at && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

/* Sorts its argument. */
static double middle(double *values, size_t n)
{
	if (n <= QV_BENCH_FEW)
		sort_few(values, n);
	else
		qsort(values, n, sizeof(*values), by_double);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double qv_bench_median(const double *values, size_t n)
{
	double *copy = malloc(n * sizeof(*copy));
	double median;

	if (!copy)
		abort();
	memcpy(copy, values, n * sizeof(*copy));
	median = middle(copy, n);
	free(copy);
	return median;
}

struct qv_bench_interval qv_bench_ratio(const double *a, const double *b, size_t rounds)
{
	struct qv_bench_interval out = {0};
	uint64_t state = 0x9E3779B97F4A7C15u;
	double *medians = malloc(QV_BENCH_RESAMPLES * sizeof(*medians));
	double *ratios = malloc(rounds * sizeof(*ratios)), *drawn = malloc(rounds * sizeof(*drawn));

	if (!medians || !ratios || !drawn)
		abort();
	for (size_t r = 0; r < rounds; r++)
		ratios[r] = a[r] / b[r];
	for (size_t i = 0; i < QV_BENCH_RESAMPLES; i++) {
		for (size_t r = 0; r < rounds; r++)
			drawn[r] = ratios[(qv_random(&state) >> 32) % rounds];
		medians[i] = middle(drawn, rounds);
	}
	qsort(medians, QV_BENCH_RESAMPLES, sizeof(*medians), by_double);
	out.value = qv_bench_median(ratios, rounds);
	out.low = rounds < 2 ? NAN : medians[QV_BENCH_RESAMPLES / 40];
	out.high = rounds < 2 ? NAN : medians[QV_BENCH_RESAMPLES - 1 - QV_BENCH_RESAMPLES / 40];
	free(drawn);
	free(ratios);
	free(medians);
	return out;
}

void qv_bench_interval_text(struct qv_bench_interval interval, char *text, size_t size)
{
	if (isnan(interval.low))
		snprintf(text, size, "%.3f [one round]", interval.value);
	else
		snprintf(text, size, "%.3f [%.3f, %.3f]", interval.value, interval.low,
			 interval.high);
}
