/* SPDX-License-Identifier: BSD-2-Clause */
/* say.c - a planner's messages, and its plan that grows. */
#include <stdlib.h>

#include "planner.h"

void qv_planner_begin(struct qv_planner *p, enum qv_planner_kind kind)
{
	p->out_n = 0;
	qv_planner_add(p, kind);
}

void qv_planner_add(struct qv_planner *p, uint32_t word)
{
	if (p->out_n == p->out_room) {
		const size_t room = 2 * p->out_room + 32;
		uint32_t *grown = realloc(p->out, room * sizeof(*grown));

		if (!grown) {
			p->error = QV_ENOMEM;
			return;
		}
		p->out = grown;
		p->out_room = room;
	}
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

	if (held->n == held->room) {
		const uint32_t room = 2 * held->room + 1;
		uint32_t *grown = realloc(held->from, room * sizeof(*grown));

		if (!grown) {
			p->error = QV_ENOMEM;
			return;
		}
		held->from = grown;
		held->room = room;
	}
	held->from[held->n++] = from;
}
