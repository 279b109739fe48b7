/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - a trace over one engine: checked answer by answer, or timed.
 *
 * The timed loops add up the answers (one addition for each operation); the sum is compared after
 * the clock has stopped. Time is CPU time of the thread, so that others on the machine count as
 * little as possible. Where only some phases are timed they are too short for that clock, and the
 * time stamp counter is read.
 */
#include "match.h"
#include "engine/base/clock.h"
#include "engine/base/compiler.h"

#include <string.h>

typedef int call_fn(void *engine, void *node, void **matched);

double qv_bm_cpu_ns(void)
{
	return (double)qv_clock_cpu_ns();
}

static void *node_at(const struct qv_bm_replay *r, uint32_t line)
{
	return r->arena + (size_t)line * QV_BM_LINE;
}

int qv_bm_replay_start(struct qv_bm_replay *r)
{
	const struct qv_bm_trace *t = r->trace;

	for (uint32_t i = 0; i < t->keys_n; i++) {
		const struct qv_bm_key *key = &t->keys[i];

		if (i < t->recvs_n)
			r->ops->recv_init(node_at(r, t->line[i]), key->tag, key->ignore, key->src);
		else
			r->ops->msg_init(node_at(r, t->line[i]), key->tag, key->src);
	}
	r->at = 0;
	r->engine = r->ops->create(r->ops);
	return r->engine ? 0 : -1;
}

void qv_bm_replay_stop(struct qv_bm_replay *r)
{
	r->ops->destroy(r->engine);
	r->engine = NULL;
}

/* Checked. */

static call_fn *call_of(const struct qv_bm_replay *r, enum qv_bm_op op)
{
	return op == QV_BM_POST ? r->ops->post : r->ops->arrive;
}

bool qv_bm_answers(const struct qv_bm_replay *r, enum qv_bm_op op, void *node, const void *want)
{
	qv_bm_answer matched = r->arena - 1; /* no node: it has to be written */

	return call_of(r, op)(r->engine, node, &matched) == 0 && matched == want;
}

struct check {
	size_t done;
	double end; /* CPU time */
};

/* 0; 1: no more time; -1: wrong. */
static int check_run(struct qv_bm_replay *r, enum qv_bm_op op, uint32_t n, size_t at,
		     struct check *check)
{
	const struct qv_bm_trace *t = r->trace;

	for (uint32_t i = 0; i < n; i++, at++) {
		void *want = t->expect[at] ? node_at(r, t->expect[at]) : NULL;

		if (!qv_bm_answers(r, op, node_at(r, t->node[at]), want))
			return -1;
		if (++check->done % 16 == 0 && qv_bm_cpu_ns() > check->end)
			return 1;
	}
	return 0;
}

static int check_phase(struct qv_bm_replay *r, const struct qv_bm_phase *p, size_t at,
		       struct check *check)
{
	for (uint32_t i = 0; i < p->reps; i++) {
		int rc = check_run(r, p->first, p->n[0], at, check);

		at += p->n[0];
		if (!rc)
			rc = check_run(r, !p->first, p->n[1], at, check);
		at += p->n[1];
		if (rc)
			return rc;
	}
	return 0;
}

int qv_bm_replay_check(struct qv_bm_replay *r, double ns, size_t *done)
{
	const struct qv_bm_trace *t = r->trace;
	double begin = qv_bm_cpu_ns();
	struct check check = {.end = begin + ns};
	size_t at = t->prologue_ops;
	int rc = check_phase(r, &t->prologue, 0, &check);

	r->prologue_ns = qv_bm_cpu_ns() - begin;
	for (size_t i = 0; i < t->phases && !rc; i++) {
		const struct qv_bm_phase *p = &t->loop[i];

		rc = check_phase(r, p, at, &check);
		at += ((size_t)p->n[0] + p->n[1]) * p->reps;
	}
	r->ns = qv_bm_cpu_ns() - begin - r->prologue_ns;
	r->timed = check.done > t->prologue_ops ? check.done - t->prologue_ops : 0;
	*done = check.done;
	return rc < 0 ? -1 : 0;
}

int qv_bm_replay_cancel(struct qv_bm_replay *r)
{
	const uint32_t *line = r->trace->line;
	uint32_t n = r->trace->recvs_n < 3 ? r->trace->recvs_n : 3;
	static const uint32_t order[] = {1, 0, 2};

	for (uint32_t i = 0; i < n; i++)
		if (!qv_bm_answers(r, QV_BM_POST, node_at(r, line[i]), NULL))
			return -1;
	for (uint32_t i = 0; i < 3; i++)
		if (order[i] < n && r->ops->cancel(r->engine, node_at(r, line[order[i]])))
			return -1;
	return qv_bm_answers(r, QV_BM_ARRIVE, node_at(r, line[r->trace->recvs_n]), NULL) ? 0 : -1;
}

/* Timed. */

/* Not inlined: the same machine code for every implementation and case. *sum grows by the answers; -1:
 * a call returned an error, and none is made after it. */
