/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.c - what is fastest. If all ranks begin at once, formulas tell. If some are
 * late, schedules of all ranks are run in virtual time: those from expected arrivals, and beside
 * them as the floor what does not know of any.
 */
#include <stdlib.h>

#include "engine/schedule/agree.h"
#include "engine/schedule/schedule.h"
#include "select.h"

#define BETTER     0.95  /* expectations can be wrong: a gain of less is none */
#define MOST_STEPS 65536 /* of a schedule of all ranks that is run in virtual time */

/* The fastest so far. */
struct race {
	const struct qv_network *network;
	const struct qv_case *c;
	double *times; /* by rank: when it comes, then when it is done; NULL: all at once */
	struct qv_schedule **all;
	struct qv_plan best;
	int any;
};

static uint32_t to_units(double seconds, double unit)
{
	const double n = seconds / unit + 0.5;

	return n < 1 ? 1 : n > 1e9 ? 1000000000 : (uint32_t)n;
}

double qv_round_seconds(const struct qv_network *network, enum qv_coll coll, double bytes)
{
	return qv_network_seconds(network, bytes) +
	       (qv_combines(coll) ? bytes * network->gamma : 0);
}

void qv_choice_spec(const struct qv_network *network, const struct qv_case *c,
		    const struct qv_plan *choice, struct qv_schedule_spec *spec)
{
	double bytes = c->bytes;

	*spec = (struct qv_schedule_spec){.size = sizeof(*spec),
					  .coll = c->coll,
					  .algorithm = choice->algorithm,
					  .ranks = c->ranks,
					  .root = c->root,
					  .segments = choice->segments,
					  .ordered = c->ordered,
					  .load = c->load};
	if (!choice->by_arrival)
		return;
	if (choice->algorithm == QV_ALG_SEGMENTED)
		bytes /= c->coll == QV_COLL_REDUCE_SCATTER ? c->ranks : choice->segments;
	spec->arrive = c->arrive;
	spec->round = to_units(qv_round_seconds(network, c->coll, bytes), c->unit);
}

double qv_root_seconds(const struct qv_network *network, const struct qv_network *bursts,
		       uint32_t ranks, double block)
{
	return ranks < 2 ? 0
			 : qv_network_seconds(network, block) +
				   (ranks - 2) * qv_network_seconds(bursts, block);
}

/* What is taken where it is named only: it is found in the run how long it takes. */
static int by_name_only(enum qv_algorithm algorithm)
{
	return algorithm == QV_ALG_REDIRECT || algorithm == QV_ALG_UNIT;
}

static struct qv_plan make(const struct qv_network *network, const struct qv_case *c,
			   enum qv_algorithm algorithm)
{
	struct qv_plan choice = {.algorithm = algorithm};

	choice.segments = qv_model_segments(network, algorithm, c->ranks, c->bytes);
	choice.seconds =
		c->bursts && algorithm == QV_ALG_DIRECT
			? qv_root_seconds(network, c->bursts, c->ranks, c->bytes / c->ranks)
			: qv_model_seconds(network, c->coll, algorithm, c->ranks, c->bytes,
					   choice.segments);
	return choice;
}

/* The fastest that can be had if all ranks begin at once. Those for late ones are
 * no better then. */
static int fastest_at_once(const struct qv_network *network, const struct qv_case *c,
			   struct qv_plan *best)
{
	int any = 0;

	for (int i = 0; i < QV_N_ALGORITHMS; i++) {
		const enum qv_algorithm algorithm = (enum qv_algorithm)i;
		struct qv_plan choice;

		if (algorithm == QV_ALG_CLAIRVOYANT || by_name_only(algorithm) ||
		    !qv_schedule_exists(c->coll, algorithm, c->ordered))
			continue;
		choice = make(network, c, algorithm);
		if (any && choice.seconds >= best->seconds)
			continue;
		*best = choice;
		any = 1;
	}
	return any ? QV_OK : QV_EINVAL;
}

/* Late ranks. */

static double last_of(const double *times, uint32_t n)
{
	double last = 0;

	for (uint32_t i = 0; i < n; i++)
		last = times[i] > last ? times[i] : last;
	return last;
}

