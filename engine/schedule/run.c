/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c - a run of one rank: starts what may start, combines what has come. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

enum state {
	WAITS,
	STARTED,
	DONE,
};

struct qv_run {
	const struct qv_schedule *s;
	struct qv_port calls;
	void *port;
	struct qv_run_data data;
	uint32_t begin, fence; /* steps that the fences let run: begin .. fence-1 */
	uint32_t open;         /* those of them that are not done */
	int failed;
	void *live;            /* of schedule->live; NULL: the schedule has none */
	unsigned char state[]; /* by step */
};

int qv_run_create(const struct qv_schedule *schedule, const struct qv_port *calls, void *port,
		  struct qv_run **run)
{
	struct qv_run *r = calloc(1, sizeof(*r) + schedule->n);

	if (!r)
		return QV_ENOMEM;
	r->s = schedule;
	r->calls = *calls;
	r->port = port;
	r->begin = r->fence = (uint32_t)schedule->n; /* as after the end */
	if (schedule->live && schedule->live->create(schedule, calls, port, &r->live)) {
		free(r);
		return QV_ENOMEM;
	}
	*run = r;
	return QV_OK;
}

void qv_run_free(struct qv_run *run)
{
	if (run && run->live)
		run->s->live->free(run->live);
	free(run);
}

/* While nothing is open, let the steps behind the next fence run. */
static void pass_fences(struct qv_run *r)
{
	while (!r->open && r->fence < r->s->n) {
		r->begin = r->fence;
		if (r->s->steps[r->begin].kind == QV_STEP_FENCE)
			r->state[r->begin++] = DONE;
		for (r->fence = r->begin; r->fence < r->s->n; r->fence++)
			if (r->s->steps[r->fence].kind == QV_STEP_FENCE)
				break;
		r->open = r->fence - r->begin;
	}
}

int qv_run_start(struct qv_run *run, const struct qv_run_data *data)
{
	if (!run->failed && (run->open || run->fence < run->s->n))
		return QV_EAGAIN;
	if (data->blocks ? !qv_blocks_fit(run->s, data) : !qv_count_fits(run->s, data->count))
		return QV_EINVAL;
	memset(run->state, WAITS, run->s->n);
	run->data = *data;
	run->failed = 0;
	run->begin = run->fence = run->open = 0;
	if (run->live)
		run->s->live->start(run->live, data);
	pass_fences(run);
	return QV_OK;
}

/* Where a block of the work vector, or of scratch, is. */
static char *place(const struct qv_run *r, uint32_t block)
{
	const size_t at = r->data.blocks ? r->data.blocks->at[block]
					 : qv_place(r->s, r->data.count, r->data.item, block);

	return (char *)(block < r->s->blocks ? r->data.work : r->data.temp) + at;
}

static size_t bytes_of(const struct qv_run *r, const struct qv_step *step)
{
	return r->data.blocks ? qv_blocks_bytes(r->data.blocks, step)
			      : qv_step_bytes(r->s, r->data.count, r->data.item, step);
}

static void finish(struct qv_run *r, uint32_t i)
{
	r->state[i] = DONE;
	r->open--;
	pass_fences(r);
}

static void combine(const struct qv_run *r, const struct qv_step *step)
{
	size_t at, count;
	char *mine, *theirs;

	if (step->kind != QV_STEP_COMBINE && step->kind != QV_STEP_COMBINE_LEFT)
		return;
	at = qv_place(r->s, r->data.count, r->data.item, step->first);
	count = bytes_of(r, step) / r->data.item;
	mine = (char *)r->data.work + at;
	theirs = (char *)r->data.temp + at;
	if (step->kind == QV_STEP_COMBINE)
		r->data.reduce(r->data.context, mine, mine, theirs, count);
	else
		r->data.reduce(r->data.context, mine, theirs, mine, count);
}