static QV_NOINLINE int run_pairs(call_fn *first, call_fn *second, void *engine, char *arena,
				 const uint32_t *node, size_t n, uintptr_t *sum)
{
	qv_bm_answer matched[2];
	uintptr_t mine = 0;

	for (size_t i = 0; i < n; i++, node += 2) {
		if (first(engine, arena + (size_t)node[0] * QV_BM_LINE, &matched[0]) ||
		    second(engine, arena + (size_t)node[1] * QV_BM_LINE, &matched[1]))
			return -1;
		mine += (uintptr_t)matched[0] + (uintptr_t)matched[1];
	}
	*sum += mine;
	return 0;
}

static QV_NOINLINE int run_many(call_fn *call, void *engine, char *arena, const uint32_t *node,
				size_t n, uintptr_t *sum)
{
	qv_bm_answer matched;
	uintptr_t mine = 0;

	for (size_t i = 0; i < n; i++) {
		if (call(engine, arena + (size_t)node[i] * QV_BM_LINE, &matched))
			return -1;
		mine += (uintptr_t)matched;
	}
	*sum += mine;
	return 0;
}

static int run_phase(struct qv_bm_replay *r, const struct qv_bm_phase *p, size_t at, uintptr_t *sum)
{
	const uint32_t *node = r->trace->node + at;
	call_fn *first = call_of(r, p->first), *second = call_of(r, !p->first);
	int rc = 0;

	if (p->n[0] == 1 && p->n[1] == 1)
		return run_pairs(first, second, r->engine, r->arena, node, p->reps, sum);
	for (uint32_t i = 0; i < p->reps && !rc; i++) {
		rc = run_many(first, r->engine, r->arena, node, p->n[0], sum);
		node += p->n[0];
		if (p->n[1] && !rc)
			rc = run_many(second, r->engine, r->arena, node, p->n[1], sum);
		node += p->n[1];
	}
	return rc;
}

/* What the answers of n operations add up to. */
static uintptr_t expected(const struct qv_bm_replay *r, size_t at, size_t n)
{
	uintptr_t sum = 0;

	for (size_t i = at; i < at + n; i++)
		if (r->trace->expect[i])
			sum += (uintptr_t)node_at(r, r->trace->expect[i]);
	return sum;
}

/* `pairs` pairs from r->at on, round and round. */
static int run_steady(struct qv_bm_replay *r, size_t pairs, uintptr_t *sum)
{
	const struct qv_bm_trace *t = r->trace;
	struct qv_bm_phase part = t->loop[0];

	while (pairs) {
		size_t left = (t->loop_ops - r->at) / 2;

		part.reps = (uint32_t)(pairs < left ? pairs : left);
		if (run_phase(r, &part, t->prologue_ops + r->at, sum))
			return -1;
		pairs -= part.reps;
		r->at = (r->at + 2 * (size_t)part.reps) % t->loop_ops;
	}
	return 0;
}

static uintptr_t expected_steady(const struct qv_bm_replay *r, size_t at, size_t pairs)
{
	const struct qv_bm_trace *t = r->trace;
	uintptr_t sum = 0;

	while (pairs) {
		size_t left = (t->loop_ops - at) / 2, n = pairs < left ? pairs : left;

		sum += expected(r, t->prologue_ops + at, 2 * n);
		pairs -= n;
		at = (at + 2 * n) % t->loop_ops;
	}
	return sum;
}

/* Whole loops; *ticks: time stamps spent in the timed phases. */
static int run_loops(struct qv_bm_replay *r, size_t loops, uint64_t *ticks, uintptr_t *sum)
{
	const struct qv_bm_trace *t = r->trace;

	for (size_t l = 0; l < loops; l++) {
		size_t at = t->prologue_ops;

		for (size_t i = 0; i < t->phases; i++) {
			const struct qv_bm_phase *p = &t->loop[i];
			uint64_t begin = qv_ticks();

			if (run_phase(r, p, at, sum))
				return -1;
			if (p->timed)
				*ticks += qv_ticks() - begin;
			at += ((size_t)p->n[0] + p->n[1]) * p->reps;
		}
	}
	return 0;
}

static int replay(struct qv_bm_replay *r, size_t units, bool prologue)
{
	const struct qv_bm_trace *t = r->trace;
	size_t at = r->at;
	uint64_t ticks = 0;
	uintptr_t sum = 0;
	double begin = qv_bm_cpu_ns();
	int rc = prologue ? run_phase(r, &t->prologue, 0, &sum) : 0;

	if (!rc)
		rc = t->steady ? run_steady(r, units, &sum) : run_loops(r, units, &ticks, &sum);
	r->ns = qv_bm_cpu_ns() - begin;
	r->timed = t->steady ? 2 * units : t->timed_ops * units;
	if (t->some_timed)
		r->ns = (double)ticks * qv_bench_tick_ns();
	if (prologue) {
		r->timed += t->prologue_ops;
		sum -= expected(r, 0, t->prologue_ops);
	}
	if (t->steady)
		sum -= expected_steady(r, at, units);
	else
		sum -= units * expected(r, t->prologue_ops, t->loop_ops);
	return rc || sum ? -1 : 0;
}

int qv_bm_replay_cold(struct qv_bm_replay *r, size_t units)
{
	return replay(r, units, true);
}

int qv_bm_replay_slice(struct qv_bm_replay *r, size_t units)
{
	return replay(r, units, false);
}
