/* SPDX-License-Identifier: BSD-2-Clause */
/* delays.c - when each rank comes to a call: by a rule, drawn, or as a file says. */
#include "coll.h"
#include "engine/base/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED         2016
#define MOST_BYTES   (16 << 20) /* of a file */
#define MOST_SECONDS 100        /* of a delay in it */

/* Draws of one iteration: another stream for each. */
static uint64_t stream_of(uint64_t iteration)
{
	uint64_t state = SEED;

	state = qv_random(&state) ^ iteration;
	return qv_random(&state);
}

static double draw_normal(uint64_t *state)
{
	const double radius = sqrt(-2 * log(1 - qv_random_unit(state)));

	return radius * cos(6.283185307179586 * qv_random_unit(state));
}

/* A gamma distribution whose mean is its shape (Marsaglia and Tsang, "A simple method for generating
 * gamma variables", ACM TOMS 2000). */
static double draw_gamma(double shape, uint64_t *state)
{
	const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
	double x, v, u;

	do {
		x = draw_normal(state);
		v = pow(1 + c * x, 3);
		u = 1 - qv_random_unit(state);
	} while (v <= 0 || log(u) >= x * x / 2 + d * (1 - v + log(v)));
	if (shape >= 1)
		return d * v;
	return d * v * pow(1 - qv_random_unit(state), 1 / shape);
}

/* Each choice of so many ranks is as likely as another. */
static void delay_some(const struct qv_bl_case *c, uint64_t *state, double delay, double *delays)
{
	int left = c->some;

	for (int r = 0; r < c->ranks; r++) {
		const bool late = qv_random_below(state, (uint64_t)(c->ranks - r)) < (uint64_t)left;

		delays[r] = late ? delay : 0;
		left -= late;
	}
}

void qv_bl_delays(const struct qv_bl_case *c, const struct qv_bl_trace *trace, double unit,
		  uint64_t iteration, double *delays)
{
	const double delay = c->late * unit;
	uint64_t state = stream_of(iteration);

	if (c->pattern == 'f') {
		memcpy(delays, trace->seconds + iteration % trace->lines * (size_t)c->ranks,
		       (size_t)c->ranks * sizeof(*delays));
		return;
	}
	if (c->pattern == 'o') {
		delay_some(c, &state, delay, delays);
		return;
	}
	for (int r = 0; r < c->ranks; r++)
		switch (c->pattern) {
		case 'l': delays[r] = r == c->ranks - 1 ? delay : 0; break;
		case 'a': delays[r] = r % 2 ? delay : 0; break;
		case 'n': delays[r] = delay * qv_random_unit(&state); break;
		case 'g': delays[r] = delay * draw_gamma(c->shape, &state) / c->shape; break;
		default: delays[r] = 0; break;
		}
}

double qv_bl_imbalance(const double *delays, int ranks)
{
	double first = delays[0], last = delays[0];

	for (int r = 1; r < ranks; r++) {
		first = fmin(first, delays[r]);
		last = fmax(last, delays[r]);
	}
	return last - first;
}

/* A file. */

static char *read_whole(const char *path, size_t *n)
{
	FILE *in = fopen(path, "r");
	char *text = in ? malloc(MOST_BYTES + 1) : NULL;
	bool whole = false;

	if (text) {
		*n = fread(text, 1, MOST_BYTES + 1, in);
		whole = !ferror(in);
	}
	if (!whole)
		fprintf(stderr, "quiver: --delays: cannot read %s: %s\n", path, strerror(errno));
	else if (*n > MOST_BYTES)
		fprintf(stderr, "quiver: --delays: %s is longer than 16 MiB\n", path);
	if (in)
		fclose(in);
	if (whole && *n <= MOST_BYTES)
		return text;
	free(text);
	return NULL;
}

/* Such a line has nothing to say. */
static bool is_remark(const char *line, const char *end)
{
	line += strspn(line, " \t\r");
	return line == end || *line == '#';
}

static int parse_line(const char *line, const char *end, int ranks, double *seconds)
{
	for (int r = 0; r < ranks; r++) {
		char *after;

		seconds[r] = strtod(line, &after);
		if (after == line || !strchr(" \t\r", *after))
			return -1; /* strchr finds the end of the line, too */
		if (!(seconds[r] >= 0 && seconds[r] <= MOST_SECONDS))
			return -1;
		line = after;
	}
	return line + strspn(line, " \t\r") == end ? 0 : -1;
}

static int parse_lines(char *text, size_t n, const char *path, int ranks, struct qv_bl_trace *out)
{
	char *const last = text + n;
	int number = 1;

	for (char *line = text, *end; line < last; line = end + 1, number++) {
		double *place = out->seconds + out->lines * (size_t)ranks;

		end = memchr(line, '\n', (size_t)(last - line));
		end = end ? end : last;
		*end = '\0';
		if (is_remark(line, end))
			continue;
		if (parse_line(line, end, ranks, place)) {
			fprintf(stderr,
				"quiver: --delays: line %d of %s is not one delay for each of %d ranks, in "
				"seconds, from 0 to %d\n",
				number, path, ranks, MOST_SECONDS);
			return -1;
		}
		out->lines++;
	}
	if (!out->lines)
		fprintf(stderr, "quiver: --delays: %s has no delays\n", path);
	return out->lines ? 0 : -1;
}

/* A number is a digit and a character after it, at least. */
int qv_bl_trace_read(const char *path, int ranks, struct qv_bl_trace *out)
{
	size_t n = 0;
	char *text = read_whole(path, &n);
	int rc = -1;

	*out = (struct qv_bl_trace){NULL, 0};
	if (!text)
		return -1;
	out->seconds = malloc((n / 2 + (size_t)ranks + 1) * sizeof(double));
	if (out->seconds)
		rc = parse_lines(text, n, path, ranks, out);
	else
		fprintf(stderr, "quiver: no memory for %s\n", path);
	free(text);
	if (rc)
		qv_bl_trace_free(out);
	return rc;
}

void qv_bl_trace_free(struct qv_bl_trace *trace)
{
	free(trace->seconds);
	*trace = (struct qv_bl_trace){NULL, 0};
}
