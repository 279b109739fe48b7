/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planner.c - one rank's part of a plan, by messages. Each rank tells its neighbours that it is there,
 * and each neighbour answers with all others who send to it. So a rank knows with whom it has
 * neighbours in common: its crowd. Then come rounds. In each the ranks find groups, each member hands
 * the blocks for some of their common neighbours over to another one, and tells its crowd which
 * neighbours it will not take over any more. A rank that can be in no group leaves. A message of the
 * crowd may come before its round, and is kept until then. hear.c reads messages, round.c has the rounds.
 */
#include "planner.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/settings.h"

/* What is said of a round waits until this rank is so far, and its end until this rank's own. */
static bool is_early(const struct qv_planner *p, const uint32_t *words)
{
	switch (words[0]) {
	case QV_PLANNER_WORD: return p->stage < QV_PLANNER_MATCHING || words[1] > p->round;
	case QV_PLANNER_DONE: return p->stage < QV_PLANNER_ENDING || words[1] > p->round;
	default: return false;
	}
}

static int keep(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	struct qv_planner_early *early = malloc(sizeof(*early) + n * sizeof(*words)), **at;

	if (!early)
		return QV_ENOMEM;
	early->next = NULL;
	early->from = from;
	early->n = n;
	memcpy(early->words, words, n * sizeof(*words));
	for (at = &p->early; *at; at = &(*at)->next)
		;
	*at = early;
	return QV_OK;
}

/* The first error stays. */
static void fail(struct qv_planner *p, int rc)
{
	if (!p->error)
		p->error = rc;
}

/* The first of the early ones that is of use by now; false: none. */
static bool take_early(struct qv_planner *p)
{
	for (struct qv_planner_early **at = &p->early, *early; (early = *at); at = &early->next) {
		if (is_early(p, early->words))
			continue;
		*at = early->next;
		fail(p, qv_planner_take(p, early->from, early->words, early->n));
		free(early);
		return true;
	}
	return false;
}

/* Stages. */

static void meet(struct qv_planner *p)
{
	p->error = qv_planner_crowd_open(&p->crowd, p->plan, p->spec.k,
					 qv_neighbor_least(p->spec.k, p->spec.node != QV_ANY_NODE),
					 p->peers, p->peers_n);
	free(p->peers);
	p->peers = NULL;
	p->peers_n = p->peers_room = 0;
	if (!p->error)
		qv_planner_round_begin(p);
}

/* Whether there was anything to be done. */
static bool step(struct qv_planner *p)
{
	if (p->stage == QV_PLANNER_LISTENING && !p->lists) {
		meet(p);
		return true;
	}
	if (p->stage == QV_PLANNER_MATCHING && qv_planner_round_end(p))
		return true;
	if (p->stage == QV_PLANNER_ENDING && !p->dones) {
		p->round++;
		qv_planner_round_begin(p);
		return true;
	}
	return take_early(p);
}

static int go_on(struct qv_planner *p)
{
	while (!p->error && step(p))
		;
	return p->error;
}

/* Without groups nobody has to be asked. */
static void go_straight(struct qv_planner *p)
{
	p->stage = QV_PLANNER_LEFT;
	p->deliveries = 0;
	for (uint32_t i = 0; i < p->edges; i++)
		if (p->plan->out[i].rank != p->spec.rank)
			qv_planner_hop(p, QV_ALONE_PHASE, p->spec.rank, p->plan->out[i].rank,
				       p->spec.rank, p->plan->out[i].rank);
	for (uint32_t i = 0; i < qv_planner_in_n(p); i++)
		if (p->plan->in[i].rank != p->spec.rank)
			qv_planner_hop(p, QV_ALONE_PHASE, p->plan->in[i].rank, p->spec.rank,
				       p->plan->in[i].rank, p->spec.rank);
}

