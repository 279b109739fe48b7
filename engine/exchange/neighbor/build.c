/* SPDX-License-Identifier: BSD-2-Clause */
/* build.c - the schedule of one rank from a plan. */
#include "neighbor.h"
#include "engine/schedule/families/hops.h"

struct lists {
	const struct qv_neighbor_plan *plan;
	uint32_t rank, place; /* place: among those of the plan */
};

static uint32_t in_of(void *context, uint32_t rank)
{
	const struct lists *l = context;

	return l->plan->in[qv_neighbor_edge(l->plan->in_at, l->plan->in, l->place, rank)].place;
}

static uint32_t out_of(void *context, uint32_t rank)
{
	const struct lists *l = context;

	return l->plan->out[qv_neighbor_edge(l->plan->out_at, l->plan->out, l->place, rank)].place;
}

/* An edge from a rank to itself is a copy. */
static void add_own(struct qv_builder *b, struct lists *l, int gather)
{
	const struct qv_neighbor_plan *plan = l->plan;

	if (qv_neighbor_edge(plan->in_at, plan->in, l->place, l->rank) != SIZE_MAX)
		qv_add_copy(b, QV_STEP_COPY, gather ? 0 : out_of(l, l->rank), in_of(l, l->rank), 1,
			    QV_STEP_NONE);
}

int qv_neighbor_schedule(const struct qv_neighbor_plan *plan, enum qv_coll coll, uint32_t rank,
			 struct qv_schedule **schedule)
{
	const struct qv_schedule_spec spec = {.coll = coll, .ranks = plan->ranks};
	const uint32_t place = rank - plan->first;
	struct lists lists = {plan, rank, place};
	struct qv_builder b;
	struct qv_hops h = {.b = &b,
			    .gather = coll == QV_COLL_ALLGATHER,
			    .in_of = in_of,
			    .out_of = out_of,
			    .context = &lists};
	struct qv_schedule *s;

	if ((coll != QV_COLL_ALLGATHER && coll != QV_COLL_ALLTOALL) || place >= plan->own)
		return QV_EINVAL;
	qv_builder_open(&b, &spec, rank);
	if (!b.failed) {
		b.s->blocks = (uint32_t)(plan->in_at[place + 1] - plan->in_at[place]);
		b.s->whole = b.s->single = 1;
		add_own(&b, &lists, h.gather);
		for (size_t i = plan->touch_at[place]; i < plan->touch_at[place + 1]; i++) {
			const struct qv_edge_hop *hop = &plan->hops[plan->touch[i]];

			qv_hops_add(&h, hop->phase, hop->from, hop->to, hop->src, hop->dst);
		}
		qv_hops_build(&h);
	}
	s = qv_builder_close(&b);
	if (!s)
		return QV_ENOMEM;
	*schedule = s;
	return QV_OK;
}
