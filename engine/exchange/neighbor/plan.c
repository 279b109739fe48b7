/* SPDX-License-Identifier: BSD-2-Clause */
/* plan.c - what a plan is made of, whoever makes it: edges and hops, and what they come to. */
#include "neighbor.h"
#include "engine/base/settings.h"

#include <stdlib.h>

int qv_neighbor_hop(struct qv_neighbor_plan *plan, const struct qv_edge_hop *hop)
{
	if (plan->n == plan->room) {
		const size_t room = plan->room * 2 + 64;
		struct qv_edge_hop *grown = realloc(plan->hops, room * sizeof(*grown));

		if (!grown)
			return QV_ENOMEM;
		plan->hops = grown;
		plan->room = room;
	}
	plan->hops[plan->n++] = *hop;
	return QV_OK;
}

/* Which hops each rank of the plan has to do with. */
static int index_hops(struct qv_neighbor_plan *plan)
{
	plan->touch_at = calloc((size_t)plan->own + 2, sizeof(*plan->touch_at));
	plan->touch = calloc(2 * plan->n + 1, sizeof(*plan->touch));
	if (!plan->touch_at || !plan->touch)
		return QV_ENOMEM;
	for (size_t i = 0; i < plan->n; i++) {
		const uint32_t from = plan->hops[i].from - plan->first;
		const uint32_t to = plan->hops[i].to - plan->first;

		if (from < plan->own)
			plan->touch_at[from + 2]++;
		if (to < plan->own)
			plan->touch_at[to + 2]++;
	}
	for (uint32_t r = 0; r < plan->own; r++)
		plan->touch_at[r + 2] += plan->touch_at[r + 1];
	for (size_t i = 0; i < plan->n; i++) {
		const uint32_t from = plan->hops[i].from - plan->first;
		const uint32_t to = plan->hops[i].to - plan->first;

		if (from < plan->own)
			plan->touch[plan->touch_at[from + 1]++] = i;
		if (to < plan->own)
			plan->touch[plan->touch_at[to + 1]++] = i;
	}
	return QV_OK;
}

static int by_message(const void *x, const void *y)
{
	const struct qv_edge_hop *a = x, *b = y;

	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* What the ranks of the plan send. */
static void count(struct qv_neighbor_plan *plan, const uint32_t *node)
{
	struct qv_neighbor_stats *stats = &plan->stats;

	if (plan->n)
		qsort(plan->hops, plan->n, sizeof(*plan->hops), by_message);
	for (size_t i = 0; i < plan->n; i++) {
		const struct qv_edge_hop *h = &plan->hops[i];
		const int begins =
			h->from - plan->first < plan->own && (!i || by_message(h, h - 1));

		stats->messages += begins;
		stats->far += begins && node && node[h->from] != node[h->to];
	}
	for (uint32_t r = 0; r < plan->own; r++)
		for (size_t e = plan->out_at[r]; e < plan->out_at[r + 1]; e++) {
			const uint32_t from = plan->first + r, to = plan->out[e].rank;

			stats->edges += to != from;
			stats->far_edges += to != from && node && node[to] != node[from];
		}
}

int qv_neighbor_close(struct qv_neighbor_plan *plan, const uint32_t *node)
{
	count(plan, node);
	return index_hops(plan);
}

int qv_neighbor_read(struct qv_neighbor_spec *to, const struct qv_neighbor_spec *spec)
{
	*to = (struct qv_neighbor_spec){0};
	return qv_settings_read(to, sizeof(*to),
				QV_SETTINGS_UPTO(struct qv_neighbor_spec, cumulative), spec);
}

void qv_neighbor_free(struct qv_neighbor_plan *plan)
{
	if (!plan)
		return;
	free(plan->out_at);
	free(plan->in_at);
	free(plan->out);
	free(plan->in);
	free(plan->hops);
	free(plan->touch_at);
	free(plan->touch);
	free(plan);
}

void qv_neighbor_stats(const struct qv_neighbor_plan *plan, struct qv_neighbor_stats *stats)
{
	*stats = plan->stats;
}
