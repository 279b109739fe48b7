/* SPDX-License-Identifier: BSD-2-Clause */
/* crowd.c - with whom one rank could form a group: those that send to many of its neighbours. */
#include <stdlib.h>
#include <string.h>

#include "planner.h"

static int by_rank(const void *x, const void *y)
{
	const struct qv_planner_peer *a = x, *b = y;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void set(struct qv_crowd *bits, uint32_t member, uint32_t edge)
{
	qv_active(bits, member)[edge / 64] |= UINT64_C(1) << edge % 64;
}

/* How many of the sorted peers from the first one on are the same rank. */
static size_t run_of(const struct qv_planner_peer *peers, size_t n)
{
	size_t run = 1;

	while (run < n && peers[run].rank == peers[0].rank)
		run++;
	return run;
}

/* How many ranks have enough in common with this one. */
static uint32_t members_of(const struct qv_planner_peer *peers, size_t n, uint32_t least)
{
	uint32_t members = 0;

	for (size_t i = 0, run; i < n; i += run) {
		run = run_of(peers + i, n - i);
		members += run > least;
	}
	return members;
}

static int make_room(struct qv_planner_crowd *c, uint32_t members, uint32_t edges)
{
	c->bits.ranks = members;
	c->bits.words = (edges + 63) / 64;
	c->bits.active = calloc((size_t)members * c->bits.words + 1, sizeof(*c->bits.active));
	c->names = calloc(members, sizeof(*c->names));
	c->gone = calloc(members, sizeof(*c->gone));
	return c->bits.active && c->names && c->gone ? QV_OK : QV_ENOMEM;
}

/* This rank itself: it could take over all neighbours but itself. */
static void add_me(struct qv_planner_crowd *c, const struct qv_neighbor_plan *plan, uint32_t place)
{
	c->me = place;
	c->names[place] = plan->first;
	for (uint32_t e = 0; e < plan->out_at[1]; e++)
		if (plan->out[e].rank != plan->first)
			set(&c->bits, place, e);
}

int qv_planner_crowd_open(struct qv_planner_crowd *c, const struct qv_neighbor_plan *plan,
			  uint32_t k, uint32_t least, struct qv_planner_peer *peers, size_t n)
{
	uint32_t place = 0;
	bool there = false;
	int rc;

	if (n)
		qsort(peers, n, sizeof(*peers), by_rank);
	*c = (struct qv_planner_crowd){.bits = {.k = k, .least = least}};
	rc = make_room(c, members_of(peers, n, least) + 1, (uint32_t)plan->out_at[1]);
	if (rc)
		return rc;
	for (size_t i = 0, run; i < n; i += run) {
		run = run_of(peers + i, n - i);
		if (run <= least)
			continue;
		if (!there && peers[i].rank > plan->first) {
			add_me(c, plan, place++);
			there = true;
		}
		c->names[place] = peers[i].rank;
		for (size_t j = i; j < i + run; j++)
			set(&c->bits, place, peers[j].edge);
		place++;
	}
	if (!there)
		add_me(c, plan, place);
	return QV_OK;
}

void qv_planner_crowd_close(struct qv_planner_crowd *c)
{
	free(c->bits.active);
	free(c->names);
	free(c->gone);
	*c = (struct qv_planner_crowd){.names = NULL};
}

static int by_name(const void *x, const void *y)
{
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

uint32_t qv_planner_crowd_find(const struct qv_planner_crowd *c, uint32_t rank)
{
	const uint32_t *found =
		c->names ? bsearch(&rank, c->names, c->bits.ranks, sizeof(rank), by_name) : NULL;

	return found ? (uint32_t)(found - c->names) : UINT32_MAX;
}

uint32_t qv_planner_crowd_left(struct qv_planner_crowd *c)
{
	const uint64_t *mine = qv_active(&c->bits, c->me);
	uint32_t left = 0;

	for (uint32_t i = 0; i < c->bits.ranks; i++) {
		const uint64_t *its = qv_active(&c->bits, i);
		uint32_t common = 0;

		for (size_t w = 0; w < c->bits.words; w++)
			common += (uint32_t)__builtin_popcountll(mine[w] & its[w]);
		c->gone[i] |= i == c->me || common <= c->bits.least;
		left += !c->gone[i];
	}
	return left;
}

void qv_planner_crowd_clear(struct qv_planner_crowd *c, uint32_t member, uint32_t edge)
{
	qv_active(&c->bits, member)[edge / 64] &= ~(UINT64_C(1) << edge % 64);
}

bool qv_planner_crowd_has(const struct qv_planner_crowd *c, uint32_t member, uint32_t edge)
{
	return qv_active(&c->bits, member)[edge / 64] >> edge % 64 & 1;
}

int qv_planner_crowd_groups(const struct qv_planner_crowd *c, struct qv_friends_list *list)
{
	const int rc = qv_friends_of(&c->bits, c->me, list);

	for (size_t i = 0; i < list->n; i++)
		for (uint32_t j = 0; j < c->bits.k; j++)
			list->at[i].ranks[j] = c->names[list->at[i].ranks[j]];
	return rc;
}

bool qv_planner_crowd_share(const struct qv_planner_crowd *c, const struct qv_friends *group,
			    uint32_t edge)
{
	for (uint32_t i = 0; i < c->bits.k; i++)
		if (!qv_planner_crowd_has(c, qv_planner_crowd_find(c, group->ranks[i]), edge))
			return false;
	return true;
}