static int small_enough(const struct qv_case *c, const struct qv_schedule_spec *spec)
{
	const uint64_t P = c->ranks;

	switch (spec->algorithm) {
	case QV_ALG_BINOMIAL:
	case QV_ALG_REDIRECT:
	case QV_ALG_UNIT:
	case QV_ALG_CLAIRVOYANT: return P <= MOST_STEPS / 4;
	case QV_ALG_PIPELINE:
	case QV_ALG_BINARY:
	case QV_ALG_SEGMENTED:
		return P * (c->coll == QV_COLL_REDUCE_SCATTER ? P : spec->segments) <=
		       MOST_STEPS / 4;
	case QV_ALG_BUTTERFLY: return P <= MOST_STEPS / 64;
	case QV_ALG_RING: return P * P <= MOST_STEPS / 16; /* each rank could go on at any time */
	default: return P * P <= MOST_STEPS / 4;
	}
}

/* From the first arrival to the end of the last rank. What is too long to be run is taken to begin
 * when the last rank comes. */
static int time_it(struct race *r, struct qv_plan *choice)
{
	const uint32_t P = r->c->ranks;
	struct qv_schedule_spec spec;
	int rc;

	qv_choice_spec(r->network, r->c, choice, &spec);
	if (!small_enough(r->c, &spec)) {
		choice->seconds += last_of(r->times, P);
		return QV_OK;
	}
	rc = qv_schedule_build_all(&spec, r->all);
	if (rc)
		return rc;
	rc = qv_schedule_time(r->network, r->all, P, r->c->bytes, r->times, r->times + P);
	if (!rc)
		choice->seconds = last_of(r->times + P, P);
	for (uint32_t i = 0; i < P; i++)
		qv_schedule_free(r->all[i]);
	return rc;
}

/* Takes the lead if its time is less than so much of the best one's. */
static int enter(struct race *r, enum qv_algorithm algorithm, int by_arrival, double share)
{
	struct qv_plan choice = make(r->network, r->c, algorithm);
	int rc;

	if (!qv_schedule_exists(r->c->coll, algorithm, r->c->ordered))
		return QV_OK;
	choice.by_arrival = by_arrival;
	rc = time_it(r, &choice);
	if (!rc && (!r->any || choice.seconds < share * r->best.seconds)) {
		r->best = choice;
		r->any = 1;
	}
	return rc;
}

static int race_all(struct race *r, const struct qv_rule *rule)
{
	const double share = rule->faithful ? 1 : BETTER;
	int rc = QV_OK;

	for (int i = 0; i < QV_N_ALGORITHMS && !rc; i++)
		if (i != QV_ALG_CLAIRVOYANT && !by_name_only((enum qv_algorithm)i))
			rc = enter(r, (enum qv_algorithm)i, 0, 1);
	if (!rc)
		rc = enter(r, QV_ALG_CLAIRVOYANT, 1, share);
	if (!rc)
		rc = enter(r, QV_ALG_SEGMENTED, 1, share);
	return rc;
}

/* The algorithm that was named, which can be built from arrivals. */
static int race_named(struct race *r, const struct qv_rule *rule)
{
	const int rc = rule->faithful ? QV_OK : enter(r, rule->algorithm, 0, 1);

	return rc ? rc : enter(r, rule->algorithm, 1, 1);
}

static int choose_late(const struct qv_rule *rule, const struct qv_network *network,
		       const struct qv_case *c, struct qv_plan *choice)
{
	struct race r = {.network = network, .c = c};
	int rc = QV_ENOMEM;

	r.times = calloc(c->ranks, 2 * sizeof(*r.times));
	r.all = calloc(c->ranks, sizeof(*r.all));
	if (r.times && r.all) {
		for (uint32_t i = 0; i < c->ranks; i++)
			r.times[i] = (double)c->arrive[i] * c->unit;
		rc = rule->named ? race_named(&r, rule) : race_all(&r, rule);
	}
	free(r.times);
	free(r.all);
	if (!rc)
		*choice = r.best;
	return rc;
}

int qv_choose(const struct qv_rule *rule, const struct qv_network *network, const struct qv_case *c,
	      struct qv_plan *choice)
{
	if (rule->named && !qv_schedule_exists(c->coll, rule->algorithm, c->ordered))
		return QV_ENOSYS;
	if (c->arrive)
		return choose_late(rule, network, c, choice);
	if (!rule->named)
		return fastest_at_once(network, c, choice);
	*choice = make(network, c, rule->algorithm);
	return QV_OK;
}
