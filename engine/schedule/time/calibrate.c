/* SPDX-License-Identifier: BSD-2-Clause */
/* calibrate.c - what a network is like, from measurements (the estimator of Theil and Sen). */
#include <quiver/predict.h>

#include <stdlib.h>

#define LEAST_ALPHA 1e-9

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* seconds = *start + *slope * bytes */
static int fit(const struct qv_sample *s, size_t n, double *start, double *slope)
{
	double *v;
	size_t k = 0;

	if (n < 2)
		return QV_EINVAL;
	v = calloc(n, n * sizeof(*v));
	if (!v)
		return QV_ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (s[i].bytes < s[j].bytes || s[i].bytes > s[j].bytes)
				v[k++] = (s[i].seconds - s[j].seconds) / (s[i].bytes - s[j].bytes);
	if (k) {
		*slope = median(v, k);
		if (*slope < 0)
			*slope = 0;
		for (size_t i = 0; i < n; i++)
			v[i] = s[i].seconds - *slope * s[i].bytes;
		*start = median(v, n);
	}
	free(v);
	return k ? QV_OK : QV_EINVAL;
}

int qv_network_fit(const struct qv_sample *moves, size_t n_moves, const struct qv_sample *combines,
		   size_t n_combines, struct qv_network *network)
{
	struct qv_network fitted = {0};
	double unused;
	int rc = fit(moves, n_moves, &fitted.alpha, &fitted.beta);

	if (!rc)
		rc = fit(combines, n_combines, &unused, &fitted.gamma);
	if (rc)
		return rc;
	if (fitted.alpha < LEAST_ALPHA)
		fitted.alpha = LEAST_ALPHA;
	*network = fitted;
	return QV_OK;
}

uint32_t qv_segments_fit(const uint32_t *segments, const double *seconds, size_t n)
{
	double fastest = seconds[0];
	uint32_t best = UINT32_MAX;

	for (size_t i = 1; i < n; i++)
		if (seconds[i] < fastest)
			fastest = seconds[i];
	for (size_t i = 0; i < n; i++)
		if (seconds[i] <= 1.02 * fastest && segments[i] < best)
			best = segments[i];
	return best;
}
