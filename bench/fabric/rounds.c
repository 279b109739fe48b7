/* SPDX-License-Identifier: BSD-2-Clause */
/* rounds.c - every case over every implementation, in rounds, and who is faster. */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>

#define QV_FB_FEW          2 /* samples of a block at least */
#define QV_FB_FIRST_ROUNDS 3 /* that a case takes even if its share of the time is over */

/* One implementation in the case that is being measured. */
struct lane {
	struct qv_fb_pair *pair;
	size_t row;
	struct qv_fb_command command;
	double *flat; /* median at depth 0 of each round, taken beside the deep samples */
	bool in;      /* still answers in this case */
};

static bool more_is_better(const struct qv_fb_case *what)
{
	return what->kind == QV_FB_RATE || what->kind == QV_FB_BW;
}

/* How many samples fit into one block, from the median of a short one. */
static uint32_t samples_for(const struct qv_fb_case *what, float *samples, uint32_t n, double us)
{
	double median = qv_bench_percentile(samples, n, 0.5), each, fit;

	if (what->kind == QV_FB_SELF)
		each = QV_FB_SELF_OPS * median / 1000;
	else if (what->kind == QV_FB_LAT)
		each = 2 * median;
	else if (what->kind == QV_FB_RATE)
		each = what->window / median;
	else
		each = (double)what->window * what->bytes / median;
	fit = us / each;
	return fit < QV_FB_FEW ? QV_FB_FEW : fit > QV_FB_SAMPLES ? QV_FB_SAMPLES : (uint32_t)fit;
}

static void drop(struct lane *lane, struct qv_bench_row *row)
{
	lane->in = false;
	row->n = row->rounds = 0; /* half a set of figures would look like a result */
	snprintf(row->answer, sizeof(row->answer), "%s", lane->pair->reply.text);
}

/* Learn the speed of an implementation: a short block, then one of a tenth of the time. */
static void calibrate(struct qv_fb_plan *plan, struct lane *lane, const struct qv_fb_case *what,
		      struct qv_bench_row *row)
{
	struct qv_fb_command *command = &lane->command;
	bool deep = what->depth > 0;

	command->what = *what;
	command->flat_n = QV_FB_FEW;
	command->deep_n = deep ? QV_FB_FEW : 0;
	for (int pass = 0; pass < 2; pass++) {
		double us = pass ? plan->block_us : plan->block_us / 10;

		if (qv_fb_pair_ask(lane->pair, command, plan->hang)) {
			drop(lane, row);
			return;
		}
		command->flat_n = samples_for(what, lane->pair->flat, command->flat_n, us);
		if (deep)
			command->deep_n = samples_for(what, lane->pair->deep, command->deep_n, us);
	}
}

static void take_round(struct qv_fb_plan *plan, struct lane *lane, const struct qv_fb_case *what,
		       struct qv_bench_row *row)
{
	struct qv_fb_pair *pair = lane->pair;

	if (qv_fb_pair_ask(pair, &lane->command, plan->hang)) {
		drop(lane, row);
		return;
	}
	if (what->depth) {
		lane->flat[row->rounds] =
			qv_bench_percentile(pair->flat, lane->command.flat_n, 0.5);
		qv_bench_row_round(row, pair->deep, lane->command.deep_n);
	} else {
		qv_bench_row_round(row, pair->flat, lane->command.flat_n);
	}
	snprintf(row->answer, sizeof(row->answer), "checked");
}

/* UCX over the same kind of transport as a core. */
static const char *ucx_like(const char *core)
{
	if (!strcmp(core, "shm") || !strcmp(core, "sm2") || !strcmp(core, "node"))
		return "ucx+shm";
	return strstr(core, "tcp") || !strcmp(core, "net") ? "ucx+tcp" : "";
}

/* The provider that a core is compared with: itself, and what libfabric has in place of our own. */
static const char *native_like(const char *core)
{
	return strcmp(core, "node") ? core : "shm";
}

