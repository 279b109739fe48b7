/* SPDX-License-Identifier: BSD-2-Clause */
/* case.c - a call in the form in which its plan is looked up: lengths by classes, arrivals in units
 * that make a difference. */
#include "engine/schedule/schedule.h"
#include "engine/schedule/agree.h"
#include "select.h"

#include <stdlib.h>
#include <string.h>

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

const struct qv_network *qv_network_of(const struct qv_select *s, enum qv_coll coll)
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

int qv_rule_uses_arrivals(const struct qv_rule *rule)
{
	return !rule->named || rule->algorithm == QV_ALG_CLAIRVOYANT ||
	       rule->algorithm == QV_ALG_SEGMENTED;
}

int qv_case_make(struct qv_select *s, const struct qv_select_call *call, struct qv_case *c)
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
	if (!call->arrive || c->ordered || !qv_rule_uses_arrivals(&s->rules[call->coll]))
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

int qv_cases_alike(const struct qv_case *a, const struct qv_case *b)
{
	if (a->group != b->group || a->coll != b->coll || a->ranks != b->ranks ||
	    a->root != b->root || a->ordered != b->ordered || a->bytes < b->bytes ||
	    a->bytes > b->bytes || !a->arrive != !b->arrive)
		return 0;
	return !a->arrive || !memcmp(a->arrive, b->arrive, a->ranks * sizeof(*a->arrive));
}
