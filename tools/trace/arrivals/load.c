/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - files of calls are read; nothing in them is trusted. */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>

#include <quiver/types.h>

#define ANY_TAG 0x7fffffffu

/* A file while it is read. */
struct file {
	struct qv_calls *all;
	struct qv_calls_rank *rank;
	struct qv_trace_in in;
	uint64_t events;
	uint32_t *comms; /* numbers in all->comms, by the file's own */
	uint32_t comms_n, comms_room;
	uint32_t *named; /* by the number of a call: 2 * its index, or of a message and 1 */
	uint32_t named_n, named_room;
};

static bool wrong(const struct file *f, const char *why)
{
	fprintf(stderr, "quiver: %s: event %llu contradicts what came before: %s\n", f->in.path,
		(unsigned long long)f->events, why);
	return false;
}

/* The communicator of a tag. */
static bool find_comm(const struct file *f, uint64_t tag, uint32_t *comm)
{
	if (tag >> 32 >= f->comms_n)
		return wrong(f, "its communicator is not known");
	if ((uint32_t)tag > INT32_MAX)
		return wrong(f, "no program has this tag");
	*comm = f->comms[tag >> 32];
	return true;
}

static bool add_comm(struct file *f, const struct qv_trace_event *e)
{
	uint64_t number;

	if (e->node != f->comms_n)
		return wrong(f, "communicators have the numbers 0, 1 and so on");
	if (!qv_trace_grow(&f->comms, &f->comms_room, f->comms_n + 1, sizeof(*f->comms)))
		return false;
	if (!qv_table_number(&f->all->comms, e->tag, &number))
		return qv_trace_no_memory();
	if (number > UINT32_MAX)
		return wrong(f, "there are too many communicators");
	f->comms[f->comms_n++] = (uint32_t)number;
	return true;
}

/* The next call has this name. */
static bool name(struct file *f, const struct qv_trace_event *e, uint32_t what)
{
	if (e->node != f->named_n + UINT64_C(1))
		return wrong(f, "calls have the numbers 1, 2 and so on");
	if (!qv_trace_grow(&f->named, &f->named_room, f->named_n + 1, sizeof(*f->named)))
		return false;
	f->named[f->named_n++] = what;
	return true;
}

static bool add_message(struct file *f, const struct qv_trace_event *e)
{
	struct qv_calls *all = f->all;
	struct qv_calls_message m = {.ns = e->ns,
				     .order = all->messages_n,
				     .src = (uint32_t)f->rank->process.rank,
				     .dst = e->src,
				     .tag = (uint32_t)e->tag};

	if (e->src > INT32_MAX)
		return wrong(f, "no rank has this number");
	if (!find_comm(f, e->tag, &m.comm) || !name(f, e, 2 * all->messages_n + 1) ||
	    !qv_trace_grow(&all->messages, &all->messages_room, all->messages_n + 1, sizeof(m)))
		return false;
	all->messages[all->messages_n++] = m;
	return true;
}

static bool add_step(struct file *f, uint32_t call, uint64_t ns, bool ends)
{
	struct qv_calls_rank *rank = f->rank;

	if (!qv_trace_grow(&rank->steps, &rank->steps_room, rank->steps_n + 1,
			   sizeof(*rank->steps)))
		return false;
	rank->steps[rank->steps_n++] =
		(struct qv_calls_step){.ns = ns, .call = call + 1, .ends = ends};
	return true;
}

static bool add_call(struct file *f, const struct qv_trace_event *e, enum qv_calls_kind kind)
{
	struct qv_calls_rank *rank = f->rank;
	struct qv_calls_call c = {.ns = e->ns,
				  .src = e->src,
				  .tag = (uint32_t)e->tag,
				  .any_tag = e->ignore != 0,
				  .kind = kind,
				  .end = kind == QV_CALLS_RECEIVE || e->matched ? QV_CALLS_UNKNOWN
										: QV_CALLS_NOTHING};

	if (e->src != QV_SRC_ANY && e->src > INT32_MAX)
		return wrong(f, "no rank has this number");
	if (e->ignore && e->ignore != ANY_TAG)
		return wrong(f, "it ignores a part of the tag");
	if (!find_comm(f, e->tag, &c.comm) || !name(f, e, 2 * rank->calls_n) ||
	    !add_step(f, rank->calls_n, e->ns, false) ||
	    !qv_trace_grow(&rank->calls, &rank->calls_room, rank->calls_n + 1, sizeof(c)))
		return false;
	rank->calls[rank->calls_n++] = c;
	return true;
}