/* Whether it has come to the steps that are done in another way. */
static int is_live(const struct qv_run *r)
{
	return r->live && r->begin == r->s->live_first && r->open;
}

static void progress_live(struct qv_run *r)
{
	int rc = r->s->live->progress(r->live);

	if (rc == QV_OK) {
		r->begin = r->fence; /* its steps have been done in that way */
		r->open = 0;
		pass_fences(r);
	} else if (rc != QV_EAGAIN) {
		r->failed = rc;
	}
}

void qv_run_done(struct qv_run *run, uint32_t step, int status)
{
	if (is_live(run)) {
		run->s->live->done(run->live, step - run->s->live_first, status);
		return;
	}
	if (step >= run->s->n || run->state[step] != STARTED || run->failed)
		return;
	if (status) {
		run->failed = status;
		return;
	}
	combine(run, &run->s->steps[step]);
	finish(run, step);
}

static const char *contribution(const struct qv_run *r, uint32_t block)
{
	return (const char *)r->data.in +
	       (r->data.blocks ? r->data.blocks->in_at[block]
			       : qv_place_in(r->s, r->data.count, r->data.item, block));
}

static void copy(const struct qv_run *r, const struct qv_step *step, size_t bytes)
{
	const char *from;
	char *to;

	if (!bytes || (step->kind == QV_STEP_COPY && !r->data.in))
		return;
	from = step->kind == QV_STEP_MOVE ? place(r, step->from) : contribution(r, step->from);
	to = place(r, step->first);
	if (from != to)
		memcpy(to, from, bytes);
}

/* What a message is sent from, or goes to. */
static void *buffer_of(const struct qv_run *r, const struct qv_step *step)
{
	switch (step->kind) {
	case QV_STEP_SEND_IN: /* it is only read */
		return (void *)(uintptr_t)contribution(r, step->first);
	case QV_STEP_SEND:
	case QV_STEP_STORE: return place(r, step->first);
	default:
		return (char *)r->data.temp +
		       qv_place(r->s, r->data.count, r->data.item, step->first);
	}
}

/* Start a message, be it a zero-byte token. */
static int start_message(struct qv_run *r, uint32_t i, size_t bytes)
{
	const struct qv_step *step = &r->s->steps[i];
	void *of = bytes ? buffer_of(r, step) : r->data.work;

	if (qv_is_send(step->kind))
		return r->calls.send(r->port, i, step->peer, step->tag, of, bytes);
	return r->calls.receive(r->port, i, step->peer, step->tag, of, bytes);
}

static void start(struct qv_run *r, uint32_t i)
{
	const struct qv_step *step = &r->s->steps[i];
	const size_t bytes = bytes_of(r, step);
	int rc;

	if (qv_is_local(step->kind))
		copy(r, step, bytes);
	/* Both ends know of an empty message, but a token is more than that. */
	if (qv_is_local(step->kind) || (!bytes && step->blocks)) {
		finish(r, i);
		return;
	}
	r->state[i] = STARTED;
	rc = start_message(r, i, bytes);
	if (rc == QV_EAGAIN)
		r->state[i] = WAITS;
	else if (rc)
		r->failed = rc;
}

static void start_all(struct qv_run *run)
{
	const struct qv_step *steps = run->s->steps;

	/* Behind a fence that is passed meanwhile the loop goes on; a step follows what it waits
	 * for. */
	for (uint32_t i = run->begin; i < run->fence && !run->failed && !is_live(run); i++)
		if (run->state[i] == WAITS &&
		    (steps[i].after == QV_STEP_NONE || run->state[steps[i].after] == DONE))
			start(run, i);
}

int qv_run_progress(struct qv_run *run)
{
	start_all(run);
	if (is_live(run) && !run->failed) {
		progress_live(run);
		start_all(run); /* what is behind it */
	}
	if (run->failed)
		return run->failed;
	return run->open || run->fence < run->s->n ? QV_EAGAIN : QV_OK;
}
