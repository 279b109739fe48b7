/* SPDX-License-Identifier: BSD-2-Clause */
/* plan.c - by which schedule a call is run, and the operations that have run it before. */
#include "mpi_glue/glue.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_PLANS 32 /* kept per communicator, unless more are in use at once */

/* Whether the schedule sends, receives and combines, for which an operation needs room. */
static void look(struct qv_mpi_plan *p)
{
	size_t n;
	const struct qv_step *step = qv_schedule_steps(p->schedule, &n);

	/* Who combines is found in the run. */
	p->combines = p->receives = p->way == QV_MPI_TAKEN + QV_ALG_REDIRECT;
	for (size_t i = 0; i < n; i++) {
		const bool combines =
			step[i].kind == QV_STEP_COMBINE || step[i].kind == QV_STEP_COMBINE_LEFT;

		p->sends |= step[i].kind == QV_STEP_SEND;
		p->combines |= combines;
		p->receives |= combines || step[i].kind == QV_STEP_STORE;
	}
}

void qv_mpi_plan_free(struct qv_mpi_plan *plan)
{
	struct qv_mpi_op *next;

	for (struct qv_mpi_op *op = plan->spare; op; op = next) {
		next = op->next;
		qv_mpi_op_free(op);
	}
	if (plan->plan)
		qv_select_put(plan->rules->select, plan->plan);
	qv_mpi_made_free(plan->made);
	qv_mpi_rules_put(plan->rules);
	free(plan);
}

/* With many plans, the one that has not been used for longest goes: the last one that is free. */
static void evict_one(struct qv_mpi_comm *c)
{
	struct qv_mpi_plan **victim = NULL, *gone;
	int n = 0;

	for (struct qv_mpi_plan **at = &c->plans; *at; at = &(*at)->next, n++)
		if (!(*at)->busy)
			victim = at;
	if (n < MAX_PLANS || !victim)
		return;
	gone = *victim;
	*victim = gone->next;
	qv_mpi_plan_free(gone);
}

void qv_mpi_plan_keep(struct qv_mpi_comm *c, struct qv_mpi_plan *p)
{
	if (p->schedule)
		look(p);
	p->rules = qv_mpi.rules;
	p->rules->users++;
	evict_one(c);
	p->next = c->plans;
	c->plans = p;
}

static struct qv_mpi_plan *find(struct qv_mpi_comm *c, const struct qv_plan *plan)
{
	for (struct qv_mpi_plan **at = &c->plans; *at; at = &(*at)->next) {
		struct qv_mpi_plan *p = *at;

		if (p->plan != plan)
			continue;
		*at = p->next; /* used last: to the front */
		p->next = c->plans;
		c->plans = p;
		return p;
	}
	return NULL;
}

/* Say once that a communicator is not of the ranks that the setting's factors are for. */
static void say_primes(const struct qv_mpi_comm *c, enum qv_coll coll)
{
	if (c->rank || qv_mpi.primes_said)
		return;
	qv_mpi.primes_said = true;
	fprintf(stderr,
		"quiver: %s=radix in QUIVER_MPI_COLL: the product of the factors is not %d, the ranks of "
		"a communicator; its prime factors are taken\n",
		qv_coll_name(coll), c->ranks);
}

/* Takes over what qv_select_get gave. */
static struct qv_mpi_plan *keep(struct qv_mpi_comm *c, const struct qv_plan *plan)
{
	struct qv_mpi_rules *rules = qv_mpi.rules;
	struct qv_mpi_plan *p = find(c, plan);

	if (p) { /* held already */
		qv_select_put(rules->select, plan);
		return p;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		qv_select_put(rules->select, plan);
		return NULL;
	}
	p->plan = plan;
	p->schedule = plan->schedule;
	p->way = QV_MPI_TAKEN + plan->algorithm;
	qv_mpi_plan_keep(c, p);
	return p;
}

struct qv_mpi_plan *qv_mpi_plan_of(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				   size_t bytes, bool ordered, enum qv_mpi_reason *why)
{
	struct qv_select_call wanted = {
		.group = c->number,
		.coll = call->coll,
		.ranks = (uint32_t)c->ranks,
		.rank = (uint32_t)c->rank,
		.root = (uint32_t)call->root,
		.bytes = bytes,
		.ordered = ordered,
		.arrive = qv_mpi_arrivals(c, call),
	};
	const double began = wanted.arrive ? PMPI_Wtime() : 0;
	const struct qv_plan *plan;
	struct qv_mpi_plan *p = NULL;
	int rc;

	pthread_mutex_lock(&qv_mpi.lock);
	rc = qv_select_get(qv_mpi.rules->select, &wanted, &plan);
	if (!rc && plan->primes)
		say_primes(c, call->coll);
	if (!rc)
		p = keep(c, plan);
	*why = rc == QV_ENOMEM || (!rc && !p) ? QV_MPI_FAILED : QV_MPI_ORDER;
	/* Tags: between two ranks each block travels at most once to be combined and once to be stored, or
	 * there is one block and fewer than two tokens of a barrier for each rank. */
	if (p && qv_schedule_blocks(p->schedule) > (uint32_t)qv_mpi.slot / 4) {
		*why = QV_MPI_TOO_LONG;
		p = NULL;
	}
	if (p)
		p->busy++;
	pthread_mutex_unlock(&qv_mpi.lock);
	if (wanted.arrive)
		qv_mpi_expect_planned(c, call->coll, began);
	return p;
}

void qv_mpi_plan_put(struct qv_mpi_plan *plan)
{
	pthread_mutex_lock(&qv_mpi.lock);
	plan->busy--;
	pthread_mutex_unlock(&qv_mpi.lock);
}
