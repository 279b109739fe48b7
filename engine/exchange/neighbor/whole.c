/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole.c - the plan of all ranks, made by one who knows the graph: round by round groups are found,
 * and each member hands the blocks for some of their common neighbours over to another one. In the
 * end who has blocks for a neighbour sends them, all as one message. planner.c makes the same plan,
 * rank by rank.
 */
#include "neighbor.h"

#include <stdlib.h>

#define NO_BLOCK SIZE_MAX

/* A block is known by its edge, the place of its destination in the list of its source. */
struct planner {
	const struct qv_neighbor_spec *spec;
	struct qv_neighbor_plan *plan;
	struct qv_crowd crowd;
	struct qv_friends_list groups;
	uint32_t *source; /* by block: the rank that it is from */
	size_t *head; /* by edge: the first of the blocks that its rank has for this neighbour */
	size_t *next; /* by block */
	int failed;
};

static void hop(struct planner *p, uint32_t phase, uint32_t from, uint32_t to, size_t block)
{
	const struct qv_edge_hop hop = {phase, from, to, p->source[block],
					p->plan->out[block].rank};

	p->failed |= qv_neighbor_hop(p->plan, &hop);
}

static size_t edge_of(const struct planner *p, uint32_t rank, uint32_t neighbor)
{
	return qv_neighbor_edge(p->plan->out_at, p->plan->out, rank, neighbor);
}

static void inactive(struct planner *p, uint32_t rank, uint32_t neighbor)
{
	qv_active(&p->crowd, rank)[neighbor / 64] &= ~(UINT64_C(1) << neighbor % 64);
}

/* All that `from` has for the neighbour goes to a friend. */
static void hand_over(struct planner *p, uint32_t phase, uint32_t from, uint32_t to,
		      uint32_t neighbor)
{
	const size_t mine = edge_of(p, from, neighbor), theirs = edge_of(p, to, neighbor);
	size_t block = p->head[mine], last = NO_BLOCK;

	for (; block != NO_BLOCK; last = block, block = p->next[block])
		hop(p, phase, from, to, block);
	if (last == NO_BLOCK)
		return;
	p->next[last] = p->head[theirs];
	p->head[theirs] = p->head[mine];
	p->head[mine] = NO_BLOCK;
}

/* The common neighbours, in order, are cut into one part for each member. */
static void share(struct planner *p, const struct qv_friends *group, uint32_t phase)
{
	const struct qv_crowd *c = &p->crowd;
	struct qv_cut cut = {.weight = group->weight, .k = c->k};

	for (uint32_t n = 0; n < c->ranks; n++) {
		uint64_t common = UINT64_MAX;
		uint32_t part;

		for (uint32_t i = 0; i < c->k; i++)
			common &= qv_active(c, group->ranks[i])[n / 64];
		if (!(common >> n % 64 & 1))
			continue;
		part = qv_cut_next(&cut);
		for (uint32_t i = 0; i < c->k; i++) {
			if (i != part)
				hand_over(p, phase, group->ranks[i], group->ranks[part], n);
			if (i != part || !p->spec->cumulative)
				inactive(p, group->ranks[i], n);
		}
	}
}

static void one_round(struct planner *p, uint32_t round, size_t *groups)
{
	const uint32_t phase = qv_neighbor_phase(round, p->spec->cumulative);

	p->failed |= qv_friends_find(&p->crowd, &p->groups);
	if (!round)
		p->plan->stats.possible = p->groups.n;
	if (!p->failed)
		p->failed |= qv_friends_match(&p->crowd, &p->groups, groups);
	for (size_t i = 0; i < *groups && !p->failed; i++)
		share(p, &p->groups.at[i], phase);
}

static void all_rounds(struct planner *p)
{
	struct qv_neighbor_stats *stats = &p->plan->stats;
	size_t groups = 1;

	for (uint32_t round = 0; groups && round < QV_MOST_ROUNDS && !p->failed; round++) {
		groups = 0;
		one_round(p, round, &groups);
		stats->groups += groups;
		stats->rounds += groups > 0;
	}
}

/* What a rank still has leaves it in the end; what is alone and its own may do so at once. */
static void deliver(struct planner *p)
{
	const struct qv_neighbor_plan *plan = p->plan;

	for (uint32_t r = 0; r < plan->ranks; r++)
		for (size_t e = plan->out_at[r]; e < plan->out_at[r + 1] && !p->failed; e++) {
			const size_t first = p->head[e];
			const int alone = first == e && p->next[e] == NO_BLOCK;

			for (size_t block = first; block != NO_BLOCK; block = p->next[block])
				if (plan->out[e].rank != r)
					hop(p, alone ? QV_ALONE_PHASE : QV_LAST_PHASE, r,
					    plan->out[e].rank, block);
		}
}

static int open_planner(struct planner *p)
{
	const struct qv_neighbor_plan *plan = p->plan;
	const size_t edges = plan->out_at[plan->ranks];
	struct qv_crowd *c = &p->crowd;

	*c = (struct qv_crowd){.ranks = plan->ranks,
			       .k = p->spec->k,
			       .least = qv_neighbor_least(p->spec->k, p->spec->node != NULL),
			       .node = p->spec->node,
			       .words = (plan->ranks + 63) / 64};
	c->active = calloc(plan->ranks, c->words * sizeof(*c->active));
	p->source = calloc(edges + 1, sizeof(*p->source));
	p->head = calloc(edges + 1, sizeof(*p->head));
	p->next = calloc(edges + 1, sizeof(*p->next));
	if (!c->active || !p->source || !p->head || !p->next)
		return QV_ENOMEM;
	for (uint32_t r = 0; r < plan->ranks; r++)
		for (size_t e = plan->out_at[r]; e < plan->out_at[r + 1]; e++) {
			const uint32_t to = plan->out[e].rank;

			p->source[e] = r;
			p->head[e] = e;
			p->next[e] = NO_BLOCK;
			if (to != r)
				qv_active(c, r)[to / 64] |= UINT64_C(1) << to % 64;
		}
	return QV_OK;
}

int qv_neighbor_plan(const struct qv_neighbor_spec *spec, struct qv_neighbor_plan **plan)
{
	struct qv_neighbor_spec s = {0};
	struct planner p = {.spec = &s};
	int rc;

	if (qv_neighbor_read(&s, spec) || !s.graph.ranks || s.graph.ranks >= UINT32_MAX / 2 ||
	    s.k > QV_MOST_FRIENDS)
		return QV_EINVAL;
	p.plan = calloc(1, sizeof(*p.plan));
	if (!p.plan)
		return QV_ENOMEM;
	p.plan->ranks = p.plan->own = s.graph.ranks;
	rc = qv_neighbor_graph(p.plan, &s.graph);
	if (!rc)
		rc = open_planner(&p);
	if (!rc && s.k > 1)
		all_rounds(&p);
	if (!rc)
		deliver(&p);
	if (!rc && p.failed)
		rc = QV_ENOMEM;
	if (!rc)
		rc = qv_neighbor_close(p.plan, s.node);
	free(p.crowd.active);
	free(p.groups.at);
	free(p.source);
	free(p.head);
	free(p.next);
	if (rc)
		qv_neighbor_free(p.plan);
	else
		*plan = p.plan;
	return rc;
}
