/* SPDX-License-Identifier: BSD-2-Clause */
/* friends.c - groups of ranks that have many neighbours in common, and which of
 * them are taken. */
#include "neighbor.h"

#include <stdlib.h>
#include <string.h>

/* A group that grows: the bits of the neighbours that all have in common, for each length. */
struct search {
	const struct qv_crowd *c;
	struct qv_friends_list *list;
	struct qv_friends group;
	uint32_t *others; /* that could be with the first one, ascending */
	uint32_t others_n;
	uint64_t *common; /* k times words */
	int failed;
};

static uint32_t both(const struct search *s, uint32_t depth, uint32_t rank)
{
	const uint64_t *a = s->common + (depth - 1) * s->c->words, *b = qv_active(s->c, rank);
	uint64_t *to = s->common + depth * s->c->words;
	uint32_t n = 0;

	for (size_t w = 0; w < s->c->words; w++) {
		to[w] = a[w] & b[w];
		n += (uint32_t)__builtin_popcountll(to[w]);
	}
	return n;
}

/* The first one goes to its place: the others are in order. */
static struct qv_friends in_order(const struct search *s, uint32_t weight)
{
	struct qv_friends group = s->group;
	const uint32_t first = group.ranks[0];
	uint32_t i = 1;

	for (; i < s->c->k && group.ranks[i] < first; i++)
		group.ranks[i - 1] = group.ranks[i];
	group.ranks[i - 1] = first;
	group.weight = weight;
	return group;
}

static void found(struct search *s, uint32_t weight)
{
	struct qv_friends_list *l = s->list;

	if (l->n == l->room) {
		const size_t room = l->room * 2 + 64;
		struct qv_friends *grown = realloc(l->at, room * sizeof(*grown));

		s->failed |= !grown;
		if (!grown)
			return;
		l->at = grown;
		l->room = room;
	}
	l->at[l->n++] = in_order(s, weight);
}

/* Each member is behind the one before, but for the first; a group that has too little in common does
 * not grow. */
static void grow(struct search *s, uint32_t depth, uint32_t next)
{
	for (uint32_t i = next; i < s->others_n && !s->failed; i++) {
		const uint32_t weight = both(s, depth, s->others[i]);

		if (weight <= s->c->least)
			continue;
		s->group.ranks[depth] = s->others[i];
		if (depth + 1 == s->c->k)
			found(s, weight);
		else
			grow(s, depth + 1, i + 1);
		s->group.ranks[depth] = 0;
	}
}

/* All groups of a rank with others from this one on. */
static void from(struct search *s, uint32_t rank, uint32_t next)
{
	const struct qv_crowd *c = s->c;
	uint64_t any = 0;

	for (size_t w = 0; w < c->words; w++)
		any |= qv_active(c, rank)[w];
	if (!any)
		return;
	memcpy(s->common, qv_active(c, rank), c->words * sizeof(*s->common));
	s->group.ranks[0] = rank;
	s->others_n = 0;
	for (uint32_t other = next; other < c->ranks; other++)
		if (other != rank && (!c->node || c->node[other] == c->node[rank]) &&
		    both(s, 1, other) > c->least)
			s->others[s->others_n++] = other;
	if (s->others_n + 1 >= c->k)
		grow(s, 1, 0);
}

static int open_search(struct search *s, const struct qv_crowd *c, struct qv_friends_list *list)
{
	*s = (struct search){.c = c, .list = list};
	list->n = 0;
	s->others = calloc(c->ranks, sizeof(*s->others));
	s->common = calloc((size_t)c->k + 1, c->words * sizeof(*s->common));
	s->failed = !s->others || !s->common;
	return !s->failed;
}

static int close_search(struct search *s)
{
	free(s->others);
	free(s->common);
	return s->failed ? QV_ENOMEM : QV_OK;
}

int qv_friends_find(const struct qv_crowd *c, struct qv_friends_list *list)
{
	struct search s;

	if (open_search(&s, c, list))
		for (uint32_t rank = 0; rank < c->ranks && !s.failed; rank++)
			from(&s, rank, rank + 1);
	return close_search(&s);
}

int qv_friends_of(const struct qv_crowd *c, uint32_t rank, struct qv_friends_list *list)
{
	struct search s;

	if (open_search(&s, c, list))
		from(&s, rank, 0);
	return close_search(&s);
}

int qv_friends_match(const struct qv_crowd *c, struct qv_friends_list *list, size_t *n)
{
	unsigned char *taken = calloc(c->ranks, 1);

	*n = 0;
	if (!taken)
		return QV_ENOMEM;
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), qv_friends_better);
	for (size_t i = 0; i < list->n; i++) {
		int is_free = 1;

		for (uint32_t j = 0; j < c->k; j++)
			is_free &= !taken[list->at[i].ranks[j]];
		if (!is_free)
			continue;
		for (uint32_t j = 0; j < c->k; j++)
			taken[list->at[i].ranks[j]] = 1;
		list->at[(*n)++] = list->at[i];
	}
	free(taken);
	return QV_OK;
}
