/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time.c - a run in virtual time: of all messages and combines that could begin, the
 * one that can begin first does, a combine before a message, a lower rank before a higher one.
 */
#include "engine/schedule/heap.h"
#include "engine/schedule/schedule.h"

#include <stdlib.h>

#define MESSAGE (UINT64_C(1) << 63) /* in the order of events: behind the combines */

struct timing {
	const struct qv_network *network;
	struct qv_group g;
	double block;     /* bytes */
	double *end;      /* by step: when it was done; of a receive that is not: the transfer */
	double *fence;    /* by rank: when the last fence was passed */
	double *last;     /* by rank: end of the last step so far */
	double *out, *in; /* by rank: when each port is free */
	double *copied;   /* by rank: end of the last copy so far */
	unsigned char *arrived; /* by step: received, not yet combined */
	unsigned char *listed;  /* by step: is or was among the open ones */
	struct event *open;     /* what could be next: a heap, the earliest first */
	size_t open_n;
};

/* The message or the combine of a receive. */
struct event {
	/* When it was put there: ports may be free later since, never earlier. A rank sends in the
	 * order of its steps. */
	struct qv_when start;
	size_t number; /* of the receive */
	int is_combine;
};

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* When the step could begin as far as its own rank's steps go. */
static double ready_at(const struct timing *t, size_t number)
{
	const uint32_t rank = t->g.rank[number];
	const uint32_t after = qv_group_step(&t->g, number)->after;

	return after == QV_STEP_NONE ? t->fence[rank]
				     : later(t->fence[rank], t->end[t->g.base[rank] + after]);
}

static void end_step(struct timing *t, size_t number, double end)
{
	const uint32_t rank = t->g.rank[number], fence = t->g.fence[rank];

	t->end[number] = end;
	t->last[rank] = later(t->last[rank], end);
	qv_group_done(&t->g, number);
	if (t->g.fence[rank] != fence)
		t->fence[rank] = t->last[rank];
}

/* Copies do not wait for a port, only for each other. That of the contribution to the work vector,
 * which all algorithms have, takes no time. */
static void copy(struct timing *t, size_t number)
{
	const struct qv_step *step = qv_group_step(&t->g, number);
	const uint32_t rank = t->g.rank[number];
	double end = ready_at(t, number);

	if (step->kind == QV_STEP_MOVE || step->first >= t->g.all[rank]->blocks) {
		end = later(end, t->copied[rank]) + t->block * step->blocks * t->network->gamma;
		t->copied[rank] = end;
	}
	end_step(t, number, end);
}

/* All that can be done; a step comes behind what it waits for, so once is enough between two
 * fences. */
static void copy_all(struct timing *t, uint32_t rank)
{
	const struct qv_schedule *s = t->g.all[rank];
	size_t begin, fence;

	do {
		fence = t->g.fence[rank];
		for (begin = fence; begin && s->steps[begin - 1].kind != QV_STEP_FENCE;)
			begin--;
		for (size_t i = begin; i < fence; i++)
			if (qv_is_local(s->steps[i].kind) &&
			    qv_group_ready(&t->g, t->g.base[rank] + i))
				copy(t, t->g.base[rank] + i);
	} while (t->g.fence[rank] != fence);
}

/* When an open receive could go on, as a message or as a combine. */
static struct event event_of(const struct timing *t, size_t number)
{
	const uint32_t rank = t->g.rank[number], peer = qv_group_step(&t->g, number)->peer;
	const double ports = later(t->in[rank], t->out[t->arrived[number] ? rank : peer]);
	const double ready =
		t->arrived[number] ? t->end[number]
				   : later(ready_at(t, number), ready_at(t, t->g.partner[number]));

	return (struct event){
		{later(ready, ports), t->g.partner[number] | (t->arrived[number] ? 0 : MESSAGE)},
		number,
		t->arrived[number]};
}

static void put(struct timing *t, size_t number)
{
	const struct event e = event_of(t, number);

	qv_heap_put(t->open, &t->open_n, sizeof(e), &e);
}

