/* SPDX-License-Identifier: BSD-2-Clause */
/* say.c - a planner's messages, and its plan that grows. */
#include <stdlib.h>

#include "planner.h"

/* Room for one more behind n; for `first` at first. */
static bool make_room(struct qv_planner *p, uint32_t **words, size_t n, size_t *room, size_t first)
{
	const size_t more = 2 * *room + first;
	uint32_t *grown;

	if (n < *room)
		return true;
	grown = realloc(*words, more * sizeof(*grown));
	if (!grown) {
		p->error = QV_ENOMEM;
		return false;
	}
	*words = grown;
	*room = more;
	return true;
}

void qv_planner_begin(struct qv_planner *p, enum qv_planner_kind kind)
{
	p->out_n = 0;
	qv_planner_add(p, kind);
}

void qv_planner_add(struct qv_planner *p, uint32_t word)
{
	if (make_room(p, &p->out, p->out_n, &p->out_room, 32))
		p->out[p->out_n++] = word;
}

void qv_planner_say(struct qv_planner *p, uint32_t to)
{
	if (!p->error)
		p->send(p->context, to, p->out, p->out_n);
}

void qv_planner_hop(struct qv_planner *p, uint32_t phase, uint32_t from, uint32_t to, uint32_t src,
		    uint32_t dst)
{
	const struct qv_edge_hop hop = {phase, from, to, src, dst};

	if (qv_neighbor_hop(p->plan, &hop))
		p->error = QV_ENOMEM;
}

void qv_planner_hold(struct qv_planner *p, uint32_t edge, uint32_t from)
{
	struct qv_planner_held *held = &p->held[edge];

	if (make_room(p, &held->from, held->n, &held->room, 1))
		held->from[held->n++] = from;
}
