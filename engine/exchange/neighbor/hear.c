/* SPDX-License-Identifier: BSD-2-Clause */
/* hear.c - what a planner hears. Each kind is read without the number that says which it is. */
#include <stdlib.h>
#include <string.h>

#include "planner.h"

bool qv_planner_sends_to(const struct qv_planner *p, uint32_t rank, uint32_t *edge)
{
	const size_t found = qv_neighbor_edge(p->plan->out_at, p->plan->out, 0, rank);

	*edge = (uint32_t)found;
	return found != SIZE_MAX;
}

bool qv_planner_hears_from(const struct qv_planner *p, uint32_t rank, uint32_t *edge)
{
	const size_t found = qv_neighbor_edge(p->plan->in_at, p->plan->in, 0, rank);

	*edge = (uint32_t)found;
	return found != SIZE_MAX;
}

/* Each sender hears of all others; of those on its node, if groups are within nodes. */
static void answer_hellos(struct qv_planner *p)
{
	const struct qv_edge *in = p->plan->in;

	for (uint32_t i = 0; i < qv_planner_in_n(p); i++) {
		if (in[i].rank == p->spec.rank)
			continue;
		qv_planner_begin(p, QV_PLANNER_LIST);
		for (uint32_t j = 0; j < qv_planner_in_n(p); j++)
			if (j != i && in[j].rank != p->spec.rank && p->nodes[j] == p->nodes[i])
				qv_planner_add(p, in[j].rank);
		qv_planner_say(p, in[i].rank);
	}
}

static int hear_hello(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	uint32_t edge;

	if (n != 1 || !p->hellos || !qv_planner_hears_from(p, from, &edge))
		return QV_EINVAL;
	p->nodes[edge] = words[0];
	if (!--p->hellos)
		answer_hellos(p);
	return QV_OK;
}

static int hear_list(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	uint32_t edge;

	if (!p->lists || !qv_planner_sends_to(p, from, &edge))
		return QV_EINVAL;
	if (p->peers_n + n > p->peers_room) {
		const size_t room = 2 * p->peers_room + n;
		struct qv_planner_peer *grown = realloc(p->peers, room * sizeof(*grown));

		if (!grown)
			return QV_ENOMEM;
		p->peers = grown;
		p->peers_room = room;
	}
	for (size_t i = 0; i < n; i++) {
		if (words[i] >= p->spec.ranks || words[i] == p->spec.rank)
			return QV_EINVAL;
		p->peers[p->peers_n++] = (struct qv_planner_peer){words[i], edge};
	}
	p->lists--;
	return QV_OK;
}

static int hear_word(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	struct qv_friends group = {0};

	if (n != 3 + (size_t)p->spec.k || words[1] > QV_MATCH_DROP)
		return QV_EINVAL;
	group.weight = words[2];
	memcpy(group.ranks, words + 3, p->spec.k * sizeof(*words));
	qv_matching_hear(p->matching, from, (enum qv_match_word)words[1], &group);
	return QV_OK;
}

static int hear_done(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	const uint32_t member = qv_planner_crowd_find(&p->crowd, from);
	size_t at = 3;
	uint32_t edge;

	if (n < 3 || words[2] > n - 3 || (n - 3 - words[2]) % 2 || member == UINT32_MAX ||
	    !p->dones)
		return QV_EINVAL;
	p->crowd.gone[member] |= words[1] != 0;
	for (; at < 3 + (size_t)words[2]; at++)
		if (qv_planner_sends_to(p, words[at], &edge))
			qv_planner_crowd_clear(&p->crowd, member, edge);
	for (; at < n; at += 2) {
		if (!qv_planner_sends_to(p, words[at], &edge))
			return QV_EINVAL;
		qv_planner_hop(p, qv_neighbor_phase(words[0], p->spec.cumulative), from,
			       p->spec.rank, words[at + 1], words[at]);
		qv_planner_hold(p, edge, words[at + 1]);
	}
	p->dones--;
	return QV_OK;
}

static int hear_delivery(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	uint32_t edge;

	if (!n || !p->deliveries || !qv_planner_hears_from(p, from, &edge))
		return QV_EINVAL;
	for (size_t i = 1; i < n; i++) {
		if (!qv_planner_hears_from(p, words[i], &edge))
			return QV_EINVAL;
		qv_planner_hop(p, words[0], from, p->spec.rank, words[i], p->spec.rank);
	}
	p->deliveries--;
	return QV_OK;
}

/* Of a round that is over for this rank. */
static bool is_late(const struct qv_planner *p, const uint32_t *words)
{
	return (words[0] == QV_PLANNER_WORD || words[0] == QV_PLANNER_DONE) &&
	       (p->stage == QV_PLANNER_LEFT || words[1] < p->round);
}

int qv_planner_take(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	if (is_late(p, words))
		return QV_EINVAL;
	switch (words[0]) {
	case QV_PLANNER_HELLO: return hear_hello(p, from, words + 1, n - 1);
	case QV_PLANNER_LIST: return hear_list(p, from, words + 1, n - 1);
	case QV_PLANNER_WORD: return hear_word(p, from, words + 1, n - 1);
	case QV_PLANNER_DONE: return hear_done(p, from, words + 1, n - 1);
	case QV_PLANNER_DELIVER: return hear_delivery(p, from, words + 1, n - 1);
	default: return QV_EINVAL;
	}
}
