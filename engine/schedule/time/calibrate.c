/* SPDX-License-Identifier: BSD-2-Clause */
/* calibrate.c - what a network is like, from measurements (the estimator of Theil and Sen), and
 * what a group makes of those of its members. */
#include "engine/schedule/agree.h"

#include <stdlib.h>

#define LEAST_ALPHA 1e-9
#define MOST        1.0 /* s a message, or a byte */
#define GAMMA_TURNS 4

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

int qv_network_fit_moves(const struct qv_sample *moves, size_t n_moves, struct qv_network *network)
{
	const int rc = fit(moves, n_moves, &network->alpha, &network->beta);

	if (!rc && network->alpha < LEAST_ALPHA)
		network->alpha = LEAST_ALPHA;
	return rc;
}

int qv_network_fit(const struct qv_sample *moves, size_t n_moves, const struct qv_sample *combines,
		   size_t n_combines, struct qv_network *network)
{
	struct qv_network fitted = {0};
	double unused;
	int rc = qv_network_fit_moves(moves, n_moves, &fitted);

	if (!rc)
		rc = fit(combines, n_combines, &unused, &fitted.gamma);
	if (!rc)
		*network = fitted;
	return rc;
}

double qv_network_gamma(const struct qv_combine *combine, double (*now)(void), void *memory)
{
	const size_t bytes = QV_GAMMA_ROOM / 2, n = bytes / sizeof(double);
	double *a = memory, shortest = 0;

	for (int turn = 0; turn < GAMMA_TURNS; turn++) { /* the first of them brings the code */
		const double begin = now();
		double took;

		qv_combine_to(combine, QV_OP_SUM, QV_TYPE_DOUBLE, a, a, a + n, n);
		took = now() - begin;
		shortest = !turn || took < shortest ? took : shortest;
	}
	return shortest / (double)bytes;
}

/* Of the figure that stands so many bytes behind the first; 0: there is none. */
static int agree_on(const struct qv_network *told, size_t n, size_t offset, double least,
		    double *room, double *agreed)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		const double figure = *(const double *)((const char *)&told[i] + offset);

		if (figure >= least && figure <= MOST) /* which no NaN is */
			room[k++] = figure;
	}
	if (k)
		*agreed = median(room, k);
	return k > 0;
}

int qv_network_agree(const struct qv_network *told, size_t n, double *room,
		     struct qv_network *network)
{
	struct qv_network all = {0};

	if (!agree_on(told, n, offsetof(struct qv_network, alpha), LEAST_ALPHA, room, &all.alpha) ||
	    !agree_on(told, n, offsetof(struct qv_network, beta), 0, room, &all.beta) ||
	    !agree_on(told, n, offsetof(struct qv_network, gamma), 0, room, &all.gamma))
		return QV_EINVAL;
	*network = all;
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
