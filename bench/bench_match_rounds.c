/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_match_rounds.c - every case over every contender: checked, then timed in rounds. */
#include "bench_match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COLD_PAIRS   4096 /* pairs of operations of a fresh engine that count into the mean */
#define DEEP         16384
#define DEEP_PAIRS   512  /* the same for deeper queues: a linear structure is to finish them */
#define COLD_OPS     8192 /* of a case that is not steady: loops of at least so many */
#define FIRST_ROUNDS 3    /* that a case takes even if its share of the time is over */
#define SLOW_ROUNDS  7    /* that a contender takes whose turns are long */
#define SLOW_NS      50e6
#define FEW_PAIRS    16 /* of a slice at least */

/* One contender in the case that is being measured. */
struct lane {
	struct qv_bm_replay replay;
	size_t row;
	size_t units; /* of the next slice */
	bool in;      /* still answers, and in time */
	bool slow;    /* its turns are long: it has fewer of them */
};

static void drop(struct lane *lane, struct qv_bench_row *row, const char *why)
{
	lane->in = false;
	row->n = row->rounds = 0; /* half a set of figures would look like a result */
	snprintf(row->answer, sizeof(row->answer), "%s", why);
}

static size_t cold_units(const struct qv_bm_trace *t)
{
	if (t->steady)
		return t->prologue_ops > DEEP ? DEEP_PAIRS : COLD_PAIRS;
	return (COLD_OPS + t->loop_ops - 1) / t->loop_ops;
}

/* Units of a slice that takes long enough, from the speed of the last one. */
static size_t next_units(const struct qv_bm_plan *plan, const struct qv_bm_replay *r)
{
	const struct qv_bm_trace *t = r->trace;
	double each = r->ns / (double)r->timed;
	double unit = each * (t->steady ? 2.0 : (double)t->loop_ops);
	double units = plan->slice_ns / unit;
	size_t least = t->steady ? FEW_PAIRS : 1;

	return units < (double)least ? least : (size_t)(units + 1);
}

/* Every call on a fresh engine. NULL, or what is wrong. */
static const char *cancel_fault(struct qv_bm_replay *r)
{
	int rc;

	if (!r->ops->cancel)
		return NULL;
	if (qv_bm_replay_start(r))
		return "cannot be created";
	rc = qv_bm_replay_cancel(r);
	qv_bm_replay_stop(r);
	return rc ? "wrong answer of cancel" : NULL;
}

/* Whether the answers are right, and soon enough. */
static void check(struct qv_bm_plan *plan, struct lane *lane, struct qv_bench_row *row)
{
	struct qv_bm_replay *r = &lane->replay;
	const struct qv_bm_trace *t = r->trace;
	const char *fault;
	char why[2 * QV_BENCH_NAME];
	size_t done = 0, ops;
	double each;
	int rc;

	if (qv_bm_replay_start(r)) {
		drop(lane, row, "cannot be created");
		return;
	}
	rc = qv_bm_replay_check(r, plan->turn_ns, &done);
	qv_bm_replay_stop(r);
	if (rc) {
		snprintf(why, sizeof(why), "wrong answer at operation %zu", done);
		drop(lane, row, why);
		return;
	}
	fault = cancel_fault(r);
	if (fault) {
		drop(lane, row, fault);
		return;
	}
	each = r->ns / (double)(r->timed ? r->timed : 1);
	ops = cold_units(t) * (t->steady ? 2 : t->loop_ops);
	if (r->timed && r->prologue_ns + each * (double)ops <= plan->turn_ns)
		return;
	if (done < t->ops)
		snprintf(why, sizeof(why), "too slow: %zu of %zu operations in %.0f ms", done,
			 t->ops, plan->turn_ns / 1e6);
	else
		snprintf(why, sizeof(why), "too slow: %.3g us/op", each / 1000);
	drop(lane, row, why);
}

/* A fresh engine: its first operations make the mean, then slices. */
static void turn(struct qv_bm_plan *plan, struct lane *lane, struct qv_bench_row *row)
{
	struct qv_bm_replay *r = &lane->replay;
	float samples[64];
	uint32_t n = 0;
	double mean, spent;
	int rc;

	if (qv_bm_replay_start(r)) {
		drop(lane, row, "cannot be created");
		return;
	}
	rc = qv_bm_replay_cold(r, cold_units(r->trace));
	spent = r->ns;
	mean = r->ns / (double)r->timed;
	/* A slice is at least one loop, and the first was that already. */
	if (!r->trace->steady && spent > plan->slices_ns)
		samples[n++] = (float)mean;
	if (!lane->units)
		lane->units = next_units(plan, r);
	while (!rc && n < plan->slices && (!n || spent < plan->slices_ns)) {
		rc = qv_bm_replay_slice(r, lane->units);
		spent += r->ns;
		lane->units = next_units(plan, r);
		samples[n++] = (float)(r->ns / (double)r->timed);
	}
	qv_bm_replay_stop(r);
	lane->slow |= spent > SLOW_NS;
	if (rc) {
		drop(lane, row, "wrong answer while timed");
		return;
	}
	qv_bench_row_round(row, samples, n);
	qv_bench_row_mean(row, mean);
	snprintf(row->answer, sizeof(row->answer), "checked");
}

/* auto, or else the first contender, against each other one. */
static void compare(const struct lane *lanes, size_t n, struct qv_bench *bench)
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

/* The same lines for all contenders, as many as the largest node needs. */
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

static void enter(struct qv_bm_plan *plan, struct lane *lane, size_t i, const struct qv_bm_trace *t,
		  const char *name, struct qv_bench *bench)
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
		drop(lane, row, why);
	else if (qv_bench_seconds() > plan->deadline)
		lane->in = false;
	else
		check(plan, lane, row);
}

static int measure_case(struct qv_bm_plan *plan, size_t at, struct qv_bench *bench)
{
	const struct qv_bm_case *c = &plan->cases[at];
	struct lane lanes[QV_BM_CONTENDERS] = {{.in = false}};
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
			struct lane *lane = &lanes[(k + r) % n];

			if (qv_bench_seconds() > plan->deadline)
				break;
			if (lane->in && !(lane->slow && r >= SLOW_ROUNDS))
				turn(plan, lane, &bench->rows[lane->row]);
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
