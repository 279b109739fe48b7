/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibrate_bursts.c - lines for ranges of lengths: of all ways to cut the measured lengths into
 * ranges of two or more, the one whose lines come nearest. Errors are relative, so that short
 * messages count as much as long ones.
 */
#include <quiver/predict.h>

#include <math.h>
#include <stdlib.h>

#define MOST_RANGES (1 + QV_NETWORK_LONGER)
#define LEAST_ALPHA 1e-9
#define WORTH       0.5 /* one range more must leave less of the squared error than this share */

struct line {
	double alpha, beta;
	double error; /* sum of squares */
};

/* A cut into ranges; range i is of the lengths begin[i] to begin[i + 1] - 1. */
struct cut {
	unsigned int ranges;
	size_t begin[MOST_RANGES + 1];
	struct line lines[MOST_RANGES];
	double error;
};

static int by_length(const void *x, const void *y)
{
	const struct qv_sample *a = x, *b = y;

	if (a->bytes < b->bytes || a->bytes > b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

/* Sorted samples become the median of each length; how many. */
static size_t medians(struct qv_sample *s, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && s[i + k].bytes <= s[i].bytes; k++)
			;
		s[kept].bytes = s[i].bytes;
		s[kept++].seconds = k % 2 ? s[i + k / 2].seconds
					  : (s[i + k / 2 - 1].seconds + s[i + k / 2].seconds) / 2;
	}
	return kept;
}

static double error_of(const struct line *line, const struct qv_sample *s, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		const double off = (line->alpha + line->beta * s[i].bytes) / s[i].seconds - 1;

		sum += off * off;
	}
	return sum;
}

/* Least squares of relative errors, with neither figure below 0. */
static struct line fit_line(const struct qv_sample *s, size_t n)
{
	double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0, below;
	struct line line;

	for (size_t i = 0; i < n; i++) {
		const double x = s[i].bytes, y = s[i].seconds, weight = 1 / (y * y);

		w += weight;
		wx += weight * x;
		wxx += weight * x * x;
		wy += weight * y;
		wxy += weight * x * y;
	}
	below = w * wxx - wx * wx;
	line.beta = below > 0 ? (w * wxy - wx * wy) / below : 0;
	if (!(line.beta > 0))
		line.beta = 0;
	line.alpha = (wy - line.beta * wx) / w;
	if (!(line.alpha > 0)) {
		line.alpha = LEAST_ALPHA;
		line.beta = wxy / wxx;
	}
	line.error = error_of(&line, s, n);
	return line;
}

/* The best cut of s[first] and all behind it into so many ranges more, of which
 * one begins there. */
static void best_cut(const struct qv_sample *s, size_t n, struct cut cut, unsigned int left,
		     struct cut *best)
{
	const size_t first = cut.begin[cut.ranges];

	if (n - first < 2 * (size_t)left)
		return;
	for (size_t end = left == 1 ? n : first + 2; end + 2 * (size_t)(left - 1) <= n; end++) {
		struct cut next = cut;

		next.lines[next.ranges] = fit_line(s + first, end - first);
		next.error += next.lines[next.ranges].error;
		next.begin[++next.ranges] = end;
		if (next.error >= best->error)
			continue;
		if (left == 1)
			*best = next;
		else
			best_cut(s, n, next, left - 1, best);
	}
}

/* Where the lines meet, if that is between the two lengths, else in the middle. */
static double border(const struct line *a, const struct line *b, double low, double high)
{
	const double slope = a->beta - b->beta;
	const double at = slope < 0 || slope > 0 ? (b->alpha - a->alpha) / slope : 0;

	return at > low && at <= high ? at : (low + high) / 2;
}

static void write_network(const struct cut *cut, const struct qv_sample *s,
			  struct qv_network *network)
{
	network->alpha = cut->lines[0].alpha;
	network->beta = cut->lines[0].beta;
	for (unsigned int i = 0; i < QV_NETWORK_LONGER; i++) {
		const struct line *line = &cut->lines[i + 1];
		const size_t at = i + 1 < cut->ranges ? cut->begin[i + 1] : 0;

		network->longer[i].from =
			at ? border(line - 1, line, s[at - 1].bytes, s[at].bytes) : 0;
		network->longer[i].alpha = at ? line->alpha : 0;
		network->longer[i].beta = at ? line->beta : 0;
	}
}

int qv_network_fit_bursts(const struct qv_sample *moves, size_t n_moves, unsigned int ranges,
			  struct qv_network *network)
{
	struct qv_sample *s;
	struct cut best = {.error = INFINITY};
	size_t n;

	if (n_moves < 2 || !ranges || ranges > MOST_RANGES)
		return QV_EINVAL;
	for (size_t i = 0; i < n_moves; i++)
		if (!(moves[i].seconds > 0) || !(moves[i].bytes >= 0) ||
		    !isfinite(moves[i].bytes) || !isfinite(moves[i].seconds))
			return QV_EINVAL;
	s = calloc(n_moves, sizeof(*s));
	if (!s)
		return QV_ENOMEM;
	for (size_t i = 0; i < n_moves; i++)
		s[i] = moves[i];
	qsort(s, n_moves, sizeof(*s), by_length);
	n = medians(s, n_moves);
	for (unsigned int k = 1; k <= ranges && n >= 2 * (size_t)k; k++) {
		struct cut more = {.error = INFINITY};

		best_cut(s, n, (struct cut){0}, k, &more);
		if (k == 1 || more.error < WORTH * best.error)
			best = more;
	}
	if (n >= 2)
		write_network(&best, s, network);
	free(s);
	return n >= 2 ? QV_OK : QV_EINVAL;
}
