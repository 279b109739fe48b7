/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * matching.c - one rank's part in a distributed matching of k ranks each, after Hoepman. Two
 * things are not as they have been printed: there is a total order of groups, without which equal
 * ones make ranks wait in a circle; and who has its group tells only ranks outside of it, or a
 * member that still waits for another one would give the group up.
 */
#include "neighbor.h"

#include <stdlib.h>
#include <string.h>

struct qv_matching {
	uint32_t rank, k;
	struct qv_friends *groups; /* the best first */
	uint32_t *others;          /* room for all members of all groups */
	uint32_t *asked;           /* by group: a bit for each member that wants it */
	unsigned char *alive;
	size_t n, best;
	int begun;
	int over; /* best is the group, or there is none */
	void (*send)(void *context, uint32_t to, enum qv_match_word word,
		     const struct qv_friends *group);
	void *context;
};

int qv_friends_order(const struct qv_friends *a, const struct qv_friends *b, uint32_t k)
{
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	for (uint32_t i = 0; i < k; i++)
		if (a->ranks[i] != b->ranks[i])
			return a->ranks[i] < b->ranks[i] ? -1 : 1;
	return 0;
}

/* What is behind the first k is of no importance, so all of it can be compared. */
int qv_friends_better(const void *a, const void *b)
{
	return qv_friends_order(a, b, QV_MOST_FRIENDS);
}

static int place_in(const struct qv_friends *group, uint32_t k, uint32_t rank)
{
	for (uint32_t i = 0; i < k; i++)
		if (group->ranks[i] == rank)
			return (int)i;
	return -1;
}

static int is_group_of(const struct qv_friends *group, uint32_t k, uint32_t rank)
{
	for (uint32_t i = 1; i < k; i++)
		if (group->ranks[i] <= group->ranks[i - 1])
			return 0;
	return place_in(group, k, rank) >= 0;
}

int qv_matching_create(uint32_t rank, uint32_t k, const struct qv_friends *possible, size_t n,
		       void (*send)(void *context, uint32_t to, enum qv_match_word word,
				    const struct qv_friends *group),
		       void *context, struct qv_matching **matching)
{
	struct qv_matching *m;

	if (k < 2 || k > QV_MOST_FRIENDS)
		return QV_EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!is_group_of(&possible[i], k, rank))
			return QV_EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return QV_ENOMEM;
	*m = (struct qv_matching){.rank = rank, .k = k, .n = n, .send = send, .context = context};
	m->groups = calloc(n + 1, sizeof(*m->groups));
	m->asked = calloc(n + 1, sizeof(*m->asked));
	m->alive = malloc(n + 1);
	m->others = malloc(n * k * sizeof(*m->others) + 1);
	if (!m->groups || !m->asked || !m->alive || !m->others) {
		qv_matching_free(m);
		return QV_ENOMEM;
	}
	memset(m->alive, 1, n);
	for (size_t i = 0; i < n; i++) {
		m->groups[i].weight = possible[i].weight;
		memcpy(m->groups[i].ranks, possible[i].ranks, k * sizeof(uint32_t));
	}
	if (n)
		qsort(m->groups, n, sizeof(*m->groups), qv_friends_better);
	*matching = m;
	return QV_OK;
}

void qv_matching_free(struct qv_matching *matching)
{
	if (!matching)
		return;
	free(matching->groups);
	free(matching->asked);
	free(matching->alive);
	free(matching->others);
	free(matching);
}

static int by_rank(const void *x, const void *y)
{
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

/* To all that are in a group that is still possible, but not in the chosen one; to each once. */
static void drop_others(struct qv_matching *m)
{
	const struct qv_friends *mine = &m->groups[m->best];
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < m->k && m->alive[i]; j++)
			if (place_in(mine, m->k, m->groups[i].ranks[j]) < 0)
				m->others[n++] = m->groups[i].ranks[j];
	if (n)
		qsort(m->others, n, sizeof(*m->others), by_rank);
	for (size_t i = 0; i < n; i++)
		if (!i || m->others[i] != m->others[i - 1])
			m->send(m->context, m->others[i], QV_MATCH_DROP, mine);
}

static void look(struct qv_matching *m)
{
	const uint32_t all = (1u << m->k) - 1;

	if (!m->over && m->asked[m->best] == all) {
		m->over = 1;
		drop_others(m);
	}
}

/* The best that is left. */
static void choose(struct qv_matching *m)
{
	const struct qv_friends *group;

	m->begun = 1;
	while (m->best < m->n && !m->alive[m->best])
		m->best++;
	m->over = m->best == m->n;
	if (m->over)
		return;
	group = &m->groups[m->best];
	m->asked[m->best] |= 1u << place_in(group, m->k, m->rank);
	for (uint32_t i = 0; i < m->k; i++)
		if (group->ranks[i] != m->rank)
			m->send(m->context, group->ranks[i], QV_MATCH_REQUEST, group);
	look(m);
}

void qv_matching_start(struct qv_matching *matching)
{
	if (!matching->begun) /* by what it has heard */
		choose(matching);
}

static void drop(struct qv_matching *m, uint32_t from)
{
	for (size_t i = 0; i < m->n; i++)
		if (place_in(&m->groups[i], m->k, from) >= 0)
			m->alive[i] = 0;
	if (m->best < m->n && !m->alive[m->best])
		choose(m);
}

void qv_matching_hear(struct qv_matching *matching, uint32_t from, enum qv_match_word word,
		      const struct qv_friends *group)
{
	struct qv_matching *m = matching;
	struct qv_friends key = {.weight = group->weight};
	const struct qv_friends *found;

	if (m->over)
		return;
	if (word == QV_MATCH_DROP) {
		drop(m, from);
		return;
	}
	memcpy(key.ranks, group->ranks, m->k * sizeof(uint32_t));
	found = bsearch(&key, m->groups, m->n, sizeof(key), qv_friends_better);
	if (!found || place_in(found, m->k, from) < 0)
		return; /* not one of ours */
	m->asked[found - m->groups] |= 1u << place_in(found, m->k, from);
	look(m);
}

int qv_matching_result(const struct qv_matching *matching, struct qv_friends *group)
{
	if (!matching->over)
		return QV_EAGAIN;
	if (matching->best == matching->n)
		return QV_ENOENT;
	*group = matching->groups[matching->best];
	return QV_OK;
}
