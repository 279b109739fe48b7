/* SPDX-License-Identifier: BSD-2-Clause */
/* mem.c - what an engine holds beyond the nodes: filled, searched, and drained. */
#include "match.h"

#include <string.h>

#define SHORT_USES 4096 /* of an empty queue, after which an engine may see that it is idle */
#define SEARCHES   64   /* at random places: an index that is built on demand is built then */

/* The trace of a mem case: SEARCHES pairs of a random case of this depth, then all in order. */
static void make_case(const struct qv_bm_case *c, struct qv_bm_case *steady)
{
	memset(steady, 0, sizeof(*steady));
	snprintf(steady->name, sizeof(steady->name), "%s", c->name);
	steady->group = c->kind ? QV_BM_UMQ : QV_BM_PRQ;
	steady->kind = c->n ? QV_BM_RAND : QV_BM_MISS;
	steady->n = c->n;
}

/* Take every entry, in the order of its number. 0, or -1 when one is not found. */
static int drain(struct qv_bm_replay *r, bool posted)
{
	const struct qv_bm_trace *t = r->trace;

	for (uint32_t i = 0; i < t->recvs_n; i++) {
		char *recv = r->arena + (size_t)t->line[i] * QV_BM_LINE;
		char *msg = r->arena + (size_t)t->line[t->recvs_n + i] * QV_BM_LINE;

		if (!(posted ? qv_bm_answers(r, QV_BM_ARRIVE, msg, recv)
			     : qv_bm_answers(r, QV_BM_POST, recv, msg)))
			return -1;
	}
	return 0;
}

/* One entry comes and goes, again and again. */
static int use(struct qv_bm_replay *r, bool posted)
{
	char *recv = r->arena + (size_t)r->trace->line[0] * QV_BM_LINE;
	char *msg = r->arena + (size_t)r->trace->line[r->trace->recvs_n] * QV_BM_LINE;

	for (int i = 0; i < SHORT_USES; i++)
		if (!(posted ? qv_bm_answers(r, QV_BM_POST, recv, NULL) &&
				       qv_bm_answers(r, QV_BM_ARRIVE, msg, recv)
			     : qv_bm_answers(r, QV_BM_ARRIVE, msg, NULL) &&
				       qv_bm_answers(r, QV_BM_POST, recv, msg)))
			return -1;
	return 0;
}

static void measure(struct qv_bm_replay *r, const struct qv_bm_case *c, struct qv_bench_row *row)
{
	float bytes;

	if (!r->ops->memory) {
		snprintf(row->answer, sizeof(row->answer), "does not say");
		return;
	}
	if (qv_bm_replay_start(r)) {
		snprintf(row->answer, sizeof(row->answer), "cannot be created");
		return;
	}
	snprintf(row->answer, sizeof(row->answer), "checked");
	if (qv_bm_replay_cold(r, c->n ? SEARCHES : 0) || (c->drained && drain(r, !c->kind)) ||
	    (c->drained == QV_BM_IDLE && use(r, !c->kind)))
		snprintf(row->answer, sizeof(row->answer), "wrong answer");
	bytes = (float)r->ops->memory(r->engine);
	qv_bm_replay_stop(r);
	if (strcmp(row->answer, "checked") == 0)
		qv_bench_row_round(row, &bytes, 1);
}

void qv_bm_measure_memory(struct qv_bm_plan *plan, const struct qv_bm_case *c,
			  struct qv_bench *bench)
{
	struct qv_bm_case steady;
	struct qv_bm_trace t;

	make_case(c, &steady);
	qv_bm_trace_build(&t, &steady);
	qv_bm_prepare(plan, &t);
	for (size_t i = 0; i < plan->impls.n; i++) {
		const struct qv_bm_impl *impl = &plan->impls.at[i];
		struct qv_bench_row *row =
			qv_bench_row_add(bench, c->name, impl->name, "bytes", false);
		struct qv_bm_replay r = {.trace = &t, .ops = &impl->ops, .arena = plan->arena};

		measure(&r, c, row);
	}
	qv_bm_trace_free(&t);
}