/* quiver+<core> against <core>, UCX and another quiver, and each against itself at depth 0. */
static void compare(struct lane *lanes, size_t n, struct qv_bench *bench)
{
	for (size_t i = 0; i < n; i++) {
		const struct qv_bench_row *row = &bench->rows[lanes[i].row];
		char core[QV_BENCH_NAME];
		bool ours = qv_fb_core(row->impl, core, sizeof(core));

		for (size_t j = 0; ours && row->rounds && j < n; j++) {
			const struct qv_bench_row *native = &bench->rows[lanes[j].row];
			size_t rounds = native->rounds < row->rounds ? native->rounds : row->rounds;

			if (rounds && (!strcmp(native->impl, native_like(core)) ||
				       !strcmp(native->impl, ucx_like(core)) ||
				       qv_fb_is_same_of_other(row->impl, native->impl)))
				qv_bench_ratio_add(
					bench, lanes[i].row, native->impl,
					qv_bench_ratio(row->medians, native->medians, rounds));
		}
		if (row->rounds && lanes[i].command.deep_n)
			qv_bench_ratio_add(
				bench, lanes[i].row, "depth 0",
				qv_bench_ratio(row->medians, lanes[i].flat, row->rounds));
	}
}

/* An implementation that was lost in the case before comes back with new processes. */
static bool revive(struct qv_fb_pair *pair)
{
	return pair->alive || qv_fb_pair_start(pair, QV_FB_START_SECONDS) == 0;
}

static bool out_of_time(const struct qv_fb_plan *plan)
{
	return plan->deadline > 0 && qv_bench_seconds() > plan->deadline;
}

static void measure_case(struct qv_fb_plan *plan, size_t at, struct qv_bench *bench)
{
	const struct qv_fb_case *what = &plan->cases[at];
	struct lane lanes[QV_FB_PAIRS] = {{0}};
	size_t n = plan->pairs_n, first = bench->rows_n;
	double now = qv_bench_seconds(), end = 0;

	/* Each case has its share of the time that is left. */
	if (plan->deadline > 0)
		end = now + (plan->deadline - now) / (double)(plan->cases_n - at);
	for (size_t i = 0; i < n; i++) {
		struct qv_bench_row *row =
			qv_bench_row_add(bench, what->name, plan->pairs[i].setup.impl,
					 qv_fb_unit[what->kind], more_is_better(what));

		qv_bench_progress("[%zu/%zu] %s %s", at + 1, plan->cases_n, what->name, row->impl);
		lanes[i].pair = &plan->pairs[i];
		lanes[i].row = first + i;
		lanes[i].flat = calloc(plan->rounds, sizeof(double));
		if (!lanes[i].flat)
			abort();
		snprintf(row->answer, sizeof(row->answer), "no time"); /* until a round is done */
		if (out_of_time(plan))
			continue;
		lanes[i].in = revive(lanes[i].pair);
		if (lanes[i].in)
			calibrate(plan, &lanes[i], what, row);
		else
			drop(&lanes[i], row);
	}
	for (uint32_t r = 0; r < plan->rounds; r++) {
		if (end > 0 && r >= QV_FB_FIRST_ROUNDS && qv_bench_seconds() > end)
			break;
		if (out_of_time(plan))
			break;
		qv_bench_progress("[%zu/%zu] %s round %u", at + 1, plan->cases_n, what->name, r);
		for (size_t k = 0; k < n; k++) {
			struct lane *lane = &lanes[(k + r) % n];

			if (lane->in)
				take_round(plan, lane, what, &bench->rows[lane->row]);
		}
	}
	compare(lanes, n, bench);
	for (size_t i = 0; i < n; i++)
		free(lanes[i].flat);
}

void qv_fb_measure(struct qv_fb_plan *plan, struct qv_bench *bench)
{
	for (size_t at = 0; at < plan->cases_n; at++)
		measure_case(plan, at, bench);
	qv_bench_progress(NULL);
}
