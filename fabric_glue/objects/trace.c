/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - FI_QUIVER_TRACE: the matching of all endpoints of this process goes into one file. It is
 * made when the first endpoint is enabled, and ends when libfabric does: a program may open others
 * after it has closed the first.
 */
#include "fabric_glue/calls.h"
#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/trace/record.h"

/* Of one endpoint. */
struct qv_fi_trace {
	pid_t pid; /* whose it is */
	struct qv_trace_recording *queue[QV_TRACE_QUEUES];
};

/* The lock is of this and of ep->trace. Who holds it does not wait for the list. */
static struct {
	pthread_mutex_t lock;
	struct qv_trace_file *file; /* NULL: there is none yet, or it has ended */
	bool failed;                /* it cannot be made: said once */
	pid_t pid;                  /* whose it is */
	uint32_t endpoints;
	char path[4096];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void cannot(const char *why)
{
	trace.failed = true;
	qv_fi_warn("FI_QUIVER_TRACE: no trace is written: %s", why);
}

/* A child that was forked begins anew. */
static void forget_others(void)
{
	if (trace.pid == getpid())
		return;
	if (trace.file)
		qv_trace_drop(trace.file);
	trace.file = NULL;
	trace.failed = false;
	trace.endpoints = 0;
	trace.pid = getpid();
}

static void open_file(void)
{
	struct qv_trace_process me = {.rank = qv_file_rank(), .pid = (uint32_t)getpid()};
	const struct qv_trace_setting *p = &qv_fi_params.trace;
	const char *why = "";

	if (!qv_file_name(p->out, trace.path, sizeof trace.path, &why)) {
		cannot(why);
		return;
	}
	trace.file = qv_trace_create(trace.path, p->most);
	if (!trace.file) {
		cannot(errno == EWOULDBLOCK ? "another process writes this file" : strerror(errno));
		return;
	}
	gethostname(me.host, sizeof me.host - 1);
	strncpy(me.program, program_invocation_short_name, sizeof me.program - 1);
	qv_trace_add_process(trace.file, &me); /* where that fails, lanes do */
}

static const enum qv_trace_queue queues[QV_TRACE_QUEUES] = {
	[0] = QV_TRACE_UNTAGGED,
	[QV_REQ_TAGGED] = QV_TRACE_TAGGED,
	[QV_REQ_COLL] = QV_TRACE_COLLECTIVE,
};

static void lacks(void)
{
	qv_fi_warn("the trace %s lacks the matching of an endpoint: no memory, or the file takes "
		   "no more",
		   trace.path);
}

/* Queues that another endpoint has, in peer mode, are recorded there. */
static void record(struct qv_fi_ep *ep)
{
	struct qv_match_settings set = {.hints = 0};
	uint32_t number = trace.endpoints++;
	bool all = true;

	qv_fi_assertions_apply(ep, &set);
	for (unsigned which = 0; which < QV_TRACE_QUEUES; which++) {
		struct qv_match *engine = ep->mode->engine(ep, which);
		struct qv_trace_lane lane = {.endpoint = number,
					     .queue = queues[which],
					     .protocol_bits = set.protocol_bits};

		if (!engine)
			continue;
		strncpy(lane.structure, qv_match_structure(engine), sizeof lane.structure - 1);
		ep->trace->queue[which] =
			qv_trace_record(engine, trace.file, &lane, qv_fi_params.trace.ring);
		all &= ep->trace->queue[which] != NULL;
	}
	if (!all)
		lacks();
}

void qv_fi_trace_begin(struct qv_fi_ep *ep)
{
	if (!qv_fi_params.trace.out)
		return;
	pthread_mutex_lock(&trace.lock);
	forget_others();
	if (!trace.file && !trace.failed)
		open_file();
	ep->trace = trace.file ? calloc(1, sizeof *ep->trace) : NULL;
	if (ep->trace) {
		ep->trace->pid = trace.pid;
		record(ep);
	} else if (trace.file) {
		lacks();
	}
	pthread_mutex_unlock(&trace.lock);
}

/* A child that was forked has the recordings of its parent, whose file they are for. */
static void end(struct qv_fi_ep *ep)
{
	struct qv_fi_trace *t = ep->trace;

	if (!t)
		return;
	for (unsigned which = 0; which < QV_TRACE_QUEUES; which++)
		if (trace.file && t->pid == getpid())
			qv_trace_record_end(t->queue[which]);
		else
			qv_trace_record_drop(t->queue[which]);
	ep->trace = NULL;
	free(t);
}

void qv_fi_trace_end(struct qv_fi_ep *ep)
{
	if (!qv_fi_params.trace.out)
		return;
	pthread_mutex_lock(&trace.lock);
	end(ep);
	pthread_mutex_unlock(&trace.lock);
}

/* Both locks are held. An endpoint that is opened from now on has no trace. */
static void finish(void)
{
	struct qv_fi_ep *ep = NULL;
	uint64_t lost;
	int error;

	while ((ep = qv_fi_live_next(ep)))
		end(ep);
	error = qv_trace_finish(trace.file, &lost);
	trace.file = NULL;
	trace.failed = true;
	if (error)
		qv_fi_warn("the trace %s lacks %llu events: %s", trace.path,
			   (unsigned long long)lost,
			   error == EFBIG ? "it has reached its limit (max= of FI_QUIVER_TRACE, "
					    "or ulimit -f)"
					  : strerror(error));
}

void qv_fi_trace_exit(void)
{
	pthread_mutex_t *const list = &qv_fi_live()->lock;

	if (!qv_fi_params.trace.out || !qv_fi_lock_last(list))
		return;
	if (qv_fi_lock_last(&trace.lock)) {
		if (trace.file && trace.pid == getpid())
			finish();
		pthread_mutex_unlock(&trace.lock);
	}
	pthread_mutex_unlock(list);
}