/* Take the next event off the open ones; 0 if there is none. */
static int next(struct timing *t, struct event *first)
{
	while (t->open_n) {
		qv_heap_pop(t->open, &t->open_n, sizeof(*first), first);
		if (!(event_of(t, first->number).start.time > first->start.time))
			return 1;
		put(t, first->number);
	}
	return 0;
}

/* What a step of this rank that was done may have opened. */
static void list_open(struct timing *t, uint32_t rank)
{
	const size_t first = t->g.base[rank];

	copy_all(t, rank);

	for (size_t i = first + t->g.fence[rank]; i-- > first;) {
		const enum qv_step_kind kind = qv_group_step(&t->g, i)->kind;
		const size_t receive = qv_is_send(kind) ? t->g.partner[i] : i;

		if (kind == QV_STEP_FENCE)
			return; /* what is before it is done */
		if (qv_is_local(kind) || t->listed[receive] || !qv_group_ready(&t->g, i) ||
		    !qv_group_ready(&t->g, t->g.partner[i]))
			continue;
		t->listed[receive] = 1;
		put(t, receive);
	}
}

static void done(struct timing *t, size_t number, double end)
{
	end_step(t, number, end);
	list_open(t, t->g.rank[number]);
}

static void take(struct timing *t, const struct event *e)
{
	const struct qv_step *step = qv_group_step(&t->g, e->number);
	const uint32_t rank = t->g.rank[e->number];
	const double bytes = t->block * step->blocks;
	const double end = e->start.time + (e->is_combine ? bytes * t->network->gamma
							  : qv_network_seconds(t->network, bytes));

	t->in[rank] = end;
	if (e->is_combine) {
		t->out[rank] = end;
		done(t, e->number, end);
		return;
	}
	t->out[step->peer] = end;
	done(t, t->g.partner[e->number], end);
	if (step->kind == QV_STEP_STORE) {
		done(t, e->number, end);
	} else {
		t->arrived[e->number] = 1;
		t->end[e->number] = end;
		put(t, e->number);
	}
}

static void begin(struct timing *t, const double *arrive)
{
	for (uint32_t r = 0; r < t->g.ranks; r++)
		t->fence[r] = t->last[r] = t->out[r] = t->in[r] = t->copied[r] =
			arrive ? arrive[r] : 0;
	for (uint32_t r = 0; r < t->g.ranks; r++)
		copy_all(t, r);
	for (uint32_t r = 0; r < t->g.ranks; r++)
		list_open(t, r);
}

int qv_schedule_time(const struct qv_network *network, struct qv_schedule *const *all,
		     uint32_t ranks, double bytes, const double *arrive, double *leave)
{
	struct timing t = {.network = network};
	struct event e = {0};
	size_t bad;
	int rc = qv_group_open(&t.g, all, ranks, &bad);

	if (rc)
		return rc;
	t.block = all[0]->single ? bytes : bytes / all[0]->blocks;
	t.end = calloc(t.g.n + 5 * (size_t)ranks, sizeof(*t.end));
	t.arrived = calloc(2, t.g.n + 1);
	t.open = calloc(t.g.n + 1, sizeof(*t.open));
	if (t.end && t.arrived && t.open) {
		t.listed = t.arrived + t.g.n;
		t.fence = t.end + t.g.n;
		t.last = t.fence + ranks;
		t.out = t.last + ranks;
		t.in = t.out + ranks;
		t.copied = t.in + ranks;
		begin(&t, arrive);
		while (next(&t, &e))
			take(&t, &e);
		for (size_t i = 0; i < t.g.n && !rc; i++)
			rc = t.g.done[i] ? QV_OK : QV_EINVAL;
		for (uint32_t r = 0; r < ranks && !rc; r++)
			leave[r] = t.last[r];
	} else {
		rc = QV_ENOMEM;
	}
	free(t.end);
	free(t.arrived);
	free(t.open);
	qv_group_close(&t.g);
	return rc;
}
