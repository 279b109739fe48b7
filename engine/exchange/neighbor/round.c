/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * round.c - a planner's rounds. The rank finds a group or none, hands blocks over to its friends, and
 * tells the crowd. In the end it tells its neighbours whose blocks they will get from it.
 */
#include <stdlib.h>

#include "planner.h"

#define NOT_COMMON UINT32_MAX

static void say_word(void *context, uint32_t to, enum qv_match_word word,
		     const struct qv_friends *group)
{
	struct qv_planner *p = context;

	qv_planner_begin(p, QV_PLANNER_WORD);
	qv_planner_add(p, p->round);
	qv_planner_add(p, word);
	qv_planner_add(p, group->weight);
	for (uint32_t i = 0; i < p->spec.k; i++)
		qv_planner_add(p, group->ranks[i]);
	qv_planner_say(p, to);
}

void qv_planner_round_begin(struct qv_planner *p)
{
	p->dones = p->leaves || p->round == QV_MOST_ROUNDS ? 0 : qv_planner_crowd_left(&p->crowd);
	if (!p->dones) {
		qv_planner_leave(p);
		return;
	}
	p->stage = QV_PLANNER_MATCHING;
	p->error = qv_planner_crowd_groups(&p->crowd, &p->groups);
	p->leaves = !p->groups.n; /* there will not be one later: what is common only shrinks */
	for (size_t i = 0; i < p->groups.n && !p->round; i++)
		p->plan->stats.possible += p->groups.at[i].ranks[0] == p->spec.rank;
	qv_matching_free(p->matching);
	p->matching = NULL;
	if (!p->error)
		p->error = qv_matching_create(p->spec.rank, p->spec.k, p->groups.at, p->groups.n,
					      say_word, p, &p->matching);
	if (!p->error)
		qv_matching_start(p->matching);
}

/* The neighbours that a group has in common get a member each, by edge; blocks for those of others
 * leave this rank. */
static void share(struct qv_planner *p, const struct qv_friends *group, uint32_t *part)
{
	const uint32_t phase = qv_neighbor_phase(p->round, p->spec.cumulative);
	struct qv_cut cut = {.weight = group->weight, .k = p->spec.k};

	for (uint32_t e = 0; e < p->edges; e++) {
		const struct qv_planner_held *held = &p->held[e];
		uint32_t to;

		part[e] = NOT_COMMON;
		if (!qv_planner_crowd_share(&p->crowd, group, e))
			continue;
		part[e] = qv_cut_next(&cut);
		to = group->ranks[part[e]];
		if (to != p->spec.rank || !p->spec.cumulative)
			qv_planner_crowd_clear(&p->crowd, p->crowd.me, e);
		for (size_t i = 0; to != p->spec.rank && i < held->n; i++)
			qv_planner_hop(p, phase, p->spec.rank, to, held->from[i],
				       p->plan->out[e].rank);
	}
	p->plan->stats.groups += group->ranks[0] == p->spec.rank;
	p->plan->stats.rounds = p->round + 1;
}

/* Which neighbours this rank will not take over any more. */
static void add_cleared(struct qv_planner *p, const uint32_t *part)
{
	const struct qv_planner_crowd *c = &p->crowd;
	const size_t count = p->out_n;
	uint32_t cleared = 0;

	qv_planner_add(p, 0);
	for (uint32_t e = 0; part && e < p->edges; e++)
		if (part[e] != NOT_COMMON && !qv_planner_crowd_has(c, c->me, e)) {
			qv_planner_add(p, p->plan->out[e].rank);
			cleared++;
		}
	if (!p->error)
		p->out[count] = cleared;
}

/* What a friend has of this rank from now on: those for its part. */
static void add_handed_over(struct qv_planner *p, const uint32_t *part, uint32_t place)
{
	for (uint32_t e = 0; e < p->edges; e++)
		for (size_t i = 0; part[e] == place && i < p->held[e].n; i++) {
			qv_planner_add(p, p->plan->out[e].rank);
			qv_planner_add(p, p->held[e].from[i]);
		}
}

/* The crowd hears how the round has ended; group and part are NULL if there is no group. */
static void tell(struct qv_planner *p, const struct qv_friends *group, const uint32_t *part)
{
	const struct qv_planner_crowd *c = &p->crowd;

	for (uint32_t member = 0; member < c->bits.ranks; member++) {
		if (c->gone[member])
			continue;
		qv_planner_begin(p, QV_PLANNER_DONE);
		qv_planner_add(p, p->round);
		qv_planner_add(p, p->leaves);
		add_cleared(p, part);
		for (uint32_t i = 0; group && i < p->spec.k; i++)
			if (group->ranks[i] == c->names[member])
				add_handed_over(p, part, i);
		qv_planner_say(p, c->names[member]);
	}
}

static void end_with(struct qv_planner *p, const struct qv_friends *group)
{
	uint32_t *part = calloc(p->edges, sizeof(*part));

	if (!part) {
		p->error = QV_ENOMEM;
		return;
	}
	share(p, group, part);
	tell(p, group, part);
	for (uint32_t e = 0; e < p->edges; e++)
		if (part[e] != NOT_COMMON && group->ranks[part[e]] != p->spec.rank)
			p->held[e].n = 0;
	free(part);
}

bool qv_planner_round_end(struct qv_planner *p)
{
	struct qv_friends group;
	const int rc = qv_matching_result(p->matching, &group);

	if (rc == QV_EAGAIN)
		return false;
	p->stage = QV_PLANNER_ENDING;
	if (rc == QV_OK)
		end_with(p, &group);
	else
		tell(p, NULL, NULL);
	return true;
}

/* What is alone and this rank's own may go at once. */
void qv_planner_leave(struct qv_planner *p)
{
	const uint32_t me = p->spec.rank;

	p->stage = QV_PLANNER_LEFT;
	for (uint32_t e = 0; e < p->edges; e++) {
		const uint32_t to = p->plan->out[e].rank;
		const struct qv_planner_held *held = &p->held[e];
		const bool alone = held->n == 1 && held->from[0] == me;
		const uint32_t phase = alone ? QV_ALONE_PHASE : QV_LAST_PHASE;

		if (to == me)
			continue;
		qv_planner_begin(p, QV_PLANNER_DELIVER);
		qv_planner_add(p, phase);
		for (size_t i = 0; i < held->n; i++) {
			qv_planner_hop(p, phase, me, to, held->from[i], to);
			qv_planner_add(p, held->from[i]);
		}
		qv_planner_say(p, to);
	}
}