/* A call ends. */
static bool end_call(struct file *f, const struct qv_trace_event *e, uint32_t index)
{
	struct qv_calls_call *c = &f->rank->calls[index];
	uint32_t comm;

	if (c->end != QV_CALLS_UNKNOWN)
		return wrong(f, "its call has ended already");
	if (e->matched) {
		if (!find_comm(f, e->tag, &comm))
			return false;
		if (comm != c->comm || (c->src != QV_SRC_ANY && c->src != e->src) ||
		    e->src > INT32_MAX || (!c->any_tag && c->tag != (uint32_t)e->tag))
			return wrong(f, "its call does not accept this message");
	}
	c->end = e->matched ? QV_CALLS_MESSAGE : QV_CALLS_NOTHING;
	c->got_src = e->src;
	c->got_tag = (uint32_t)e->tag;
	c->ns = e->ns;
	return c->kind != QV_CALLS_RECEIVE || add_step(f, index, e->ns, true);
}

static bool add_done(struct file *f, const struct qv_trace_event *e)
{
	uint32_t what;

	if (!e->node || e->node > f->named_n)
		return wrong(f, "its call is not known");
	what = f->named[e->node - 1];
	if (!(what & 1))
		return end_call(f, e, what / 2);
	if (e->matched)
		return wrong(f, "a send gets no message");
	f->all->messages[what / 2].is_unsent = true;
	return true;
}

static bool add(struct file *f, const struct qv_trace_event *e)
{
	f->events++;
	if (f->all->messages_n >= INT32_MAX || f->rank->calls_n >= INT32_MAX)
		return qv_trace_no_memory();
	switch (e->kind) {
	case QV_TRACE_COMM: return add_comm(f, e);
	case QV_TRACE_SEND: return add_message(f, e);
	case QV_TRACE_WANT: return add_call(f, e, QV_CALLS_RECEIVE);
	case QV_TRACE_PROBE: return add_call(f, e, QV_CALLS_PROBE);
	case QV_TRACE_CLAIM: return add_call(f, e, QV_CALLS_CLAIM);
	case QV_TRACE_DONE: return add_done(f, e);
	default: return wrong(f, "it is no call");
	}
}

/* Whose file it is: known before its first event. */
static bool take_process(struct file *f)
{
	const struct qv_trace_process *p = qv_trace_process_at(f->in.reader, 0);

	if (!p || p->rank < 0 || qv_trace_processes(f->in.reader) > 1) {
		fprintf(stderr, "quiver: %s is not of one process with a rank\n", f->in.path);
		return false;
	}
	for (uint32_t i = 0; i < f->all->ranks_n; i++)
		if (&f->all->ranks[i] != f->rank && f->all->ranks[i].process.rank == p->rank) {
			fprintf(stderr, "quiver: %s is of rank %d, as a file before it\n",
				f->in.path, p->rank);
			return false;
		}
	f->rank->process = *p;
	return true;
}

static bool read_file(struct file *f, const char *path)
{
	struct qv_trace_event e;
	int rc;

	if (!qv_trace_in_open_any(&f->in, path))
		return false;
	if (!qv_trace_has_calls(f->in.reader)) {
		fprintf(stderr,
			"quiver: %s has matches already: QUIVER_MPI_TRACE makes files of "
			"calls\n",
			path);
		return false;
	}
	while ((rc = qv_trace_in_next(&f->in, &e)) == 1)
		if ((!f->events && !take_process(f)) || !add(f, &e))
			return false;
	if (rc < 0 || !take_process(f))
		return false;
	qv_trace_in_warn(&f->in);
	f->all->lost += qv_trace_lost(f->in.reader);
	f->all->whole &= qv_trace_is_whole(f->in.reader);
	return true;
}

bool qv_calls_load(struct qv_calls *calls, char **paths, size_t n)
{
	bool done = true;

	for (size_t i = 0; i < n && done; i++) {
		struct file f = {.all = calls};

		if (!qv_trace_grow(&calls->ranks, &calls->ranks_room, calls->ranks_n + 1,
				   sizeof(*calls->ranks)))
			return false;
		f.rank = &calls->ranks[calls->ranks_n++];
		*f.rank = (struct qv_calls_rank){.process = {.rank = -1}};
		done = read_file(&f, paths[i]);
		qv_trace_in_close(&f.in);
		free(f.comms);
		free(f.named);
	}
	return done;
}

void qv_calls_free(struct qv_calls *calls)
{
	for (uint32_t i = 0; i < calls->ranks_n; i++) {
		free(calls->ranks[i].calls);
		free(calls->ranks[i].steps);
	}
	free(calls->ranks);
	free(calls->messages);
	qv_table_free(&calls->comms);
}
