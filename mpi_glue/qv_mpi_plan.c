/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_mpi_plan.c - by which schedule a call is run; schedules are kept with the communicator. */
#include "qv_mpi.h"

#include <math.h>
#include <stdlib.h>

#define MAX_PLANS    32 /* kept per communicator, while no more are in use at once */
#define MAX_SEGMENTS 64
#define MIN_SEGMENT  1024

/* How many segments are best for a schedule of rounds, by the model of alpha + s*(beta + gamma) a
 * message, for a network of 2.66 us and 1.5 GB/s: only the ratio matters, and only its root. */
static uint32_t segments_of(enum qv_algorithm algorithm, uint32_t ranks, double bytes)
{
	const double start = 4100; /* bytes that could be moved and combined while one starts */
	double rounds = 0, n;

	if (algorithm == QV_ALG_PIPELINE)
		rounds = ranks - 2.0;
	else if (algorithm == QV_ALG_SEGMENTED)
		rounds = ceil(log2(ranks)) - 1;
	else
		return 0;
	n = sqrt(fmax(rounds, 0.5) * bytes / start);
	n = fmin(n, fmin(MAX_SEGMENTS, bytes / MIN_SEGMENT));
	return n < 1 ? 1 : (uint32_t)n;
}

static bool by_arrival(enum qv_algorithm algorithm)
{
	return algorithm == QV_ALG_CLAIRVOYANT || algorithm == QV_ALG_SEGMENTED;
}

static bool same(const struct qv_mpi_plan *a, const struct qv_mpi_plan *b)
{
	return a->coll == b->coll && a->algorithm == b->algorithm && a->root == b->root &&
	       a->segments == b->segments && a->ordered == b->ordered && a->expected == b->expected;
}

/* What the messages of a schedule need. */
static void look(struct qv_mpi_plan *p)
{
	size_t n;
	const struct qv_step *step = qv_schedule_steps(p->schedule, &n);

	for (size_t i = 0; i < n; i++) {
		const bool combines =
			step[i].kind == QV_STEP_COMBINE || step[i].kind == QV_STEP_COMBINE_LEFT;

		p->combines |= combines;
		p->receives |= combines || step[i].kind == QV_STEP_STORE;
	}
}

static int build(const struct qv_mpi_comm *c, struct qv_mpi_plan *p)
{
	struct qv_schedule_spec spec = {
		.coll = p->coll,
		.algorithm = p->algorithm,
		.ranks = (uint32_t)c->ranks,
		.root = p->root,
		.segments = p->segments,
		.ordered = p->ordered,
	};
	int rc;

	if (by_arrival(p->algorithm) && c->arrive) {
		spec.arrive = c->arrive;
		spec.round = p->segments ? c->round / p->segments : c->round;
		spec.round += !spec.round;
	}
	rc = qv_schedule_build(&spec, (uint32_t)c->rank, &p->schedule);
	if (!rc)
		look(p);
	return rc;
}

void qv_mpi_plan_free(struct qv_mpi_plan *plan)
{
	struct qv_mpi_op *next;

	for (struct qv_mpi_op *op = plan->spare; op; op = next) {
		next = op->next;
		qv_mpi_op_free(op);
	}
	qv_schedule_free(plan->schedule);
	free(plan);
}

/* With many plans, the one that has not been used for longest goes: the last one that is free. */
static void forget_one(struct qv_mpi_comm *c)
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

static struct qv_mpi_plan *find(struct qv_mpi_comm *c, const struct qv_mpi_plan *wanted)
{
	for (struct qv_mpi_plan **at = &c->plans; *at; at = &(*at)->next) {
		struct qv_mpi_plan *p = *at;

		if (!same(p, wanted))
			continue;
		*at = p->next; /* used last: to the front */
		p->next = c->plans;
		c->plans = p;
		return p;
	}
	return NULL;
}

static struct qv_mpi_plan *make(struct qv_mpi_comm *c, const struct qv_mpi_plan *wanted,
				enum qv_mpi_reason *why)
{
	struct qv_mpi_plan *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	*p = *wanted;
	if (build(c, p)) {
		*why = QV_MPI_ORDER; /* or no memory, which no other rank would know */
		free(p);
		return NULL;
	}
	forget_one(c);
	p->next = c->plans;
	c->plans = p;
	return p;
}

struct qv_mpi_plan *qv_mpi_plan_of(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				   const struct qv_mpi_reduce *r, enum qv_mpi_reason *why)
{
	const struct qv_mpi_setting *set = &qv_mpi.set[call->coll];
	struct qv_mpi_plan *p,
		wanted = {
			.coll = call->coll,
			.algorithm = set->algorithm,
			.root = (uint32_t)call->root,
			.segments = call->coll == QV_COLL_REDUCE_SCATTER
					    ? 0
					    : segments_of(set->algorithm, (uint32_t)c->ranks,
							  (double)call->count * (double)r->item),
			.ordered = r->ordered,
			.expected = by_arrival(set->algorithm) ? c->expected : 0,
		};

	pthread_mutex_lock(&qv_mpi.lock);
	p = find(c, &wanted);
	if (!p)
		p = make(c, &wanted, why);
	/* Between two ranks each block travels at most once to be combined and once to be stored.
	 */
	if (p && qv_schedule_blocks(p->schedule) > (uint32_t)qv_mpi.slot / 4) {
		*why = QV_MPI_TOO_LONG;
		p = NULL;
	}
	if (p)
		p->busy++;
	pthread_mutex_unlock(&qv_mpi.lock);
	return p;
}