int qv_planner_start(struct qv_planner *p)
{
	if (p->spec.k < 2) {
		go_straight(p);
		return p->error;
	}
	p->stage = QV_PLANNER_LISTENING;
	for (uint32_t e = 0; e < p->edges; e++) {
		if (p->plan->out[e].rank == p->spec.rank)
			continue;
		qv_planner_begin(p, QV_PLANNER_HELLO);
		qv_planner_add(p, p->spec.node);
		qv_planner_say(p, p->plan->out[e].rank);
	}
	return go_on(p);
}

int qv_planner_hear(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n)
{
	if (p->error)
		return p->error;
	if (!n || p->stage == QV_PLANNER_NEW || p->spec.k < 2)
		return QV_EINVAL;
	if ((words[0] == QV_PLANNER_WORD || words[0] == QV_PLANNER_DONE) && n < 2)
		return QV_EINVAL;
	fail(p, is_early(p, words) ? keep(p, from, words, n) : qv_planner_take(p, from, words, n));
	return go_on(p);
}

/* Its beginning and its end. */

static int read_spec(struct qv_planner_spec *to, const struct qv_planner_spec *spec)
{
	int rc;

	*to = (struct qv_planner_spec){.node = QV_ANY_NODE};
	rc = qv_settings_read(to, sizeof(*to), QV_SETTINGS_UPTO(struct qv_planner_spec, cumulative),
			      spec);
	if (!rc &&
	    (to->rank >= to->ranks || to->ranks >= UINT32_MAX / 2 || to->k > QV_MOST_FRIENDS))
		rc = QV_EINVAL;
	return rc;
}

static int open_planner(struct qv_planner *p)
{
	struct qv_neighbor_plan *plan = p->plan;
	uint32_t edge;
	int rc;

	plan->ranks = p->spec.ranks;
	plan->first = p->spec.rank;
	plan->own = 1;
	rc = qv_neighbor_lists(plan, &p->spec);
	if (rc)
		return rc;
	p->edges = (uint32_t)plan->out_at[1];
	p->held = calloc((size_t)p->edges + 1, sizeof(*p->held));
	p->nodes = calloc((size_t)qv_planner_in_n(p) + 1, sizeof(*p->nodes));
	if (!p->held || !p->nodes)
		return QV_ENOMEM;
	for (uint32_t e = 0; e < p->edges; e++)
		qv_planner_hold(p, e, p->spec.rank);
	p->lists = p->edges - qv_planner_sends_to(p, p->spec.rank, &edge);
	p->hellos = p->deliveries =
		qv_planner_in_n(p) - qv_planner_hears_from(p, p->spec.rank, &edge);
	return p->error;
}

int qv_planner_create(const struct qv_planner_spec *spec,
		      void (*send)(void *context, uint32_t to, const uint32_t *words, size_t n),
		      void *context, struct qv_planner **planner)
{
	struct qv_planner_spec s;
	struct qv_planner *p;
	int rc = read_spec(&s, spec);

	if (rc)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return QV_ENOMEM;
	p->spec = s;
	p->send = send;
	p->context = context;
	p->plan = calloc(1, sizeof(*p->plan));
	rc = p->plan ? open_planner(p) : QV_ENOMEM;
	if (rc)
		qv_planner_free(p);
	else
		*planner = p;
	return rc;
}

int qv_planner_result(struct qv_planner *p, struct qv_neighbor_plan **plan)
{
	int rc;

	if (p->stage != QV_PLANNER_LEFT || p->deliveries)
		return QV_EAGAIN;
	if (!p->plan)
		return QV_ENOENT;
	rc = qv_neighbor_close(p->plan, NULL);
	if (rc)
		return rc;
	*plan = p->plan;
	p->plan = NULL;
	return QV_OK;
}

void qv_planner_free(struct qv_planner *p)
{
	if (!p)
		return;
	for (uint32_t e = 0; p->held && e < p->edges; e++)
		free(p->held[e].from);
	for (struct qv_planner_early *early = p->early, *next; early; early = next) {
		next = early->next;
		free(early);
	}
	qv_neighbor_free(p->plan);
	qv_planner_crowd_close(&p->crowd);
	qv_matching_free(p->matching);
	free(p->groups.at);
	free(p->held);
	free(p->nodes);
	free(p->peers);
	free(p->out);
	free(p);
}
