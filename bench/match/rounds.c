/* SPDX-License-Identifier: BSD-2-Clause */
/* rounds.c - every case over every implementation: checked, then timed in rounds. */
#include "match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ROUNDS 3 /* that a case takes even if its share of the time is over */
#define SLOW_ROUNDS  7 /* that an implementation takes whose turns are long */

/* auto, or else the first implementation, against each other one. */
static void compare(const struct qv_bm_lane *lanes, size_t n, struct qv_bench *bench)
{
	size_t hero = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(bench->rows[lanes[i].row].impl, "auto") == 0)
			hero = i;
	for (size_t i = 0; i < n; i++) {
		const struct qv_bench_row *row = &bench->rows[lanes[hero].row];
		const struct qv_bench_row *other = &bench->rows[lanes[i].row];
		size_t rounds = row->rounds < other->rounds ? row->rounds : other->rounds;

		if (i != hero && rounds)
			qv_bench_ratio_add(bench, lanes[hero].row, other->impl,
					   qv_bench_ratio(row->medians, other->medians, rounds));
	}
}

/* What a structure may know of a case beforehand: how many sources, and what each sends. */
static void brief(struct qv_bm_plan *plan, const struct qv_bm_trace *t)
{
	uint32_t *counts = calloc(t->sources + 1, sizeof(*counts));
	FILE *file = plan->impls.profile[0] ? fopen(plan->impls.profile, "w") : NULL;

	if (!counts)
		abort();
	for (uint32_t i = t->recvs_n; i < t->keys_n; i++)
		counts[t->keys[i].src]++;
	for (uint32_t s = 0; file && s < t->sources; s++)
		fprintf(file, "%u %u\n", s, counts[s]);
	if (file && fclose(file))
		perror("quiver: profile of the sources");
	free(counts);
	for (size_t i = 0; i < plan->impls.n; i++)
		plan->impls.at[i].settings.sources = t->sources;
}

/* The same lines for all implementations, as many as the largest node needs. */
static uint32_t lines_of(const struct qv_bm_impls *impls)
{
	size_t lines = 2;

	for (size_t i = 0; i < impls->n; i++) {
		size_t mine = (impls->at[i].ops.node_size + QV_BM_LINE - 1) / QV_BM_LINE;

		lines = mine > lines ? mine : lines;
	}
	return (uint32_t)lines;
}

void qv_bm_prepare(struct qv_bm_plan *plan, struct qv_bm_trace *t)
{
	size_t size;

	qv_bm_trace_lay_out(t, lines_of(&plan->impls), plan->scatter);
	brief(plan, t);
	size = (size_t)t->arena_lines * QV_BM_LINE;
	if (size <= plan->arena_size)
		return;
	if (plan->arena)
		munmap(plan->arena, plan->arena_size);
	plan->arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (plan->arena == MAP_FAILED)
		abort();
	plan->arena_size = size;
}

static const char *unfit(const struct qv_contender *ops, const struct qv_bm_trace *t)
{
	if (t->any_source && !(ops->flags & QV_CONTENDER_ANY_SOURCE))
		return "has no any-source receives";
	if (t->any_tag && !(ops->flags & QV_CONTENDER_ANY_TAG))
		return "has no any-tag receives";
	return NULL;
}

static void enter(struct qv_bm_plan *plan, struct qv_bm_lane *lane, size_t i,
		  const struct qv_bm_trace *t, const char *name, struct qv_bench *bench)
{
	const struct qv_bm_impl *impl = &plan->impls.at[i];
	struct qv_bench_row *row = qv_bench_row_add(bench, name, impl->name, "ns/op", false);
	const char *why = unfit(&impl->ops, t);

	lane->row = bench->rows_n - 1;
	lane->replay.trace = t;
	lane->replay.ops = &impl->ops;
	lane->replay.arena = plan->arena;
	lane->in = true;
	snprintf(row->answer, sizeof(row->answer), "no time"); /* until a round is done */
	if (why)
		qv_bm_drop(lane, row, why);
	else if (qv_bench_seconds() > plan->deadline)
		lane->in = false;
	else
		qv_bm_check(plan, lane, row);
}

static int measure_case(struct qv_bm_plan *plan, size_t at, struct qv_bench *bench)
{
	const struct qv_bm_case *c = &plan->cases[at];
	struct qv_bm_lane lanes[QV_BM_CONTENDERS] = {{.in = false}};
	size_t n = plan->impls.n;
	double now = qv_bench_seconds();
	double end = now + (plan->deadline - now) / (double)(plan->cases_n - at);
	struct qv_bm_trace t;

	if (c->group == QV_BM_MEM) {
		qv_bm_measure_memory(plan, c, bench);
		return 0;
	}
	qv_bm_trace_build(&t, c);
	if (qv_bm_oracle(&t, c->name, plan->compares)) {
		qv_bm_trace_free(&t);
		return -1;
	}
	qv_bm_prepare(plan, &t);
	for (size_t i = 0; i < n; i++) {
		qv_bench_progress("[%zu/%zu] %s %s", at + 1, plan->cases_n, c->name,
				  plan->impls.at[i].name);
		enter(plan, &lanes[i], i, &t, c->name, bench);
	}
	for (uint32_t r = 0; r < plan->rounds; r++) {
		if (r >= FIRST_ROUNDS && qv_bench_seconds() > end)
			break;
		if (qv_bench_seconds() > plan->deadline)
			break;
		qv_bench_progress("[%zu/%zu] %s round %u", at + 1, plan->cases_n, c->name, r + 1);
		for (size_t k = 0; k < n; k++) {
			struct qv_bm_lane *lane = &lanes[(k + r) % n];

			if (qv_bench_seconds() > plan->deadline)
				break;
			if (lane->in && !(lane->slow && r >= SLOW_ROUNDS))
				qv_bm_turn(plan, lane, &bench->rows[lane->row]);
		}
	}
	compare(lanes, n, bench);
	qv_bm_trace_free(&t);
	return 0;
}

int qv_bm_measure(struct qv_bm_plan *plan, struct qv_bench *bench)
{
	int rc = 0;

	for (size_t at = 0; at < plan->cases_n && !rc; at++)
		rc = measure_case(plan, at, bench);
	qv_bench_progress(NULL);
	if (plan->arena)
		munmap(plan->arena, plan->arena_size);
	return rc;
}
