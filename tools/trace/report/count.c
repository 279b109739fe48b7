/* SPDX-License-Identifier: BSD-2-Clause */
/* count.c - what an event changes. */
#include "count.h"

#include <quiver/types.h>

unsigned qv_figures_bin(uint64_t value)
{
	unsigned bin = 0;

	while (value && bin < QV_FIGURES_BINS - 1) {
		value >>= 1;
		bin++;
	}
	return bin;
}

static enum qv_figures_wild wild_of(const struct qv_figures_lane *lane,
				    const struct qv_trace_event *e)
{
	return (e->src == QV_SRC_ANY ? QV_FIGURES_ANY_SOURCE : 0) |
	       (e->ignore & ~lane->protocol_bits ? QV_FIGURES_ANY_TAG : 0);
}

static void raise_to(uint64_t *most, uint64_t value)
{
	if (*most < value)
		*most = value;
}

/* Nothing has changed since the event before: the columns in between have the same depth. */
static void pass_time(struct qv_figures *f, struct qv_figures_lane *lane, uint32_t column)
{
	for (int s = 0; s < QV_FIGURES_SIDES; s++) {
		const uint32_t depth = lane->line[s].waiting;

		for (uint32_t c = lane->column; depth && c <= column; c++)
			if (f->depth[s][c] < depth)
				f->depth[s][c] = depth;
	}
	if (lane->column < column)
		lane->column = column;
}

/* A search that a list had done, with what it has found; false: that was never seen. */
static bool search(struct qv_figures *f, struct qv_figures_lane *lane, enum qv_figures_side side,
		   const struct qv_trace_event *e, bool *stays)
{
	struct qv_figures_search *s = &lane->search[side];
	const uint64_t depth = lane->line[side].waiting;
	uint64_t steps = depth;

	if (e->matched) {
		const int64_t older = qv_line_find(&lane->line[side], e->node, stays);

		if (older < 0) {
			f->unseen++;
			return false;
		}
		steps = (uint64_t)older + 1;
		s->found++;
	}
	*(e->matched ? &s->steps_found : &s->steps_missed) += steps;
	s->searches++;
	f->by_depth[side][qv_figures_bin(depth)]++;
	f->by_steps[side][qv_figures_bin(steps)]++;
	return true;
}

static bool queue_up(struct qv_figures_lane *lane, enum qv_figures_side side,
		     const struct qv_trace_event *e)
{
	if (!qv_line_add(&lane->line[side], e->node, e->persistent))
		return false;
	raise_to(&lane->search[side].depth_most, lane->line[side].waiting);
	return true;
}

static bool post(struct qv_figures *f, struct qv_figures_lane *lane, const struct qv_trace_event *e)
{
	bool stays;

	f->posted++;
	f->receives[wild_of(lane, e)]++;
	search(f, lane, QV_FIGURES_UNEXPECTED, e, &stays);
	if (!e->matched)
		return queue_up(lane, QV_FIGURES_POSTED, e);
	f->posted_matched++;
	qv_line_remove(&lane->line[QV_FIGURES_UNEXPECTED], e->node);
	return true;
}

static void arrive(struct qv_figures *f, struct qv_figures_lane *lane,
		   const struct qv_trace_event *e)
{
	bool stays = false;

	f->arrived++;
	lane->messages++;
	f->cell[qv_top_index(&f->tags, e->tag)][qv_top_index(&f->sources, e->src)]++;
	search(f, lane, QV_FIGURES_POSTED, e, &stays);
	lane->arriving = !e->matched;
	if (!e->matched)
		return;
	f->arrived_matched++;
	if (!stays)
		qv_line_remove(&lane->line[QV_FIGURES_POSTED], e->node);
}

static void leave(struct qv_figures *f, struct qv_figures_lane *lane, enum qv_figures_side side,
		  const struct qv_trace_event *e)
{
	if (!qv_line_remove(&lane->line[side], e->node))
		f->unseen++;
}

bool qv_figures_count(struct qv_figures *f, struct qv_figures_lane *lane,
		      const struct qv_trace_event *e)
{
	/* A file that has changed since it was read first may have other times. */
	const uint64_t since = e->ns < f->first_ns ? 0 : e->ns - f->first_ns;
	const uint64_t at = since / f->width_ns;
	const uint32_t column = at < f->columns ? (uint32_t)at : f->columns - 1;
	bool good = true, stays;

	f->refused += lane->arriving && e->kind != QV_TRACE_QUEUE;
	lane->arriving = false;
	pass_time(f, lane, column);
	if (!lane->events++)
		lane->first_ns = e->ns;
	lane->last_ns = e->ns;
	f->events++;
	switch (e->kind) {
	case QV_TRACE_POST: good = post(f, lane, e); break;
	case QV_TRACE_ARRIVE: arrive(f, lane, e); break;
	case QV_TRACE_QUEUE:
		f->queued++;
		good = queue_up(lane, QV_FIGURES_UNEXPECTED, e);
		break;
	case QV_TRACE_PEEK:
		f->probed++;
		f->probed_found += e->matched;
		f->probes[wild_of(lane, e)]++;
		search(f, lane, QV_FIGURES_UNEXPECTED, e, &stays);
		break;
	case QV_TRACE_TAKE:
		f->taken++;
		leave(f, lane, QV_FIGURES_UNEXPECTED, e);
		break;
	case QV_TRACE_CANCEL:
		f->cancelled++;
		leave(f, lane, QV_FIGURES_POSTED, e);
		break;
	default: break; /* calls: in no trace of matching */
	}
	pass_time(f, lane, lane->column);
	return good;
}

static void sum_lane(struct qv_figures *f, struct qv_figures_lane *lane)
{
	struct qv_figures_process *p = &f->processes[lane->process];

	f->refused += lane->arriving;
	if (!p->events || p->first_ns > lane->first_ns)
		p->first_ns = lane->first_ns;
	raise_to(&p->last_ns, lane->last_ns);
	p->events += lane->events;
	p->messages += lane->messages;
	for (int s = 0; s < QV_FIGURES_SIDES; s++) {
		const struct qv_figures_search *from = &lane->search[s];
		struct qv_figures_search *to = &f->search[s];

		to->searches += from->searches;
		to->found += from->found;
		to->steps_found += from->steps_found;
		to->steps_missed += from->steps_missed;
		raise_to(&to->depth_most, from->depth_most);
		raise_to(&p->depth_most[s], from->depth_most);
		p->searches += from->searches;
		p->steps += qv_figures_steps(from);
		lane->waiting_at_end[s] = lane->line[s].waiting;
	}
}

void qv_figures_sum_up(struct qv_figures *f)
{
	for (uint32_t i = 0; i < f->lanes_n; i++) {
		struct qv_figures_lane *lane = &f->lanes[i];

		if (!lane->events)
			continue;
		pass_time(f, lane, f->columns - 1);
		sum_lane(f, lane);
	}
}
