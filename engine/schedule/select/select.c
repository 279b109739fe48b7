/* SPDX-License-Identifier: BSD-2-Clause */
/* select.c - plans for calls, kept by group, operation, size class and expected arrivals. */
#include "engine/schedule/agree.h"
#include "engine/schedule/schedule.h"
#include "select.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PLANS 256 /* that are kept though they are not in use */

struct entry {
	struct qv_plan plan; /* first: what the caller sees */
	struct qv_schedule *schedule;
	struct qv_case c;
	uint64_t era; /* of the network */
	unsigned int users;
	struct entry *next;
	uint64_t arrive[];
};

struct qv_select {
	struct qv_rule rules[QV_N_COLLS];
	struct qv_network network;
	struct qv_network bursts; /* alpha 0: as network */
	uint64_t era, found;
	struct entry *first; /* the one that was used last is in front */
	size_t n;
	uint64_t *arrive; /* room for those of one call */
	uint32_t arrive_room;
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

static void free_entry(struct entry *e)
{
	qv_schedule_free(e->schedule);
	free(e);
}

void qv_select_close(struct qv_select *select)
{
	struct entry *e, *next;

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

/* The call in the form in which it is looked up. */

/* One length for all of a class: those from a power of two to the next, or, of so many parts of
 * that, those that are nearest to one. */
static double size_class(size_t bytes, size_t parts)
{
	size_t low = 1;

	while (low <= bytes / 2)
		low *= 2;
	if (parts && bytes >= 16)
		return (double)((bytes + low / (2 * parts)) / (low / parts) * (low / parts));
	return bytes < 2 ? (double)bytes : 1.5 * (double)low;
}

/* Blocks that other ranks forward are worth it to a certain length. */
static size_t parts_of(enum qv_coll coll)
{
	return coll == QV_COLL_ALLGATHER || coll == QV_COLL_ALLTOALL ? 4 : 0;
}

static const struct qv_network *network_of(const struct qv_select *s, enum qv_coll coll)
{
	return parts_of(coll) && s->bursts.alpha > 0 ? &s->bursts : &s->network;
}

/* Half a round of the schedule whose rounds are shortest; what differs by less
 * makes no difference. */
static double unit_of(const struct qv_select *s, const struct qv_case *c)
{
	const struct qv_network *net = &s->network;
	double N = 1;

	if (c->coll == QV_COLL_REDUCE_SCATTER)
		N = c->ranks;
	else if (c->coll != QV_COLL_BROADCAST)
		N = qv_model_segments(net, QV_ALG_SEGMENTED, c->ranks, c->bytes);
	return qv_round_seconds(net, c->coll, c->bytes / N) / 2;
}

/* Arrivals in units from the first one; QV_EAGAIN if they are all alike. */
static int quantise(struct qv_select *s, struct qv_case *c, const uint64_t *arrive)
{
	uint64_t first = UINT64_MAX, any = 0;

	if (s->arrive_room < c->ranks) {
		uint64_t *grown = realloc(s->arrive, c->ranks * sizeof(*grown));

		if (!grown)
			return QV_ENOMEM;
		s->arrive = grown;
		s->arrive_room = c->ranks;
	}
	for (uint32_t r = 0; r < c->ranks; r++)
		first = arrive[r] < first ? arrive[r] : first;
	c->unit = unit_of(s, c);
	for (uint32_t r = 0; r < c->ranks; r++) {
		const double units = (double)(arrive[r] - first) * 1e-9 / c->unit;

		s->arrive[r] = units < 1e9 ? (uint64_t)units : 1000000000;
		any |= s->arrive[r];
	}
	return any ? QV_OK : QV_EAGAIN;
}

/* Whether what is chosen, or how it is built, depends on them. */
static int uses_arrivals(const struct qv_rule *rule)
{
	return !rule->named || rule->algorithm == QV_ALG_CLAIRVOYANT ||
	       rule->algorithm == QV_ALG_SEGMENTED;
}

static int make_case(struct qv_select *s, const struct qv_select_call *call, struct qv_case *c)
{
	int rc;

	if ((unsigned int)call->coll >= QV_N_COLLS || !call->ranks || call->rank >= call->ranks)
		return QV_EINVAL;
	*c = (struct qv_case){.group = call->group,
			      .coll = call->coll,
			      .ranks = call->ranks,
			      .rank = call->rank,
			      .root = call->root,
			      .load = call->load};
	c->bytes =
		call->coll == QV_COLL_BARRIER ? 0 : size_class(call->bytes, parts_of(call->coll));
	if ((call->coll == QV_COLL_GATHER || call->coll == QV_COLL_SCATTER) && s->bursts.alpha > 0)
		c->bursts = &s->bursts;
	if (!qv_expect_serves(call->coll))
		return QV_OK;
	c->ordered = call->ordered && qv_combines(call->coll);
	if (!call->arrive || c->ordered || !uses_arrivals(&s->rules[call->coll]))
		return QV_OK;
	c->bytes =
		size_class(call->bytes, 16); /* the time of a round is weighed against arrivals */
	rc = quantise(s, c, call->arrive);
	if (!rc)
		c->arrive = s->arrive;
	if (rc == QV_EAGAIN) { /* all at once */
		c->bytes = size_class(call->bytes, 0);
		return QV_OK;
	}
	return rc;
}

/* The same for all ranks. */
static int alike(const struct qv_case *a, const struct qv_case *b)
{
	if (a->group != b->group || a->coll != b->coll || a->ranks != b->ranks ||
	    a->root != b->root || a->ordered != b->ordered || a->bytes < b->bytes ||
	    a->bytes > b->bytes || !a->arrive != !b->arrive)
		return 0;
	return !a->arrive || !memcmp(a->arrive, b->arrive, a->ranks * sizeof(*a->arrive));
}

/* Keeping. */

static struct entry *find(struct qv_select *s, const struct qv_case *c)
{
	for (struct entry **at = &s->first, *e; (e = *at); at = &e->next) {
		if (e->era != s->era || e->c.rank != c->rank || !alike(&e->c, c))
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

	for (struct entry **at = &s->first, *e; (e = *at);) {
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
static int choose(struct qv_select *s, struct entry *e)
{
	for (const struct entry *other = s->first; other; other = other->next)
		if (other->era == s->era && alike(&other->c, &e->c)) {
			e->plan = other->plan;
			return QV_OK;
		}
	return qv_choose(&s->rules[e->c.coll], network_of(s, e->c.coll), &e->c, &e->plan);
}

/* What the rule says of how the schedule is built. */
static void apply(const struct qv_rule *rule, struct entry *e, struct qv_schedule_spec *spec)
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

static int build(struct qv_select *s, const struct qv_case *c, struct entry **entry)
{
	struct entry *e = calloc(1, sizeof(*e) + (c->arrive ? c->ranks : 0) * sizeof(*e->arrive));
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
	struct entry *e;
	int rc = make_case(select, call, &c);

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
	struct entry *e = (struct entry *)(uintptr_t)plan; /* its first member */

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

	return rule->named && uses_arrivals(rule);
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
