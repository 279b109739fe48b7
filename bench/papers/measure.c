/* SPDX-License-Identifier: BSD-2-Clause */
/* measure.c - implementations on a trace: answers checked, then timed in turns. */
#include "run.h"
#include "engine/base/clock.h"

#include <string.h>

#define SLOTS 64 /* samples of one turn at most */

/* Add up what a run took. */
static double add_run(const struct qv_pp_run *r, size_t classes, double *sum)
{
	double total = 0;

	for (uint32_t p = 0; p < r->t->phases; p++) {
		total += r->ns[p];
		for (size_t c = 0; c < classes; c++)
			if (r->t->phase[p].classes >> c & 1)
				sum[c] += r->ns[p];
	}
	return total;
}

/*
 * One sample: the trace as often as it takes (first = 0), or the first runs of a new engine. *cpu:
 * the part of the time that this thread had a CPU.
 */
static bool try_sample(struct qv_pp_run *r, const struct qv_pp_side *side, uint32_t first,
		       double min_ns, double *sum, double *cpu)
{
	size_t classes = qv_pp_classes(r->t);
	double total = 0, wall, before;
	uint32_t runs = 0;
	bool right = !first || qv_pp_create(r, side->structure);

	if (!right)
		return false;
	memset(sum, 0, classes * sizeof(*sum));
	wall = qv_bench_seconds();
	before = (double)qv_clock_cpu_ns();
	while (right && (first ? runs < first : total < min_ns)) {
		right = qv_pp_run_trace(r);
		total += add_run(r, classes, sum);
		runs++;
	}
	*cpu = ((double)qv_clock_cpu_ns() - before) / ((qv_bench_seconds() - wall) * 1e9);
	if (first)
		qv_match_destroy(r->m);
	for (size_t c = 0; c < classes; c++)
		sum[c] /= runs * (double)qv_pp_class_ops(r->t, c);
	return right;
}

/* Other work that had the CPU is not ours: a short sample is taken again, a long one scaled. */
static bool take_sample(struct qv_pp_run *r, const struct qv_pp_side *side, uint32_t first,
			double min_ns, float *out)
{
	double sum[QV_PP_CLASSES], cpu = 0, start = qv_bench_seconds();

	do {
		if (!try_sample(r, side, first, min_ns, sum, &cpu))
			return false;
	} while (cpu < 0.95 && qv_bench_seconds() - start < 0.005);
	for (size_t c = 0; c < qv_pp_classes(r->t); c++)
		out[c] = (float)(sum[c] * (cpu < 0.95 ? cpu : 1));
	return true;
}

static bool take_turn(struct qv_pp *pp, const struct qv_pp_trace *t, const struct qv_pp_layout *l,
		      const struct qv_pp_side *side, int warm, size_t row)
{
	size_t classes = qv_pp_classes(t), n = 0;
	float out[QV_PP_CLASSES], samples[QV_PP_CLASSES][SLOTS];
	struct qv_pp_run r = {.t = t, .l = l};
	double end = qv_bench_seconds() + (pp->quick ? 0.001 : 0.004);
	bool right = true;

	if (warm >= 0 && !qv_pp_create(&r, side->structure))
		return false;
	for (int i = 0; i < warm && right; i++)
		right = qv_pp_run_trace(&r);
	while (right && n < SLOTS && (n < 3 || qv_bench_seconds() < end)) {
		right = take_sample(&r, side, warm < 0 ? (uint32_t)-warm : 0,
				    pp->quick ? 20e3 : 50e3, out);
		for (size_t c = 0; c < classes; c++)
			samples[c][n] = out[c];
		n++;
		/* A run of a long list takes long enough to be a sample by itself. */
		if (n && qv_bench_seconds() > end + 0.02)
			break;
	}
	if (warm >= 0)
		qv_match_destroy(r.m);
	for (size_t c = 0; right && c < classes; c++)
		qv_bench_row_round(&pp->bench.rows[row + c], samples[c], n);
	return right;
}

static size_t add_rows(struct qv_pp *pp, const char *name, const struct qv_pp_trace *t,
		       const struct qv_pp_side *sides, size_t n)
{
	size_t first = pp->bench.rows_n, classes = qv_pp_classes(t);
	char full[QV_BENCH_NAME], impl[QV_BENCH_NAME];

	for (size_t s = 0; s < n; s++) {
		snprintf(impl, sizeof(impl), "%s%s", sides[s].structure,
			 sides[s].scatter ? " scattered" : "");
		for (size_t c = 0; c < classes; c++) {
			struct qv_bench_row *row;

			snprintf(full, sizeof(full), "%s%s%s", name, *t->class_name[c] ? "/" : "",
				 t->class_name[c]);
			row = qv_bench_row_add(&pp->bench, full, impl, "ns/op", false);
			snprintf(row->answer, sizeof(row->answer), "checked");
		}
	}
	return first;
}

static void is_wrong(struct qv_pp *pp, size_t first, size_t classes)
{
	pp->wrong = true;
	for (size_t c = 0; c < classes; c++) {
		struct qv_bench_row *row = &pp->bench.rows[first + c];

		snprintf(row->answer, sizeof(row->answer), "wrong or no memory");
	}
}

size_t qv_pp_measure(struct qv_pp *pp, const char *name, const struct qv_pp_trace *t,
		     const struct qv_pp_side *sides, size_t n, int warm)
{
	size_t classes = qv_pp_classes(t), first = add_rows(pp, name, t, sides, n);
	bool out[QV_PP_SIDES] = {false};
	struct qv_pp_layout l[2];

	qv_pp_lay_out(&l[0], t, false);
	qv_pp_lay_out(&l[1], t, true);
	/* Round 0 is not timed for long: it is the check. */
	for (size_t s = 0; s < n; s++) {
		struct qv_pp_run r = {.t = t, .l = &l[sides[s].scatter]};

		if (!qv_pp_create(&r, sides[s].structure)) {
			out[s] = true;
		} else {
			out[s] = !qv_pp_run_trace(&r);
			qv_match_destroy(r.m);
		}
	}
	for (uint32_t round = 0; round < pp->rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			size_t s = (i + round) % n;

			if (!out[s])
				out[s] = !take_turn(pp, t, &l[sides[s].scatter], &sides[s], warm,
						    first + s * classes);
		}
		qv_bench_progress("%s: round %u", name, round + 1);
	}
	for (size_t s = 0; s < n; s++)
		if (out[s])
			is_wrong(pp, first + s * classes, classes);
	qv_bench_progress(NULL);
	qv_pp_layout_free(&l[0]);
	qv_pp_layout_free(&l[1]);
	return first;
}
