/* SPDX-License-Identifier: BSD-2-Clause */
/* select.c - plans for calls are built, kept and found again. */
#include "engine/schedule/agree.h"
#include "engine/schedule/schedule.h"
#include "select.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PLANS 256 /* that are kept though they are not in use */

struct qv_kept_plan {
	struct qv_plan plan; /* first: what the caller sees */
	struct qv_schedule *schedule;
	struct qv_case c;
	uint64_t era; /* of the network */
	unsigned int users;
	struct qv_kept_plan *next;
	uint64_t arrive[];
};

int qv_select_open(const char *rules, char *why, size_t room, struct qv_select **select)
{
	struct qv_select *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return QV_ENOMEM;
	rc = qv_rules_parse(rules, s->rules, why, room);
	if (rc) {
		free(s);
		return rc;
	}
	s->network = (struct qv_network){.alpha = 1.5e-6, .beta = 1e-10, .gamma = 1e-10};
	*select = s;
	return QV_OK;
}

static void free_entry(struct qv_kept_plan *e)
{
	qv_schedule_free(e->schedule);
	free(e);
}

void qv_select_close(struct qv_select *select)
{
	struct qv_kept_plan *e, *next;

	if (!select)
		return;
	for (e = select->first; e; e = next) {
		next = e->next;
		free_entry(e);
	}
	free(select->arrive);
	free(select);
}

int qv_select_network(struct qv_select *select, const struct qv_network *network)
{
	if (!qv_network_valid(network))
		return QV_EINVAL;
	if (!memcmp(&select->network, network, sizeof(*network)) && select->bursts.alpha <= 0)
		return QV_OK;
	select->network = *network;
	select->bursts.alpha = 0;
	select->era++;
	return QV_OK;
}

int qv_select_bursts(struct qv_select *select, const struct qv_network *bursts)
{
	if (!qv_network_valid(bursts))
		return QV_EINVAL;
	if (!memcmp(&select->bursts, bursts, sizeof(*bursts)))
		return QV_OK;
	select->bursts = *bursts;
	select->era++;
	return QV_OK;
}

static struct qv_kept_plan *find(struct qv_select *s, const struct qv_case *c)
{
	for (struct qv_kept_plan **at = &s->first, *e; (e = *at); at = &e->next) {
		if (e->era != s->era || e->c.rank != c->rank || !qv_cases_alike(&e->c, c))
			continue;
		*at = e->next;
		e->next = s->first;
		s->first = e;
		return e;
	}
	return NULL;
}

/* Free all that nobody uses and that are of the group, or behind so many others. */
static void drop(struct qv_select *s, const uint64_t *group, size_t keep)
{
	size_t n = 0;

	for (struct qv_kept_plan **at = &s->first, *e; (e = *at);) {
		if (e->users || (group ? e->c.group != *group : n < keep)) {
			n++;
			at = &e->next;
			continue;
		}
		*at = e->next;
		s->n--;
		free_entry(e);
	}
}

/* As for another rank of this process, or as is found now. */
static int choose(struct qv_select *s, struct qv_kept_plan *e)
{
	for (const struct qv_kept_plan *other = s->first; other; other = other->next)
		if (other->era == s->era && qv_cases_alike(&other->c, &e->c)) {
			e->plan = other->plan;
			return QV_OK;
		}
	return qv_choose(&s->rules[e->c.coll], qv_network_of(s, e->c.coll), &e->c, &e->plan);
}

/* What the rule says of how the schedule is built. */
static void apply(const struct qv_rule *rule, struct qv_kept_plan *e, struct qv_schedule_spec *spec)
{
	spec->faithful = rule->faithful;
	spec->k = rule->k;
	spec->pace = rule->pace;
	if (rule->product == spec->ranks) {
		spec->radix = rule->radix;
		spec->radix_n = rule->radix_n;
	}
	e->plan.primes = rule->product && rule->product != spec->ranks;
}

static int build(struct qv_select *s, const struct qv_case *c, struct qv_kept_plan **entry)
{
	struct qv_kept_plan *e =
		calloc(1, sizeof(*e) + (c->arrive ? c->ranks : 0) * sizeof(*e->arrive));
	struct qv_schedule_spec spec;
	int rc;

	if (!e)
		return QV_ENOMEM;
	e->c = *c;
	e->era = s->era;
	if (c->arrive) {
		memcpy(e->arrive, c->arrive, c->ranks * sizeof(*e->arrive));
		e->c.arrive = e->arrive;
	}
	rc = choose(s, e);
	if (!rc) {
		qv_choice_spec(&s->network, &e->c, &e->plan, &spec);
		apply(&s->rules[c->coll], e, &spec);
		rc = qv_schedule_build(&spec, c->rank, &e->schedule);
	}
	if (rc) {
		free(e);
		return rc;
	}
	e->plan.schedule = e->schedule;
	e->c.load = NULL;
	*entry = e;
	return QV_OK;
}

int qv_select_get(struct qv_select *select, const struct qv_select_call *call,
		  const struct qv_plan **plan)
{
	struct qv_case c;
	struct qv_kept_plan *e;
	int rc = qv_case_make(select, call, &c);

	if (rc)
		return rc;
	e = find(select, &c);
	if (e) {
		select->found++;
	} else {
		rc = build(select, &c, &e);
		if (rc)
			return rc;
		drop(select, NULL, MOST_PLANS - 1);
		e->next = select->first;
		select->first = e;
		select->n++;
	}
	e->users++;
	*plan = &e->plan;
	return QV_OK;
}

void qv_select_put(struct qv_select *select, const struct qv_plan *plan)
{
	struct qv_kept_plan *e = (struct qv_kept_plan *)(uintptr_t)plan; /* its first member */

	(void)select;
	e->users--;
}

int qv_select_units(const struct qv_select *select, const struct qv_select_call *call)
{
	int units = 0;

	for (int coll = 0; coll < QV_N_COLLS; coll++) {
		const struct qv_rule *rule = &select->rules[coll];
		const struct qv_schedule_spec spec = {
			.ranks = call->ranks, .k = rule->k, .load = call->load};

		if (rule->named && rule->algorithm == QV_ALG_UNIT)
			units += qv_unit_leads(&spec, call->rank);
	}
	return units;
}

int qv_select_wants_arrivals(const struct qv_select *select, enum qv_coll coll)
{
	const struct qv_rule *rule = &select->rules[coll];

	return rule->named && qv_rule_uses_arrivals(rule);
}

int qv_select_is_auto(const struct qv_select *select, enum qv_coll coll)
{
	return select->rules[coll].given && !select->rules[coll].named;
}

int qv_select_is_named(const struct qv_select *select, enum qv_coll coll)
{
	return select->rules[coll].named;
}

void qv_select_forget(struct qv_select *select, uint64_t group)
{
	drop(select, &group, 0);
}

void qv_select_stats(const struct qv_select *select, size_t *plans, uint64_t *found)
{
	*plans = select->n;
	*found = select->found;
}
