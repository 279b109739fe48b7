/* SPDX-License-Identifier: BSD-2-Clause */
/* group.c - the schedules of a group side by side: ends of messages, what can run. */
#include "schedule.h"

#include <stdlib.h>

/* One end of a message; both sort to the same place. */
struct end {
	uint32_t from, to, tag;
	int is_send;
	size_t number;
};

static int by_message(const void *x, const void *y)
{
	const struct end *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->is_send - b->is_send;
}

static size_t collect(const struct qv_group *g, struct end *ends)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct qv_step *step = qv_group_step(g, i);
		const int is_send = qv_is_send(step->kind);

		if (is_send)
			ends[n++] = (struct end){g->rank[i], step->peer, step->tag, 1, i};
		else if (qv_is_receive(step->kind))
			ends[n++] = (struct end){step->peer, g->rank[i], step->tag, 0, i};
	}
	qsort(ends, n, sizeof(*ends), by_message);
	return n;
}

static int link_ends(struct qv_group *g, const struct end *ends, size_t n, size_t *bad)
{
	for (size_t i = 0; i < n; i += 2) {
		const struct end *a = &ends[i], *b = &ends[i + 1 < n ? i + 1 : i];
		const struct qv_step *x = qv_group_step(g, a->number);
		const struct qv_step *y = qv_group_step(g, b->number);
		/* A contribution goes to other blocks than it has; so do blocks that are
		 * forwarded. */
		const int elsewhere = x->kind == QV_STEP_SEND_IN || y->kind == QV_STEP_SEND_IN ||
				      g->all[0]->whole;

		*bad = a->number;
		if (a->from != b->from || a->to != b->to || a->tag != b->tag ||
		    a->is_send == b->is_send || a->from == a->to || x->blocks != y->blocks ||
		    (!elsewhere && x->first != y->first))
			return QV_EINVAL;
		g->partner[a->number] = b->number;
		g->partner[b->number] = a->number;
	}
	return QV_OK;
}

const struct qv_step *qv_group_step(const struct qv_group *g, size_t number)
{
	const uint32_t rank = g->rank[number];

	return &g->all[rank]->steps[number - g->base[rank]];
}

/* Pass every fence that nothing holds, and count what holds the next one. */
static void pass_fences(struct qv_group *g, uint32_t rank)
{
	const struct qv_schedule *s = g->all[rank];

	while (!g->before[rank] && g->fence[rank] < s->n) {
		uint32_t i = g->fence[rank];

		g->done[g->base[rank] + i] = 1;
		for (i++; i < s->n && s->steps[i].kind != QV_STEP_FENCE; i++)
			g->before[rank]++;
		g->fence[rank] = i;
	}
}

static void number_steps(struct qv_group *g)
{
	for (uint32_t r = 0; r < g->ranks; r++) {
		const struct qv_schedule *s = g->all[r];

		g->base[r + 1] = g->base[r] + s->n;
		for (size_t i = 0; i < s->n; i++) {
			g->rank[g->base[r] + i] = r;
			g->partner[g->base[r] + i] = g->base[r] + i;
		}
		while (g->fence[r] < s->n && s->steps[g->fence[r]].kind != QV_STEP_FENCE)
			g->fence[r]++;
		g->before[r] = g->fence[r];
		pass_fences(g, r);
	}
}

int qv_group_open(struct qv_group *g, struct qv_schedule *const *all, uint32_t ranks, size_t *bad)
{
	struct end *ends;
	int rc = QV_ENOMEM;

	*g = (struct qv_group){.all = all, .ranks = ranks};
	for (uint32_t r = 0; r < ranks; r++) {
		*bad = g->n;
		if (all[r]->ranks != ranks || all[r]->rank != r ||
		    all[r]->single != all[0]->single ||
		    (!all[r]->single && all[r]->blocks != all[0]->blocks))
			return QV_EINVAL;
		g->n += all[r]->n;
	}
	ends = calloc(g->n + 1, sizeof(*ends));
	g->base = calloc((size_t)ranks + 1, sizeof(*g->base));
	g->rank = calloc(g->n + 1, sizeof(*g->rank));
	g->partner = calloc(g->n + 1, sizeof(*g->partner));
	g->done = calloc(g->n + 1, sizeof(*g->done));
	g->fence = calloc(ranks, sizeof(*g->fence));
	g->before = calloc(ranks, sizeof(*g->before));
	if (ends && g->base && g->rank && g->partner && g->done && g->fence && g->before) {
		number_steps(g);
		rc = link_ends(g, ends, collect(g, ends), bad);
	}
	free(ends);
	if (rc)
		qv_group_close(g);
	return rc;
}

void qv_group_close(struct qv_group *g)
{
	free(g->base);
	free(g->rank);
	free(g->partner);
	free(g->done);
	free(g->fence);
	free(g->before);
}

int qv_group_ready(const struct qv_group *g, size_t number)
{
	const uint32_t rank = g->rank[number];
	const struct qv_step *step = qv_group_step(g, number);

	if (g->done[number] || number - g->base[rank] >= g->fence[rank])
		return 0;
	return step->after == QV_STEP_NONE || g->done[g->base[rank] + step->after];
}

void qv_group_done(struct qv_group *g, size_t number)
{
	const uint32_t rank = g->rank[number];

	g->done[number] = 1;
	g->before[rank]--;
	pass_fences(g, rank);
}
