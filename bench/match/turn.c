/* SPDX-License-Identifier: BSD-2-Clause */
/* turn.c - one implementation in one case: its answers checked, and its turns. */
#include "match.h"

#include <string.h>

/* A fresh engine's operations that make the mean: */
#define COLD_PAIRS 4096 /* pairs, or as many as entries wait */
#define DEEP       16384
#define DEEP_PAIRS 512  /* deeper, those in steps of so many, as far as the time reaches */
#define COLD_OPS   8192 /* of a case that is not steady: loops of at least so many */
#define FEW_PAIRS  16   /* of a slice at least */
#define SLOW_NS    50e6 /* of a turn: fewer of them then */

void qv_bm_drop(struct qv_bm_lane *lane, struct qv_bench_row *row, const char *why)
{
	lane->in = false;
	row->n = row->rounds = 0; /* half a set of figures would look like a result */
	snprintf(row->answer, sizeof(row->answer), "%s", why);
}

/* The first step; every implementation can take it that is not too slow for the case. */
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
	double unit = each * (t->steady ? 2.0 : (double)t->timed_ops);
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
void qv_bm_check(const struct qv_bm_plan *plan, struct qv_bm_lane *lane, struct qv_bench_row *row)
{
	struct qv_bm_replay *r = &lane->replay;
	const struct qv_bm_trace *t = r->trace;
	const char *fault;
	char why[2 * QV_BENCH_NAME];
	size_t done = 0, ops;
	double each;
	int rc;

	if (qv_bm_replay_start(r)) {
		qv_bm_drop(lane, row, "cannot be created");
		return;
	}
	rc = qv_bm_replay_check(r, plan->turn_ns, &done);
	qv_bm_replay_stop(r);
	if (rc) {
		snprintf(why, sizeof(why), "wrong answer at operation %zu", done);
		qv_bm_drop(lane, row, why);
		return;
	}
	fault = cancel_fault(r);
	if (fault) {
		qv_bm_drop(lane, row, fault);
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
	qv_bm_drop(lane, row, why);
}

/*
 * The first operations of an engine: the prologue, then pairs or loops. What a slow one does not
 * reach in time costs what the pairs before it cost. -1: wrong.
 */
static int run_cold(const struct qv_bm_plan *plan, struct qv_bm_replay *r, double *ns, double *mean)
{
	size_t units = cold_units(r->trace), wanted = units, done = 0, ops;
	double prologue, rest = 0, share;
	int rc = qv_bm_replay_cold(r, 0);

	prologue = r->ns;
	ops = r->timed;
	if (r->trace->steady && r->trace->prologue_ops > wanted)
		wanted = r->trace->prologue_ops;
	while (!rc && done < wanted && (!done || rest < plan->cold_ns)) {
		rc = qv_bm_replay_slice(r, units);
		rest += r->ns;
		done += units;
	}
	if (rc)
		return rc;
	*ns = prologue + rest;
	share = (double)wanted / (double)done;
	ops += (size_t)((double)(r->timed * (done / units)) * share);
	*mean = (prologue + rest * share) / (double)ops;
	return 0;
}

/* A fresh engine: its first operations make the mean, then slices. */
void qv_bm_turn(const struct qv_bm_plan *plan, struct qv_bm_lane *lane, struct qv_bench_row *row)
{
	struct qv_bm_replay *r = &lane->replay;
	float samples[64];
	uint32_t n = 0;
	double mean = 0, cold = 0, sliced = 0;
	int rc;

	if (qv_bm_replay_start(r)) {
		qv_bm_drop(lane, row, "cannot be created");
		return;
	}
	rc = run_cold(plan, r, &cold, &mean);
	if (rc) {
		qv_bm_replay_stop(r);
		qv_bm_drop(lane, row, "wrong answer while timed");
		return;
	}
	/* A slice is at least one loop, and the first was that already. */
	if (!r->trace->steady && cold > plan->slices_ns) {
		samples[n++] = (float)mean;
		sliced = cold;
	}
	if (!lane->units)
		lane->units = next_units(plan, r);
	while (!rc && n < plan->slices && sliced < plan->slices_ns) {
		rc = qv_bm_replay_slice(r, lane->units);
		sliced += r->ns;
		lane->units = next_units(plan, r);
		samples[n++] = (float)(r->ns / (double)r->timed);
	}
	qv_bm_replay_stop(r);
	lane->slow |= cold + sliced > SLOW_NS;
	if (rc) {
		qv_bm_drop(lane, row, "wrong answer while timed");
		return;
	}
	qv_bench_row_round(row, samples, n);
	qv_bench_row_mean(row, mean);
	snprintf(row->answer, sizeof(row->answer), "checked");
}
